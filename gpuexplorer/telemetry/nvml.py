"""NVIDIA's management library: clocks, power, energy, temperature, load, throttle reasons, PCIe."""

from __future__ import annotations

import ctypes
import logging
import re
import time
from collections.abc import Callable
from typing import Any, ClassVar

import msgspec

from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.sample import Reading
from gpuexplorer.telemetry.base import Refusal, TelemetrySource
from gpuexplorer.telemetry.device_users import DeviceUsers

_log = logging.getLogger(__name__)
_PCI = re.compile(r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")

TOTAL_ENERGY, POWER_AVERAGE, POWER_INSTANT, PCIE_TX, PCIE_RX = 83, 185, 186, 197, 198
"""``NVML_FI_DEV_...`` numbers of nvml.h: mJ, mW, mW, and bytes since the driver was loaded."""
NOT_INSTALLED = Refusal("nvidia-ml-py is not installed", "pip install nvidia-ml-py")
ALLOW_COUNTERS = (
    "allow GPU counters to every user: 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' in "
    "a file of /etc/modprobe.d and a restart; on Windows, 'Manage GPU Performance Counters' in "
    "the NVIDIA Control Panel"
)
_UNSIGNED_INT, _UNSIGNED_LONG, _UNSIGNED_LONG_LONG, _SIGNED_INT = 1, 2, 3, 5
_VALUE_MEMBERS = {
    0: "dVal", _UNSIGNED_INT: "uiVal", _UNSIGNED_LONG: "ulVal", _UNSIGNED_LONG_LONG: "ullVal",
    4: "sllVal", _SIGNED_INT: "siVal", 6: "usVal",
}  # fmt: skip
_VALUE_BITS = {
    _UNSIGNED_INT: 32, _SIGNED_INT: 32, _UNSIGNED_LONG_LONG: 64, 4: 64,
    _UNSIGNED_LONG: 8 * ctypes.sizeof(ctypes.c_ulong),
}  # fmt: skip
"""Of the types that a byte counter may have."""
WHOLE_GPU = "nvml of the whole GPU"
"""Who says what of a MIG instance only its parent knows."""
PARENTS_FIELDS = (
    "sm_clock_Hz", "memory_clock_Hz", "power_W", "temperature_C", "throttle_reasons",
    "pcie_rx_B_per_s", "pcie_tx_B_per_s",
)  # fmt: skip
READ_EVERY_S = 0.1
"""Readings are no closer than this."""

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
    return (*words, f"reason {unknown:#x}") if unknown else tuple(words)


def field_number(field: Any) -> float | None:
    """Return the number of a field value, or None when NVML could not read it."""
    if field.nvmlReturn != 0 or field.valueType not in _VALUE_MEMBERS:
        return None
    return float(getattr(field.value, _VALUE_MEMBERS[field.valueType]))


class NvmlHandle(msgspec.Struct, frozen=True):
    """A device as NVML knows it; NVML counts how often it was initialised."""

    nvml: Any
    """The module ``pynvml``."""
    handle: Any
    gpu: Any
    """The handle of the GPU: of a MIG instance's parent, which alone has clocks."""
    is_mig: bool = False

    def close(self) -> None:
        """Let go of NVML."""
        try:
            self.nvml.nvmlShutdown()
        except self.nvml.NVMLError as error:
            _log.info("closing NVML: %s", error)


def load_nvml(device: DeviceInfo) -> Any | Refusal | None:
    """Return the module ``pynvml`` for a GPU; None for a device that is not NVIDIA's."""
    if device.kind != "gpu":
        return None
    try:
        import pynvml
    except ImportError:
        return NOT_INSTALLED if device.hardware_id.startswith(("GPU-", "MIG-")) else None
    return pynvml


def open_handle(nvml: Any, device: DeviceInfo) -> NvmlHandle | Refusal | None:
    """Return the device that NVML knows by the same UUID or PCI address, never by its index.

    None for hardware that is not NVIDIA's.
    """
    by_uuid = device.hardware_id.startswith(("GPU-", "MIG-"))
    if not by_uuid and not _PCI.fullmatch(device.hardware_id):
        return None
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        refusal = Refusal(f"NVML does not start: {error}", "install NVIDIA's driver")
        return refusal if by_uuid else None
    lookup = nvml.nvmlDeviceGetHandleByUUID if by_uuid else nvml.nvmlDeviceGetHandleByPciBusId
    is_mig = device.hardware_id.startswith("MIG-")
    try:
        found = lookup(device.hardware_id)
        parent = nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(found) if is_mig else found
    except nvml.NVMLError as error:
        nvml.nvmlShutdown()
        return Refusal(f"NVML does not know {device.hardware_id}: {error}") if by_uuid else None
    return NvmlHandle(nvml, found, parent, is_mig)


class NvmlSource(TelemetrySource):
    """One GPU by NVML."""

    name: ClassVar[str] = "nvml"
    title: ClassVar[str] = "NVML"
    offers: ClassVar[tuple[str, ...]] = (
        "sm_clock_Hz", "memory_clock_Hz", "power_W", "temperature_C", "memory_used_B", "load",
        "users", "throttle_reasons", "energy_J", "pcie_rx_B_per_s", "pcie_tx_B_per_s",
    )  # fmt: skip

    def __init__(self, opened: NvmlHandle) -> None:
        self._opened = opened
        self._nvml = opened.nvml
        self._unsupported: set[str] = set()
        self._news: dict[str, str] = {}
        if opened.is_mig:
            self._news["energy_J"] = (
                "NVML counts the energy of the whole GPU, which other instances use, too"
            )
        self._users = DeviceUsers(self._nvml, opened.handle)
        most_B_per_s = self._link_B_per_s()
        self._pcie = {number: ByteCounter(most_B_per_s) for number in (PCIE_TX, PCIE_RX)}

    @classmethod
    def open(cls, device: DeviceInfo) -> NvmlSource | Refusal | None:
        """Return a source for an NVIDIA GPU, matched by UUID or PCI address."""
        nvml = load_nvml(device)
        return nvml if nvml is None or isinstance(nvml, Refusal) else cls.find(nvml, device)

    @classmethod
    def find(cls, nvml: Any, device: DeviceInfo) -> NvmlSource | Refusal | None:
        """Return the source of the device that NVML knows by the same UUID or PCI address."""
        opened = open_handle(nvml, device)
        return cls(opened) if isinstance(opened, NvmlHandle) else opened

    def read(self) -> Reading:
        """Read everything once; what cannot be read is None."""
        t_ns = time.perf_counter_ns()
        nvml = self._nvml
        fields = self._fields()  # at once, so that the energy belongs to ``t_ns``
        sm_MHz = self._ask("sm_clock_Hz", ("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_SM))
        memory_MHz = self._ask("memory_clock_Hz", ("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_MEM))
        temperature_C = self._ask(
            "temperature_C",
            ("nvmlDeviceGetTemperatureV", nvml.NVML_TEMPERATURE_GPU),
            ("nvmlDeviceGetTemperature", nvml.NVML_TEMPERATURE_GPU),
        )
        own = self._opened.handle
        memory = self._ask("memory_used_B", ("nvmlDeviceGetMemoryInfo",), of=own)
        rates = self._ask("load", ("nvmlDeviceGetUtilizationRates",), of=own)
        bits = self._ask(
            "throttle_reasons",
            ("nvmlDeviceGetCurrentClocksEventReasons",),
            ("nvmlDeviceGetCurrentClocksThrottleReasons",),
        )
        power_W = self._power_W(fields)
        energy_J = None if self._opened.is_mig else self._energy_J(fields)
        pcie_rx_B_per_s = self._pcie_B_per_s("pcie_rx_B_per_s", PCIE_RX, fields, t_ns)
        pcie_tx_B_per_s = self._pcie_B_per_s("pcie_tx_B_per_s", PCIE_TX, fields, t_ns)
        users = self._users.read()
        if users is None and self._users.untold:
            self._say_once("users", self._users.untold)
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
            users=users,
            throttle_reasons=None if bits is None else throttle_words(int(bits)),
            energy_J=energy_J,
            pcie_rx_B_per_s=pcie_rx_B_per_s,
            pcie_tx_B_per_s=pcie_tx_B_per_s,
            sources=dict.fromkeys(PARENTS_FIELDS, WHOLE_GPU) if self._opened.is_mig else {},
            missing=news,
        )

    def close(self) -> None:
        """Let go of NVML."""
        self._opened.close()

    def _fields(self) -> dict[int, Any]:
        """Return the field values by number, of those that the device has; one call for all."""
        numbers = [POWER_INSTANT, POWER_AVERAGE, TOTAL_ENERGY, PCIE_TX, PCIE_RX]
        answer = self._ask("", ("nvmlDeviceGetFieldValues", numbers), key="fields")
        found = zip(numbers, answer or (), strict=False)
        return {number: field for number, field in found if field_number(field) is not None}

    def _power_W(self, fields: dict[int, Any]) -> float | None:
        """Return the power now; the driver's average where it has no momentary value."""
        for number in (POWER_INSTANT, POWER_AVERAGE):
            if number in fields:
                power_mW = field_number(fields[number])
                break
        else:
            power_mW = self._ask("power_W", ("nvmlDeviceGetPowerUsage",))
        return None if power_mW is None else power_mW / 1e3

    def _energy_J(self, fields: dict[int, Any]) -> float | None:
        """Return the energy since the driver was loaded."""
        if TOTAL_ENERGY in fields:
            energy_mJ = field_number(fields[TOTAL_ENERGY])
        else:
            energy_mJ = self._ask("energy_J", ("nvmlDeviceGetTotalEnergyConsumption",))
        return None if energy_mJ is None else energy_mJ / 1e3

    def _link_B_per_s(self) -> float | None:
        """Return the most that the PCIe link moves one way, None where NVML does not say."""
        generation = self._ask("", ("nvmlDeviceGetMaxPcieLinkGeneration",))
        lanes = self._ask("", ("nvmlDeviceGetMaxPcieLinkWidth",))
        return pcie_B_per_s(generation, lanes) if generation and lanes else None

    def _pcie_B_per_s(
        self, name: str, number: int, fields: dict[int, Any], t_ns: int
    ) -> float | None:
        """Return a direction's traffic since the last reading, from the link's byte counter.

        The older question (``nvmlDeviceGetPcieThroughput``) keeps the caller waiting for 20 ms
        and sees only those, so it is not asked.
        """
        field, counter = fields.get(number), self._pcie[number]
        bits = None if field is None else _VALUE_BITS.get(field.valueType)
        if field is None or bits is None:
            self._say_once(name, f"{self.title}: this GPU or driver has no PCIe byte counter")
            return None
        value_B = int(getattr(field.value, _VALUE_MEMBERS[field.valueType])) % (1 << bits)
        rate_B_per_s = counter.rate_B_per_s(t_ns, value_B, bits)
        if not counter.can_tell(READ_EVERY_S, bits):
            self._say_once(
                name, f"{self.title}: the link's byte counter may start over between two readings"
            )
        return rate_B_per_s

    def _say_once(self, field: str, why: str) -> None:
        if field not in self._unsupported:
            self._unsupported.add(field)
            self._news[field] = why

    def _ask(
        self, field: str, *calls: tuple[Any, ...], key: str | None = None, of: Any = None
    ) -> Any | None:
        """Return what the first call that works answers; None, said once, when none does.

        The one place where NVML's errors end. A call that this device does not support is not
        made again. ``of`` is the handle that is asked about, the GPU's by default.
        """
        handle = self._opened.gpu if of is None else of
        answer: Any = None
        reason = ""
        for function, *arguments in calls:
            name = key or f"{function}{arguments}"
            if name in self._unsupported:
                continue
            try:
                call: Callable[..., Any] = getattr(self._nvml, function)
                answer = call(handle, *arguments)
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


# ---- rates of counters
# The rate of a counter of bytes that starts over, now and then unseen.
#
# NVML's byte counters of the PCIe link "can be wrapped": seen are values below 4 GiB. A fast link
# moves that much between two readings. A rate is told only where no other is possible.


WRAP_B = 1 << 32
"""Where a counter of 32 bits starts over."""
MARGIN = 1.1
"""Readings are not exactly when the counter was read: a link may seem this much too fast."""


class ByteCounter:
    """One direction of a link that moves at most ``most_B_per_s``, None where that is not known."""

    def __init__(self, most_B_per_s: float | None) -> None:
        self._most_B_per_s = most_B_per_s
        self._before: tuple[int, int] | None = None
        self._is_wide = False

    def can_tell(self, interval_s: float, bits: int) -> bool:
        """Return whether readings so far apart give rates, from a value of so many bits."""
        most_B = self._most_B(interval_s)
        return (bits > 32 and self._is_wide) or (most_B is not None and most_B < WRAP_B)

    def rate_B_per_s(self, t_ns: int, value_B: int, bits: int) -> float | None:
        """Return the rate since the last reading, None where it cannot be told for certain.

        ``bits`` is the width of the value's type: 32, or 64, which says nothing of the counter
        until it was seen above 4 GiB. A counter of 32 bits may have started over once and no more;
        one of 64 that fell has begun anew.
        """
        before, self._before = self._before, (t_ns, value_B)
        self._is_wide = self._is_wide or (bits > 32 and value_B >= WRAP_B)
        if before is None or t_ns <= before[0]:
            return None
        interval_s = (t_ns - before[0]) * 1e-9
        if not self.can_tell(interval_s, bits):
            return None
        moved_B = value_B - before[1]
        if moved_B < 0 and bits == 32:
            moved_B += WRAP_B
        most_B = self._most_B(interval_s)
        if moved_B < 0 or (most_B is not None and moved_B > most_B):
            return None
        return moved_B / interval_s

    def _most_B(self, interval_s: float) -> float | None:
        most_B_per_s = self._most_B_per_s
        return None if most_B_per_s is None else MARGIN * most_B_per_s * interval_s


def pcie_B_per_s(generation: int, lanes: int) -> float:
    """Return the most that a PCIe link moves one way: 250 MB/s a lane, doubled each generation."""
    return 250e6 * 2.0 ** (generation - 1) * lanes
