"""Two series taken in turns, compared: the ratio of their times, its interval, and a verdict.

In each turn of the two a coin decides which goes first. Of two equal things each is then the slower
one with a chance of one half in every pair, whatever disturbs the machine, bursts, drifts, clocks
that change: so the error of the sign test is what it says, without a word on the noise.
"""

from __future__ import annotations

import math
from functools import cache

import msgspec
import numpy as np
import numpy.typing as npt

from gpuexplorer.core.fields import Count, Ratio
from gpuexplorer.core.intervals import clock_step_s
from gpuexplorer.core.units import speed, speed_interval, speed_than
from gpuexplorer.core.verdict import TOLERANCE, Verdict, verdict_of

Floats = npt.NDArray[np.float64]

FEWEST_PAIRS = 6
"""Fewer pairs cannot exclude anything at 95 %: with five, all agree by chance in 6 % of cases."""
FAR_APART = 10.0
"""Pairs that all agree need be no more than this tells: one that is ten times apart, two that are
its square root apart each, three its cube root, and so on."""
CONFIDENCE = 0.95


class Comparison(msgspec.Struct, frozen=True):
    """B's time over A's, with its 95 % interval; below 1, B is faster."""

    ratio: Ratio
    ci95_low: Ratio
    ci95_high: Ratio
    pairs: Count
    """0 when they were not measured in turns."""
    verdict: Verdict
    """What B is beside A."""

    @property
    def words(self) -> str:
        """How fast B is beside A, with the interval, or that this cannot be told."""
        return speed(self.ratio, self.ci95_low, self.ci95_high, self.verdict)

    @property
    def interval(self) -> str:
        """The interval of what ``words`` say, such as ``1.79–2.22``."""
        return speed_interval(self.ratio, self.ci95_low, self.ci95_high)

    def than(self, other: str) -> str:
        """Return ``words`` with what B stands beside: ``2.00× faster (1.79–2.22) than A``."""
        return speed_than(self.ratio, other, self.ci95_low, self.ci95_high, self.verdict)


def ratio_interval(
    a_groups_s: Floats,
    b_groups_s: Floats,
    *,
    tolerance: float = TOLERANCE,
    clocks_s: tuple[float, float] = (0.0, 0.0),
) -> Comparison | None:
    """Compare two series from the medians of their turns, each pair taken one after the other.

    ``a_groups_s`` and ``b_groups_s`` are as long, in order; the i-th of both stood side by side in
    time, so what slows the machine for longer than a turn slows both and cancels. The ratio is the
    median of the pairs' ratios, and its interval that of the sign test between the ordered ratios,
    interpolated to 95 % as Hettmansperger and Sheather (1986) do. It asks of the pairs only that A
    and B are as likely to be the slower one, whatever bursts hit them: a turn that takes ten times
    as long is one pair on one side, and no more. (Intervals of signed ranks or of Student's t are
    several times as wide on a machine of which others steal time.) Medians that come in the steps
    of their clocks, of the resolutions ``clocks_s``, tell the ratio no better than those.

    None below ``FEWEST_PAIRS``. ValueError for another number of turns or times not above 0.
    """
    ratios = _log_ratios(a_groups_s, b_groups_s)
    if len(ratios) < FEWEST_PAIRS:
        return None
    centre, low, high = _median_interval(ratios)
    blur = _blur(a_groups_s, b_groups_s, clocks_s)
    return _compared(centre, low - blur, high + blur, len(ratios), tolerance)


def interval_so_far(
    a_groups_s: Floats,
    b_groups_s: Floats,
    *,
    tolerance: float = TOLERANCE,
    clocks_s: tuple[float, float] = (0.0, 0.0),
) -> Comparison | None:
    """Compare as ``ratio_interval`` does, for one who looks after every pair and may stop there.

    The intervals of all looks together hold the true ratio with 95 % (repeated confidence
    intervals, Jennison & Turnbull 1989), so each is wider than that of a number of pairs fixed
    beforehand. None while there are too few pairs for any, unless they lie far apart
    (``FAR_APART``).
    """
    ratios = np.sort(_log_ratios(a_groups_s, b_groups_s))
    if not len(ratios):
        return None
    count, blur = disagreeing(len(ratios)), _blur(a_groups_s, b_groups_s, clocks_s)
    if count is None:
        return _far_apart(ratios, blur, tolerance)
    centre = float(np.median(ratios))
    ends = float(ratios[count]) - blur, float(ratios[-1 - count]) + blur
    return _compared(centre, *ends, len(ratios), tolerance)


def _far_apart(ratios: Floats, blur: float, tolerance: float) -> Comparison | None:
    """Compare by few pairs that agree on a large difference, from sorted logarithms of ratios.

    That a disturbance makes one turn many times as long as its neighbour is rare, and the rarer the
    longer: were it that with a chance of f**-3 for f times, that n pairs all have the same one f
    times ahead would be chance in f**(-3 n), 1 in 1,000 of those n that this takes. The interval
    reaches beyond all pairs by half of what was asked of each, so that it leaves 1 out by as much,
    and by ``blur`` beyond that.
    """
    least = math.log(FAR_APART) / len(ratios)
    low, high = float(ratios[0]), float(ratios[-1])
    if low < least and high > -least:
        return None
    ends = low - least / 2 - blur, high + least / 2 + blur
    return _compared(float(np.median(ratios)), *ends, len(ratios), tolerance)


