"""A long series in fewer figures: samples spread evenly over it, or what stretches of it hold."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

FIGURES = 5
SORTED = 2048
"""Rows of fewer samples are sorted faster than partitioned at five places."""
PAUSE_S = 0.3
PAUSE_STEPS = 5.0
"""A pause is longer than both: seconds, and usual steps from one point to the next, of which one
with more launches takes longer."""


def thinned(samples_s: Floats, most: int) -> Floats:
    """Return every k-th sample, so that there are ``most`` at the most; a view, in order."""
    return samples_s[:: -(-len(samples_s) // most)] if len(samples_s) > most else samples_s


def figures(samples: Floats) -> Floats:
    """Return least, 5th percentile, median, 95th and greatest of each row, shape (5, rows).

    Percentiles are the nearest samples; the median of an even number is between the middle two.
    """
    last = samples.shape[1] - 1
    if last == 3:  # a live trace has most of these: no row is sorted by itself
        a, b, c, d = samples.T
        low, high = np.minimum(a, b), np.maximum(a, b)
        lower, higher = np.minimum(c, d), np.maximum(c, d)
        least, most = np.minimum(low, lower), np.maximum(high, higher)
        median = (np.maximum(low, lower) + np.minimum(high, higher)) / 2
        return np.array((least, least, median, most, most))
    ranks = [0, round(0.05 * last), last // 2, round(0.95 * last), last]
    if last < SORTED:
        ordered = np.sort(samples, axis=1)
    else:
        ordered = np.partition(samples, sorted({*ranks, last - last // 2}), axis=1)
    found = ordered.T[ranks]
    found[2] = (found[2] + ordered[:, last - last // 2]) / 2
    return found


def busy_s(inner: Floats, launches: Counts | int) -> Floats:
    """Return about how long stretches of launches took, the pauses in them left out.

    ``inner`` are the three inner ``figures`` of each. They give its mean without its extremes: one
    slow launch among thousands does not make all of them slow.
    """
    low, median, high = inner
    found: Floats = (0.275 * (low + high) + 0.45 * median) * launches
    return found


def usual_step_s(begins_s: Floats, launches: Counts | None = None) -> float:
    """Return the usual time from one launch to the next; 0 where there is no step.

    With ``launches``, so many begin at each point, and half of them are in no slower a stretch.
    """
    steps = begins_s[1:] - begins_s[:-1]
    if not len(steps):
        return 0.0
    if launches is None:
        return float(np.median(steps))
    each = steps / launches[:-1]
    order = np.argsort(each)
    so_far = np.cumsum(launches[order])
    return float(each[order[np.searchsorted(so_far, so_far[-1] / 2)]])


def pauses(
    begins_s: Floats, lasted_s: Floats | float = 0.0, launches: Counts | None = None
) -> npt.NDArray[np.intp]:
    """Return the points after which nothing was measured for a while.

    ``launches`` begin at each point, and take ``lasted_s`` together; None: as many at each.
    """
    steps = begins_s[1:] - begins_s[:-1]
    idle = steps - (lasted_s if isinstance(lasted_s, float) else lasted_s[:-1])
    found = np.flatnonzero(idle > PAUSE_S)
    if len(found):
        usual_s = usual_step_s(begins_s, launches)
        due_s = usual_s if launches is None else usual_s * launches[found]
        found = found[idle[found] > PAUSE_STEPS * due_s]
    return found
