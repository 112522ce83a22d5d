"""NVIDIA's management library: clocks, power, temperature, memory, load, throttle reasons."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from typing import Any, ClassVar

from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.sample import Reading
from gpuexplorer.telemetry.base import TelemetrySource

_log = logging.getLogger(__name__)
_PCI = re.compile(r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")

POWER_INSTANT = 186
POWER_AVERAGE = 185
_UNSIGNED_INT, _UNSIGNED_LONG, _UNSIGNED_LONG_LONG, _SIGNED_INT = 1, 2, 3, 5
_VALUE_MEMBERS = {
    0: "dVal", _UNSIGNED_INT: "uiVal", _UNSIGNED_LONG: "ulVal", _UNSIGNED_LONG_LONG: "ullVal",
    4: "sllVal", _SIGNED_INT: "siVal", 6: "usVal",
}  # fmt: skip

THROTTLE_REASONS = {
    0x002: "application clocks",
    0x004: "power cap",
    0x008: "hardware slowdown",
    0x010: "sync boost",
    0x020: "temperature (driver)",
    0x040: "temperature (hardware)",
    0x080: "power brake",
    0x100: "display clocks",
    0x200: "board limit",
    0x400: "reliability",
}
"""Why a clock is held down, by NVML's bits. An idle GPU (bit 0x001) is not held down."""


def throttle_words(bits: int) -> tuple[str, ...]:
    """Return the reasons of a bit mask in words; a bit without a name by its value."""
    words = [word for bit, word in THROTTLE_REASONS.items() if bits & bit]
    unknown = bits & ~0x1 & ~sum(THROTTLE_REASONS)
    return (*words, f"reason 0x{unknown:x}") if unknown else tuple(words)


def field_number(field: Any) -> float | None:
    """Return the number of a field value, or None when NVML could not read it."""
    if field.nvmlReturn != 0:
        return None
    return float(getattr(field.value, _VALUE_MEMBERS[field.valueType]))


class NvmlSource(TelemetrySource):
    """One GPU by NVML."""

    name: ClassVar[str] = "nvml"

    def __init__(self, nvml: Any, handle: Any) -> None:
        """``nvml`` is the module ``pynvml``, initialised; ``handle`` the device's."""
        self._nvml = nvml
        self._handle = handle
        self._unsupported: set[str] = set()
        self._news: dict[str, str] = {}

    @classmethod
    def open(cls, device: DeviceInfo) -> NvmlSource | None:
        """Return a source for an NVIDIA GPU, matched by UUID or PCI address, or None."""
        if device.kind != "gpu":
            return None
        try:
            import pynvml
        except ImportError:
            return None
        return cls.find(pynvml, device)

    @classmethod
    def find(cls, nvml: Any, device: DeviceInfo) -> NvmlSource | None:
        """Return the source of the device that NVML knows by the same UUID or PCI address."""
        by_uuid = device.hardware_id.startswith(("GPU-", "MIG-"))
        if not by_uuid and not _PCI.fullmatch(device.hardware_id):
            return None
        try:
            nvml.nvmlInit()
        except nvml.NVMLError as error:
            _log.info("no telemetry from NVML: %s", error)
            return None
        lookup = nvml.nvmlDeviceGetHandleByUUID if by_uuid else nvml.nvmlDeviceGetHandleByPciBusId
        try:
            return cls(nvml, lookup(device.hardware_id))
        except nvml.NVMLError as error:
            _log.info("NVML does not know %s (%s): %s", device.id, device.hardware_id, error)
            nvml.nvmlShutdown()
            return None

    def read(self) -> Reading:
        """Read everything once; what cannot be read is None."""
        t_ns = time.perf_counter_ns()
        nvml = self._nvml
        sm_MHz = self._ask("sm_clock_Hz", ("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_SM))
        memory_MHz = self._ask("memory_clock_Hz", ("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_MEM))
        temperature_C = self._ask(
            "temperature_C",
            ("nvmlDeviceGetTemperatureV", nvml.NVML_TEMPERATURE_GPU),
            ("nvmlDeviceGetTemperature", nvml.NVML_TEMPERATURE_GPU),
        )
        memory = self._ask("memory_used_B", ("nvmlDeviceGetMemoryInfo",))
        rates = self._ask("load", ("nvmlDeviceGetUtilizationRates",))
        bits = self._ask(
            "throttle_reasons",
            ("nvmlDeviceGetCurrentClocksEventReasons",),
            ("nvmlDeviceGetCurrentClocksThrottleReasons",),
        )
        power_W = self._power_W()
        news, self._news = self._news, {}
        return Reading(
            t_ns=t_ns,
            source=self.name,
            sm_clock_Hz=None if sm_MHz is None else sm_MHz * 1e6,
            memory_clock_Hz=None if memory_MHz is None else memory_MHz * 1e6,
            power_W=power_W,
            temperature_C=None if temperature_C is None else float(temperature_C),
            memory_used_B=None if memory is None else float(memory.used),
            load=None if rates is None else rates.gpu / 100,
            throttle_reasons=None if bits is None else throttle_words(int(bits)),
            missing=news,
        )

    def close(self) -> None:
        """Let go of NVML."""
        try:
            self._nvml.nvmlShutdown()
        except self._nvml.NVMLError as error:
            _log.info("closing NVML: %s", error)

    def _power_W(self) -> float | None:
        """Return the power now; the driver's average where it has no momentary value."""
        for number in (POWER_INSTANT, POWER_AVERAGE):
            fields = self._ask("", ("nvmlDeviceGetFieldValues", [number]), key=f"field {number}")
            power_mW = None if fields is None else field_number(fields[0])
            if power_mW is not None:
                return power_mW / 1e3
            self._unsupported.add(f"field {number}")
        power_mW = self._ask("power_W", ("nvmlDeviceGetPowerUsage",))
        return None if power_mW is None else power_mW / 1e3

    def _ask(self, field: str, *calls: tuple[Any, ...], key: str | None = None) -> Any | None:
        """Return what the first call that works answers; None, said once, when none does.

        The one place where NVML's errors end. A call that this device does not support is not
        made again.
        """
        answer: Any = None
        reason = ""
        for function, *arguments in calls:
            name = key or f"{function}{arguments}"
            if name in self._unsupported:
                continue
            try:
                call: Callable[..., Any] = getattr(self._nvml, function)
                answer = call(self._handle, *arguments)
                return answer
            except AttributeError:
                reason = f"{function} is not in this pynvml"
                self._unsupported.add(name)
            except self._nvml.NVMLError as error:
                reason = f"{function}: {error}"
                if error.value in self._permanent:
                    self._unsupported.add(name)
        if reason and field:
            _log.info("%s is not available: %s", field, reason)
            self._news[field] = reason
        return None

    @property
    def _permanent(self) -> tuple[int, ...]:
        nvml = self._nvml
        return (
            nvml.NVML_ERROR_NOT_SUPPORTED,
            nvml.NVML_ERROR_NO_PERMISSION,
            nvml.NVML_ERROR_FUNCTION_NOT_FOUND,
            nvml.NVML_ERROR_INVALID_ARGUMENT,
        )
