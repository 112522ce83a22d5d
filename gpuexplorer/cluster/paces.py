"""Which workers are slow: one configuration is measured on each at the start and now and then.

A worker is slow when even the fastest launch of that reference takes longer than usual. Usual is
the least median of the reference on each worker of the same hardware, and of these the lower
median: of two workers the faster one's, of one worker its own. So a launch whose time scatters
makes nobody slow. A worker is looked at again before it counts as slow, for a moment's load is no
throttling. What it measured since it was last found good does not hold.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gpuexplorer.cluster.agenda import Lane
from gpuexplorer.core.config import RunConfig

SLOWER_BY = 0.1
"""The share by which a slow worker's reference takes longer than usual."""
EVERY_S = 180.0
REST_S = 30.0
"""After this long a slow worker is looked at again."""
LOOKS = 3
"""Looks in a row that find a worker slow before it counts as slow."""
MOST_RESTS = 10
"""So often a slow worker is looked at again where no other is left."""
MOST_CANDIDATES = 5
"""Configurations that are tried as the reference; where none works, there is no reference."""


@dataclass
class Pace:
    """How fast one worker is."""

    best_s: float | None = None
    """The least median of its reference so far."""
    fastest_s: float | None = None
    """The fastest launch of its reference, the last time."""
    due: float = 0.0
    """When its reference is to be measured again, by the clock."""
    looks: int = 0
    """Looks in a row that found it slow."""
    rests: int = 0
    unproven: list[int] = field(default_factory=list)
    """What it has measured since it was last found good."""

    @property
    def slow(self) -> bool:
        """Whether it counts as slow and gets nothing to measure."""
        return self.looks >= LOOKS


class Paces:
    """The paces of all workers."""

    def __init__(
        self,
        configs: Sequence[RunConfig],
        *,
        slower_by: float = SLOWER_BY,
        every_s: float = EVERY_S,
        strict: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``configs`` are those to be measured; the first of a device is its reference.

        ``strict``: what a worker has measured does not hold as soon as one look finds it slow.
        """
        self._slower_by, self._every_s, self._clock = slower_by, every_s, clock
        self._strict = strict
        self._candidates: dict[str, list[RunConfig]] = {}
        for config in configs:
            found = self._candidates.setdefault(config.device, [])
            if len(found) < MOST_CANDIDATES:
                found.append(config)
        self._paces: dict[Lane, Pace] = {}

    def pace(self, lane: Lane) -> Pace:
        """Return what is known of a worker."""
        return self._paces.setdefault(lane, Pace())

    def due(self, lane: Lane) -> RunConfig | None:
        """Return the reference that a worker is to measure before anything else; None for none."""
        if self._clock() < self.pace(lane).due:
            return None
        return self._reference(lane)

    def _reference(self, lane: Lane) -> RunConfig | None:
        found = (self._candidates.get(device) for device in lane.devices)
        return next((candidates[0] for candidates in found if candidates), None)

    @property
    def open(self) -> bool:
        """Whether a worker has still to show that what it measured holds."""
        return any(p.unproven and self._reference(lane) for lane, p in self._paces.items())

    def measured(self, lane: Lane, index: int) -> None:
        """Note that a worker has measured something."""
        self.pace(lane).unproven.append(index)

    def prove(self, lane: Lane) -> bool:
        """Have a worker's reference measured now if anything of its is unproven."""
        pace = self.pace(lane)
        if pace.unproven and not pace.slow:
            pace.due = 0.0
        return self.due(lane) is not None

    def failed(self, config: RunConfig) -> None:
        """Note that a configuration is of no use as the reference; the next takes its place."""
        candidates = self._candidates.get(config.device, [])
        if config in candidates:
            candidates.remove(config)
            for lane, pace in self._paces.items():
                if config.device in lane.devices:
                    pace.best_s = pace.fastest_s = None

    def took(self, lane: Lane, fastest_s: float, median_s: float) -> bool:
        """Note what a worker's reference took; return whether what is unproven does not hold."""
        pace, now = self.pace(lane), self._clock()
        pace.fastest_s = fastest_s
        pace.best_s = median_s if pace.best_s is None else min(median_s, pace.best_s)
        alike = [p for one, p in self._paces.items() if one.devices.keys() & lane.devices.keys()]
        bests = sorted(one.best_s for one in alike if one.best_s is not None)
        most_s = bests[(len(bests) - 1) // 2] * (1 + self._slower_by)
        for other in alike:  # one that this shows to be slow is looked at again at once
            if other is not pace and not other.slow and (other.fastest_s or 0.0) > most_s:
                other.due = now
        if fastest_s <= most_s:
            pace.looks = pace.rests = 0
            pace.unproven.clear()
            pace.due = now + self._every_s
            return False
        pace.looks += 1
        pace.due = now
        if pace.slow:
            pace.rests += 1
            pace.due = now + REST_S
        return pace.slow or self._strict

    def gone(self, lane: Lane) -> None:
        """Forget a worker."""
        self._paces.pop(lane, None)

    def exhausted(self, lanes: Sequence[Lane]) -> bool:
        """Whether all workers have been slow for so long that waiting is of no use."""
        paces = [self.pace(lane) for lane in lanes]
        return bool(paces) and all(pace.slow and pace.rests > MOST_RESTS for pace in paces)
