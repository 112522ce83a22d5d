"""How often each time occurred, beside the trace and on its vertical axis, with the ghosts'."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtGui import QBrush, QColor

from gpuexplorer.core.language import tr
from gpuexplorer.gui.model.live import HISTOGRAM_SAMPLES, Pin, Run
from gpuexplorer.gui.model.trace import Floats
from gpuexplorer.gui.plots.base import SIDE_WIDTH, Plot, SideHistogram, line_pen
from gpuexplorer.gui.theme import blend, theme
from gpuexplorer.gui.typeface import for_text

BINS = 72


class Distribution(Plot):
    """Filled bars for the current run, an outline for each ghost; in per cent of the samples."""

    def __init__(self) -> None:
        super().__init__("s", "%")
        self.setFixedWidth(for_text(SIDE_WIDTH))
        self.y_axis.setWidth(8)
        self.y_axis.setStyle(showValues=False)
        self.x_axis.setStyle(showValues=False)
        self.box.setMouseEnabled(x=False, y=False)
        self.setToolTip(
            tr("How often each time occurred among the samples shown, on the same vertical axis.")
        )
        self._bars = SideHistogram()
        self._ghosts: list[SideHistogram] = []
        """As many as there have been."""
        self._ghost_keys: list[tuple[object, ...]] = []
        self._ghost_shares: list[Floats] = []
        self.add(self._bars)

    def repaint_bars(self) -> None:
        """Take the theme's colours; the ghosts' come with ``show_pins``."""
        chart = theme().chart
        fill = QBrush(QColor(blend(chart.palette[0], chart.panel, 0.65)))
        self._bars.set_look(fill, None)

    def show_pins(self, colours: Sequence[str]) -> None:
        """Have one outline for each ghost, in its colour."""
        while len(self._ghosts) < len(colours):
            self._ghosts.append(SideHistogram())
            self._ghost_keys.append(())
            self._ghost_shares.append(np.zeros(1))
            self.add(self._ghosts[-1])
        for index, bars in enumerate(self._ghosts):
            if index < len(colours):
                bars.set_look(None, line_pen(colours[index]))
            else:
                bars.set_data(np.empty(0), np.empty(0))
            self._ghost_keys[index] = ()

    def clear_run(self) -> None:
        """Show no current run."""
        self._bars.set_data(np.empty(0), np.empty(0))

    def show_run(self, run: Run, pins: Sequence[Pin], edges_of: Plot) -> None:
        """Show a run's samples within the view of a plot, and all that the ghosts kept."""
        (from_s, to_s), (low, high) = edges_of.box.viewRange()
        low, high = float(low), float(high)
        edges = np.linspace(low, high, BINS + 1)
        samples_s = run.trace.within(from_s, to_s, HISTOGRAM_SAMPLES)
        now = shares(self.scaled(samples_s), low, high, BINS)
        self._bars.set_data(edges, now)
        longest = float(now.max())
        for index, (bars, pin) in enumerate(zip(self._ghosts, pins, strict=False)):
            key = (pin.number, low, high, self.log)
            if self._ghost_keys[index] != key:  # a ghost's samples do not change
                self._ghost_keys[index] = key
                self._ghost_shares[index] = shares(self.scaled(pin.samples_s), low, high, BINS)
                bars.set_data(edges, self._ghost_shares[index])
            longest = max(longest, float(self._ghost_shares[index].max()))
        self.box.setXRange(0, max(longest * 1.05, 1.0), padding=0)


def shares(values: Floats, low: float, high: float, bins: int) -> Floats:
    """Return how many per cent of ``values`` lie in each of ``bins`` equal bins of ``low..high``.

    What lies outside counts among all, and in no bin. (Bins of one width need no search for each
    value, as ``numpy.histogram`` with given edges makes one.)
    """
    at = (values - low) * (bins / (high - low)) if high > low else np.full(len(values), -1.0)
    counts = np.bincount(at[(at >= 0) & (at < bins)].astype(np.intp), minlength=bins)
    return counts.astype(np.float64) * (100.0 / max(1, len(values)))
