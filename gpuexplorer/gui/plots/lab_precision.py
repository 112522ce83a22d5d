"""Speed against error: a mark for each precision, and a line along the Pareto front."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg

from gpuexplorer.charts.studies_labels import place_labels
from gpuexplorer.charts.studies_precision import shown_errors, speed_of
from gpuexplorer.core.studies import Measured, PrecisionPoint, PrecisionStudy
from gpuexplorer.gui.model.lab_rows import Table
from gpuexplorer.gui.plots.base import line_pen, role_pen
from gpuexplorer.gui.plots.lab import Mark, MarkedPlot, log_range
from gpuexplorer.gui.theme import theme

EMPTY_ERROR, EMPTY_SPEED = (1e-8, 1e-1), (1e9, 1e12)
RATE_WIDTH = 92
"""Width of the axis at the left, whose words are long."""
DOTS_PER_INCH, PAGE = 96.0, 960.0
"""In which the labels' places are worked out: a page of ten inches."""
FAR = 0.07
"""Words further from their mark, as a share of the plot, have a line to it."""
GOOD, FELL_BACK, WRONG, SUSPECT = 0, 3, 1, 4
"""Slots in the palette, those of the chart for files."""
SYMBOLS = {GOOD: "o", FELL_BACK: "s", WRONG: "t1", SUSPECT: "x"}


@dataclass(frozen=True)
class Spot:
    """One precision's place: log10 of its error and of its speed."""

    point: PrecisionPoint
    measured: Measured
    x: float
    y: float

    @property
    def slot(self) -> int:
        """The palette's slot: what is to be known of the point first."""
        if self.measured.suspect is not None:
            return SUSPECT
        if self.point.fallback is not None:
            return FELL_BACK
        return WRONG if self.measured.wrong else GOOD


