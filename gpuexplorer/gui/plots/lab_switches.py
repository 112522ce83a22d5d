"""What each switch bought: from the baseline to the combination, and each by itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetricsF

from gpuexplorer.charts import studies_switches
from gpuexplorer.charts.comparison import VERDICT_COLOURS
from gpuexplorer.charts.studies_words import effect_words
from gpuexplorer.core.studies import Measured, SwitchesStudy
from gpuexplorer.gui.model.lab_rows import Table
from gpuexplorer.gui.plots.base import line_pen
from gpuexplorer.gui.plots.lab import Mark, MarkedPlot
from gpuexplorer.gui.theme import blend, theme

BAR = 0.62
"""Height of a bar, of the room a row has."""
NAMES_WIDEST = 210
WORDS_SHARE = 0.45
"""Room for the words at the bars' ends, as a share of what the bars have."""
LEAST_ROWS = 6
"""So many rows share the height at least: a single bar is no wall."""
TOTAL, MUTED = 0, -1
"""Slots in the palette; what cannot be told is grey."""
ALONE = "Each by itself"


@dataclass(frozen=True)
class Bar:
    """One row: what time it goes from and to, in seconds; a heading has neither."""

    name: str
    start_s: float | None = None
    end_s: float | None = None
    words: str = ""
    slot: int = MUTED
    measured: Measured | None = None


def bars_of(study: SwitchesStudy) -> list[Bar]:
    """Return the rows from the top: the waterfall, as the chart for files has it, and each alone.

    Alone, a bar goes from the baseline's time to what the ratio makes of it, best first.
    """
    if study.baseline is None:
        return []
    runs = {"baseline": study.baseline, "combination": study.together}
    runs |= {share.title: share.measured for share in study.shares}
    bars = [
        Bar(b.label, b.start_s, b.end_s, b.words, b.colour, runs.get(b.label))
        for b in studies_switches.bars_of(study)
    ]
    alone = [one for one in study.alone if one.measured is not None]
    base_s = study.baseline.time_s
    if alone:
        bars.append(Bar(ALONE))
    for one in sorted(alone, key=lambda s: s.effect.ratio if s.effect is not None else 1.0):
        ratio, slot = 1.0, MUTED
        if one.effect is not None:
            ratio = one.effect.ratio
            if one.effect.verdict in ("faster", "slower"):
                slot = VERDICT_COLOURS[one.effect.verdict]
        bars.append(
            Bar(one.title, base_s, base_s * ratio, effect_words(one.effect), slot, one.measured)
        )
    return bars


class SwitchesPlot(MarkedPlot):
    """A waterfall that lies on its side, so that the switches' names can be read."""

    def __init__(self) -> None:
        super().__init__("labSwitchesPlot", "What each switch does to the time", "", "s")
        self.getPlotItem().showGrid(x=True, y=False, alpha=0.12)
        self.x_axis.setZValue(-1)  # its grid lies behind the bars
        self.box.invertY(True)
        self._bars = pg.BarGraphItem(x0=[0.0], x1=[0.0], y=[0.0], height=BAR)
        self._baseline = pg.InfiniteLine(angle=90)
        for z, item in ((1, self._baseline), (2, self._bars)):
            item.setZValue(z)
            self.addItem(item, ignoreBounds=True)
        self._study: SwitchesStudy | None = None
        self._table = Table()
        self.repaint_theme()

    def show_study(self, study: SwitchesStudy, table: Table) -> None:
        """Draw what is known of a study; ``table`` has the places that marks lead to."""
        self._study, self._table = study, table
        self._draw()

    def _draw(self) -> None:
        self.clear_words()
        bars = bars_of(self._study) if self._study is not None else []
        drawn = [
            (float(y), bar, bar.start_s, bar.end_s)
            for y, bar in enumerate(bars)
            if bar.start_s is not None and bar.end_s is not None
        ]
        for item in (self._bars, self._baseline):
            item.setVisible(bool(drawn))
        if not drawn:
            self.set_marks(())
            return
        self._name_rows(bars)
        low, high, log = span_of([end for _, _, a, b in drawn for end in (a, b)])
        self.x_axis.setLogMode(x=log)

        def shown(time_s: float) -> float:
            return math.log10(max(time_s, low)) if log else max(time_s, low)

        rows = max(len(bars), LEAST_ROWS)
        self.box.setRange(xRange=(shown(low), shown(high)), yRange=(-0.7, rows - 0.4), padding=0)
        self._baseline.setPos(shown(drawn[0][3]))
        self._bars.setOpts(
            x0=np.array([shown(min(a, b)) for _, _, a, b in drawn]),
            x1=np.array([shown(max(a, b)) for _, _, a, b in drawn]),
            y=np.array([y for y, _, _, _ in drawn]),
            height=BAR,
            brushes=[pg.mkBrush(self._colour(bar)) for _, bar, _, _ in drawn],
            pens=[line_pen(self._colour(bar)) for _, bar, _, _ in drawn],
        )
        marks = []
        for y, bar, start_s, end_s in drawn:
            left, right = sorted((shown(start_s), shown(end_s)))
            self.write(f" {bar.words}", right, y, theme().chart.text)
            marks.append(self._mark(bar, y, left, right))
        self.set_marks(marks)

    def _mark(self, bar: Bar, y: float, left: float, right: float) -> Mark:
        place = self._table.by_run.get(bar.measured.run, -1) if bar.measured is not None else -1
        words = self._table.places[place].words if place >= 0 else f"{bar.name}: {bar.words}"
        return Mark(right, y, place, words, (left, right))

    def _name_rows(self, bars: Sequence[Bar]) -> None:
        metrics = QFontMetricsF(self.font())
        side = Qt.TextElideMode.ElideRight
        names = [(float(y), metrics.elidedText(b.name, side, NAMES_WIDEST))
                 for y, b in enumerate(bars)]  # fmt: skip
        wide = max(metrics.horizontalAdvance(name) for _, name in names)
        self.y_axis.setWidth(int(wide) + 20)
        self.y_axis.setTicks([names])

    def _colour(self, bar: Bar) -> str:
        chart = theme().chart
        colour = chart.muted if bar.slot == MUTED else chart.palette[bar.slot]
        return blend(colour, chart.panel, 0.55 if bar.slot == MUTED else 0.9)

    def repaint_theme(self) -> None:
        """Take the theme's colours."""
        super().repaint_theme()
        if hasattr(self, "_study"):
            self._baseline.setPen(line_pen(theme().chart.muted))
            self._draw()


def span_of(times_s: Sequence[float]) -> tuple[float, float, bool]:
    """Return the range of times with room for words, and whether it is to be logarithmic.

    Linear, it begins at zero, or closer by where all are much alike.
    """
    known = [t for t in times_s if t > 0]
    low, high = min(known), max(known)
    if high / low > studies_switches.LOG_ABOVE:
        return low / 1.5, high * (1.5 * high / low) ** WORDS_SHARE, True
    least = 0.0 if low < 0.6 * high else max(0.0, low - 0.8 * (high - low) - 0.05 * high)
    return least, high + WORDS_SHARE * (high - least), False
