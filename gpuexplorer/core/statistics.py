"""What a series of timings says: median, its interval, and the noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_T_975 = (
    # Student's t, 97.5 % quantile, for 1 to 30 degrees of freedom.
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip

MOST_GROUPS = 20
FEWEST_GROUPS = 5
GROUP_SAMPLES = 3
"""Samples that a group has at least, where there are enough for ``FEWEST_GROUPS`` groups."""
MOST_CORRELATION = 0.9
FEW_GROUPS = 10
MOST_CORRELATION_OF_FEW = 0.6
"""Below ``FEW_GROUPS`` groups a correlation cannot be told from chance: no more is believed."""


@dataclass(frozen=True)
class Summary:
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

    @property
    def relative_error(self) -> float | None:
        """Half the 95 % interval over the median; None when there were too few samples."""
        if self.ci95_low_s is None or self.ci95_high_s is None or self.median_s <= 0:
            return None
        return (self.ci95_high_s - self.ci95_low_s) / 2 / self.median_s


def t_975(degrees_of_freedom: float) -> float:
    """Student's t quantile at 97.5 %; from 30 degrees on, the Cornish-Fisher expansion.

    Between whole degrees of freedom it is interpolated. ValueError below 1.
    """
    if degrees_of_freedom < 1:
        raise ValueError("degrees of freedom start at 1")
    below = int(degrees_of_freedom)
    if below < len(_T_975):
        share = degrees_of_freedom - below
        return _T_975[below - 1] * (1 - share) + _T_975[below] * share
    z, n = 1.959963984540054, degrees_of_freedom
    return z + (z**3 + z) / (4 * n) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n * n)


def median_interval(samples_s: npt.NDArray[np.float64]) -> tuple[float, float] | None:
    """Return the 95 % confidence interval of the median, from time-separated groups.

    Samples taken in a row are correlated, so an interval from raw order statistics is too narrow.
    The series is cut into up to ``MOST_GROUPS`` stretches of time; their medians give a Student t
    interval (the method of batch means, Law & Kelton 2000, section 9.5, applied to medians). What
    correlation is left between neighbouring medians widens it as in a first-order autoregression:
    the variance of a mean grows by (1 + r) / (1 - r), with r corrected for the bias of a short
    series (Kendall 1954) and the degrees of freedom shrinking by the same factor.
    None below two samples for each of ``FEWEST_GROUPS`` groups.
    """
    groups = min(MOST_GROUPS, len(samples_s) // GROUP_SAMPLES)
    if groups < FEWEST_GROUPS:
        groups = len(samples_s) // 2
    if groups < FEWEST_GROUPS:
        return None
    groups = min(groups, MOST_GROUPS)
    medians = np.array([np.median(part) for part in np.array_split(samples_s, groups)])
    widening = _widening(medians)
    variance = float(medians.var(ddof=1)) / max(0.2, 1 - (widening - 1) / (groups - 1))
    degrees = max(2.0, (groups - 1) / widening)
    half = t_975(degrees) * math.sqrt(variance * widening / groups)
    centre = float(np.median(samples_s))
    # However little the groups agree, a median lies within the samples.
    return max(centre - half, float(samples_s.min())), min(centre + half, float(samples_s.max()))


def _widening(medians: npt.NDArray[np.float64]) -> float:
    """Return by how much correlation of neighbours widens the variance of the mean, 1 for none."""
    deviations = medians - medians.mean()
    power = float(deviations @ deviations)
    if power == 0:
        return 1.0
    correlation = float(deviations[1:] @ deviations[:-1]) / power
    correlation += (1 + 4 * correlation) / len(medians)
    most = MOST_CORRELATION if len(medians) >= FEW_GROUPS else MOST_CORRELATION_OF_FEW
    correlation = min(max(correlation, 0.0), most)
    return (1 + correlation) / (1 - correlation)


def summarize(samples_s: npt.NDArray[np.float64]) -> Summary:
    """Summarize a non-empty series of seconds per launch, in the order they were taken."""
    if len(samples_s) == 0:
        raise ValueError("no samples to summarize")
    p05, median, p95 = (float(v) for v in np.percentile(samples_s, (5, 50, 95)))
    interval = median_interval(samples_s)
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
