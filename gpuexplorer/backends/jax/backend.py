"""Which devices JAX can use, found without importing it."""

from __future__ import annotations

from typing import ClassVar

from gpuexplorer.backends.base import Backend, Runner
from gpuexplorer.backends.frameworks import (
    cpu_device,
    cuda_of_driver,
    gpu_devices,
    lacks_avx,
    missing,
    module_folder,
    version_of,
)
from gpuexplorer.backends.functional import CPU_PRECISIONS, GPU_PRECISIONS
from gpuexplorer.backends.jax.runner import JaxCpuRunner, JaxCudaRunner
from gpuexplorer.backends.models import MODEL_NAMES
from gpuexplorer.core.device import DeviceInfo, Unavailable
from gpuexplorer.workloads.plan import Plan

MODELS = tuple(f"jax.{name}" for name in MODEL_NAMES)
PLUGINS = {"jax_cuda13_plugin": 13, "jax_cuda12_plugin": 12}
"""What is installed beside JAX where it can use a GPU, and the CUDA that it is built for."""


class JaxBackend(Backend):
    """The devices of the JAX that is installed: ``jax:cpu`` and ``jax:cuda:N``."""

    name: ClassVar[str] = "jax"

    def discover(self) -> tuple[DeviceInfo, ...] | Unavailable:
        """Return the CPU, and NVIDIA's devices when JAX's CUDA plug-in is installed."""
        version = jax_version()
        if version is None:
            return missing(self.name, "JAX", jax_package())
        without = lacks_avx("JAX", self.name)
        if without is not None:
            return without
        driver, built_for = f"JAX {version}", jax_cuda()
        cpu = cpu_device(
            self.name, driver, threads=self.threads, precisions=CPU_PRECISIONS, models=MODELS
        )
        if built_for is None:
            return (cpu,)
        driver += f" for CUDA {built_for}"
        return (cpu, *gpu_devices(self.name, driver, precisions=GPU_PRECISIONS, models=MODELS))

    def runner(self, plan: Plan, device: DeviceInfo) -> Runner:
        """Return a runner for one model."""
        kind = JaxCudaRunner if device.kind == "gpu" else JaxCpuRunner
        return kind(plan, device, self.threads)

    def versions(self) -> dict[str, str]:
        """Return JAX's version."""
        version = jax_version()
        return {} if version is None else {"jax": version}


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
