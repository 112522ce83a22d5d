"""Times of two devices against the size, with and without transfers, and where the second wins."""

from __future__ import annotations

import math

import pyqtgraph as pg

from gpuexplorer.charts.spec import Role
from gpuexplorer.core.studies import Measured, SpeedupStudy
from gpuexplorer.core.units import count
from gpuexplorer.gui.model.lab_rows import SIDES, Table
from gpuexplorer.gui.model.lab_words import break_evens
from gpuexplorer.gui.plots.base import line_pen, role_pen
from gpuexplorer.gui.plots.lab import Mark, MarkedPlot, log_range
from gpuexplorer.gui.theme import theme

ROLES: dict[str, tuple[Role, int, str]] = {
    "first": ("measured", 0, "s"),
    "second": ("measured", 1, "o"),
    "second_with": ("transfer", 1, "t1"),
}
"""Whose word a line is, its slot in the palette and its marks."""
EMPTY_TIME = (1e-6, 1e-2)
MOST_TICKS = 9
LINE_PX = 15.0
"""Height of a line of words."""


class SpeedupPlot(MarkedPlot):
    """Size along x, time along y, both logarithmic; lower is faster."""

    def __init__(self) -> None:
        super().__init__("labSpeedupPlot", "Times of two devices against the size", "s", "")
        self.set_log(True)
        self.x_axis.setLogMode(x=True)
        self.getPlotItem().showGrid(x=True, y=True, alpha=0.12)
        self._lines = {side: pg.PlotCurveItem() for side in SIDES}
        self._points = {side: pg.ScatterPlotItem(size=8, symbol=ROLES[side][2]) for side in SIDES}
        self._even = [pg.InfiniteLine(angle=90) for _ in range(2)]
        for z, items in ((1, self._even), (2, self._lines.values()), (3, self._points.values())):
            for item in items:
                item.setZValue(z)
                self.addItem(item, ignoreBounds=True)
        self._study: SpeedupStudy | None = None
        self._table = Table()
        self.box.sigResized.connect(self._resized)
        self.repaint_theme()

    def show_study(self, study: SpeedupStudy, table: Table) -> None:
        """Draw what is known of a study; ``table`` has the places that marks lead to."""
        self._study, self._table = study, table
        self._draw()

    def names(self) -> dict[str, str]:
        """Return what each line is called."""
        study = self._study
        if study is None:
            return {}
        return {
            "first": study.first.label,
            "second": study.second.label,
            "second_with": f"{study.second.device} + transfers",
        }

    def times(self, side: str) -> list[tuple[float, Measured]]:
        """Return one line: sizes, and what was measured there."""
        points = self._study.points if self._study is not None else []
        pairs = [(float(point.value), getattr(point, side)) for point in points]
        return [(size, measured) for size, measured in pairs if measured is not None]

    def _resized(self, _: object) -> None:
        self._draw()

    def _draw(self) -> None:
        self.clear_words()
        study, chart = self._study, theme().chart
        found = {side: self.times(side) for side in SIDES}
        everything = [m.time_s for times in found.values() for _, m in times]
        sizes = [float(point.value) for point in study.points] if study is not None else []
        low, high = log_range(sizes, (16, 4096))
        self.x_axis.setTicks([[(math.log10(v), count(int(v))) for v in thinned(sizes)]])
        room = 0.42 * (high - low)  # for the names at the lines' ends
        bottom, top = log_range(everything, EMPTY_TIME)
        self.box.setRange(xRange=(low, high + room), yRange=(bottom, top), padding=0.03)
        marks = []
        names = self.names()
        ends: list[float] = []
        for side, times in found.items():
            x = [math.log10(size) for size, _ in times]
            y = [math.log10(m.time_s) for _, m in times]
            self._lines[side].setData(x, y)
            self._points[side].setData(x, y)
            for at, up, (_, measured) in zip(x, y, times, strict=True):
                place = self._table.by_run.get(measured.run, -1)
                words = self._table.places[place].words if place >= 0 else names[side]
                marks.append(Mark(at, up, place, words))
            if x:
                colour = chart.palette[ROLES[side][1]]
                gap = LINE_PX / max(self.box.height(), LINE_PX) * (top - bottom)
                at = _apart(y[-1], ends, gap, top - gap / 2)
                self.write(f"  {names[side]}", x[-1], at, colour)
        self._draw_break_even(bottom)
        self.set_marks(marks)

    def _draw_break_even(self, bottom: float) -> None:
        found = break_evens(self._study) if self._study is not None else []
        for line, place in zip(self._even, range(2), strict=True):
            line.setVisible(place < len(found))
            if place < len(found):
                how, one = found[place]
                at = math.log10(one.size or 1.0)
                line.setPos(at)
                words = f" break-even {one.size:.0f} {how}"
                self.write(words, at, bottom, theme().chart.muted, (0.0, 1.0 + 0.9 * place))

    def repaint_theme(self) -> None:
        """Take the theme's colours."""
        super().repaint_theme()
        if not hasattr(self, "_study"):
            return
        chart = theme().chart
        for side in SIDES:
            role, slot, _ = ROLES[side]
            colour = chart.palette[slot]
            self._lines[side].setPen(role_pen(role, colour))
            self._points[side].setPen(line_pen(colour))
            self._points[side].setBrush(pg.mkBrush(colour if role == "measured" else chart.panel))
        for line in self._even:
            line.setPen(role_pen("ceiling", chart.muted))
        self._draw()


def thinned(sizes: list[float]) -> list[float]:
    """Return the sizes that carry a number: all, or every second, third, ..."""
    step = math.ceil(len(sizes) / MOST_TICKS) or 1
    return sizes[::step]


def _apart(wanted: float, taken: list[float], gap: float, most: float) -> float:
    """Return the place next to ``wanted``, below ``most``, that is ``gap`` from all others."""
    for step in range(24):
        for at in (wanted + step * gap / 2, wanted - step * gap / 2):
            if at <= most and all(abs(at - other) >= gap * 0.99 for other in taken):
                taken.append(at)
                return at
    taken.append(wanted)
    return wanted
