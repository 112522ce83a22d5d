"""The little that discovery asks NVML for; without NVML it is not known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from gpuexplorer.backends.cuda.driver import DeviceFacts

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


def completed(found: list[DeviceFacts]) -> list[DeviceFacts]:
    """Return the devices with UUIDs that NVML knows, and with their highest clock."""
    return _ask(lambda nvml: [_completed(nvml, facts) for facts in found]) or found


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


def _completed(nvml: Any, facts: DeviceFacts) -> DeviceFacts:
    uuid = _known_as(nvml, facts.uuid)
    try:
        return replace(facts, uuid=uuid, max_clock_Hz=_max_clock_Hz(nvml, uuid))
    except nvml.NVMLError:
        return replace(facts, uuid=uuid)


def _known_as(nvml: Any, uuid: str) -> str:
    prefix, _, number = uuid.partition("-")
    for candidate in (uuid, f"{'GPU' if prefix == 'MIG' else 'MIG'}-{number}"):
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
