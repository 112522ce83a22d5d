"""JAX on the CPU and on NVIDIA GPUs: the shipped workloads as its users write them."""

from gpuexplorer.backends.jax.backend import JaxBackend

__all__ = ["JaxBackend"]
