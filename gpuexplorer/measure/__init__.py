"""The measurement recipe: check, prepare, verify, warm up, sample, stop."""
