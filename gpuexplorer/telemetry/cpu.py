"""The processor as a device: clock, load, temperature, and the memory this process uses."""

from __future__ import annotations

import sys
import time
from typing import Any, ClassVar

from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.sample import Reading
from gpuexplorer.telemetry.base import Refusal, TelemetrySource

SLOW_EVERY_S = 1.0
"""Clock and temperature are asked this seldom: on Linux each core is interrupted for its clock."""
NO_SENSOR = {
    "darwin": "macOS shows no temperature to programs like this",
    "win32": "Windows shows no temperature to programs like this",
}
_SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "cpu-thermal", "acpitz")


class CpuSource(TelemetrySource):
    """The machine's processor, through psutil."""

    name: ClassVar[str] = "cpu"
    title: ClassVar[str] = "system"
    offers: ClassVar[tuple[str, ...]] = ("sm_clock_Hz", "temperature_C", "memory_used_B", "load")

    def __init__(self, psutil: Any) -> None:
        """``psutil`` is the module of that name."""
        self._psutil = psutil
        self._process = psutil.Process()
        self._slow: tuple[float | None, float | None] = (None, None)
        self._slow_at = -SLOW_EVERY_S
        self._said = False
        psutil.cpu_percent(None)  # the load is counted from here

    @classmethod
    def open(cls, device: DeviceInfo) -> CpuSource | Refusal | None:
        """Return a source for the processor."""
        if device.kind != "cpu":
            return None
        try:
            import psutil
        except ImportError:
            return Refusal("psutil is not installed", "pip install psutil")
        return cls(psutil)

    def read(self) -> Reading:
        """Read everything once; ``load`` is the whole machine's since the last reading."""
        t_ns = time.perf_counter_ns()
        now = time.monotonic()
        if now - self._slow_at >= SLOW_EVERY_S:
            self._slow, self._slow_at = (self._clock_Hz(), self._temperature_C()), now
        clock_Hz, temperature_C = self._slow
        missing = {}
        if not self._said:
            self._said = True
            if clock_Hz is None:
                missing["sm_clock_Hz"] = "the system does not report the cores' clock"
            if temperature_C is None:
                missing["temperature_C"] = NO_SENSOR.get(
                    sys.platform, "no sensor of the processor can be read, as in virtual machines"
                )
        return Reading(
            t_ns=t_ns,
            source=self.name,
            sm_clock_Hz=clock_Hz,
            temperature_C=temperature_C,
            memory_used_B=float(self._process.memory_info().rss),
            load=min(1.0, self._psutil.cpu_percent(None) / 100),
            missing=missing,
        )

    def close(self) -> None:
        """Nothing is held."""

    def _clock_Hz(self) -> float | None:
        """Return the mean clock of the cores."""
        try:
            found = self._psutil.cpu_freq()
        except (AttributeError, OSError, NotImplementedError, RuntimeError):
            return None
        return found.current * 1e6 if found is not None and found.current else None

    def _temperature_C(self) -> float | None:
        """Return the hottest sensor of the processor."""
        try:
            sensors = self._psutil.sensors_temperatures()
        except (AttributeError, OSError, RuntimeError):
            return None  # psutil has this on Linux and FreeBSD only
        for name in _SENSORS:
            values = [entry.current for entry in sensors.get(name, []) if entry.current]
            if values:
                return float(max(values))
        return None
