"""When a run has enough: small rules, each a class of its own."""

from __future__ import annotations

import math
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from gpuexplorer.core.intervals import median_interval
from gpuexplorer.measure.noise import Noise

MIN_SAMPLES = 10
LEAST_S = 0.5
"""No rule judges the noise of less than this; a machine's disturbances last about as long."""
STABLE_LEAST_S = 2.0
FEWEST_LOOKS = 10
LOOK_GROWTH = 1.1
"""A series is looked at again when it has grown by this."""


class StopRule(Protocol):
    """Decides, after each batch, whether the run has ended."""

    reason: str
    """What stands as ``stopped_by``."""

    def met(self, samples_s: npt.NDArray[np.float64], elapsed_s: float) -> bool:
        """Return whether to stop, given all samples in order and the seconds since the first."""


class _Unchanging:
    """A rule that remembers nothing of a series: where a fresh one is wanted, it is one."""

    def __deepcopy__(self, memo: object) -> Self:
        return self


class TimeUp(_Unchanging):
    """Ends after a number of seconds, however few samples there are."""

    reason = "time"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def met(self, samples_s: npt.NDArray[np.float64], elapsed_s: float) -> bool:
        """Return whether the time is over."""
        return len(samples_s) > 0 and elapsed_s >= self.seconds


class Enough(_Unchanging):
    """Ends after a number of samples; the last batch is cut so that there are no more."""

    reason = "samples"

    def __init__(self, samples: int) -> None:
        self.samples = samples

    def met(self, samples_s: npt.NDArray[np.float64], elapsed_s: float) -> bool:
        """Return whether there are so many."""
        return len(samples_s) >= self.samples


class Slower:
    """Ends when the first launches already say that a launch takes longer than ``limit_s``.

    The fastest of them counts, because a busy machine only ever makes a launch slower.
    """

    reason = "slower"
    LAUNCHES = 3
    FAR = 3.0

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s

    def met(self, samples_s: npt.NDArray[np.float64], elapsed_s: float) -> bool:
        """Return whether each of the first ``LAUNCHES`` took longer."""
        first_s = samples_s[: self.LAUNCHES]
        return len(first_s) == self.LAUNCHES and bool(first_s.min() > self.limit_s)

    def by_far(self, launch_s: float) -> bool:
        """Return whether one launch alone took so long (``FAR`` times) that no other is needed."""
        return launch_s > self.FAR * self.limit_s


class NoiseReached:
    """Ends when the 95 % interval of the median is narrow enough.

    Looks only after ``least_s`` seconds and whenever the series has grown by a tenth, because
    looking again and again at the same series stops too early, by luck.
    """

    reason = "noise"

    def __init__(
        self, relative_error: float = 0.005, least_s: float = LEAST_S, noise: Noise | None = None
    ) -> None:
        self.relative_error = relative_error
        self.least_s = least_s
        self._noise = noise or Noise()
        self._next_look = MIN_SAMPLES

    def met(self, samples_s: npt.NDArray[np.float64], elapsed_s: float) -> bool:
        """Return whether the median is known to ``relative_error``."""
        if elapsed_s < self.least_s or len(samples_s) < self._next_look:
            return False
        self._next_look = int(len(samples_s) * LOOK_GROWTH) + 1
        error = self._noise.relative_error(samples_s)
        if error is None or error > self.relative_error:
            return False
        # The quick figure calls for the full one, which the document will quote.
        interval = median_interval(samples_s)
        half = (interval[1] - interval[0]) / 2 if interval is not None else math.inf
        return half <= self.relative_error * float(np.median(samples_s))


class NoiseStable:
    """Ends when more samples do not help, because the noise no longer falls as the run goes on.

    NVBench's idea is to stop once the noise itself has become stable. The standard error of a
    steady series' median falls as one over the square root of the time: on logarithmic axes with
    a slope of 1/2. Where it falls with less than ``slope`` over the latest 7/8 of the run, at
    ``LOOKS`` looks in a row, what disturbs the run lasts as long as the run itself (a drift, a
    slow change between two states, 1/f noise), and going on would not tell more.
    """

    reason = "stable"
    LOOKS = 4
    GROWTH = 1.05
    SPAN = math.log(8)

    def __init__(
        self, slope: float = 0.15, least_s: float = STABLE_LEAST_S, noise: Noise | None = None
    ) -> None:
        self.slope = slope
        self.least_s = least_s
        self._noise = noise or Noise()
        self._next_s = least_s / 8
        self._looks: list[tuple[float, float]] = []
        self._flat = 0

    def met(self, samples_s: npt.NDArray[np.float64], elapsed_s: float) -> bool:
        """Return whether the noise has stopped falling."""
        if elapsed_s < self._next_s:
            return False
        self._next_s = elapsed_s * self.GROWTH
        scatter = self._noise.scatter(samples_s)
        if not scatter:
            return False
        now = math.log(elapsed_s)
        self._looks.append((now, math.log(scatter)))
        self._looks = [look for look in self._looks if look[0] >= now - self.SPAN]
        if elapsed_s < self.least_s or len(self._looks) < FEWEST_LOOKS:
            return False
        times, noises = np.array(self._looks).T
        self._flat = self._flat + 1 if np.polyfit(times, noises, 1)[0] > -self.slope else 0
        return self._flat >= self.LOOKS