def apart(
    a_s: tuple[float, float, float],
    b_s: tuple[float, float, float],
    *,
    tolerance: float = TOLERANCE,
) -> Comparison:
    """Compare two medians that were not measured in turns, each with its 95 % interval.

    Both are (median, low, high) in seconds. The relative half-widths add up in squares. What
    differed between the two occasions, the machine's state above all, no interval can hold.
    """
    widths = [math.log(high / low) / 2 for _, low, high in (a_s, b_s)]
    centre, half = math.log(b_s[0] / a_s[0]), math.hypot(*widths)
    return _compared(centre, centre - half, centre + half, 0, tolerance)


def _blur(a_groups_s: Floats, b_groups_s: Floats, clocks_s: tuple[float, float]) -> float:
    """Return how far the logarithm of a ratio may be off for the steps of two clocks.

    Medians of an even number of samples lie half a step apart: two of what is seen may be a step.
    """
    blur = 0.0
    for medians_s, clock_s in zip((a_groups_s, b_groups_s), clocks_s, strict=True):
        step_s = min(2 * clock_step_s(medians_s, clock_s), clock_s)
        blur += step_s / 2 / float(np.median(medians_s))
    return blur


def _log_ratios(a_groups_s: Floats, b_groups_s: Floats) -> Floats:
    if len(a_groups_s) != len(b_groups_s):
        raise ValueError("the two series have another number of turns")
    if len(a_groups_s) and min(a_groups_s.min(), b_groups_s.min()) <= 0:
        raise ValueError("a ratio needs times above 0")
    ratios: Floats = np.log(b_groups_s / a_groups_s)
    return ratios


def _compared(centre: float, low: float, high: float, pairs: int, tolerance: float) -> Comparison:
    """Return the comparison for a logarithm of the ratio and its interval."""
    ratio, least, most = math.exp(centre), math.exp(low), math.exp(high)
    return Comparison(
        ratio=ratio,
        ci95_low=least,
        ci95_high=most,
        pairs=pairs,
        verdict=verdict_of(ratio, least, most, tolerance),
    )


def _median_interval(values: Floats) -> tuple[float, float, float]:
    """Return the median of independent ``values`` and its 95 % interval."""
    ordered = np.sort(values)
    rank, inward = _interval_place(len(values))
    low = (1 - inward) * ordered[rank] + inward * ordered[rank + 1]
    high = (1 - inward) * ordered[-1 - rank] + inward * ordered[-2 - rank]
    return float(np.median(ordered)), float(low), float(high)


@cache
def _interval_place(pairs: int) -> tuple[int, float]:
    """Return where a 95 % interval of the median ends among so many ordered values.

    That is the index of a value, counted from 0 at either end, from which the interval holds more
    than 95 %, and how far it goes on to the next value inward, 0 to 1.
    """
    below = 1  # in how many of the 2**pairs signs at most ``rank`` are negative
    rank, held = 0, 1 - 2 * below / 2**pairs
    while True:
        below += math.comb(pairs, rank + 1)
        held_next = 1 - 2 * below / 2**pairs
        if held_next < CONFIDENCE:
            break
        rank, held = rank + 1, held_next
    step = (held - CONFIDENCE) / (held - held_next)
    depth = rank + 1
    return rank, (pairs - depth) * step / (depth + (pairs - 2 * depth) * step)


# ---- the sign test
# The sign test, looked at after every pair: how many may disagree for a look to exclude "equal".
#
# Looking again after each pair and stopping at the first good one would call two equal things
# different far too often. Here the risk of doing so is given out in small parts (alpha spending,
# Lan & DeMets 1983): after ``n`` pairs at most ``ERROR * n / (n + HALF_SPENT)`` of it may be used
# up. It never exceeds ``ERROR`` however many pairs there are, so that their number need not be
# known beforehand, and more pairs may be asked for after the end.
#
# What a look may use follows exactly from the random walk of signs: of two equal things each is the
# slower one of a pair with a chance of one half, whatever the noise, as long as a coin decides
# which of them is measured first.


ERROR = 0.04
"""Below the 5 % that a 95 % interval may be wrong, so that a count of cases stays below it, too."""
HALF_SPENT = 24
"""After so many pairs half of the risk may have been used up."""
FEWEST_LOOKED_AT = 8
"""Below so many pairs no look excludes anything, even if they all agree."""
_STEP = 256


def disagreeing(pairs: int) -> int | None:
    """Return how many of ``pairs`` may be on the other side for "equal" to be excluded.

    So many or fewer, and equal is excluded at this look; over all looks together that happens to
    equal things with a chance of ``ERROR`` at most. None when no look at so few pairs excludes it.
    """
    if pairs < 1:
        return None
    most = _walk(-(-pairs // _STEP) * _STEP)[pairs - 1]
    return most if most >= 0 else None


@cache
def _walk(pairs: int) -> tuple[int, ...]:
    """Return, for 1 to ``pairs`` pairs, how many may disagree; -1: no look excludes equal."""
    alive = np.array([1.0])  # by how many pairs were on one side: the chance to be not yet excluded
    spent = 0.0
    allowed = []
    for n in range(1, pairs + 1):
        alive = np.convolve(alive, (0.5, 0.5))
        least = 2 * np.cumsum(alive[: (n + 1) // 2])  # both ends of the walk
        affordable = least <= ERROR * n / (n + HALF_SPENT) - spent
        count = int(np.argmin(affordable)) if not affordable.all() else len(affordable)
        allowed.append(count - 1)
        spent += float(least[count - 1]) if count else 0.0
        alive[:count] = 0.0
        alive[len(alive) - count :] = 0.0
    return tuple(allowed)
