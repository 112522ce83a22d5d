"""Places for the words beside points, so that no two lie on each other or on a point.

Everything is counted in shares of the panel, 0 to 1 along each axis, whatever the scales are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import msgspec
import numpy as np

from gpuexplorer.charts.spec import Axis, Floats, Panel, Series

LETTER = 0.0078
"""Width of a letter of an annotation as a share of a panel that is as wide as the page."""
LINE_IN = 0.155
"""Height of its line in inches."""
FRAME_IN = 0.75
"""Of a panel's height in a file, this goes to its ticks, labels and legend."""
BAR = 0.004
"""Width of an upright line, as a share of the panel's."""
FAR = 0.07
"""Words further from their point, as a share of the panel, need a line to it."""
MOST_PATH = 60
"""Points of a line that words keep clear of."""
GAP = 0.010
"""Between a point and its words, as a share of a panel that is as wide as the page."""
MARKER_IN = 0.048
"""Half the height in inches of a point's marker, where the panel is low."""
OUTSIDE = -9.0
"""As a share of a panel: far to the left of it, or below."""
ROUNDING = 1e-9
"""Areas below this are rounding errors."""


class Box(msgspec.Struct, frozen=True):
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
    letter: float = LETTER,
) -> list[Box]:
    """Return a box for each point's words, chosen one after another.

    ``points`` are in shares of the panel, which is ``height_in`` inches high and takes ``width`` of
    the page; ``obstacles`` are what else is drawn, and ``letter`` is the width of a letter as a
    share of the page. Of the places around its point, near ones first, a label gets the first that
    is free, or else the one that hides the least.
    """
    line = LINE_IN / height_in
    across, up = marker / width, max(marker, MARKER_IN / height_in)
    taken = [Box(x - across / 2, y - up, across, 2 * up) for x, y in points]
    taken += obstacles
    areas = np.array([(b.x, b.y, b.x + b.width, b.y + b.height) for b in taken])
    found: list[Box] = []
    for (x, y), text in zip(points, words, strict=True):
        wide = letter * len(text) / width
        best: tuple[float, Box] | None = None
        for near in (1.0, 2.2, 3.6, 5.0):
            for box in _around(x, y, wide, line, near, GAP / width):
                hidden = 4 * box.outside() + _hidden(box, areas)
                if best is None or hidden < best[0]:
                    best = (hidden, box)
            if best is not None and best[0] == 0.0:
                break
        assert best is not None
        box = best[1]
        found.append(box)
        corners = [(box.x, box.y, box.x + box.width, box.y + box.height)]
        areas = np.concatenate([areas, corners])
    return found


def _hidden(box: Box, areas: Floats) -> float:
    """Return how much of the areas, as rows of left, bottom, right and top, a box lies on."""
    wide = np.minimum(box.x + box.width, areas[:, 2]) - np.maximum(box.x, areas[:, 0])
    high = np.minimum(box.y + box.height, areas[:, 3]) - np.maximum(box.y, areas[:, 1])
    return float((np.maximum(wide, 0.0) * np.maximum(high, 0.0)).sum())


def along(path: Sequence[tuple[float, float]], step: float = 0.012) -> list[Box]:
    """Return small boxes along a line through points, for labels to keep clear of."""
    boxes = []
    for (x, y), (to_x, to_y) in pairwise(path):
        count = max(1, round(math.hypot(to_x - x, to_y - y) / step))
        for i in range(count + 1):
            at_x, at_y = x + (to_x - x) * i / count, y + (to_y - y) * i / count
            boxes.append(Box(at_x - step / 4, at_y - step / 4, step / 2, step / 2))
    return boxes


def _around(x: float, y: float, wide: float, line: float, near: float, gap: float) -> list[Box]:
    """Return the places around a point, the preferred ones first."""
    aside, above = gap * near, GAP + 0.9 * line * near
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


class Placed(msgspec.Struct, frozen=True):
    """The words of a point: the middle of their left end and their point, in the axes' units."""

    words: str
    x: float
    y: float
    point: tuple[float, float]
    far: bool = False
    """Whether they need a line to their point."""


