"""The evaluations of a tuning in order: a point each, and a line for the best so far."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QToolTip

from gpuexplorer.charts.words import knob_words
from gpuexplorer.core.tuning import Evaluation
from gpuexplorer.core.units import quantity
from gpuexplorer.gui.plots.base import Plot, line_pen
from gpuexplorer.gui.theme import theme

NEAR_PX = 9
POINT_PX = 6
LEAST_SHOWN = 10
"""The axis begins with so many, so that the first points stand apart."""


class TuningPlot(Plot):
    """Time against the number of the configuration; times are on a logarithmic axis."""

    def __init__(self) -> None:
        super().__init__("s", "")
        self.setObjectName("tuningPlot")
        self.setAccessibleName("Times of the configurations tried, in order")
        self.set_log(True)
        self.box.setMouseEnabled(x=False, y=False)
        self._evaluations: tuple[Evaluation, ...] = ()
        self._points: dict[str, tuple[list[float], list[float]]] = {
            "pruned": ([], []),
            "measured": ([], []),
        }
        self._lost = pg.ScatterPlotItem(size=POINT_PX, pxMode=True)
        self._measured = pg.ScatterPlotItem(size=POINT_PX, pxMode=True)
        self._best = pg.PlotCurveItem()
        for item in (self._lost, self._measured, self._best):
            self.addItem(item, ignoreBounds=True)
        self._colour()
        self._fit()

    @property
    def points(self) -> int:
        """How many configurations are drawn."""
        return len(self._lost.points()) + len(self._measured.points())

    def show_evaluations(self, evaluations: Sequence[Evaluation]) -> None:
        """Draw what was tried so far; those that failed have no time and no point."""
        fresh = evaluations[len(self._evaluations) :]
        if list(evaluations[: len(self._evaluations)]) != list(self._evaluations):
            fresh = evaluations
            for x, y in self._points.values():
                x.clear()
                y.clear()
        self._evaluations = tuple(evaluations)
        for evaluation in fresh:
            if evaluation.median_s and evaluation.outcome in self._points:
                x, y = self._points[evaluation.outcome]
                x.append(float(evaluation.number))
                y.append(math.log10(evaluation.median_s))
        for item, outcome in ((self._lost, "pruned"), (self._measured, "measured")):
            item.setData(*self._points[outcome])
        numbers, times_s = best_so_far(self._evaluations)
        self._best.setData(numbers, np.log10(times_s))
        self._fit()

    def repaint_theme(self) -> None:
        """Take the theme's colours."""
        super().repaint_theme()
        if hasattr(self, "_best"):
            self._colour()

    def _colour(self) -> None:
        colours = theme()
        self._lost.setPen(None)
        self._lost.setBrush(colours.q("disabled"))
        self._measured.setPen(None)
        self._measured.setBrush(colours.q("accent"))
        self._best.setPen(line_pen(colours.chart.palette[1], 2))

    def _fit(self) -> None:
        times = [e.median_s for e in self._evaluations if e.median_s]
        last = max(LEAST_SHOWN, len(self._evaluations))
        self.box.setXRange(0.5, last + 0.5, padding=0.01)
        low, high = (min(times), max(times)) if times else (1e-5, 1e-2)
        self.set_y(low / 1.15, max(high, 1.5 * low) * 1.15)

    def at(self, x_px: float, y_px: float) -> Evaluation | None:
        """Return the configuration drawn at a place of the widget; None where there is none."""
        nearest, distance = None, float(NEAR_PX)
        for evaluation in self._evaluations:
            if not evaluation.median_s:
                continue
            place = self.box.mapViewToScene(
                pg.Point(evaluation.number, math.log10(evaluation.median_s))
            )
            away = math.hypot(place.x() - x_px, place.y() - y_px)
            if away <= distance:
                nearest, distance = evaluation, away
        return nearest

    def viewportEvent(self, event: QEvent) -> bool:
        """Show a point's configuration and time as its tooltip."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            where = self.mapToScene(event.pos())
            found = self.at(where.x(), where.y())
            QToolTip.showText(event.globalPos(), evaluation_words(found) if found else "", self)
            return True
        return bool(super().viewportEvent(event))


def best_so_far(evaluations: Sequence[Evaluation]) -> tuple[list[float], list[float]]:
    """Return the line of the best so far as steps: numbers of configurations and seconds."""
    x: list[float] = []
    y: list[float] = []
    for evaluation in evaluations:
        if evaluation.outcome == "measured" and evaluation.median_s:
            if not y or evaluation.median_s < y[-1]:
                if y:
                    x.append(float(evaluation.number))
                    y.append(y[-1])
                x.append(float(evaluation.number))
                y.append(evaluation.median_s)
    if y:
        x.append(float(evaluations[-1].number))
        y.append(y[-1])
    return x, y


def evaluation_words(evaluation: Evaluation) -> str:
    """Return one point in words."""
    samples = f"{evaluation.samples} launch{'es' if evaluation.samples != 1 else ''}"
    lines = [
        f"{evaluation.number}: {knob_words(evaluation.config)}",
        f"{quantity(evaluation.median_s, 's')}, median of {samples}",
    ]
    return "\n".join(lines + ([evaluation.reason] if evaluation.reason else []))
