"""The processor as a device: clock, load, temperature, and the memory this process uses."""

from __future__ import annotations

import sys
import time
from typing import Any, ClassVar, NamedTuple

from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.sample import Reading
from gpuexplorer.telemetry.base import Refusal, TelemetrySource

SLOW_EVERY_S = 1.0
"""Clock and temperature are asked this seldom: on Linux each core is interrupted for its clock."""
NO_SENSOR = {
    "darwin": "macOS shows no temperature to programs like this",
    "win32": "Windows shows no temperature to programs like this",
}
LEAST_LOOK_S = 0.5
"""Time over which the use of the processor by others is told."""
_SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "cpu-thermal", "acpitz")


class _Spent(NamedTuple):
    """Seconds of all cores together up to ``at_s``, and of this program's processes."""

    at_s: float
    busy_s: float
    own_s: float
    total_s: float
    stolen_s: float | None


class CpuSource(TelemetrySource):
    """The machine's processor, through psutil."""

    name: ClassVar[str] = "cpu"
    title: ClassVar[str] = "system"
    offers: ClassVar[tuple[str, ...]] = (
        "sm_clock_Hz", "temperature_C", "memory_used_B", "load", "other_cores", "stolen",
    )  # fmt: skip

    rests_s: ClassVar[float] = SLOW_EVERY_S + 0.01

    def __init__(self, psutil: Any) -> None:
        """``psutil`` is the module of that name."""
        self._psutil = psutil
        self._process = psutil.Process()
        self._slow: tuple[float | None, float | None] = (None, None)
        self._slow_at = -SLOW_EVERY_S
        self._said = False
        self._others: tuple[float | None, float | None] = (None, None)
        self._gone: type[Exception] = getattr(psutil, "Error", OSError)
        self._ours = [self._process, *self._parents()]
        self._spent = self._time_spent()
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
            self._look_at_others()
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
            other_cores=self._others[0],
            stolen=self._others[1],
            load=min(1.0, self._psutil.cpu_percent(None) / 100),
            missing=missing,
        )

    def close(self) -> None:
        """Nothing is held."""

    def _look_at_others(self) -> None:
        """Find out what was used by others since the last look."""
        before, self._spent = self._spent, self._time_spent()
        if before is None or self._spent is None:
            return
        passed = self._spent.at_s - before.at_s
        if passed < LEAST_LOOK_S:  # the system counts in hundredths of a second
            self._spent = before
            return
        busy, own = self._spent.busy_s - before.busy_s, self._spent.own_s - before.own_s
        total = self._spent.total_s - before.total_s
        stolen = None
        if self._spent.stolen_s is not None and before.stolen_s is not None and total > 0:
            stolen = min(max(self._spent.stolen_s - before.stolen_s, 0.0) / total, 1.0)
        self._others = max(busy - own, 0.0) / passed, stolen

    def _parents(self) -> list[Any]:
        """Return the process that this one measures for, where it is told."""
        try:
            parent = self._process.parent()
        except (AttributeError, OSError, RuntimeError, self._gone):
            return []
        return [parent] if parent is not None else []

    def _time_spent(self) -> _Spent | None:
        """Return the processor's time as it is spent by now; None where it is not told."""
        try:
            spent = self._psutil.cpu_times()._asdict()
            own = [process.cpu_times() for process in self._ours]
        except (AttributeError, OSError, RuntimeError):
            return None
        except self._gone:  # as the parent is: from here on without it
            self._ours = [self._process]
            return None
        for guest in ("guest", "guest_nice"):  # which Linux counts as user's as well
            spent.pop(guest, None)
        idle_s = spent.get("idle", 0.0) + spent.get("iowait", 0.0)
        total_s = sum(spent.values())
        stolen_s = spent.get("steal")
        busy_s = total_s - idle_s - (stolen_s or 0.0)
        own_s = sum(times.user + times.system for times in own)
        return _Spent(time.monotonic(), busy_s, own_s, total_s, stolen_s)

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
