"""Memory traffic over time: what the result needs, threads ask for, hardware counts, hosts move."""

from __future__ import annotations

import msgspec
import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QPen
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpuexplorer.analysis.advice.roofs import Roof, bandwidth_roof
from gpuexplorer.analysis.measured_traffic import METHODS, ratio_words
from gpuexplorer.charts.spec import Role
from gpuexplorer.core.accesses import METHOD
from gpuexplorer.core.language import tr
from gpuexplorer.core.units import percent, quantity
from gpuexplorer.gui.model.live import Live, Past, Run
from gpuexplorer.gui.model.trace import Floats
from gpuexplorer.gui.plots.base import (
    SIDE_WIDTH,
    UNDER_WAY,
    LineSample,
    Plot,
    muted_label,
    role_pen,
    title_label,
)
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.typeface import for_text
from gpuexplorer.gui.widgets.button import small_button
from gpuexplorer.gui.widgets.scroll_room import ScrollArea

MAX_POINTS = 300
SHOWN = (0.03, 0.97)
"""The part of each line's values that its range is fitted to."""
NOTHING_MOVED = "Nothing is moved yet. Live, or Space, shows what the launches move."
NOT_KNOWN = "What the launches move is not known yet."


class Line(msgspec.Struct, frozen=True):
    """One line: whose word it is, which bytes, over which column of ``Run.rates``."""

    key: str
    title: str
    role: Role
    kind: str
    field: str
    column: int
    colour: int
    explanation: str


LINES = (
    Line("compulsory_read", "needed read", "compulsory", "compulsory", "read_B", 1, 0,
         "Compulsory traffic: bytes the result needs at least to read, each operand once, over\n"
         "the kernel's time. Computed from the problem, so by itself it is only 1/time."),
    Line("compulsory_write", "needed write", "compulsory", "compulsory", "write_B", 1, 1,
         "Compulsory traffic: bytes of the result, each written once, over the kernel's time."),
    Line("requested_read", "requested read", "requested", "requested", "read_B", 1, 0,
         "Bytes that this variant's threads ask for with this block and tile, over the kernel's\n"
         "time. Caches serve part of it, so it may lie above the memory's peak."),
    Line("requested_write", "requested write", "requested", "requested", "write_B", 1, 1,
         "Bytes that this variant's threads write with this block and tile, over its time."),
    Line("dram_read", "measured read", "hardware", "dram", "read_B", 1, 0,
         "Bytes that the memory really delivered, as the hardware counted them, over the kernel's\n"
         "time."),
    Line("dram_write", "measured write", "hardware", "dram", "write_B", 1, 1,
         "Bytes that the memory really took, as the hardware counted them, over the kernel's\n"
         "time."),
    Line("dram", "measured", "hardware", "dram", "combined_B", 1, 4,
         "Bytes that the memory really moved, reads and writes, as the hardware counted them,\n"
         "over the kernel's time."),
    Line("upload", "host → device", "transfer", "pcie", "read_B", 2, 2,
         "Inputs over the time of copying them to the device: the last phase measured, or each\n"
         "sample's with 'Include transfers'."),
    Line("download", "device → host", "transfer", "pcie", "write_B", 3, 3,
         "Results over the time of copying them back: the last phase measured, or each sample's\n"
         "with 'Include transfers'."),
)  # fmt: skip


