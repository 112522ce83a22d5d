"""Which devices PyTorch can use, found without importing it, because that takes seconds."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
from importlib import import_module
from pathlib import Path
from typing import ClassVar

from gpuexplorer.backends.base import Backend, Runner
from gpuexplorer.backends.frameworks import cpu_device, gpu_devices, missing
from gpuexplorer.backends.torch.formats import MODELS, cpu_precisions, gpu_precisions
from gpuexplorer.backends.torch.load import load
from gpuexplorer.backends.torch.model_runner import TorchCpuModelRunner, TorchCudaModelRunner
from gpuexplorer.backends.torch.runner import TorchCpuRunner, TorchCudaRunner
from gpuexplorer.core.device import DeviceInfo, Unavailable
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
        driver, built_for, models = f"PyTorch {version}", torch_cuda(), self._offered
        cpu = cpu_device(
            self.name,
            driver,
            threads=self.threads,
            precisions=cpu_precisions(version),
            models=models,
        )
        if built_for is None:
            return (cpu,)
        driver = f"{driver} for CUDA {built_for}"
        return (cpu, *gpu_devices(self.name, driver, precisions=gpu_precisions, models=models))

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
        """Return what is free, on a GPU with what PyTorch holds without using it."""
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
