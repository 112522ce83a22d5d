"""A framework as a backend: found without an import, with one build for the CPU or for CUDA."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from gpuexplorer.backends.base import Backend, Runner
from gpuexplorer.backends.framework_model import CPU_PRECISIONS, GPU_PRECISIONS
from gpuexplorer.backends.framework_runner import StartedRunner
from gpuexplorer.backends.frameworks import cpu_device, gpu_devices, lacks_avx, missing
from gpuexplorer.backends.models import offered_by
from gpuexplorer.core.device import DeviceInfo, Unavailable
from gpuexplorer.workloads.plan import Plan


class FrameworkBackend(Backend):
    """The devices of the framework that is installed: the CPU, and NVIDIA's with its CUDA build."""

    title: ClassVar[str]
    on_cpu: ClassVar[type[StartedRunner]]
    on_gpu: ClassVar[type[StartedRunner]]

    @abstractmethod
    def version(self) -> str | None:
        """Return the installed framework's version, or None."""

    @abstractmethod
    def built_for(self) -> object | None:
        """Return the CUDA that it is built for; None for a build for the CPU."""

    @abstractmethod
    def package(self) -> str:
        """Return what to install on this machine."""

    def discover(self) -> tuple[DeviceInfo, ...] | Unavailable:
        """Return the CPU, and NVIDIA's devices when the framework is built for CUDA."""
        version = self.version()
        if version is None:
            return missing(self.name, self.title, self.package())
        without = lacks_avx(self.title, self.name)
        if without is not None:
            return without
        driver, built_for = f"{self.title} {version}", self.built_for()
        cpu = model_cpu(self.name, driver, self.threads)
        if built_for is None:
            return (cpu,)
        return (cpu, *model_gpus(self.name, f"{driver} for CUDA {built_for}"))

    def runner(self, plan: Plan, device: DeviceInfo) -> Runner:
        """Return a runner for one model."""
        kind = self.on_gpu if device.kind == "gpu" else self.on_cpu
        return kind(plan, device, self.threads)

    def versions(self) -> dict[str, str]:
        """Return the framework's version."""
        version = self.version()
        return {} if version is None else {self.name: version}


def model_cpu(
    backend: str, driver: str, threads: int, *, without: Iterable[str] = ()
) -> DeviceInfo:
    """Return the CPU with the shipped models, in all precisions ``without`` some."""
    precisions = [p for p in CPU_PRECISIONS if p not in without]
    models = offered_by(backend)
    return cpu_device(backend, driver, threads=threads, precisions=precisions, models=models)


def model_gpus(backend: str, driver: str, *, without: Iterable[str] = ()) -> tuple[DeviceInfo, ...]:
    """Return NVIDIA's devices with the shipped models, in all precisions ``without`` some."""

    def precisions(capability: tuple[int, int]) -> tuple[str, ...]:
        lacks = (*without, *(() if capability >= (8, 0) else ("tf32",)))
        return tuple(p for p in GPU_PRECISIONS if p not in lacks)

    return gpu_devices(backend, driver, precisions=precisions, models=offered_by(backend))
