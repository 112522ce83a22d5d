"""When to give up on a configuration early, and when not to believe having done so.

A clear loser gets a few samples, a contender all of them. That is only fair while the machine is
steady: one spike of load during the few samples of the true best would drop it. So the best so far
is measured again from time to time, and right after whoever lost by no more than a spike may cost;
when it, too, has become slower, whatever was judged since the last such look is judged again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gpuexplorer.search.tune_space import Place

FIRST_SAMPLES = 3
CLEARLY = 1.2
"""A configuration loses when even its fastest launch takes this many times the best median."""
DOUBTFUL = 2.5
"""Who lost by no more than this may have met a spike of load: the best is measured right after."""
MOST_DOUBTS = 2
"""So often a configuration is judged again because the machine was not steady."""
STEADY = 1.1
"""The machine is steady while the best takes at most this many times what it took."""
LOOK_EVERY = 12
LOOK_EVERY_S = 2.0
"""After so many configurations or so long the best is measured again, whatever comes first."""
PATIENCE = 12.0
"""A first look lasts at most this many medians of the best: a launch that is slower by more than
that ends it at once."""
LEAST_LOOK_S = 0.002


def clear_loser(samples_s: npt.NDArray[np.float64], best_s: float | None) -> bool:
    """Whether these few launches already say that a configuration cannot be the best.

    The fastest of them counts, because a busy machine only ever makes a launch slower.
    """
    return best_s is not None and bool(samples_s.min() > CLEARLY * best_s)


def doubtful(samples_s: npt.NDArray[np.float64], best_s: float | None) -> bool:
    """Whether load alone may have made a loser of a configuration."""
    return best_s is not None and bool(samples_s.min() <= DOUBTFUL * best_s)


def first_look_s(best_s: float | None, most_s: float) -> float:
    """Return how many seconds a first look may sample."""
    return most_s if best_s is None else min(most_s, max(LEAST_LOOK_S, PATIENCE * best_s))


class Watch:
    """Says when to measure the best again, and which verdicts not to believe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._looked_at = clock()
        self._doubted = False
        self._judged: list[Place] = []
        self._doubts: Counter[Place] = Counter()
        self.best_s: float | None = None
        """What the best takes at present; others are held against it."""

    def leads(self, median_s: float) -> None:
        """Note that another configuration is the best now."""
        self.best_s = median_s

    def judged(self, place: Place) -> None:
        """Note that a configuration was measured or given up."""
        self._judged.append(place)

    @property
    def steady(self) -> bool:
        """Whether the best took as long as ever when it was measured last."""
        return not self._doubted

    @property
    def due(self) -> bool:
        """Whether the best should be measured again."""
        if self.best_s is None or not self._judged:
            return False
        return len(self._judged) >= LOOK_EVERY or self._clock() - self._looked_at >= LOOK_EVERY_S

    def look(self, samples_s: npt.NDArray[np.float64]) -> list[Place]:
        """Take in new samples of the best; return what is to be judged again.

        Slower than before twice in a row is what the machine does now: it is believed from then on.
        """
        self._looked_at = self._clock()
        judged, self._judged = self._judged, []
        now_s = float(np.median(samples_s))
        if self.best_s is None or float(samples_s.min()) <= STEADY * self.best_s:
            self.best_s = now_s if self.best_s is None else min(self.best_s, now_s)
            self._doubted = False
            return []
        if self._doubted:
            self.best_s = now_s
        self._doubted = not self._doubted
        return self._once_more(judged)

    def _once_more(self, places: list[Place]) -> list[Place]:
        fresh = [p for p in dict.fromkeys(places) if self._doubts[p] < MOST_DOUBTS]
        self._doubts.update(fresh)
        return fresh
