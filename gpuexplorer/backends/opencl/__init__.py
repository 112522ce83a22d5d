"""OpenCL: the CPU by default, through Intel's runtime or PoCL, and any GPU with a driver."""

from gpuexplorer.backends.opencl.backend import OpenCLBackend

__all__ = ["OpenCLBackend"]
