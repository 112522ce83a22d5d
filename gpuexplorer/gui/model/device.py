"""The device's state over the time axis of the plots: every figure as a series, and why some lack.

Readings carry the engine's clock, samples the axis: a reading finds its place when samples from
after it arrive. What was read while nothing ran has no place on the axis.
"""

from __future__ import annotations

from collections import deque

import msgspec
import numpy as np

from gpuexplorer.core.sample import Reading
from gpuexplorer.core.telemetry import slowdowns
from gpuexplorer.gui.model.trace import Floats, Growing

MOST = 36_000
"""Readings kept: an hour at ten a second."""
MAX_WAITING = 600
PRESENT_S = 1.0
"""A value is the present one for so long; some sources tell less often than others."""

FIELDS = (
    "sm_clock_Hz", "power_W", "temperature_C", "load", "sm_active", "occupancy", "memory_used_B",
    "dram_B_per_s", "dram_read_B_per_s", "dram_write_B_per_s", "pcie_rx_B_per_s",
    "pcie_tx_B_per_s",
)  # fmt: skip
"""What is kept as a series."""


class HeldSpan(msgspec.Struct):
    """A stretch of the axis in which something held the clock, and what."""

    start_s: float
    end_s: float
    reasons: tuple[str, ...]

    @property
    def slowed(self) -> bool:
        """Whether heat or a fault did, and not a limit of the device's own or a chosen one."""
        return bool(slowdowns(self.reasons))


class DeviceTrack:
    """Readings of one device on the axis."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[float, Reading]] = deque(maxlen=MAX_WAITING)
        self.clear()

    def clear(self) -> None:
        """Forget everything: another device follows."""
        self._waiting.clear()
        self._times = Growing(1024)
        self._columns = {field: Growing(1024) for field in FIELDS}
        self.held: deque[HeldSpan] = deque(maxlen=256)
        self.sources: dict[str, str] = {}
        """Whose word a field is."""
        self.missing: dict[str, str] = {}
        """Why a field is not read, or no longer."""
        self.latest: Reading | None = None
        self._read_s = 0.0
        self._told: dict[str, tuple[float, float]] = {}
        """When each field was told last, and its value then."""

    def __len__(self) -> int:
        """Number of readings on the axis."""
        return len(self._times)

    def read(self, time_s: float, reading: Reading) -> None:
        """Take in a reading, made at ``time_s`` of the samples' clock."""
        self._waiting.append((time_s, reading))
        self.latest, self._read_s = reading, time_s
        self.missing.update(reading.missing)
        for field in FIELDS:
            value = getattr(reading, field)
            if value is not None:
                self._told[field] = time_s, value
                self.sources[field] = reading.sources.get(field, reading.source)
                self.missing.pop(field, None)
            elif field in reading.missing:  # its source has ended
                self._told.pop(field, None)
                self.sources.pop(field, None)

    def now(self, field: str) -> float | None:
        """Return the present value of a field; None where it was not told lately."""
        told_s, value = self._told.get(field, (-np.inf, 0.0))
        return value if abs(self._read_s - told_s) <= PRESENT_S else None

    def exchange(self, other: DeviceTrack) -> None:
        """Swap what is held with another track."""
        mine, theirs = vars(self), vars(other)
        for name in mine:
            mine[name], theirs[name] = theirs[name], mine[name]

    def place(self, from_s: float, to_s: float, shift_s: float) -> None:
        """Give readings made in ``from_s..to_s`` their place, ``shift_s`` earlier on the axis."""
        while self._waiting and self._waiting[0][0] <= to_s:
            time_s, reading = self._waiting.popleft()
            if time_s >= from_s:
                self._add(time_s - shift_s, reading)

    def _add(self, at_s: float, reading: Reading) -> None:
        if len(self._times) and at_s < self._times.view[-1]:
            return
        if len(self._times) >= MOST:
            for kept in (self._times, *self._columns.values()):
                kept.cut(MOST // 4)
        self._times.extend(np.array([at_s]))
        for field, column in self._columns.items():
            value = getattr(reading, field)
            column.extend(np.array([np.nan if value is None else value], dtype=np.float64))
        self._note_held(at_s, reading.throttle_reasons or ())

    def _note_held(self, at_s: float, reasons: tuple[str, ...]) -> None:
        last = self.held[-1] if self.held else None
        open_ = last is not None and len(self._times) > 1 and last.end_s == self._times.view[-2]
        if last is not None and open_ and last.reasons == reasons:
            last.end_s = at_s
        elif reasons:
            self.held.append(HeldSpan(at_s, at_s, reasons))

    def series(self, field: str, low_s: float, high_s: float, most: int) -> tuple[Floats, Floats]:
        """Return times and values of a field within a stretch of the axis, at most about ``most``.

        Readings without the field are left out; where there are more, every second, third, ...
        stays, and always the latest.
        """
        times, values = self._times.view, self._columns[field].view
        first, last = (int(i) for i in np.searchsorted(times, (low_s, high_s)))
        first, last = max(0, first - 1), min(len(times), last + 1)
        known = np.flatnonzero(np.isfinite(values[first:last])) + first
        step = max(1, -(-len(known) // most))
        kept = known[::-step][::-1]
        return times[kept].copy(), values[kept].copy()
