"""What the interval of a ratio of two times says of them, in one word."""

from __future__ import annotations

from typing import Literal

TOLERANCE = 0.005
"""Two medians within this fraction of each other are called the same (NVBench's limit)."""

Verdict = Literal["faster", "slower", "same", "can't tell"]


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
