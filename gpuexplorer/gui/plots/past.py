"""The configurations just before, and where each one begins, on the trace's plot."""

from __future__ import annotations

import pyqtgraph as pg
from PySide6.QtGui import QBrush, QColor, QPen

from gpuexplorer.core.language import tr
from gpuexplorer.gui.model.live import Live
from gpuexplorer.gui.plots.base import Plot, line_pen
from gpuexplorer.gui.plots.traces import Traces
from gpuexplorer.gui.theme import blend, theme

LETTER_PIXELS = 7
"""About the width of a letter; words that do not fit are left out."""


class PastRuns:
    """Draws earlier runs thinly, a line at each beginning, and its words where they fit."""

    def __init__(self, live: Live, plot: Plot) -> None:
        self._live, self._plot = live, plot
        self._shown: tuple[object, ...] = ()
        self._traces = Traces(plot, -14)
        self._beginnings: list[tuple[pg.InfiniteLine, pg.TextItem]] = []
        """A line and its words, as many as there have been."""

    def repaint_theme(self) -> None:
        """Take the theme's colours."""
        chart = theme().chart
        line, middle, extremes = (blend(chart.muted, chart.panel, s) for s in (0.75, 0.5, 0.25))
        self._traces.set_look(line, middle, extremes)
        for mark, words in self._beginnings:
            self._colour(mark, words)

    def _colour(self, mark: pg.InfiniteLine, words: pg.TextItem) -> None:
        chart = theme().chart
        mark.setPen(line_pen(blend(chart.muted, chart.panel, 0.35)))
        words.setColor(chart.muted)
        words.fill = QBrush(QColor(chart.panel))  # they lie over what was measured

    def _make_beginning(self) -> None:
        mark, words = pg.InfiniteLine(angle=90), pg.TextItem(anchor=(0, 0))
        for z, item in ((-15, mark), (20, words)):
            item.setZValue(z)
            self._plot.add(item)
        self._colour(mark, words)
        self._beginnings.append((mark, words))

    @property
    def pen(self) -> QPen:
        """The line's pen, for the legend."""
        return self._traces.pen

    def forget(self) -> None:
        """Draw anew the next time, whatever has changed."""
        self._shown = ()

    def draw(self, width: int) -> None:
        """Draw what lies in the stretch shown, ``width`` pixels wide, if that has changed."""
        (low, high), (bottom, top) = self._plot.box.viewRange()
        current = self._live.current
        start = current.trace.start_s if current is not None and len(current.trace) else None
        key = (tuple(p.ticket for p in self._live.past), low, high, bottom, top, start, width)
        if key == self._shown:
            return
        self._shown = key
        shown = [p for p in self._live.past if p.end_s >= low and p.start_s <= high]
        self._traces.draw([past.drawing for past in shown])
        starts = [(p.start_s, p.end_s, p.label) for p in shown]
        if current is not None and start is not None:
            starts.append((start, high, current.label))
        nexts = [start_s for start_s, _, _ in starts[1:]] + [high]
        per_pixel = (high - low) / max(1, width)
        while len(self._beginnings) < len(starts):
            self._make_beginning()
        for index, (mark, words) in enumerate(self._beginnings):
            there = index < len(starts) and starts[index][0] >= low
            mark.setVisible(there)
            fits = there and (
                min(starts[index][1], nexts[index]) - starts[index][0]
                > per_pixel * (LETTER_PIXELS * len(starts[index][2]) + 6)
            )
            words.setVisible(fits)
            if there:
                mark.setValue(starts[index][0])
            if fits:
                words.setText(tr(starts[index][2]))
                words.setPos(starts[index][0], top)
