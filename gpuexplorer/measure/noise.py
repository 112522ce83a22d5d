"""How well the median of a growing series is known, kept up to date at little cost."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from gpuexplorer.core.intervals import (
    MANY_SAMPLES,
    MOST_CORRELATION,
    MOST_GROUPS,
    first_correlation,
    half_widths,
    half_widths_of_groups,
)

Floats = npt.NDArray[np.float64]

EACH_SAMPLE_BELOW = 2 * MANY_SAMPLES
"""Series shorter than this are looked at sample by sample."""


class Noise:
    """The noise of the median of a series that only grows, in order.

    The series is cut into stretches of equal length, 20 to 40 of them; when there are 40, two
    become one. So a sample is sorted once for each doubling of the series, and a look costs some
    tens of microseconds however long the series is.
    """

    def __init__(self) -> None:
        self._length = 1
        """Samples of a stretch."""
        self._medians: list[float] = []
        self._seen = 0

    def relative_error(self, samples_s: Floats) -> float | None:
        """Return half of the 95 % interval of the median of all samples, over the median.

        None when there are too few samples, or a median of 0.
        """
        if len(samples_s) < EACH_SAMPLE_BELOW:
            half = half_widths(samples_s[None])
            centre = float(np.median(samples_s)) if half is not None else 0.0
        else:
            medians = self._medians_of(samples_s)
            correlation = np.clip(first_correlation(medians[None]), 0.0, MOST_CORRELATION)
            half = half_widths_of_groups(medians[None], correlation)
            centre = float(np.median(medians))
        return float(half[0]) / centre if half is not None and centre > 0 else None

    def scatter(self, samples_s: Floats) -> float | None:
        """Return the standard error of the median over it, as if stretches were independent.

        It leaves their correlation out, which makes it a steadier figure than ``relative_error``.
        None when there are fewer than 20 samples, or a median of 0.
        """
        if len(samples_s) < MOST_GROUPS:
            return None
        medians = self._medians_of(samples_s)
        centre = float(np.median(medians))
        spread = float(medians.std(ddof=1)) / math.sqrt(len(medians))
        return spread / centre if centre > 0 else None

    def _medians_of(self, samples_s: Floats) -> Floats:
        """Return the medians of the whole stretches that there are now."""
        count = len(samples_s)
        longer = self._length
        while count >= 2 * MOST_GROUPS * longer:
            longer *= 2
        if longer != self._length or count < self._seen:  # or the oldest were let go
            self._length, self._medians = longer, []
        self._seen = count
        ready = count // self._length
        fresh = samples_s[len(self._medians) * self._length : ready * self._length]
        if len(fresh):
            self._medians += np.median(fresh.reshape(-1, self._length), axis=1).tolist()
        return np.array(self._medians)
