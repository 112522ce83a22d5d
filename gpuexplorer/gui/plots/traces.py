"""Launches over time as they are drawn: a line through each, or a column for many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pyqtgraph as pg
from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPen, QTransform
from shiboken6 import Shiboken

from gpuexplorer.gui.model.trace import Drawing, Floats
from gpuexplorer.gui.plots.base import Plot, line_pen, polygon

FAR_PX = 1e6
"""What lies further out is drawn here: nobody sees it, and the painter reckons in small numbers."""
Line = tuple[Floats, Floats]
Pixels = npt.NDArray[np.int32]


class Columns(NamedTuple):
    """Columns side by side, in the plot's coordinates."""

    edges: Floats
    """Where each begins and ends, shape (2, columns)."""
    heights: Floats
    """The most, the ends of the middle nine tenths, and the least, shape (4, columns).

    Without the middle, shape (2, columns), where it was not kept.
    """


class Traces(pg.GraphicsObject):  # type: ignore[misc]
    """Drawings of one look on a plot; a pause in them, and from one to the next, stays empty.

    Where a point is a launch, a line joins them. Where a pair of points stands for many, a column
    reaches from the least to the greatest, a darker one over the middle nine tenths, and a line
    follows the medians: a line from extreme to extreme would show swings that no launch made.

    All of it is one item that paints in whole pixels, as it is drawn anew with every frame.
    """

    def __init__(self, plot: Plot, z: float) -> None:
        super().__init__()
        self._plot = plot
        self.lines: list[Line] = []
        """What is joined, in the plot's coordinates."""
        self.columns: list[Columns] = []
        """In the plot's coordinates, as of each drawing."""
        self._bounds = QRectF()
        self.pen, self.fill = QPen(), QBrush()
        """Of the line, and of the darker columns; a legend has them too."""
        self._pale = QBrush()
        self.setZValue(z)
        self.hide()
        plot.add(self)

    def set_look(self, line: str, middle: str, extremes: str) -> None:
        """Take the colours of the line, and of the two columns."""
        self.pen = line_pen(line)
        self.fill, self._pale = QBrush(QColor(middle)), QBrush(QColor(extremes))
        self.update()

    def clear(self) -> None:
        """Draw nothing."""
        self.draw(())

    def draw(self, drawings: Sequence[Drawing], after_s: float = 0.0) -> None:
        """Draw these, one after the other in time, ``after_s`` later than they say."""
        scaled = self._plot.scaled
        self.lines, self.columns, bounds = [], [], QRectF()
        for one in drawings:
            if not len(one.x):
                continue
            x, y = one.x + after_s, scaled(one.y)
            end_s = x[-1]
            if one.stretch > 1:
                inner = scaled(one.inner) if one.inner.size else None
                edges = np.array((one.x[::2], one.ends())) + after_s
                heights = (y[1::2], y[::2]) if inner is None else (y[1::2], *inner[::-2], y[::2])
                self.columns.append(Columns(edges, np.array(heights)))
                x, end_s = edges.mean(axis=0), edges[1, -1]
            bounds |= _around(x[0], end_s, y)
            if one.stretch == 1:
                self._join(x, y, one.pauses() + 1)
            elif inner is not None:
                self._join(x, inner[1], one.pauses() + 1)
        self.prepareGeometryChange()
        self._bounds = bounds
        self.setVisible(bool(self.lines or self.columns))
        self.update()

    def _join(self, x: Floats, y: Floats, after: npt.NDArray[np.intp]) -> None:
        """Join points, but not those before ``after`` with those from there on."""
        parts = zip(np.split(x, after), np.split(y, after), strict=True) if len(after) else [(x, y)]
        self.lines += parts

    def boundingRect(self) -> QRectF:
        """Return what is covered."""
        return self._bounds

    def paint(self, painter: QPainter, *args: object) -> None:
        """Draw columns and lines."""
        to_px = painter.transform()
        painter.save()
        painter.resetTransform()
        painter.setPen(Qt.PenStyle.NoPen)
        for columns in self.columns:
            pale, dark = _whole_pixels(columns, to_px)
            for brush, pixels in ((self._pale, pale), (self.fill, dark)):
                if len(pixels):
                    painter.setBrush(brush)
                    first = cast(QRect, Shiboken.wrapInstance(pixels.ctypes.data, QRect))
                    painter.drawRects(first, len(pixels))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(self.pen)
        for x, y in self.lines:
            painter.drawPolyline(polygon(_across(x, to_px), _down(y, to_px)))
        painter.restore()


def _around(begin_s: float, end_s: float, heights: Floats) -> QRectF:
    """Return what contains points; on a logarithmic axis nothing lies at 0, and there is no end."""
    low, high = float(heights.min()), float(heights.max())
    if not math.isfinite(high - low):
        heights = heights[np.isfinite(heights)]
        low, high = (float(heights.min()), float(heights.max())) if len(heights) else (0.0, 0.0)
    return QRectF(begin_s, low, end_s - begin_s, high - low)


def _across(x: Floats, to_px: QTransform) -> Floats:
    return _near(x * to_px.m11() + to_px.dx())


def _down(y: Floats, to_px: QTransform) -> Floats:
    return _near(y * to_px.m22() + to_px.dy())


def _near(px: Floats) -> Floats:
    return np.minimum(np.maximum(px, -FAR_PX, out=px), FAR_PX, out=px)


def _whole_pixels(columns: Columns, to_px: QTransform) -> tuple[Pixels, Pixels]:
    """Return what is pale and what is dark: rows (left, top, right, bottom), as ``QRect`` has them.

    A column ends where the next one begins, and no part covers another: painting is what takes
    time. Each column is one pixel large at the least.
    """
    left, right = np.floor(_across(columns.edges, to_px)).astype(np.int32)
    right = np.maximum(right - 1, left)
    heights = np.floor(_down(columns.heights, to_px)).astype(np.int32)
    if len(heights) == 2:
        return _rows(left, heights[0], right, heights[1]), np.empty((0, 4), np.int32)
    top, high, low, bottom = heights
    above, below = np.flatnonzero(top < high), np.flatnonzero(bottom > low)
    pale = np.concatenate(
        [
            _rows(left[above], top[above], right[above], high[above] - 1),
            _rows(left[below], low[below] + 1, right[below], bottom[below]),
        ]
    )
    return pale, _rows(left, high, right, low)


def _rows(left: Pixels, top: Pixels, right: Pixels, bottom: Pixels) -> Pixels:
    rows = np.empty((len(left), 4), np.int32)
    rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3] = left, top, right, bottom
    return rows
