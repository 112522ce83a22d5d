"""What a series of timings says: median, its interval, and the noise."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median as median_of

import msgspec
import numpy as np
import numpy.typing as npt

from gpuexplorer.core.intervals import median_interval

SHORT = 256
"""Samples of a series that is sorted as it is: NumPy's own way takes longer until about here."""


def middle(samples_s: npt.NDArray[np.float64]) -> float:
    """Return the median of a non-empty series, as ``np.median`` does."""
    if len(samples_s) > SHORT:
        return float(np.median(samples_s))
    return float(median_of(samples_s.tolist()))


def percentiles(samples_s: npt.NDArray[np.float64], wanted: Sequence[float]) -> list[float]:
    """Return percentiles of a non-empty series, as ``np.percentile`` does."""
    if len(samples_s) > SHORT:
        return [float(v) for v in np.percentile(samples_s, wanted)]
    ordered = sorted(samples_s.tolist())
    last = len(ordered) - 1
    found = []
    for percentile in wanted:
        place = last * (percentile / 100)
        low = int(place)
        below, above, share = ordered[low], ordered[min(low + 1, last)], place - low
        between = above - below
        found.append(below + between * share if share < 0.5 else above - between * (1 - share))
    return found


def relative_error(median: float, low: float | None, high: float | None) -> float | None:
    """Return half of a median's 95 % interval over it: what ± says; None without an interval."""
    if low is None or high is None or median <= 0:
        return None
    return (high - low) / 2 / median


class Summary(msgspec.Struct, frozen=True):
    """Figures of one series, all in seconds."""

    samples: int
    median_s: float
    mean_s: float
    min_s: float
    p05_s: float
    p95_s: float
    stdev_s: float | None
    ci95_low_s: float | None
    ci95_high_s: float | None
    marked_throttled: int = 0
    """Samples at a clock that was held down, counted by ``core.series.examine`` alone, as what
    follows is; they are not among ``samples`` unless they are the majority."""
    mostly_throttled: bool = False
    """Whether they are the majority, and the figures those of a throttled device."""
    outliers: int = 0
    outlier_above_s: float | None = None
    warnings: tuple[str, ...] = ()
    """What is odd about the series, a sentence each."""

    @property
    def relative_error(self) -> float | None:
        """Half the 95 % interval over the median; None when there were too few samples."""
        return relative_error(self.median_s, self.ci95_low_s, self.ci95_high_s)


def summarize(samples_s: npt.NDArray[np.float64], resolution_s: float = 0.0) -> Summary:
    """Summarize a non-empty series of seconds per launch, in the order they were taken.

    ``resolution_s`` is that of their clock.
    """
    if len(samples_s) == 0:
        raise ValueError("no samples to summarize")
    p05, median, p95 = percentiles(samples_s, (5, 50, 95))
    interval = median_interval(samples_s, resolution_s)
    return Summary(
        samples=len(samples_s),
        median_s=median,
        mean_s=float(samples_s.mean()),
        min_s=float(samples_s.min()),
        p05_s=p05,
        p95_s=p95,
        stdev_s=float(samples_s.std(ddof=1)) if len(samples_s) > 1 else None,
        ci95_low_s=interval[0] if interval else None,
        ci95_high_s=interval[1] if interval else None,
    )
