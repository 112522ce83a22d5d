"""PyTorch on the CPU and on NVIDIA GPUs: library calls beside the hand-written kernels."""

from gpuexplorer.backends.torch.backend import TorchBackend

__all__ = ["TorchBackend"]
