"""Which devices TensorFlow can use, found without importing it, because that takes seconds."""

from __future__ import annotations

import platform
import re
import sys
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
from gpuexplorer.backends.models import MODEL_NAMES
from gpuexplorer.backends.tensorflow.runner import TensorFlowCpuRunner, TensorFlowCudaRunner
from gpuexplorer.core.device import DeviceInfo, Unavailable
from gpuexplorer.workloads.plan import Plan

MODELS = tuple(f"tensorflow.{name}" for name in MODEL_NAMES)
DISTRIBUTIONS = ("tensorflow", "tensorflow-cpu", "tensorflow-macos", "tf-nightly", "tf-nightly-cpu")


class TensorFlowBackend(Backend):
    """The devices of the TensorFlow that is installed."""

    name: ClassVar[str] = "tensorflow"

    def discover(self) -> tuple[DeviceInfo, ...] | Unavailable:
        """Return the CPU, and NVIDIA's devices when this TensorFlow is built for CUDA."""
        version = tensorflow_version()
        if version is None:
            return missing(self.name, "TensorFlow", tensorflow_package())
        without = lacks_avx("TensorFlow", self.name)
        if without is not None:
            return without
        driver, built_for = f"TensorFlow {version}", tensorflow_cuda()
        cpu = cpu_device(
            self.name, driver, threads=self.threads, precisions=CPU_PRECISIONS, models=MODELS
        )
        if built_for is None:
            return (cpu,)
        driver += f" for CUDA {built_for}"
        return (cpu, *gpu_devices(self.name, driver, precisions=GPU_PRECISIONS, models=MODELS))

    def runner(self, plan: Plan, device: DeviceInfo) -> Runner:
        """Return a runner for one model."""
        kind = TensorFlowCudaRunner if device.kind == "gpu" else TensorFlowCpuRunner
        return kind(plan, device, self.threads)

    def versions(self) -> dict[str, str]:
        """Return TensorFlow's version."""
        version = tensorflow_version()
        return {} if version is None else {"tensorflow": version}


def tensorflow_version() -> str | None:
    """Return the installed TensorFlow's version, or None."""
    return version_of("tensorflow", *DISTRIBUTIONS)


def tensorflow_cuda() -> str | None:
    """Return the CUDA version that the installed TensorFlow is built for, or None."""
    folder = module_folder("tensorflow")
    if folder is None:
        return None
    try:
        text = (folder / "python" / "platform" / "build_info.py").read_text(encoding="utf-8")
    except OSError:
        return None
    if not re.search(r"is_cuda_build['\"],\s*True", text):
        return None
    version = re.search(r"cuda_version['\"],\s*['\"]([\d.]+)", text)
    return version[1] if version else "of an unknown version"


def tensorflow_package() -> str:
    """Return what to install for this machine: with CUDA's libraries where there is a driver."""
    driver = cuda_of_driver()
    if driver is not None and driver >= 12 and sys.platform == "linux":
        return "tensorflow[and-cuda]"
    intel = platform.machine().lower() in ("x86_64", "amd64")
    return "tensorflow-cpu" if intel and sys.platform == "linux" else "tensorflow"
