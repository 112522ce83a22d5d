"""Launches that took far longer than the rest: marked, counted, never dropped."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpuexplorer.core.series.thin import thinned

Floats = npt.NDArray[np.float64]

DEVIATIONS = 5.0
"""Robust standard deviations above the median; a normal series has one such in 3.5 million."""
LEAST_EXCESS = 0.01
"""Less above the median than this fraction is never an outlier, however quiet the rest is."""
LEAST_SAMPLES = 10
MOST_SAMPLES = 1 << 16
_QUARTILE = 1.4826  # times a normal's quartile distance is its standard deviation


def outlier_above_s(samples_s: Floats, *, resolution_s: float = 0.0) -> float | None:
    """Return the time above which a launch is an outlier; None for too few samples.

    Median + 5 deviations of the logarithms, because a disturbance multiplies a time and only ever
    makes it longer. The deviation is the wider of the two quartiles' distances from the median,
    1.4826 times that: for a normal series the median absolute deviation (Hampel 1974; Leys et al.
    2013), and for a skewed one its wider side. Two steps of a clock of ``resolution_s`` are never
    an outlier.
    """
    series = thinned(samples_s, MOST_SAMPLES)
    if len(series) < LEAST_SAMPLES or series.min() <= 0:
        return None
    logs = np.log(series)
    q1, middle, q3 = np.percentile(logs, (25, 50, 75))
    spread = _QUARTILE * max(float(middle - q1), float(q3 - middle))
    median_s = float(np.exp(middle))
    fence_s = float(np.exp(middle + DEVIATIONS * spread))
    return max(fence_s, median_s * (1 + LEAST_EXCESS), median_s + 2 * resolution_s)
