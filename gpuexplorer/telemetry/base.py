"""The interface of a telemetry source."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.sample import Reading


class TelemetrySource(ABC):
    """Reads one device's state, quickly and without disturbing it."""

    name: ClassVar[str]
    """Shown beside the numbers, such as ``nvml``."""

    @classmethod
    @abstractmethod
    def open(cls, device: DeviceInfo) -> TelemetrySource | None:
        """Return a source for this device, matched by UUID or PCI address, or None."""

    @abstractmethod
    def read(self) -> Reading:
        """Read everything once; what cannot be read is None."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the device."""