class PrecisionPlot(MarkedPlot):
    """Error along x, nearer to float64 at the left; speed along y, faster at the top."""

    def __init__(self) -> None:
        super().__init__("labPrecisionPlot", "Speed against error of each precision", "FLOP/s", "")
        self.set_log(True)
        self.x_axis.setLogMode(x=True)
        self.y_axis.setWidth(RATE_WIDTH)
        self.getPlotItem().showGrid(x=True, y=True, alpha=0.12)
        self._front = pg.PlotCurveItem()
        self._intervals = pg.PlotCurveItem(connect="pairs")
        self._leaders = pg.PlotCurveItem(connect="pairs")
        self._spots = pg.ScatterPlotItem(size=11)
        layers = (
            (1, self._front), (1, self._leaders), (2, self._intervals), (3, self._spots),
        )  # fmt: skip
        for z, item in layers:
            item.setZValue(z)
            self.addItem(item, ignoreBounds=True)
        self._study: PrecisionStudy | None = None
        self._table = Table()
        self.box.sigResized.connect(self._resized)
        self.repaint_theme()

    @property
    def counts_flops(self) -> bool:
        """Whether speed is useful operations a second; launches a second where none are counted."""
        found = [p.measured for p in self._study.points if p.measured] if self._study else []
        return all(m.flop_per_s for m in found)

    def show_study(self, study: PrecisionStudy, table: Table) -> None:
        """Draw what is known of a study; ``table`` has the places that marks lead to."""
        self._study, self._table = study, table
        self.y_axis.set_unit("FLOP/s" if self.counts_flops else "/s")
        self._draw()

    @property
    def spots(self) -> list[Spot]:
        """What is drawn, in the study's order."""
        study = self._study
        if study is None:
            return []
        points = [p for p in study.points if p.measured is not None and study.error(p) is not None]
        found = []
        for point, error in zip(points, shown_errors(study, points), strict=True):
            measured = point.measured
            if measured is not None and measured.time_s > 0:
                speed = speed_of(measured, self.counts_flops)
                found.append(Spot(point, measured, math.log10(error), math.log10(speed)))
        return found

    def _resized(self, _: object) -> None:
        self._draw()

    def _draw(self) -> None:
        self.clear_words()
        spots, chart = self.spots, theme().chart
        across = log_range([10.0**s.x for s in spots], EMPTY_ERROR)
        up = log_range([10.0**s.y for s in spots], EMPTY_SPEED)
        self.box.setRange(xRange=across, yRange=up, padding=0)
        front = sorted((s for s in spots if s.point.front), key=lambda s: s.x)
        self._front.setData([s.x for s in front], [s.y for s in front])
        colours = [chart.palette[s.slot] for s in spots]
        self._spots.setData(
            x=[s.x for s in spots],
            y=[s.y for s in spots],
            symbol=[SYMBOLS[s.slot] for s in spots],
            pen=[line_pen(colour, 2) for colour in colours],
            brush=[pg.mkBrush(c if s.point.front else chart.panel)
                   for s, c in zip(spots, colours, strict=True)],
        )  # fmt: skip
        self._show_intervals(spots)
        self._write_words(spots, across, up)
        self.set_marks([self._mark(spot) for spot in spots])

    def _mark(self, spot: Spot) -> Mark:
        place = self._table.by_run.get(spot.measured.run, -1)
        known = self._table.places[place].words if place >= 0 else spot.point.title
        return Mark(spot.x, spot.y, place, known)

    def _show_intervals(self, spots: list[Spot]) -> None:
        """Draw the 95 % intervals of the times, as speeds."""
        x: list[float] = []
        y: list[float] = []
        for spot in spots:
            low_s, high_s, time_s = (
                spot.measured.ci95_low_s, spot.measured.ci95_high_s, spot.measured.time_s,
            )  # fmt: skip
            if low_s and high_s:
                x += [spot.x, spot.x]
                y += [spot.y - math.log10(high_s / time_s), spot.y - math.log10(low_s / time_s)]
        self._intervals.setData(np.array(x), np.array(y))

    def _write_words(
        self, spots: list[Spot], across: tuple[float, float], up: tuple[float, float]
    ) -> None:
        """Write each precision beside its mark, so that none hides another."""
        size = self.box.size()
        if size.width() < 1 or size.height() < 1 or not spots:
            self._leaders.setData([], [])
            return
        wide, tall = across[1] - across[0], up[1] - up[0]
        boxes = place_labels(
            [((s.x - across[0]) / wide, (s.y - up[0]) / tall) for s in spots],
            [label_of(s.point) for s in spots],
            height_in=size.height() / DOTS_PER_INCH,
            width=size.width() / PAGE,
        )
        leaders: list[tuple[float, float]] = []
        for spot, box in zip(spots, boxes, strict=True):
            x, y = across[0] + box.x * wide, up[0] + (box.y + box.height / 2) * tall
            words = self.write(label_of(spot.point), x, y, theme().chart.text)
            words.fill = pg.mkBrush(theme().chart.panel)  # over the front's line, below the marks
            words.setZValue(1.5)
            end = x if x > spot.x else min(spot.x, x + box.width * wide)
            away = math.hypot((end - spot.x) / wide, (y - spot.y) / tall)
            if away > FAR:  # so that nobody has to guess whose words they are
                leaders += [(spot.x, spot.y), (end, y)]
        self._leaders.setData(np.array([p[0] for p in leaders]), np.array([p[1] for p in leaders]))

    def repaint_theme(self) -> None:
        """Take the theme's colours."""
        super().repaint_theme()
        if hasattr(self, "_study"):
            self._front.setPen(role_pen("ceiling", theme().chart.muted))
            self._intervals.setPen(line_pen(theme().chart.muted))
            self._leaders.setPen(line_pen(theme().chart.grid))
            self._draw()


def label_of(point: PrecisionPoint) -> str:
    """Return what stands beside a mark; the table and the tooltip say the rest."""
    if point.fallback is not None and point.ran not in (None, point.precision):
        return f"{point.precision} (ran as {point.ran})"
    return point.precision
