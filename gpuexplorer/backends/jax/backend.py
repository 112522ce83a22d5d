"""Which devices JAX can use, found without importing it."""

from __future__ import annotations

from typing import ClassVar

from gpuexplorer.backends.framework_backend import FrameworkBackend
from gpuexplorer.backends.frameworks import cuda_of_driver, module_folder, version_of
from gpuexplorer.backends.jax.runner import JaxCpuRunner, JaxCudaRunner

PLUGINS = {"jax_cuda13_plugin": 13, "jax_cuda12_plugin": 12}
"""What is installed beside JAX where it can use a GPU, and the CUDA that it is built for."""


class JaxBackend(FrameworkBackend):
    """The devices of the JAX that is installed: ``jax:cpu`` and ``jax:cuda:N``."""

    name: ClassVar[str] = "jax"
    title = "JAX"
    on_cpu = JaxCpuRunner
    on_gpu = JaxCudaRunner

    def version(self) -> str | None:
        """Return the installed JAX's version, or None."""
        return jax_version()

    def built_for(self) -> int | None:
        """Return the CUDA of its plug-in, or None."""
        return jax_cuda()

    def package(self) -> str:
        """Return what to install on this machine."""
        return jax_package()


def jax_version() -> str | None:
    """Return the installed JAX's version, or None."""
    if module_folder("jaxlib") is None:
        return None
    return version_of("jax")


def jax_cuda() -> int | None:
    """Return the CUDA that the installed JAX's plug-in is built for, or None without one."""
    return next((v for name, v in PLUGINS.items() if module_folder(name) is not None), None)


def jax_package() -> str:
    """Return what to install for this machine: the build for its driver, or the CPU's."""
    driver = cuda_of_driver()
    if driver is None or driver < 12:
        return "jax"
    return "jax[cuda12]" if driver == 12 else "jax[cuda13]"
