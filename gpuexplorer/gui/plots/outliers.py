"""Launches that took far longer than the rest, ringed on the trace."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtGui import QColor

from gpuexplorer.gui.model.trace import Drawing
from gpuexplorer.gui.plots.base import Plot
from gpuexplorer.gui.theme import theme

MOST = 200
"""Rings drawn at once: the longest of what is shown."""
SIZE_PX = 7
EDGE = 0.02
"""Share of the height at which a launch above the range is ringed, so that it is seen at all."""


class OutlierMarks:
    """The rings; they follow the trace and cost next to nothing while there are none."""

    def __init__(self, plot: Plot) -> None:
        self._plot = plot
        self._rings = pg.ScatterPlotItem(size=SIZE_PX, symbol="o", brush=None)
        self._rings.setZValue(8)
        plot.addItem(self._rings, ignoreBounds=True)
        self.shown = 0

    def repaint_theme(self) -> None:
        """Take the theme's colours."""
        self._rings.setPen(pg.mkPen(QColor(theme().chart.palette[1]), width=1.5))

    def clear(self) -> None:
        """Ring nothing."""
        if self.shown:
            self._rings.setData([], [])
        self.shown = 0

    def draw(self, drawing: Drawing, above_s: float | None) -> None:
        """Ring what lies above ``above_s`` among the points drawn; None rings nothing."""
        far = np.flatnonzero(drawing.y > above_s) if above_s is not None else np.empty(0, np.intp)
        if len(far) > MOST:
            far = far[np.argpartition(drawing.y[far], -MOST)[-MOST:]]
        if len(far) or self.shown:
            low, high = self._plot.box.viewRange()[1]
            heights = self._plot.scaled(drawing.y[far])
            self._rings.setData(drawing.x[far], np.minimum(heights, high - EDGE * (high - low)))
        self.shown = len(far)
