"""Which workers are slow: one configuration is measured on each at the start and now and then.

A worker is slow when even the fastest launch of that reference takes longer than usual. Usual is
the least median of the reference on each worker of the same hardware, and of these the lower
median: of two workers the faster one's, of one worker its own. So a launch whose time scatters
makes nobody slow. A worker is looked at again before it counts as slow, for a moment's load is no
throttling. What it measured since it was last found good does not hold.

Where every worker of some hardware is slow, nobody is left to measure: they rest once, and then
what they take now is usual.
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
"""After this long a slow worker is looked at again; sooner where the others are."""
LOOKS = 3
"""Looks in a row that find a worker slow before it counts as slow."""
MOST_CANDIDATES = 5
"""Configurations that are tried as the reference; where none works, there is no reference."""


@dataclass
class Pace:
    """How fast one worker is."""

    best_s: float | None = None
    """The least median of its reference so far."""
    fastest_s: float | None = None
    """The fastest launch of its reference, the last time."""
    latest_s: float | None = None
    """The median of its reference, the last time."""
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
        self._usual_s: dict[str, float] = {}
        """By device what its reference takes at the least, since all its workers became slow."""
        self._rested: set[str] = set()
        """Devices whose workers, all slow, have rested, and nothing was found to hold since."""

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
            for _, pace in self._alike(config):
                pace.best_s = pace.fastest_s = pace.latest_s = None
                pace.looks = pace.rests = 0
                pace.due = 0.0
            candidates.remove(config)
            self._usual_s.pop(config.device, None)
            self._rested.discard(config.device)

    def usual_s(self, lane: Lane) -> float | None:
        """Return what a worker's reference takes where it is not slow; None while not known."""
        reference = self._reference(lane)
        if reference is None:
            return None
        bests = sorted(p.best_s for _, p in self._alike(reference) if p.best_s is not None)
        if not bests:
            return None
        return max(bests[(len(bests) - 1) // 2], self._usual_s.get(reference.device, 0.0))

    def took(self, lane: Lane, fastest_s: float, median_s: float) -> bool:
        """Note what a worker's reference took; return whether what is unproven does not hold."""
        pace, reference, now = self.pace(lane), self._reference(lane), self._clock()
        pace.fastest_s, pace.latest_s = fastest_s, median_s
        pace.best_s = median_s if pace.best_s is None else min(median_s, pace.best_s)
        usual_s = self.usual_s(lane)
        if reference is None or usual_s is None:
            return False
        most_s = usual_s * (1 + self._slower_by)
        for _, other in self._alike(reference):
            # one that this shows to be slow is looked at again at once
            if other is not pace and not other.slow and (other.fastest_s or 0.0) > most_s:
                other.due = now
        if fastest_s <= most_s:
            if pace.unproven:
                self._rested.discard(reference.device)
            pace.looks = pace.rests = 0
            pace.unproven.clear()
            pace.due = now + self._every_s
            return False
        pace.looks += 1
        pace.due = now
        if pace.slow:
            pace.rests += 1
            pace.due = now + min(REST_S, self._every_s)
        return pace.slow or self._strict

    def accepted(self, lane: Lane) -> bool:
        """Take what a worker and all others like it take now for usual, if nobody is left but slow.

        They rest once before that, and again only after something was found to hold; so a search
        ends however slow its workers have become. Returns whether it is so.
        """
        reference = self._reference(lane)
        alike = [] if reference is None else [pace for _, pace in self._alike(reference)]
        if reference is None or not alike or not all(pace.slow for pace in alike):
            return False
        device = reference.device
        if device not in self._rested:
            self._rested.add(device)
            return False
        self._rested.discard(device)
        now_s = min(pace.latest_s for pace in alike if pace.latest_s is not None)
        self._usual_s[device] = max(now_s, self._usual_s.get(device, 0.0))
        for pace in alike:
            pace.looks = pace.rests = 0
            pace.due = self._clock()
        return True

    def _alike(self, reference: RunConfig) -> list[tuple[Lane, Pace]]:
        """Return the workers that have a reference in common."""
        return [(one, p) for one, p in self._paces.items() if self._reference(one) is reference]

    def gone(self, lane: Lane) -> None:
        """Forget a worker."""
        self._paces.pop(lane, None)
