"""Time per launch: the trace, its running median, earlier configurations, ghosts, distribution."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Signal
from PySide6.QtGui import QBrush, QColor
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpuexplorer.charts.facts import dropped_words
from gpuexplorer.charts.words import interval_words
from gpuexplorer.core.language import tr
from gpuexplorer.core.units import count, quantity, samples_words, span
from gpuexplorer.gui.model.live import HISTOGRAM_SAMPLES, Live, Pin, Run
from gpuexplorer.gui.model.trace import Drawing
from gpuexplorer.gui.plots.base import (
    AXIS_WIDTH,
    UNDER_WAY,
    LineSample,
    Plot,
    SampleRow,
    line_pen,
    title_label,
)
from gpuexplorer.gui.plots.crosshair import Crosshair
from gpuexplorer.gui.plots.distribution import Distribution
from gpuexplorer.gui.plots.outliers import OutlierMarks
from gpuexplorer.gui.plots.past import PastRuns
from gpuexplorer.gui.plots.traces import Traces
from gpuexplorer.gui.theme import blend, theme
from gpuexplorer.gui.typeface import for_text
from gpuexplorer.gui.widgets.button import small_button
from gpuexplorer.gui.widgets.list_box import ListBox
from gpuexplorer.gui.widgets.words import Remarks

SPANS: tuple[tuple[str, float], ...] = (
    ("last 5 s", 5.0),
    ("last 20 s", 20.0),
    ("last 2 min", 120.0),
    ("everything", 0.0),
)
FAR = 5.0
"""The range ends so many times as far from the median as the 95th percentile lies, at the most."""
BAND_SHARE = 0.35
"""How strongly the interval of the median is drawn."""
NOTHING_TIMED = "Nothing is timed yet. Live, or Space, measures what the knobs stand at."
LOG_ABOVE, LINEAR_BELOW = 8.0, 4.0
"""Medians this many times apart take a logarithmic axis, and give it up again."""


class TimingPlot(QWidget):
    """The timing view; ``drawn`` carries a run's ticket once its first samples are on screen."""

    drawn = Signal(object)
    span_changed = Signal()

    def __init__(self, live: Live, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("timingPlot")
        self._live = live
        self.following = True
        self._span_s = SPANS[1][1]
        self._low, self._high = 0.0, 1e-3
        self._drawing: Drawing | None = None
        self._log_by_hand = False
        self._to_announce: int | None = None
        self._announced: int | None = None
        self._outside = 0
        self._build()
        self._items()
        theme().changed.connect(self._repaint_theme)
        self._repaint_theme()

    # ---- construction

    def _build(self) -> None:
        self.plot = Plot("s")
        self.plot.setToolTip(
            tr(
                "Each sample's time per launch (vertical) against when it ran (horizontal).\n"
                "Drag pans, the wheel zooms, a double click follows again."
            )
        )
        self.plot.setAccessibleName(tr("Time per launch"))
        self.plot.says = self._spoken
        self.plot.painted.connect(self._painted)
        self.plot.double_clicked.connect(self.follow)
        self.plot.dragged.connect(self._let_go)
        self.side = Distribution()
        self.side.setAccessibleName(tr("How often each time occurred"))
        self.side.says = self._spoken
        self._span_box = ListBox("spanBox", "How much of the run is shown (seconds of measuring)")
        for words, seconds in SPANS:
            self._span_box.addItem(tr(words), seconds)
        self._span_box.setCurrentIndex(1)
        self._span_box.currentIndexChanged.connect(self._span_chosen)
        self.log_button = small_button(
            "timingLog", "Logarithmic time axis: equal steps are equal factors"
        )
        self.log_button.setText(tr("log"))
        self.log_button.setCheckable(True)
        self.log_button.toggled.connect(self._set_log)
        self.log_button.pressed.connect(self._log_chosen)  # before it toggles
        self.follow_button = small_button(
            "followButton", "Follow the newest samples and fit the range again (F)"
        )
        self.follow_button.clicked.connect(self.follow)
        self._legend = {
            "trace": LineSample(
                "samples",
                "A point is a sample, in the order they ran: a launch,\nor the mean of some that "
                "are too short to time each.\nWhere there are too many for that, a column is many "
                "of them: all,\nits darker part nine tenths, the line through it their median.",
            ),
            "median": LineSample("median so far", "Half of this run's samples were faster"),
            "band": LineSample(
                "95 % interval",
                "Where the median lies with 95 % confidence, from time-separated batches",
            ),
            "past": LineSample("before", "The configurations you had just before"),
        }
        self._note = Remarks(lines=1, between=" · ")
        self._note.setObjectName("timingNote")
        head = QHBoxLayout()
        head.setSpacing(12)
        head.addWidget(title_label("Time per launch"))
        head.addWidget(SampleRow(list(self._legend.values()), 12), 1)
        head.addWidget(self.follow_button)
        head.addWidget(self.log_button)
        head.addWidget(self._span_box)
        body = QHBoxLayout()
        body.setSpacing(0)
        body.addWidget(self.plot, 1)
        body.addWidget(self.side)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 6, 6, 2)
        layout.setSpacing(2)
        layout.addLayout(head)
        layout.addLayout(body, 1)
        layout.addWidget(self._note)

    def _items(self) -> None:
        self._band_low, self._band_high = pg.PlotCurveItem(), pg.PlotCurveItem()
        self._band = pg.FillBetweenItem(self._band_low, self._band_high)
        self._past = PastRuns(self._live, self.plot)
        self.plot.box.sigResized.connect(lambda _: self._past.draw(self._trace_width))
        self._trace = Traces(self.plot, -2)
        self.outliers = OutlierMarks(self.plot)
        self._median = pg.PlotCurveItem()
        self._ghosts: list[tuple[pg.InfiniteLine, Traces]] = []
        """Each pin's median and its samples, as many as there have been."""
        for z, item in ((5, self._band), (10, self._median)):
            item.setZValue(z)
            self.plot.add(item)
        self.crosshair = Crosshair(self.plot, self._words_at)

    def _repaint_theme(self) -> None:
        chart, panel = theme().chart, theme().chart.panel
        main = chart.palette[0]
        self._trace.set_look(main, blend(main, panel, 0.55), blend(main, panel, 0.2))
        self._median.setPen(line_pen(chart.text, 2))
        self._past.repaint_theme()
        self.outliers.repaint_theme()
        self.side.repaint_bars()
        through = QColor(chart.text)
        through.setAlphaF(BAND_SHARE)  # a wide one would hide the launches
        fill = QBrush(through)
        self._band.setBrush(fill)
        self._legend["trace"].set_look(self._trace.pen)
        self._legend["median"].set_look(self._median.opts["pen"])
        self._legend["band"].set_look(None, fill)
        self._legend["past"].set_look(self._past.pen)
        self.follow_button.setIcon(theme().icon("follow"))
        self.show_pins()

    # ---- what the user chooses

    def _span_chosen(self) -> None:
        self._span_s = float(self._span_box.currentData())
        self.follow()
        self.span_changed.emit()

    @property
    def span_s(self) -> float:
        """How much of the latest time is shown, in seconds; 0 is everything."""
        return self._span_s

    def set_span(self, seconds: float) -> None:
        """Show the last ``seconds``; 0 shows everything. A stretch not offered changes nothing."""
        at = self._span_box.findData(seconds)
        if at >= 0:
            self._span_box.setCurrentIndex(at)

    def show_replaced(self) -> None:
        """Draw a timeline that took the place of another one."""
        self._past.forget()
        self.show_pins()
        self.follow()

    def _log_chosen(self) -> None:
        self._log_by_hand = True

    def _choose_log(self, low: float, high: float) -> None:
        """Take the axis that shows both ends, until the user chose one."""
        if not self._log_by_hand and low > 0:
            wanted = high / low > (LINEAR_BELOW if self.plot.log else LOG_ABOVE)
            if wanted != self.plot.log:
                self.log_button.setChecked(wanted)

    def _set_log(self, on: bool) -> None:
        self.plot.set_log(on)
        self.side.set_log(on)
        self._past.forget()
        self.follow()
        self.show_pins()

    def _let_go(self) -> None:
        self.following = False
        self.follow_button.setEnabled(True)

    def follow(self) -> None:
        """Follow the newest samples again."""
        self.following = True
        self.follow_button.setEnabled(False)
        self._low, self._high = 0.0, 0.0
        self.refresh()
        self.refresh_slow()

    @property
    def _trace_width(self) -> int:
        """The pixels beside the axis."""
        return int(self.plot.width()) - for_text(AXIS_WIDTH)

    def x_range(self) -> tuple[float, float]:
        """Return the stretch of time shown, in seconds."""
        low, high = self.plot.box.viewRange()[0]
        return float(low), float(high)

    # ---- drawing

    def show_answer(self) -> None:
        """Draw a new configuration's first samples, and leave the rest for later."""
        if self.following:
            self._scroll()
            self._fit()
        self._median.setData([], [])
        self._clear_band()
        self._draw_trace()
        self.plot.say_empty("")
        self.plot.paint_now()

    def refresh(self) -> None:
        """Draw the newest samples."""
        if self.following:
            self._scroll()
        self._draw_trace()

    def refresh_slow(self) -> None:
        """Draw what follows a few times a second: range, median, distribution, ghosts, words."""
        if self.following:
            self._fit()
        run = self._live.current
        self._past.draw(self._trace_width)
        self.show_state()
        if run is None or not len(run.trace):
            self._median.setData([], [])
            self._clear_band()
            self.side.clear_run()
            return
        self.plot.say_empty("")
        self._draw_median(run)
        self.side.show_run(run, self._live.pins, self.plot)
        self._draw_ghosts(run)
        self.crosshair.refresh()
        self._say(run)

    def show_state(self) -> None:
        """Say what fills it, while nothing does."""
        live = self._live
        if not live.is_timed:  # else the axes are fitted soon
            empty = UNDER_WAY if live.awaits_first else NOTHING_TIMED
            self.plot.say_empty("" if live.past or live.pins else empty)

    def _draw_trace(self) -> None:
        run = self._live.current
        if run is None or not len(run.trace):
            self._trace.clear()
            self.outliers.clear()
            return
        if run.ticket != self._announced:
            self._to_announce = run.ticket
            self._past.draw(self._trace_width)
        low, high = self.x_range()
        drawing = run.trace.draw(low, high, max(200, self._trace_width) // 2)
        self._drawing = drawing
        self._trace.draw([drawing])
        fill = self._trace.fill if drawing.stretch > 1 else None
        self._legend["trace"].set_look(self._trace.pen, fill)
        self.outliers.draw(drawing, run.summary.outlier_above_s if run.summary else None)

    def _words_at(self, time_s: float) -> str:
        """Say what was measured at a time; empty for nothing."""
        run = self._live.current
        drawing, labels = self._drawing, []
        if run is None or not len(run.trace) or time_s < run.trace.start_s:
            found = [p for p in self._live.past if p.start_s <= time_s <= p.end_s]
            if not found:
                return ""
            drawing, labels = found[-1].drawing, [found[-1].label]
        at = drawing.at(time_s) if drawing is not None else None
        if at is None:
            return ""
        when, middle = quantity(at.begin_s, "s"), quantity(at.median_s, "s")
        if at.launches == 1:
            return " · ".join([*labels, f"sample at {when}: {middle}"])
        least, most = quantity(at.least_s, "s"), quantity(at.most_s, "s")
        samples = count(at.launches)
        words = f"{samples} samples from {when}: {least} to {most}, median {middle}"
        return " · ".join([*labels, words])

    def _painted(self) -> None:
        if self._to_announce is not None:
            self._announced, self._to_announce = self._to_announce, None
            self.drawn.emit(self._announced)

    def _scroll(self) -> None:
        """Move the stretch shown in steps, so that the axis is not drawn anew each frame."""
        end, span = self._live.end_s, self._span_s
        low, high = self.x_range()
        if span == 0.0:
            if low != 0.0 or end > high or end < 0.55 * high:
                self.plot.box.setXRange(0.0, max(end * 1.15, 2.0), padding=0)
        elif end > high or end < high - 0.3 * span or abs(high - low - span) > 1e-6 * span:
            high = max(end + 0.1 * span, span)
            self.plot.box.setXRange(high - span, high, padding=0)

    def _fit(self) -> None:
        """Choose the vertical range: nearly every launch shown; it moves only when it must."""
        lows: list[float] = []
        highs: list[float] = []
        middles: list[float] = []
        from_s, to_s = self.x_range()
        run = self._live.current
        self._outside = 0
        if run is not None and len(run.trace):
            latest = run.trace.durations_s[-8192:]
            least, middle, far, most = np.percentile(latest, (0.5, 50, 95, 99.5))
            most = min(most, middle + FAR * (far - middle))
            middles.append(float(middle))
            lows.append(float(least))
            highs.append(float(most))
        for past in self._live.past:
            if past.end_s >= from_s and past.start_s <= to_s:
                least, middle, most = past.range_s
                middles.append(middle)
                lows.append(least)
                highs.append(most)
        for pin in self._live.pins:
            middles.append(pin.median_s)
            lows.append(pin.median_s)
            highs.append(pin.median_s)
        if not lows:
            return
        low, high = min(lows), max(highs)
        self._choose_log(min(middles), max(middles))
        if self.plot.log:
            low, high = low / 1.3, high * 1.3
        else:
            spread = max(high - low, 0.02 * high)
            low, high = max(0.0, low - 0.35 * spread), high + 0.35 * spread
        span = self._high - self._low
        if low < self._low or high > self._high or (high - low) < 0.5 * span or span <= 0:
            margin = 0.0 if self.plot.log else 0.1 * (high - low)
            self._low, self._high = max(low - margin, low * 0.5), high + margin
            self.plot.set_y(self._low, self._high)
            self.side.set_y(self._low, self._high)
        if run is not None and len(run.trace):
            self._outside = int((latest > self._high).sum())

    def _clear_band(self) -> None:
        self._band_low.setData([], [])
        self._band_high.setData([], [])

    def _draw_median(self, run: Run) -> None:
        rows = run.medians.rows()
        if not len(rows):
            self._median.setData([], [])
            self._clear_band()
            return
        if len(rows) > 600:
            rows = np.concatenate([rows[:: len(rows) // 400], rows[-1:]])
        rows = np.concatenate([rows, rows[-1:]])
        rows[-1, 0] = self._live.end_s
        x = rows[:, 0]
        self._median.setData(x, self.plot.scaled(rows[:, 1]))
        known = np.isfinite(rows[:, 2]) & (rows[:, 2] > 0)
        if known.any():
            self._band_low.setData(x[known], self.plot.scaled(rows[known, 2]))
            self._band_high.setData(x[known], self.plot.scaled(rows[known, 3]))
        else:
            self._clear_band()

    def _draw_ghosts(self, run: Run) -> None:
        for (_, curve), pin in zip(self._ghosts, self._live.pins, strict=False):
            curve.draw([pin.drawing] if pin.ticket != run.ticket else (), run.trace.start_s)

    def pin_colour(self, pin: Pin) -> str:
        """Return the colour of a ghost."""
        palette = theme().chart.palette
        return palette[1 + (pin.number - 1) % (len(palette) - 1)]

    def show_pins(self) -> None:
        """Show the ghosts there are now."""
        panel, pins = theme().chart.panel, self._live.pins
        self.side.show_pins([self.pin_colour(pin) for pin in pins])
        while len(self._ghosts) < len(pins):
            line = pg.InfiniteLine(angle=0)
            line.setZValue(4)
            self.plot.add(line)
            self._ghosts.append((line, Traces(self.plot, -8)))
        for index, (line, curve) in enumerate(self._ghosts):
            there = index < len(pins)
            line.setVisible(there)
            if not there:
                curve.clear()
                continue
            colour = self.pin_colour(pins[index])
            line.setPen(line_pen(colour))
            line.setValue(self.plot.scaled_one(pins[index].median_s))
            curve.set_look(*(blend(colour, panel, share) for share in (0.6, 0.4, 0.2)))
        self.refresh()
        self.refresh_slow()

    def _spoken(self) -> str:
        """Return the figures of the run that is drawn in a sentence."""
        run = self._live.current
        summary = run.summary if run is not None else None
        if summary is None:
            return ""
        median = quantity(summary.median_s, "s")
        if summary.samples == 1:
            return tr(f"One sample: {median}.")
        number = count(summary.samples)
        usual = span(summary.p05_s, summary.p95_s, "s")
        interval = interval_words(summary.median_s, summary.ci95_low_s, summary.ci95_high_s)
        return tr(
            f"Half of {number} samples are less than {median} ({interval}, 95 %), and nine "
            f"tenths are {usual}."
            if interval
            else f"Half of {number} samples are less than {median}, and nine tenths are {usual}."
        )

    def _say(self, run: Run) -> None:
        parts = [samples_words(run.trace.total)]
        drawing = self._drawing
        if drawing is not None and drawing.stretch > 1:
            fewest, stretch = count(drawing.fewest), count(drawing.stretch)
            parts.append(
                f"a column is {fewest} to {stretch} samples: all of them, their middle 90 %, and "
                "their median"
                if drawing.fewest < drawing.stretch
                else f"a column is {stretch} samples: all of them, their middle 90 %, and their "
                "median"
            )
        summary = run.summary
        if summary is not None and summary.outliers and summary.outlier_above_s is not None:
            number, above = count(summary.outliers), quantity(summary.outlier_above_s, "s")
            parts.append(
                f"outliers above {above}: {number}, ringed"
                if self.outliers.shown
                else f"outliers above {above}: {number}"
            )
        if run.record is not None and run.record.dropped:
            parts.append(dropped_words(run.record.dropped))
        if self._outside:
            longest = float(run.trace.durations_s[-8192:].max())
            parts.append(
                f"{count(self._outside)} of the latest {count(min(8192, len(run.trace)))} lie "
                f"above the range, up to {quantity(longest, 's')}"
            )
        if len(run.trace.within(*self.x_range(), HISTOGRAM_SAMPLES + 1)) > HISTOGRAM_SAMPLES:
            parts.append(f"distribution of the latest {count(HISTOGRAM_SAMPLES)} shown")
        self._note.say(parts)
