"""Calibration: measure what a device can do at most, keep it, and find it again.

``plan`` says what is tried, ``calibrate`` goes through it one run at a time, and
``store`` keeps the ceilings per hardware, driver and number of CPU threads.
"""
