"""Launches over time as they are drawn: a line through each, or a column for many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtGui import QBrush, QColor, QPen

from gpuexplorer.gui.model.trace import Drawing, Floats
from gpuexplorer.gui.plots.base import Plot, line_pen

NONE, GAP = np.empty(0), np.array([np.nan])
Sides = tuple[Floats, Floats, Floats, Floats]
"""Of columns: where they begin and end, and their lower and upper values."""


class Traces:
    """Drawings of one look on a plot; a pause in them, and from one to the next, stays empty.

    Where a point is a launch, a line joins them. Where a pair of points stands for many, a column
    reaches from the least to the greatest, a darker one over the middle nine tenths, and a line
    follows the medians: a line from extreme to extreme would show swings that no launch made.
    """

    def __init__(self, plot: Plot, z: float) -> None:
        self._plot = plot
        self.columns = [pg.BarGraphItem(x0=[], x1=[], y0=[], y1=[]) for _ in range(2)]
        self.line = pg.PlotCurveItem(connect="finite")
        for height, item in enumerate((*self.columns, self.line)):
            item.setZValue(z + height)
            plot.addItem(item, ignoreBounds=True)

    def set_look(self, line: str, middle: str, extremes: str) -> None:
        """Take the colours of the line, and of the two columns."""
        self.line.setPen(line_pen(line))
        for columns, colour in zip(self.columns, (extremes, middle), strict=True):
            columns.setOpts(pen=line_pen(colour), brush=QBrush(QColor(colour)))

    @property
    def pen(self) -> QPen:
        """The line's pen, for a legend."""
        pen: QPen = self.line.opts["pen"]
        return pen

    def clear(self) -> None:
        """Draw nothing."""
        self.draw(())

    def draw(self, drawings: Sequence[Drawing], after_s: float = 0.0) -> None:
        """Draw these, one after the other in time, ``after_s`` later than they say."""
        lines: list[tuple[Floats, Floats]] = [(NONE, NONE)]
        outer: list[Sides] = [(NONE,) * 4]
        inner: list[Sides] = [(NONE,) * 4]
        for one in drawings:
            x, y = one.x, one.y
            if one.stretch > 1:
                begins, ends = one.x[::2], one.ends()
                outer.append((begins, ends, one.y[::2], one.y[1::2]))
                if one.inner.size:
                    inner.append((begins, ends, one.inner[0], one.inner[2]))
                x, y = (begins + ends) / 2, one.inner[1] if one.inner.size else NONE
            if len(y):
                after = one.pauses() + 1
                lines.append((np.insert(x, after, np.nan), np.insert(y, after, np.nan)))
                lines.append((GAP, GAP))
        along, up = (np.concatenate(part) for part in zip(*lines, strict=True))
        self.line.setData(along + after_s, self._plot.scaled(up))
        for columns, sides in zip(self.columns, (outer, inner), strict=True):
            x0, x1, low, high = (np.concatenate(part) for part in zip(*sides, strict=True))
            if len(x0) or len(columns.opts["x0"]):
                low, high = self._plot.scaled(low), self._plot.scaled(high)
                columns.setOpts(x0=x0 + after_s, x1=x1 + after_s, y0=low, y1=high)
