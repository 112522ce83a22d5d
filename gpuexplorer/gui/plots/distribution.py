"""How often each time occurred, beside the trace and on its vertical axis, with the ghosts'."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtGui import QBrush, QColor

from gpuexplorer.gui.model.live import HISTOGRAM_SAMPLES, MAX_PINS, Pin, Run
from gpuexplorer.gui.model.trace import Floats
from gpuexplorer.gui.plots.base import SIDE_WIDTH, Plot, SideHistogram, line_pen
from gpuexplorer.gui.theme import blend, theme

BINS = 72


class Distribution(Plot):
    """Filled bars for the current run, an outline for each ghost; in per cent of the launches."""

    def __init__(self) -> None:
        super().__init__("s", "%")
        self.setFixedWidth(SIDE_WIDTH)
        self.y_axis.setWidth(8)
        self.y_axis.setStyle(showValues=False)
        self.x_axis.setStyle(showValues=False)
        self.box.setMouseEnabled(x=False, y=False)
        self.setToolTip("How often each time occurred, on the same vertical axis.")
        self._bars = SideHistogram()
        self._ghosts = [SideHistogram() for _ in range(MAX_PINS)]
        for bars in (self._bars, *self._ghosts):
            self.addItem(bars, ignoreBounds=True)

    def repaint_bars(self) -> None:
        """Take the theme's colours; the ghosts' come with ``show_pins``."""
        chart = theme().chart
        fill = QBrush(QColor(blend(chart.palette[0], chart.panel, 0.65)))
        self._bars.set_look(fill, None)

    def show_pins(self, colours: Sequence[str]) -> None:
        """Have one outline for each ghost, in its colour."""
        for index, bars in enumerate(self._ghosts):
            if index < len(colours):
                bars.set_look(None, line_pen(colours[index]))
            else:
                bars.set_data(np.empty(0), np.empty(0))

    def clear_run(self) -> None:
        """Show no current run."""
        self._bars.set_data(np.empty(0), np.empty(0))

    def show_run(self, run: Run, pins: Sequence[Pin], edges_of: Plot) -> None:
        """Show a run's latest samples and the ghosts', over the vertical range of a plot."""
        low, high = edges_of.box.viewRange()[1]
        edges = np.linspace(low, high, BINS + 1)
        shares = self._shares(run.trace.durations_s[-HISTOGRAM_SAMPLES:], edges)
        self._bars.set_data(edges, shares)
        longest = float(shares.max())
        for bars, pin in zip(self._ghosts, pins, strict=False):
            ghost = self._shares(pin.samples_s, edges)
            bars.set_data(edges, ghost)
            longest = max(longest, float(ghost.max()))
        self.box.setXRange(0, max(longest * 1.05, 1.0), padding=0)

    def _shares(self, samples: Floats, edges: Floats) -> Floats:
        counts, _ = np.histogram(self.scaled(samples), edges)
        shares: Floats = counts * (100.0 / max(1, len(samples)))
        return shares
