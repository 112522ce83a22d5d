"""When a run has enough: small rules, each a class of its own."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from gpuexplorer.core.statistics import summarize

MIN_SAMPLES = 10


class StopRule(Protocol):
    """Decides, after each batch, whether the run has ended."""

    reason: str
    """What stands as ``stopped_by``."""

    def met(self, samples_s: npt.NDArray[np.float64], elapsed_s: float) -> bool:
        """Return whether to stop, given all samples in order and the seconds since the first."""


class TimeUp:
    """Ends after a number of seconds, however few samples there are."""

    reason = "time"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def met(self, samples_s: npt.NDArray[np.float64], elapsed_s: float) -> bool:
        """Return whether the time is over."""
        return len(samples_s) > 0 and elapsed_s >= self.seconds


class NoiseReached:
    """Ends when the 95 % interval of the median is narrow enough.

    Looks only after ``least_s`` seconds and whenever the series has grown by a tenth, because
    looking again and again at the same series stops too early, by luck.
    """

    reason = "noise"

    def __init__(self, relative_error: float = 0.005, least_s: float = 0.5) -> None:
        self.relative_error = relative_error
        self.least_s = least_s
        self._next_look = MIN_SAMPLES

    def met(self, samples_s: npt.NDArray[np.float64], elapsed_s: float) -> bool:
        """Return whether the median is known to ``relative_error``."""
        if elapsed_s < self.least_s or len(samples_s) < self._next_look:
            return False
        self._next_look = int(len(samples_s) * 1.1) + 1
        error = summarize(samples_s).relative_error
        return error is not None and error <= self.relative_error
