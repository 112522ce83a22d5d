"""What the compiled kernel and the roofline say: pure functions that need no device."""
