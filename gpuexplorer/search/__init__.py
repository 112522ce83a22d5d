"""Searching a space of configurations: sweeps, block maps, tuning."""
