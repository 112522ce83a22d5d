"""The interface of a telemetry source."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import msgspec

from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.sample import Reading


class Refusal(msgspec.Struct, frozen=True):
    """Why a source that is meant for this kind of device gives nothing, and what enables it."""

    reason: str
    remedy: str = ""


class TelemetrySource(ABC):
    """Reads one device's state, quickly and without disturbing it."""

    name: ClassVar[str]
    """Shown beside the numbers, such as ``nvml``."""
    title: ClassVar[str] = ""
    """What it is called in a list of sources."""
    offers: ClassVar[tuple[str, ...]] = ()
    """Fields of a reading that it gives where device and driver can."""
    rests_s: ClassVar[float] = 0.0
    """How far apart two readings lie at least that tell everything."""

    @classmethod
    @abstractmethod
    def open(cls, device: DeviceInfo) -> TelemetrySource | Refusal | None:
        """Return a source for this device, matched by UUID or PCI address.

        A Refusal when it is meant for such a device and does not work here; None when it is meant
        for other kinds of device.
        """

    @abstractmethod
    def read(self) -> Reading:
        """Read everything once; what cannot be read is None, its reason in ``missing``, once."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the device."""
