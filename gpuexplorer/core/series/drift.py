"""Whether the times rise or fall over a run, beyond what chance and correlation explain."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import numpy.typing as npt

from gpuexplorer.core.intervals import correlation_of_groups, group_count, group_medians
from gpuexplorer.core.series.thin import thinned

Floats = npt.NDArray[np.float64]

LEAST_SAMPLES = 30
MOST_SAMPLES = 1 << 17
LEAST_CHANGE = 0.01
"""Less between the first and the last fifth than this fraction is not worth a word."""
SIGNIFICANT = 2.576
"""Of a standard normal: a series without a trend reaches it in 1 % of the cases."""


class Drift(msgspec.Struct, frozen=True):
    """``change`` is the last fifth's median over the first fifth's, less 1."""

    change: float


def find_drift(samples_s: Floats) -> Drift | None:
    """Return the drift of a series in time, or None when there is none to be told from chance.

    Mann-Kendall's trend test on the medians of time-separated groups (Mann 1945, Kendall 1975),
    with the variance of Hamed & Rao (1998) for correlated neighbours; the correlation is taken
    after Theil and Sen's slope was removed, so that the trend itself does not count as one.
    """
    series = thinned(samples_s, MOST_SAMPLES)
    if len(series) < LEAST_SAMPLES:
        return None
    groups = group_count(len(series))
    medians = group_medians(series, groups)
    first, second = np.triu_indices(groups, 1)
    rises = medians[second] - medians[first]
    score = abs(float(np.sign(rises).sum())) - 1
    fifth = len(series) // 5
    before = float(np.median(series[:fifth]))
    change = float(np.median(series[-fifth:])) / before - 1 if before > 0 else 0.0
    if abs(change) < LEAST_CHANGE or score <= 0:
        return None
    slope = float(np.median(rises / (second - first)))
    level = series - slope * np.arange(len(series)) * (groups / len(series))
    correlation = float(correlation_of_groups(level[None], group_medians(level, groups)[None])[0])
    return Drift(change) if score / _deviation(groups, correlation) > SIGNIFICANT else None


def _deviation(groups: int, correlation: float) -> float:
    """Return the standard deviation of Mann-Kendall's sum without a trend (Hamed & Rao 1998)."""
    independent = groups * (groups - 1) * (2 * groups + 5) / 18
    lags = np.arange(1, groups)
    weights = (groups - lags) * (groups - lags - 1) * (groups - lags - 2)
    together = float((weights * correlation**lags).sum())
    return math.sqrt(independent * (1 + 2 * together / (groups * (groups - 1) * (groups - 2))))
