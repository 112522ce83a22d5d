"""What a race knows of one configuration, and one look at it."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

Phase = Literal["survey", "check", "race", "turns"]
Floats = npt.NDArray[np.float64]
SHORTEST_S = 1e-9
"""A launch below the clock's resolution counts as one that takes so long."""
MOST_SAMPLES = 100


def launches_in(seconds: float, fewest: int, launch_s: float | None) -> int:
    """Return how many launches fill ``seconds``, within limits."""
    if launch_s is None:
        return fewest
    return int(min(MOST_SAMPLES, max(fewest, seconds / max(launch_s, SHORTEST_S))))


class Look(msgspec.Struct, frozen=True):
    """What to measure next: ends after ``samples`` or ``seconds``, whichever comes first."""

    number: int
    """The configuration, as the race counts them."""
    phase: Phase
    samples: int
    seconds: float
    round: int = 0
    slower_than_s: float | None = None
    """A launch that takes longer than this need not be sampled any further."""
    machine: str = ""
    """Whose turn it is, where several machines take looks at a time."""

    def gave_up(self, samples_s: Floats) -> bool:
        """Return whether these samples say that it was not worth going on."""
        return self.slower_than_s is not None and bool(samples_s.min() > self.slower_than_s)


@dataclass(slots=True)
class Runner:
    """What the race knows of one configuration."""

    fastest_s: list[float] = field(default_factory=list)
    """The fastest launch of each look."""
    turns_s: dict[int, float] = field(default_factory=dict)
    """The median of each turn, by its round."""
    clock_s: float = 0.0
    """The resolution of the clock that timed the turns, the coarsest where they differ."""
    samples: int = 0
    out: bool = False
    """Whether it is slower than the best for certain."""
    withdrawn: bool = False
    """Whether it cannot be measured."""
    doubts: int = 0
    failures: int = 0

    @property
    def typical_s(self) -> float:
        """The median of the looks' fastest launches; infinite before the first look."""
        fastest_s = self.fastest_s
        if len(fastest_s) == 1:  # as most are: no more than a first look
            return fastest_s[0]
        return median(fastest_s) if fastest_s else float("inf")

    @property
    def luckiest_s(self) -> float:
        """The fastest launch of all; infinite before the first look."""
        return min(self.fastest_s, default=float("inf"))

    @property
    def present(self) -> bool:
        """Whether it can be measured and may still be the best."""
        return not self.out and not self.withdrawn