class TrafficPlot(QWidget):
    """The traffic view, under the timing view and on the same time axis."""

    def __init__(self, live: Live, timing: Plot, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("trafficPlot")
        self._live = live
        self._low, self._high = 0.0, 0.0
        self.following = True
        self._drawn = False
        self._build(timing)
        theme().changed.connect(self._repaint_theme)
        self._repaint_theme()

    def _build(self, timing: Plot) -> None:
        self.plot = Plot("B/s")
        self.plot.setToolTip(
            tr(
                "Bytes per second (vertical) over time: solid is the least the result needs, "
                "dashed\nis what the threads ask for, dotted is what the hardware counted, "
                "dash-dotted is\nwhat host and device exchange."
            )
        )
        self.plot.setAccessibleName(tr("Memory traffic"))
        self.plot.says = self._spoken
        self.plot.box.setXLink(timing.box)
        self.plot.set_log(True)
        self.plot.double_clicked.connect(self.follow)
        self.plot.dragged.connect(self._let_go)
        self.show_state()
        self._curves = {}
        self.legend: dict[str, LineSample] = {}
        side = QVBoxLayout()
        side.setSpacing(1)
        side.setContentsMargins(10, 2, 6, 0)
        for line in LINES:
            curve = pg.PlotCurveItem(connect="finite")
            self.plot.add(curve)
            self._curves[line.key] = curve
            self.legend[line.key] = LineSample(line.title, line.explanation)
            side.addWidget(self.legend[line.key])
        self.peak_line = pg.InfiniteLine(angle=0)
        self.plot.add(self.peak_line)
        self.peak_line.hide()
        self.legend["peak"] = LineSample("device peak", "")
        side.addWidget(self.legend["peak"])
        side.addStretch(1)
        lines = QWidget()
        lines.setLayout(side)
        legend = ScrollArea()  # in a low window its lines are scrolled
        legend.setObjectName("trafficLegend")
        legend.setFrameShape(ScrollArea.Shape.NoFrame)
        legend.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        legend.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        legend.setFixedWidth(for_text(SIDE_WIDTH))
        legend.setMinimumHeight(0)
        legend.setWidget(lines)
        for widget in (lines, legend.viewport()):
            widget.setAutoFillBackground(False)
        self.log_button = small_button(
            "trafficLog", "Logarithmic axis: equal steps are equal factors"
        )
        self.log_button.setText(tr("log"))
        self.log_button.setCheckable(True)
        self.log_button.setChecked(True)
        self.log_button.toggled.connect(self._set_log)
        self._note = muted_label()
        self._note.setObjectName("trafficNote")
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(title_label("Memory traffic"))
        head.addWidget(self._note, 1)
        head.addWidget(self.log_button)
        body = QHBoxLayout()
        body.setSpacing(0)
        body.addWidget(self.plot, 1)
        body.addWidget(legend)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 4, 6, 4)
        layout.setSpacing(2)
        layout.addLayout(head)
        layout.addLayout(body, 1)

    def _repaint_theme(self) -> None:
        chart = theme().chart
        for line in LINES:
            pen = role_pen(line.role, chart.colour(line.colour))
            self._curves[line.key].setPen(pen)
            self.legend[line.key].set_look(pen)
        peak = role_pen("ceiling", chart.ceiling)
        self.peak_line.setPen(peak)
        self.legend["peak"].set_look(QPen(peak))
        self.legend["peak"].update()

    def _set_log(self, on: bool) -> None:
        self.plot.set_log(on)
        self.follow()

    def _let_go(self) -> None:
        self.following = False

    def follow(self) -> None:
        """Fit the range again."""
        self.following = True
        self._low, self._high = 0.0, 0.0
        self.refresh()

    def refresh(self) -> None:
        """Draw what is new; a few times a second is enough."""
        low, high = self.plot.box.viewRange()[0]
        seen: list[Floats] = []
        for line in LINES:
            x, y = self._series(line, float(low), float(high))
            self._curves[line.key].setData(x, self.plot.scaled(y))
            finite = y[np.isfinite(y)]
            if len(finite):
                seen.append(finite)
        run = self._live.current
        roof = self._roof(run)
        self._show_values(run, roof)
        peak = roof.per_s if roof is not None else None
        self.peak_line.setVisible(peak is not None)
        if peak is not None:
            self.peak_line.setValue(self.plot.scaled_one(peak))
            seen.append(np.array([peak]))
        self._drawn = bool(seen)
        self.plot.say_empty("" if seen else self._empty)
        if self.following and seen:
            self._fit(seen)

    @property
    def _empty(self) -> str:
        if self._live.is_timed:
            return NOT_KNOWN
        return UNDER_WAY if self._live.awaits_first else NOTHING_MOVED

    def show_state(self) -> None:
        """Say what fills it, while nothing does."""
        if not self._drawn and not self._live.is_timed:  # else it is drawn soon
            self.plot.say_empty(self._empty)

    def _series(self, line: Line, low: float, high: float) -> tuple[Floats, Floats]:
        xs: list[Floats] = []
        ys: list[Floats] = []
        for past in self._live.past:
            if past.end_s >= low and past.start_s <= high:
                self._append(xs, ys, line, past.rates, past)
        run = self._live.current
        if run is not None and len(run.rates):
            self._append(xs, ys, line, run.rates.rows(), run)
        if not xs:
            return np.empty(0), np.empty(0)
        return np.concatenate(xs), np.concatenate(ys)

    def _append(
        self, xs: list[Floats], ys: list[Floats], line: Line, rows: Floats, run: Run | Past
    ) -> None:
        """Add one run's part of a line, with a gap behind it."""
        moved = self._bytes(line, run)
        if not moved or not len(rows):
            return
        if len(rows) > MAX_POINTS:
            rows = np.concatenate([rows[:: len(rows) // MAX_POINTS + 1], rows[-1:]])
        seconds = rows[:, line.column].copy()
        if line.role == "transfer" and isinstance(run, Run) and not run.phases_s:
            once = self._phase_s(run, line.key)
            seconds[:] = once if once else np.nan
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = np.where(seconds > 0, moved / seconds, np.nan)
        xs += [rows[:, 0], np.array([np.nan])]
        ys += [rates, np.array([np.nan])]

    @staticmethod
    def _bytes(line: Line, run: Run | Past) -> float:
        """Return the bytes of a line of one launch, 0 when not known."""
        entry = run.traffic.get(line.kind)
        return float(getattr(entry, line.field) or 0.0) if entry is not None else 0.0

    @staticmethod
    def _phase_s(run: Run, key: str) -> float | None:
        name = "host_to_device" if key == "upload" else "device_to_host"
        if run.phases_s:
            return run.phases_s[name]
        if run.record is None:
            return None
        value: float | None = getattr(run.record.phases_s, name)
        return value

    @staticmethod
    def _roof(run: Run | None) -> Roof | None:
        """Return the most B/s that can be moved, stated or measured."""
        if run is None or run.prepared is None or "compulsory" not in run.traffic:
            return None
        ceilings = run.record.ceilings if run.record is not None else None
        needed_B = run.traffic["compulsory"].total_B
        return bandwidth_roof(run.prepared.config, run.prepared.device, ceilings, needed_B)

    def _show_values(self, run: Run | None, roof: Roof | None) -> None:
        median = None
        if run is not None:
            median = run.phases_s.get("kernel") if run.phases_s else None
            if median is None and run.summary is not None:
                median = run.summary.median_s
        for line in LINES:
            seconds, moved = median, 0.0
            if run is not None:
                moved = self._bytes(line, run)
                if line.role == "transfer":
                    seconds = self._phase_s(run, line.key)
            rate = moved / seconds if moved and seconds else None
            self.legend[line.key].set_value(quantity(rate, "B/s"))
        self._show_measured(run)
        peak = roof.per_s if roof is not None else None
        self.legend["peak"].set_value(quantity(peak, "B/s") if peak else "not calibrated yet")
        self.legend["peak"].setToolTip(
            tr(
                f"The most that this device can move: {roof.words}"
                if roof is not None
                else "What this device can move at most is measured by Calibrate in the roofline "
                "view."
            )
        )
        self._note.setText(tr(self._words(run, median, peak)))

    def _spoken(self) -> str:
        """Return every line with its latest value."""
        return "; ".join(one.spoken() for one in self.legend.values() if not one.isHidden())

    def _show_measured(self, run: Run | None) -> None:
        """Say whose word it is or why it is missing; the hardware's has one entry or two."""
        counted = run.counted if run is not None else None
        apart = counted is not None and counted.read_B is not None
        for line in LINES:
            if line.kind == "dram":
                entry = self.legend[line.key]
                entry.setVisible(apart is (line.field != "combined_B"))
                entry.setToolTip(tr(f"{line.explanation}\n{self._whose(run)}"))
            elif line.kind == "requested":
                self.legend[line.key].setToolTip(
                    tr(f"{line.explanation}{self._source_of_requested(run)}")
                )

    @staticmethod
    def _source_of_requested(run: Run | None) -> str:
        if run is None or run.prepared is None or run.config.block is None:
            return ""
        requested = run.traffic.get("requested")
        if requested is None:
            return "\nThe manifest does not say it: Code → Accesses counts it."
        return f"\nThe manifest does not say it: {METHOD}." if requested.source == "counted" else ""

    @staticmethod
    def _whose(run: Run | None) -> str:
        if run is not None and run.counted is not None:
            source = run.counted.source
            method = METHODS.get(source, source)
            return f"From {source}: {method}."
        why = run.state.dram_reason if run is not None and run.state is not None else None
        return f"Not available: {why or 'nothing was counted yet'}."

    @staticmethod
    def _words(run: Run | None, median: float | None, peak: float | None) -> str:
        if run is None or not median or "compulsory" not in run.traffic:
            return ""
        entry = run.traffic["compulsory"]
        moved = entry.total_B
        rate = moved / median
        effective = f"effective {quantity(rate, 'B/s')}"
        if peak:
            effective = f"effective {quantity(rate, 'B/s')}, {percent(rate / peak)} of peak"
        facts = ["", f"kernel alone: {effective}" if run.phases_s else effective]
        requested = run.traffic.get("requested")
        if requested is not None and moved:
            factor = requested.total_B / moved
            counted = requested.source == "counted"
            facts.append(
                f"threads ask for {factor:.3g} × the least, as counted"
                if counted
                else f"threads ask for {factor:.3g} × the least"
            )
        ratio = ratio_words(run.traffic.values())
        if ratio is not None and run.counted is not None:
            facts.append(f"{ratio} ({run.counted.source})")
        return " · ".join(facts).lstrip()

    def _fit(self, seen: list[Floats]) -> None:
        ends = [np.sort(s)[[round(part * (len(s) - 1)) for part in SHOWN]] for s in seen]
        low, high = float(min(end[0] for end in ends)), float(max(end[1] for end in ends))
        if self.plot.log:
            low, high = low / 2, high * 2
        else:
            low, high = 0.0, high * 1.15
        span = self._high - self._low
        outside = low < self._low or high > self._high
        if outside or span <= 0 or high < 0.4 * self._high or low > 4 * self._low > 0:
            self._low, self._high = low, high
            self.plot.set_y(low, high)
