"""The little that discovery asks NVML for; without NVML it is not known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_T = TypeVar("_T")


def _ask(question: Callable[[Any], _T]) -> _T | None:
    """Return NVML's answer, or None when NVML is not there or cannot answer."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    try:
        return question(pynvml)
    except pynvml.NVMLError:
        return None
    finally:
        pynvml.nvmlShutdown()


def driver_version() -> str | None:
    """Return the driver's own version, such as ``580.159.03``."""
    return _ask(lambda nvml: str(nvml.nvmlSystemGetDriverVersion()))


def memory_clock_and_width(uuid: str) -> tuple[int | None, int | None]:
    """Return the highest memory clock in kHz and the bus width in bits."""

    def ask(nvml: Any) -> tuple[int, int]:
        handle = nvml.nvmlDeviceGetHandleByUUID(uuid)
        clock_MHz = int(nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_MEM))
        return clock_MHz * 1000, int(nvml.nvmlDeviceGetMemoryBusWidth(handle))

    return _ask(ask) or (None, None)
