"""Which devices PyTorch can use, found without importing it, because that takes seconds."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
from importlib import import_module
from pathlib import Path
from typing import ClassVar

from gpuexplorer.backends.base import Backend, Runner
from gpuexplorer.backends.caches import last_level_cache_B
from gpuexplorer.backends.cpu import (
    cpu_hardware_id,
    cpu_name,
    memory_total_B,
    nominal_clock_Hz,
)
from gpuexplorer.backends.cuda import driver as cuda
from gpuexplorer.backends.frameworks import missing
from gpuexplorer.backends.torch.formats import MODELS, cpu_precisions, gpu_precisions
from gpuexplorer.backends.torch.load import load
from gpuexplorer.backends.torch.model_runner import TorchCpuModelRunner, TorchCudaModelRunner
from gpuexplorer.backends.torch.runner import TorchCpuRunner, TorchCudaRunner
from gpuexplorer.core.device import DeviceInfo, DeviceLimits, Unavailable
from gpuexplorer.workloads.frameworks import OWN_MODELS, family_of, is_own
from gpuexplorer.workloads.library import calls_of
from gpuexplorer.workloads.models import MODELS as FAMILIES
from gpuexplorer.workloads.plan import Plan


class TorchBackend(Backend):
    """The devices of the PyTorch that is installed: ``torch:cpu`` and ``torch:cuda:N``."""

    name: ClassVar[str] = "torch"

    def discover(self) -> tuple[DeviceInfo, ...] | Unavailable:
        """Return the CPU, and NVIDIA's devices when this PyTorch is built for CUDA."""
        version = torch_version()
        if version is None:
            return missing(self.name, "PyTorch", "torch")
        return (self._cpu(version), *self._gpus(version))

    def _cpu(self, version: str) -> DeviceInfo:
        return DeviceInfo(
            id="torch:cpu",
            hardware_id=cpu_hardware_id(),
            name=cpu_name(),
            backend=self.name,
            kind="cpu",
            driver=f"PyTorch {version}",
            compute_units=self.threads,
            last_level_cache_B=last_level_cache_B(),
            nominal_clock_Hz=nominal_clock_Hz(),
            limits=DeviceLimits(memory_B=memory_total_B()),
            precisions=cpu_precisions(version),
            libraries=self._offered,
            threads=self.threads,
        )

    def _gpus(self, version: str) -> tuple[DeviceInfo, ...]:
        built_for = torch_cuda()
        library = cuda.Driver.load() if built_for is not None else None
        if library is None:
            return ()
        try:
            facts = cuda.Driver(library).devices()
        except cuda.DriverError:
            return ()  # the cuda backend says what is wrong with the driver
        return tuple(
            DeviceInfo(
                id=f"torch:cuda:{device.index}",
                hardware_id=device.uuid,
                name=device.name,
                backend=self.name,
                kind="gpu",
                driver=f"PyTorch {version} for CUDA {built_for}",
                compute_units=device.needed(cuda.MULTIPROCESSORS),
                last_level_cache_B=device.attribute(cuda.L2_CACHE_B),
                nominal_clock_Hz=device.clock_Hz,
                limits=DeviceLimits(memory_B=device.memory_B),
                precisions=gpu_precisions(device.capability),
                libraries=self._offered,
                compute_capability=device.capability,
            )
            for device in facts
        )

    @property
    def _offered(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*calls_of(self.name), *MODELS, *OWN_MODELS)))

    def runner(self, plan: Plan, device: DeviceInfo) -> Runner:
        """Return a runner for one library call or one model.

        PyTorch is imported here, so that its seconds stand in no phase of the run.
        """
        load()
        if is_own(plan.model):
            from gpuexplorer.backends.torch.own_model_runner import OwnCpuRunner, OwnCudaRunner

            own = OwnCudaRunner if device.kind == "gpu" else OwnCpuRunner
            return own(plan, device, self.threads)
        if plan.model is not None:
            if FAMILIES[family_of(plan.model)].trains:
                import_module("torch._dynamo")  # as the first optimiser does, which takes seconds
            kind = TorchCudaModelRunner if device.kind == "gpu" else TorchCpuModelRunner
            return kind(plan, device, self.threads)
        if device.kind == "gpu":
            return TorchCudaRunner(plan, device)
        return TorchCpuRunner(plan, device, self.threads)

    def memory_free_B(self, device: DeviceInfo) -> int | None:
        """Return what is free, on a GPU with what PyTorch holds and nobody uses."""
        if device.kind == "cpu":
            return super().memory_free_B(device)
        place = device.id.partition(":")[2]
        cuda = load().cuda
        try:
            free_B, _ = cuda.mem_get_info(place)
        except RuntimeError:  # the run itself says what is wrong with the device
            return None
        return int(free_B + cuda.memory_reserved(place) - cuda.memory_allocated(place))

    def versions(self) -> dict[str, str]:
        """Return PyTorch's version and, where it has one, its CUDA's."""
        found = {"torch": torch_version(), "cuda": torch_cuda()}
        return {name: version for name, version in found.items() if version is not None}


def torch_version() -> str | None:
    """Return the installed PyTorch's version, or None."""
    try:
        if importlib.util.find_spec("torch") is None:
            return None
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return None


def torch_cuda() -> str | None:
    """Return the CUDA version that the installed PyTorch is built for, or None."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    try:
        text = (Path(spec.origin).parent / "version.py").read_text(encoding="utf-8")
    except OSError:
        return None
    match = re.search(r"^cuda\b[^=\n]*=\s*['\"]([\d.]+)['\"]", text, re.MULTILINE)
    return match[1] if match else None
