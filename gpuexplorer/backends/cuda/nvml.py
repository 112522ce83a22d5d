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


def uuids_and_clocks(uuids: list[str]) -> list[tuple[str, float | None]]:
    """Return each UUID as ``known_as`` does, with the highest clock of the multiprocessors in Hz.

    A clock is None where NVML is not there or cannot tell it.
    """
    found = _ask(lambda nvml: [_uuid_and_clock(nvml, uuid) for uuid in uuids])
    return found or [(uuid, None) for uuid in uuids]


def known_as(uuid: str) -> str:
    """Return a UUID with the prefix under which NVML knows it, ``GPU-`` or ``MIG-``.

    ``uuid`` has the likelier prefix, and keeps it where NVML is not there or knows neither.
    """
    return _ask(lambda nvml: _known_as(nvml, uuid)) or uuid


def max_clock_Hz(uuid: str) -> float | None:
    """Return the highest clock of the multiprocessors."""
    return _ask(lambda nvml: _max_clock_Hz(nvml, uuid))


def memory_clock_and_width(uuid: str) -> tuple[int | None, int | None]:
    """Return the highest memory clock in kHz and the bus width in bits."""

    def ask(nvml: Any) -> tuple[int, int]:
        handle = _gpu(nvml, uuid)
        clock_MHz = int(nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_MEM))
        return clock_MHz * 1000, int(nvml.nvmlDeviceGetMemoryBusWidth(handle))

    return _ask(ask) or (None, None)


def _uuid_and_clock(nvml: Any, uuid: str) -> tuple[str, float | None]:
    known = _known_as(nvml, uuid)
    try:
        return known, _max_clock_Hz(nvml, known)
    except nvml.NVMLError:
        return known, None


def _known_as(nvml: Any, uuid: str) -> str:
    prefix, _, number = uuid.partition("-")
    for candidate in (uuid, f"GPU-{number}" if prefix == "MIG" else f"MIG-{number}"):
        try:
            nvml.nvmlDeviceGetHandleByUUID(candidate)
        except nvml.NVMLError:
            continue
        return candidate
    return uuid


def _max_clock_Hz(nvml: Any, uuid: str) -> float | None:
    return float(nvml.nvmlDeviceGetMaxClockInfo(_gpu(nvml, uuid), nvml.NVML_CLOCK_SM)) * 1e6 or None


def _gpu(nvml: Any, uuid: str) -> Any:
    """Return the handle of the GPU; of a MIG instance's parent, which alone has clocks."""
    handle = nvml.nvmlDeviceGetHandleByUUID(uuid)
    return (
        nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle) if uuid[:4] == "MIG-" else handle
    )
