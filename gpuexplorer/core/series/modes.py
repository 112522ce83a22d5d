"""Whether the times fall into two groups instead of one."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from gpuexplorer.core.series.thin import thinned

Floats = npt.NDArray[np.float64]

LEAST_SAMPLES = 50
MOST_SAMPLES = 20_000
LEAST_SHARE = 0.1
LEAST_APART = 0.03
"""Modes nearer to each other than this fraction are one."""
RESOLVED_STEPS = 7
"""Modes are this many steps of the clock apart, or its steps themselves would look like modes."""
WINDOW = 0.15
"""Half-width of the three windows that are compared, over the distance of the centres."""
VALLEY = 0.5
"""Between two modes there is at most this share of the samples at the smaller one's centre."""
SIGNIFICANT = 3.5


class Modes(msgspec.Struct, frozen=True):
    """Centres of the two modes in seconds, and the upper one's share of the samples."""

    lower_s: float
    upper_s: float
    upper_share: float


def find_modes(samples_s: Floats, *, resolution_s: float = 0.0) -> Modes | None:
    """Return the two modes of a series, or None when it has one.

    Two modes have a valley between them; skew and heavy tails, which fool tests of moments, have
    none. For every split of the sorted logarithms between 10 and 90 %, the samples at half way
    between the two parts' medians are counted against those at the medians, in windows of the same
    width. The split whose valley is deepest, as √(counts) measures it, is taken when it is deep
    enough both in share and beyond chance.
    """
    series = thinned(samples_s, MOST_SAMPLES)
    if len(series) < LEAST_SAMPLES or series.min() <= 0:
        return None
    logs = np.sort(np.log(series))
    splits = np.unique(np.round(np.linspace(LEAST_SHARE, 1 - LEAST_SHARE, 81) * len(logs)))
    split = splits.astype(np.int64)
    lower, upper = logs[split // 2], logs[(len(logs) + split) // 2]
    apart = upper - lower

    def near(centre: Floats) -> npt.NDArray[np.int64]:
        width = WINDOW * apart
        found: npt.NDArray[np.int64] = np.searchsorted(
            logs, centre + width, side="right"
        ) - np.searchsorted(logs, centre - width, side="left")
        return found

    peak = np.minimum(near(lower), near(upper))
    valley = near((lower + upper) / 2)
    least_s = np.maximum(LEAST_APART * np.exp(lower), RESOLVED_STEPS * resolution_s)
    told_apart = (np.exp(upper) - np.exp(lower) >= least_s) & (valley <= VALLEY * peak)
    depth = np.where(told_apart, (peak - valley) / np.sqrt(np.maximum(peak + valley, 1)), 0.0)
    best = int(np.argmax(depth))
    if depth[best] < SIGNIFICANT:
        return None
    low, high = float(lower[best]), float(upper[best])
    for _ in range(2):  # the deepest valley was looked for, not its middle: settle there
        split_at = int(np.searchsorted(logs, (low + high) / 2))
        low, high = float(np.median(logs[:split_at])), float(np.median(logs[split_at:]))
    return Modes(
        lower_s=float(np.exp(low)),
        upper_s=float(np.exp(high)),
        upper_share=1 - split_at / len(logs),
    )
