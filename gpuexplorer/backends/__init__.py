"""What runs the work: the only place that imports cupy, pyopencl, torch or another framework."""
