"""TensorFlow on the CPU and on NVIDIA GPUs: the shipped workloads as its users write them."""

from gpuexplorer.backends.tensorflow.backend import TensorFlowBackend

__all__ = ["TensorFlowBackend"]
