"""Frameworks that the variants of a workload need: which are not here, and what brings them."""

from __future__ import annotations

import re

import msgspec

from gpuexplorer.core.device import DeviceList, Unavailable
from gpuexplorer.workloads.frameworks import FRAMEWORKS, framework_of
from gpuexplorer.workloads.manifest import VariantSpec
from gpuexplorer.workloads.workload import Workload

_COMMAND = re.compile(r"((?:[\w./\\:-]*python[\w.]* -m )?pip install [^'’;]+)")


class MissingFramework(msgspec.Struct, frozen=True):
    """A framework that a variant needs and that this engine does not have."""

    variant: str
    title: str
    """The framework's own name."""
    reason: str
    remedy: str

    @property
    def command(self) -> str | None:
        """The command that installs it, where the remedy names one."""
        found = _COMMAND.search(self.remedy)
        return found[1].strip(" .") if found else None

    @property
    def words(self) -> str:
        """What is missing and what helps, as a sentence without its stop."""
        return f"{self.reason}; {self.remedy}" if self.remedy else self.reason


def lacks_cuda(devices: DeviceList) -> bool:
    """Whether there is an NVIDIA driver with a GPU, and only a CuPy that fits it is missing."""
    return any(one.backend == "cuda" and "CuPy" in one.reason for one in devices.unavailable)


def missing_for(variant: VariantSpec, devices: DeviceList | None) -> Unavailable | None:
    """Return why a model's framework is not here; None where it is, or before it was looked for."""
    if variant.model is None or devices is None:
        return None
    framework = framework_of(variant.model)
    if any(device.backend == framework for device in devices.devices):
        return None
    return next((one for one in devices.unavailable if one.backend == framework), None)


def missing_frameworks(
    workload: Workload, devices: DeviceList | None
) -> tuple[MissingFramework, ...]:
    """Return the frameworks of a workload's variants that are not here, in the variants' order."""
    found: dict[str, MissingFramework] = {}
    for name, variant in workload.manifest.variants.items():
        missing = missing_for(variant, devices)
        if missing is not None:
            found.setdefault(
                missing.backend,
                MissingFramework(
                    name,
                    FRAMEWORKS.get(missing.backend, missing.backend),
                    missing.reason.rstrip("."),
                    missing.remedy.rstrip("."),
                ),
            )
    return tuple(found.values())
