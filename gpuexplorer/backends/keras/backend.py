"""Which devices Keras can use: those of the framework it is set to, found without an import."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, NamedTuple

from gpuexplorer.backends.base import Backend, Runner
from gpuexplorer.backends.framework_backend import model_cpu, model_gpus
from gpuexplorer.backends.frameworks import lacks_avx, missing, pip_install, version_of
from gpuexplorer.backends.jax.backend import jax_cuda, jax_package, jax_version
from gpuexplorer.backends.keras.runner import KerasCpuRunner, KerasCudaRunner
from gpuexplorer.backends.tensorflow.backend import (
    tensorflow_cuda,
    tensorflow_package,
    tensorflow_version,
)
from gpuexplorer.backends.torch.backend import torch_cuda, torch_version
from gpuexplorer.core.device import DeviceInfo, Unavailable
from gpuexplorer.core.units import listed
from gpuexplorer.workloads.frameworks import FRAMEWORKS
from gpuexplorer.workloads.plan import Plan

DEFAULT = "tensorflow"
"""What Keras takes by default."""


class FrameworkInfo(NamedTuple):
    """A framework that Keras can compute with."""

    version: Callable[[], str | None]
    cuda: Callable[[], object]
    """The CUDA that it is built for; None for a build for the CPU."""
    package: Callable[[], str]
    """What to install on this machine."""


FRAMEWORK_INFO: dict[str, FrameworkInfo] = {
    "tensorflow": FrameworkInfo(tensorflow_version, tensorflow_cuda, tensorflow_package),
    "torch": FrameworkInfo(torch_version, torch_cuda, lambda: "torch"),
    "jax": FrameworkInfo(jax_version, jax_cuda, jax_package),
}


class KerasBackend(Backend):
    """Keras on the devices of the framework that it is set to."""

    name: ClassVar[str] = "keras"

    def discover(self) -> tuple[DeviceInfo, ...] | Unavailable:
        """Return the CPU, and NVIDIA's devices when that framework is built for CUDA."""
        version, chosen = keras_version(), keras_backend()
        if version is None:
            return missing(self.name, "Keras", "keras", *_default_framework())
        if chosen not in FRAMEWORK_INFO:
            return Unavailable(
                backend=self.name,
                reason=f"Keras is set to the backend '{chosen}', which trains no models",
                remedy=f"set KERAS_BACKEND to one of {', '.join(FRAMEWORK_INFO)}",
            )
        framework = FRAMEWORK_INFO[chosen].version()
        if framework is None:
            return _without(chosen)
        if chosen != "torch" and (without := lacks_avx(FRAMEWORKS[chosen], self.name)) is not None:
            return without
        driver = f"Keras {version} on {FRAMEWORKS[chosen]} {framework}"
        # On the others Keras computes fp64 in fp32, without a word.
        lacks = () if chosen == "tensorflow" else ("fp64",)
        cpu = model_cpu(self.name, driver, self.threads, without=lacks)
        if FRAMEWORK_INFO[chosen].cuda() is None:
            return (cpu,)
        return (cpu, *model_gpus(self.name, driver, without=lacks))

    def runner(self, plan: Plan, device: DeviceInfo) -> Runner:
        """Return a runner for one model."""
        kind = KerasCudaRunner if device.kind == "gpu" else KerasCpuRunner
        return kind(plan, device, self.threads, keras_backend())

    def versions(self) -> dict[str, str]:
        """Return Keras's version with its framework, and that framework's."""
        version, chosen = keras_version(), keras_backend()
        if version is None:
            return {}
        found = {"keras": f"{version} on {chosen}"}
        framework = FRAMEWORK_INFO[chosen].version() if chosen in FRAMEWORK_INFO else None
        return found if framework is None else {**found, chosen: framework}


def keras_version() -> str | None:
    """Return the installed Keras's version, or None; Keras 2 counts as none."""
    version = version_of("keras", "keras", "keras-nightly")
    return None if version is not None and version.startswith("2.") else version


def keras_backend() -> str:
    """Return the framework that Keras is set to: by the environment, its settings file, or none."""
    chosen = os.environ.get("KERAS_BACKEND")
    if chosen:
        return chosen
    home = os.environ.get("KERAS_HOME")
    folder = Path(home) if home else Path.home() / ".keras"
    try:
        settings = json.loads((folder / "keras.json").read_text(encoding="utf-8"))
        return str(settings.get("backend", DEFAULT))
    except (OSError, ValueError, AttributeError):
        return DEFAULT


def _default_framework() -> tuple[str, ...]:
    """Return what to install beside Keras where no framework is there for it to compute with."""
    return () if any(b.version() for b in FRAMEWORK_INFO.values()) else (tensorflow_package(),)


def _without(chosen: str) -> Unavailable:
    """Return the answer of a Keras whose framework is not installed."""
    others = [name for name, one in FRAMEWORK_INFO.items() if one.version() is not None]
    command = pip_install(FRAMEWORK_INFO[chosen].package())
    remedy = f"install it with {command}"
    if others:
        names = listed(others, "{names} or {last}")
        remedy = f"install it with {command}, or set KERAS_BACKEND to {names}"
    return Unavailable(
        backend=KerasBackend.name,
        reason=f"Keras is set to {FRAMEWORKS[chosen]}, which is not installed",
        remedy=remedy,
    )
