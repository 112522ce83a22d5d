"""NVIDIA GPUs: kernels compiled with NVRTC for the exact architecture, launched through CuPy."""

from gpuexplorer.backends.cuda.backend import CudaBackend

__all__ = ["CudaBackend"]
