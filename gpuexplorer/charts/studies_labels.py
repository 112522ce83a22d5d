"""Places for the words beside points, so that no two lie on each other or on a point.

Everything is counted in shares of the panel, 0 to 1 along each axis, whatever the scales are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from gpuexplorer.charts.spec import Axis

LETTER = 0.0078
"""Width of a letter of an annotation as a share of a panel that is as wide as the page."""
LINE_IN = 0.155
"""Height of its line in inches."""
GAP = 0.010
"""Between a point and its words."""
ROUNDING = 1e-9
"""Areas below this are rounding errors."""


@dataclass(frozen=True)
class Box:
    """A rectangle from its lower left corner."""

    x: float
    y: float
    width: float
    height: float

    def overlap(self, other: Box) -> float:
        """Return the area that both share."""
        wide = min(self.x + self.width, other.x + other.width) - max(self.x, other.x)
        high = min(self.y + self.height, other.y + other.height) - max(self.y, other.y)
        return max(0.0, wide) * max(0.0, high)

    def outside(self) -> float:
        """Return the area that lies outside the panel."""
        inside = self.overlap(Box(0.0, 0.0, 1.0, 1.0))
        left = self.width * self.height - inside
        return left if left > ROUNDING else 0.0


def share(value: float, axis: Axis) -> float:
    """Return where a value lies along an axis that has both ends: 0 at its low one, 1 at the high.

    ValueError for an axis without ends.
    """
    if axis.low is None or axis.high is None:
        raise ValueError("the axis has no range")
    if axis.scale == "log":
        return math.log(value / axis.low) / math.log(axis.high / axis.low)
    return (value - axis.low) / (axis.high - axis.low)


def value_at(fraction: float, axis: Axis) -> float:
    """Return the value at a share of an axis; the inverse of ``share``."""
    if axis.low is None or axis.high is None:
        raise ValueError("the axis has no range")
    if axis.scale == "log":
        return float(axis.low * (axis.high / axis.low) ** fraction)
    return axis.low + fraction * (axis.high - axis.low)


def place_labels(
    points: Sequence[tuple[float, float]],
    words: Sequence[str],
    *,
    height_in: float,
    width: float = 1.0,
    marker: float = 0.012,
    obstacles: Sequence[Box] = (),
) -> list[Box]:
    """Return a box for each point's words, chosen one after another.

    ``points`` are in shares of the panel, which is ``height_in`` inches high and takes ``width`` of
    the page; ``obstacles`` are what else is drawn. Of the places around its point, near ones first,
    a label gets the first that is free, or else the one that hides the least.
    """
    line = LINE_IN / height_in
    taken = [Box(x - marker / 2, y - marker, marker, 2 * marker) for x, y in points]
    taken += obstacles
    found: list[Box] = []
    for (x, y), text in zip(points, words, strict=True):
        wide = LETTER * len(text) / width
        best: tuple[float, Box] | None = None
        for near in (1.0, 2.2, 3.6, 5.0):
            for box in _around(x, y, wide, line, near):
                hidden = 4 * box.outside() + sum(box.overlap(other) for other in taken)
                if best is None or hidden < best[0]:
                    best = (hidden, box)
            if best is not None and best[0] == 0.0:
                break
        assert best is not None
        found.append(best[1])
        taken.append(best[1])
    return found


def along(path: Sequence[tuple[float, float]], step: float = 0.012) -> list[Box]:
    """Return small boxes along a line through points, for labels to keep clear of."""
    boxes = []
    for (x, y), (to_x, to_y) in pairwise(path):
        count = max(1, round(math.hypot(to_x - x, to_y - y) / step))
        for i in range(count + 1):
            at_x, at_y = x + (to_x - x) * i / count, y + (to_y - y) * i / count
            boxes.append(Box(at_x - step / 4, at_y - step / 4, step / 2, step / 2))
    return boxes


def _around(x: float, y: float, wide: float, line: float, near: float) -> list[Box]:
    """Return the places around a point, the preferred ones first."""
    aside, above = GAP * near, GAP + 0.9 * line * near
    below = -above - 0.4 * line
    level = -0.35 * line
    return [
        Box(x + aside, y + level, wide, line),
        Box(x - aside - wide, y + level, wide, line),
        Box(x + 0.4 * aside, y + above - line, wide, line),
        Box(x + 0.4 * aside, y + below, wide, line),
        Box(x - 0.4 * aside - wide, y + above - line, wide, line),
        Box(x - 0.4 * aside - wide, y + below, wide, line),
        Box(x - wide / 2, y + above, wide, line),
        Box(x - wide / 2, y + below - 0.5 * line, wide, line),
    ]
