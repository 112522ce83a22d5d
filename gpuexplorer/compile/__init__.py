"""From a workload's CUDA source to something a device runs: an OpenCL program, or a cubin."""