def point_labels(
    panel: Panel,
    x: tuple[float, float],
    y: tuple[float, float],
    *,
    height_in: float,
    width: float = 1.0,
    letter: float = LETTER,
) -> list[Placed]:
    """Return where the words of a panel's points go, so that none hides another.

    ``x`` and ``y`` are what is visible of the axes, low end first, in their units; sizes are those
    of ``place_labels``. Words of points outside are left out.
    """
    axes = (
        msgspec.structs.replace(panel.x, low=x[0], high=x[1]),
        msgspec.structs.replace(panel.y, low=y[0], high=y[1]),
    )
    named: list[tuple[float, float, str, Series]] = []
    bars: list[Box] = []
    for one in panel.series:
        if one.kind != "points":
            continue
        places = _shares(one.x, one.y, axes)
        named += [
            (px, py, words, one)
            for (px, py), words in zip(places, one.labels, strict=False)
            if words and 0 <= px <= 1 and 0 <= py <= 1
        ]
        if len(one.low) and not one.sideways:
            ends = zip(_shares(one.x, one.low, axes), _shares(one.x, one.high, axes), strict=True)
            bars += [Box(px - BAR / 2, low, BAR, high - low) for (px, low), (_, high) in ends]
    if not named:
        return []
    if any(one.sideways for *_, one in named):
        return _beside_intervals(panel, axes, width, letter)
    paths = [
        box
        for one in panel.series
        if one.kind in ("line", "step") and len(one.x) <= MOST_PATH
        for box in along(_inside(_shares(one.x, one.y, axes)))
    ]
    boxes = place_labels(
        [(px, py) for px, py, *_ in named], [words for _, _, words, _ in named],
        height_in=height_in, width=width, obstacles=[*bars, *paths], letter=letter,
    )  # fmt: skip
    line = LINE_IN / height_in
    placed = []
    for (px, py, words, _), box in zip(named, boxes, strict=True):
        near = min(max(px, box.x), box.x + box.width)
        far = math.hypot(near - px, box.y + line / 2 - py) > FAR
        at = value_at(box.x, axes[0]), value_at(box.y + line / 2, axes[1])
        placed.append(Placed(words, *at, (value_at(px, axes[0]), value_at(py, axes[1])), far=far))
    return placed


def _beside_intervals(
    panel: Panel, axes: tuple[Axis, Axis], width: float, letter: float
) -> list[Placed]:
    """Return words right of each level interval, or left of it where they fit only there."""
    placed, gap = [], GAP / width
    levels = [
        _place(float(one.x[0]), axes[0])
        for one in panel.series
        if one.kind == "vline" and not one.name
    ]
    for one in panel.series:
        if one.kind != "points":
            continue
        middles = _shares(one.x, one.y, axes)
        lows = _shares(one.low, one.y, axes) if len(one.low) else middles
        highs = _shares(one.high, one.y, axes) if len(one.high) else middles
        for i, words in enumerate(one.labels):
            px, py = middles[i]
            if not words or not (0 <= px <= 1 and 0 <= py <= 1):
                continue
            low, high = lows[i][0], highs[i][0]
            wide = letter * len(words) / width
            at = (px if math.isnan(high) else high) + 2 * gap
            at = next((line + gap for line in levels if at - gap < line < at + wide), at)
            left = (px if math.isnan(low) else low) - 2 * gap - wide
            if at + wide > 1 and left >= 0:
                at = left
            x, y = float(one.x[i]), float(one.y[i])
            placed.append(Placed(words, value_at(at, axes[0]), y, (x, y)))
    return placed


def _shares(x: Floats, y: Floats, axes: tuple[Axis, Axis]) -> list[tuple[float, float]]:
    """Return places as shares of the panel."""
    return [
        (_place(px, axes[0]), _place(py, axes[1]))
        for px, py in zip(x.tolist(), y.tolist(), strict=True)
    ]


def _place(value: float, axis: Axis) -> float:
    """Return a value as a share; what has no place on a logarithmic axis is far outside."""
    return OUTSIDE if axis.scale == "log" and value <= 0 else share(value, axis)


def _inside(path: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return a path without unknown places, and with what is far outside of the panel cut off."""
    return [
        (min(max(px, -0.1), 1.1), min(max(py, -0.1), 1.1))
        for px, py in path
        if math.isfinite(px) and math.isfinite(py)
    ]
