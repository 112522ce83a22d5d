"""Which source reads a device: the first rung that can."""

from __future__ import annotations

from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.telemetry.base import TelemetrySource
from gpuexplorer.telemetry.cpu import CpuSource
from gpuexplorer.telemetry.nvml import NvmlSource

SOURCES: tuple[type[TelemetrySource], ...] = (NvmlSource, CpuSource)
"""Best first; a new source is a file and a line here."""


def open_source(device: DeviceInfo) -> TelemetrySource | None:
    """Return the best source for a device, or None when nothing can read it."""
    for source in SOURCES:
        opened = source.open(device)
        if opened is not None:
            return opened
    return None
