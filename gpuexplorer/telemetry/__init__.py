"""The device's own word on clock, power, temperature and load: one interface, a source a file."""
