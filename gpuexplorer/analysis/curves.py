"""What a curve over sizes says: how steep it is, and from where on it lies above one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise


def slopes(sizes: Sequence[float], values: Sequence[float]) -> list[float]:
    """Return d log(value) / d log(size) between neighbours, both above 0; sizes rise."""
    pairs = pairwise(zip(sizes, values, strict=True))
    return [math.log(d / b) / math.log(c / a) for (a, b), (c, d) in pairs if b > 0 and d > 0]


def crossing(curve: Sequence[tuple[float, float | None]]) -> float | None:
    """Return the size from which on the factors of a curve, all above 0, are above 1; sizes rise.

    Between two sizes, the logarithm of the factor is taken to be a straight line in the logarithm
    of the size. None where a factor is missing, all are above 1, or the last one is not.
    """
    known = [(size, factor) for size, factor in curve if factor is not None]
    slow = [place for place, (_, factor) in enumerate(known) if factor <= 1]
    if len(known) < len(curve) or not slow or slow[-1] == len(known) - 1:
        return None
    (low, before), (high, after) = known[slow[-1]], known[slow[-1] + 1]
    share = -math.log(before) / (math.log(after) - math.log(before))
    return math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
