"""Every backend by name, imported only when asked for."""

from __future__ import annotations

from importlib import import_module

from gpuexplorer.backends.base import Backend

BACKENDS: dict[str, tuple[str, str]] = {
    "cuda": ("gpuexplorer.backends.cuda", "CudaBackend"),
    "opencl": ("gpuexplorer.backends.opencl", "OpenCLBackend"),
    "torch": ("gpuexplorer.backends.torch", "TorchBackend"),
    "numpy": ("gpuexplorer.backends.numpy", "NumpyBackend"),
    "tensorflow": ("gpuexplorer.backends.tensorflow", "TensorFlowBackend"),
    "keras": ("gpuexplorer.backends.keras", "KerasBackend"),
    "jax": ("gpuexplorer.backends.jax", "JaxBackend"),
}


def create(name: str, threads: int) -> Backend:
    """Create a backend; ``threads`` is the number of CPU threads its work may use."""
    module, cls = BACKENDS[name]
    backend: Backend = getattr(import_module(module), cls)(threads)
    return backend
