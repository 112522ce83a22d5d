"""Two series taken in turns, A B B A ..., compared: the ratio of their times and its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

FEWEST_PAIRS = 6
"""Fewer pairs cannot exclude anything at 95 %: with five, all agree by chance in 6 % of cases."""
MOST_EXACT_PAIRS = 60
TOLERANCE = 0.005
"""Two medians within this fraction of each other are called the same (NVBench's limit)."""

Verdict = Literal["faster", "slower", "same", "can't tell"]


@dataclass(frozen=True)
class Comparison:
    """B's time over A's, with its 95 % interval; below 1, B is faster."""

    ratio: float
    ci95_low: float
    ci95_high: float
    pairs: int
    verdict: Verdict
    """What B is beside A."""


def ratio_interval(
    a_groups_s: Floats, b_groups_s: Floats, *, tolerance: float = TOLERANCE
) -> Comparison | None:
    """Compare two series from the medians of their turns, each pair taken one after the other.

    ``a_groups_s`` and ``b_groups_s`` are as long, in order; the i-th of both stood side by side in
    time, so what slows the machine for longer than a turn slows both and cancels. The logarithms of
    the pairs' ratios give Hodges and Lehmann's (1963) centre, the median of all their averages two
    by two, and its interval by Wilcoxon's signed ranks (Hollander, Wolfe & Chicken 2013, section
    3.2), which holds for every symmetric distribution, however heavy its tails: a burst that hits
    one turn is one rank and no more. Symmetric they are when A and B take the same time.

    None below ``FEWEST_PAIRS``. ValueError for another number of turns or times not above 0.
    """
    if len(a_groups_s) != len(b_groups_s):
        raise ValueError("the two series have another number of turns")
    if len(a_groups_s) < FEWEST_PAIRS:
        return None
    if min(a_groups_s.min(), b_groups_s.min()) <= 0:
        raise ValueError("a ratio needs times above 0")
    ratios = np.log(b_groups_s / a_groups_s)
    centre, low, high = (math.exp(v) for v in _signed_rank_interval(ratios))
    return Comparison(
        ratio=centre,
        ci95_low=low,
        ci95_high=high,
        pairs=len(ratios),
        verdict=verdict_of(centre, low, high, tolerance),
    )


def verdict_of(ratio: float, low: float, high: float, tolerance: float = TOLERANCE) -> Verdict:
    """Return what an interval of a ratio of times says.

    ``same``: it lies within ``tolerance`` of 1. ``faster`` or ``slower``: it leaves 1 out, and the
    ratio is further from 1 than ``tolerance``. Everything else cannot be told.
    """
    least, most = 1 / (1 + tolerance), 1 + tolerance
    if least <= low and high <= most:
        return "same"
    if high < 1 and ratio < least:
        return "faster"
    if low > 1 and ratio > most:
        return "slower"
    return "can't tell"


def _signed_rank_interval(values: Floats) -> tuple[float, float, float]:
    """Return Hodges and Lehmann's centre of ``values`` and its 95 % interval."""
    first, second = np.triu_indices(len(values))
    averages = np.sort((values[first] + values[second]) / 2)
    cut = _averages_cut(len(values))
    return float(np.median(averages)), float(averages[cut]), float(averages[-1 - cut])


@cache
def _averages_cut(pairs: int) -> int:
    """Return how many averages lie outside a 95 % interval at each end.

    That is the largest sum of positive ranks that is reached in 2.5 % of the cases at the most.
    """
    if pairs > MOST_EXACT_PAIRS:
        mean = pairs * (pairs + 1) / 4
        deviation = math.sqrt(mean * (2 * pairs + 1) / 6)
        return int(mean - 1.959963984540054 * deviation) - 1
    ways = np.ones(1)  # in how many of the 2**pairs signs the positive ranks sum to 0, 1, 2, ...
    for rank in range(1, pairs + 1):
        longer = np.zeros(len(ways) + rank)
        longer[: len(ways)] += ways / 2
        longer[rank:] += ways / 2
        ways = longer
    return int((np.cumsum(ways) <= 0.025).sum()) - 1
