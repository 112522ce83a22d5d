"""From which size on a second device is the faster one: interpolated, or said why there is none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from gpuexplorer.charts.studies_words import size_words
from gpuexplorer.core.studies import BreakEven, Speedup

Curve = Sequence[tuple[float, float]]
"""Sizes, rising, with how many times as fast the second device is there."""


def crossing(curve: Curve) -> float | None:
    """Return the size from which on the second is faster at every larger size that was measured.

    Between two sizes, the logarithm of the speed-up is taken to be a straight line in the logarithm
    of the size. None where it is faster everywhere, or not at the largest size.
    """
    slow = [place for place, (_, factor) in enumerate(curve) if factor <= 1]
    if not slow or slow[-1] == len(curve) - 1:
        return None
    (low, below), (high, above) = curve[slow[-1]], curve[slow[-1] + 1]
    share = -math.log(below) / (math.log(above) - math.log(below))
    return math.exp(math.log(low) + share * (math.log(high) - math.log(low)))


def changes(curve: Curve) -> int:
    """Return how often the two change places along a curve."""
    faster = [factor > 1 for _, factor in curve]
    return sum(a != b for a, b in pairwise(faster))


def break_even(
    points: Sequence[tuple[int, Speedup]], symbol: str, second: str, *, transfers: bool
) -> BreakEven:
    """Return where the second device breaks even; ``symbol`` names the size, ``second`` it.

    ``points`` are the sizes at which both were measured. The ends are where the 95 % intervals of
    the speed-ups cross 1.
    """
    how = "with transfers" if transfers else "without transfers"
    ordered = sorted(points, key=lambda point: point[0])
    if not ordered:
        return BreakEven(words=f"No size was measured on both, {how}.")
    curve = [(float(size), found.factor) for size, found in ordered]
    least, most = ordered[0][0], ordered[-1][0]
    sizes = f"{symbol} = {least}" + (f" to {most}" if most != least else "")
    size = crossing(curve)
    if size is None:
        return BreakEven(words=_why_none(curve, symbol, second, how, sizes))
    low = _crossing_of([(float(s), f.ci95_high) for s, f in ordered])
    high = _crossing_of([(float(s), f.ci95_low) for s, f in ordered])
    words = f"{second} is faster from {symbol} ≈ {size_words(size)} on, {how}"
    if low is not None and high is not None and low <= size <= high:
        words += f" (95 % interval {size_words(low)} to {size_words(high)})"
    if changes(curve) > 1:
        words += f"; below that the two change places {changes(curve) - 1} times"
    return BreakEven(size=size, low=low, high=high, words=words + ".")


def _crossing_of(curve: Sequence[tuple[float, float | None]]) -> float | None:
    known = [(size, factor) for size, factor in curve if factor is not None]
    return crossing(known) if len(known) == len(curve) else None


def _why_none(curve: Curve, symbol: str, second: str, how: str, sizes: str) -> str:
    """Return in a sentence why there is no break-even in the range."""
    least, most = int(curve[0][0]), int(curve[-1][0])
    if len(curve) == 1:
        which = "faster" if curve[0][1] > 1 else "not faster"
        return (
            f"{second} is {which} at {sizes}, {how}; one size does not tell where it breaks even."
        )
    if all(factor > 1 for _, factor in curve):
        return (
            f"{second} is faster at every size measured, {sizes}, {how}: if there is a "
            f"break-even, it lies below {symbol} = {least}."
        )
    if all(factor <= 1 for _, factor in curve):
        return (
            f"{second} is at no size measured faster, {sizes}, {how}: if there is a break-even, "
            f"it lies above {symbol} = {most}."
        )
    return (
        f"{second} is faster at some sizes and not at the largest, {symbol} = {most}, {how}: there "
        "is no size from which on it stays faster."
    )
