"""The strip under the plots: the device's clock, power, temperature or load, and who says so."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from gpuexplorer.core.language import about, tr
from gpuexplorer.core.sample import Reading
from gpuexplorer.core.telemetry import clock_words, slowdowns
from gpuexplorer.core.units import quantity
from gpuexplorer.gui import typeface
from gpuexplorer.gui.model.trace import Floats
from gpuexplorer.gui.plots.base import muted_label, polygon, title_label
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.typeface import for_text
from gpuexplorer.gui.widgets.button import small_button
from gpuexplorer.gui.widgets.look import set_look


class Sparkline(QWidget):
    """A title, the latest value in words, and a line of the last minute."""

    def __init__(self, title: str, colour: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title, self._colour = title, colour
        self._words, self._warn = "–", False
        self._x: Floats = np.empty(0)
        self._y: Floats = np.empty(0)
        self._least_span = 1.0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme().changed.connect(self.update)

    @property
    def words(self) -> str:
        """The latest value as shown."""
        return self._words

    def spoken(self) -> str:
        """Return the title with the latest value."""
        return about(self._title, self._words)

    def sizeHint(self) -> QSize:
        """Return the preferred size."""
        return QSize(150, for_text(46))

    def show_series(
        self, words: str, x: Floats, y: Floats, least_span: float, *, warn: bool = False
    ) -> None:
        """Show a value and its course; ``least_span`` keeps noise from filling the height."""
        self._words, self._x, self._y = words, x, y
        self._least_span, self._warn = least_span, warn
        self.update()

    def show_missing(self) -> None:
        """Show that there is no such figure."""
        self.show_series("–", np.empty(0), np.empty(0), 1.0)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the words at the left and the line at the right."""
        colours, painter = theme(), QPainter(self)
        painter.setFont(typeface.small(painter.font()))
        painter.setPen(colours.q("muted"))
        painter.drawText(
            QRectF(0, for_text(4), for_text(84), for_text(16)),
            Qt.AlignmentFlag.AlignLeft,
            tr(self._title),
        )
        value_font = QFont(self.font())
        value_font.setWeight(QFont.Weight.DemiBold)
        painter.setFont(value_font)
        painter.setPen(
            colours.q("warning" if self._warn else "text" if self._words != "–" else "disabled")
        )
        painter.drawText(
            QRectF(0, for_text(21), for_text(90), for_text(20)),
            Qt.AlignmentFlag.AlignLeft,
            tr(self._words),
        )
        area = QRectF(for_text(92), 7, self.width() - for_text(92) - 8, self.height() - 14)
        if area.width() > 20:
            painter.setPen(QPen(colours.q("border"), 1))
            painter.drawLine(area.bottomLeft(), area.bottomRight())
            self._paint_line(painter, area)
        painter.end()

    def _paint_line(self, painter: QPainter, area: QRectF) -> None:
        keep = np.isfinite(self._y)
        x, y = self._x[keep], self._y[keep]
        if len(x) < 2 or x[-1] <= x[0]:
            return
        low, high = float(y.min()), float(y.max())
        spare = max(0.0, self._least_span - (high - low)) / 2
        low, high = low - spare, high + spare
        xs = area.left() + (x - x[0]) / (x[-1] - x[0]) * area.width()
        ys = area.bottom() - (y - low) / max(high - low, 1e-30) * area.height()
        painter.setPen(QPen(QColor(theme().chart.colour(self._colour)), 1))
        painter.drawPolyline(polygon(xs, ys))


SPAN_S = 60.0
SOURCE_WIDTH = 150
"""Width of the words at the left; longer ones are cut, and whole in the tooltip."""


class Figure(msgspec.Struct, frozen=True):
    """One field of a reading and how it is shown."""

    field: str
    title: str
    unit: str
    least_span: float
    explanation: str


FIGURES = {
    "gpu": (
        Figure("sm_clock_Hz", "SM clock", "Hz", 50e6, "Clock of the multiprocessors"),
        Figure("power_W", "power", "W", 10.0, "Power the board takes, in watts"),
        Figure("temperature_C", "temperature", "°C", 4.0, "Temperature of the chip, in °C"),
    ),
    "cpu": (
        Figure("sm_clock_Hz", "CPU clock", "Hz", 100e6, "Mean clock of the cores"),
        Figure("load", "CPU load", "", 0.3, "Share of time the cores were busy"),
        Figure("temperature_C", "temperature", "°C", 4.0, "Temperature of the processor, in °C"),
    ),
}


def in_words(figure: Figure, value: float | None) -> str:
    """Return a reading's value with its unit."""
    if value is None:
        return "–"
    if figure.field == "load":
        return f"{value * 100:.0f} %"
    if figure.unit == "°C":
        return f"{value:.0f} °C"
    return quantity(value, figure.unit)


class TelemetryStrip(QWidget):
    """Three figures with their last minute, and a button that opens all figures over time."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("telemetryStrip")
        self._kind = ""
        self._title = title_label("Device")
        self._source = muted_label(tr("no reading yet"))
        self._source.setObjectName("telemetrySource")
        self._source.set_width(for_text(SOURCE_WIDTH))
        head = self._head = QVBoxLayout()
        head.setSpacing(0)
        head.addStretch(1)
        self.more = small_button(
            "deviceButton", "Show or hide all figures of the device over the plots' time axis"
        )
        self.more.setText(tr("▸ more"))
        self.more.setCheckable(True)
        self.more.toggled.connect(self._set_open)
        top = QHBoxLayout()
        top.setSpacing(6)
        top.addWidget(self._title)
        top.addStretch(1)
        top.addWidget(self.more)
        head.addLayout(top)
        head.addWidget(self._source)
        head.addStretch(1)
        self._row = QHBoxLayout()
        self._row.setSpacing(14)
        self.lines: list[Sparkline] = []
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 2, 12, 4)
        layout.setSpacing(18)
        layout.addLayout(head)
        layout.addLayout(self._row, 1)
        self.set_kind("cpu")

    def _set_open(self, on: bool) -> None:
        """Make room for the figures over time: one line of words is left."""
        self.more.setText(tr("▾ less" if on else "▸ more"))
        directions = QBoxLayout.Direction
        self._head.setDirection(directions.LeftToRight if on else directions.TopToBottom)
        self._head.setSpacing(14 if on else 0)
        self._head.setStretch(0, 0 if on else 1)
        self._source.set_width(for_text(3 * SOURCE_WIDTH if on else SOURCE_WIDTH))
        for line in self.lines:
            line.setVisible(not on)

    def set_kind(self, kind: str) -> None:
        """Show what a ``gpu`` or a ``cpu`` has."""
        kind = kind if kind in FIGURES else "cpu"
        if kind == self._kind:
            return
        self._kind = kind
        for line in self.lines:
            self._row.removeWidget(line)
            line.hide()
            line.deleteLater()
        self.lines = [Sparkline(f.title, slot) for slot, f in enumerate(FIGURES[kind])]
        for line in self.lines:
            self._row.addWidget(line, 1)
            line.setVisible(not self.more.isChecked())

    def refresh(self, readings: Sequence[Reading]) -> None:
        """Draw the readings, oldest first; a few times a second is enough."""
        if not readings:
            self._source.setText(tr("no reading yet"))
            for line in self.lines:
                line.show_missing()
            return
        last = readings[-1]
        since = last.t_ns - int(SPAN_S * 1e9)
        recent = [r for r in readings if r.t_ns >= since]
        x = np.array([(r.t_ns - last.t_ns) * 1e-9 for r in recent])
        missing: dict[str, str] = {}
        for reading in readings:
            missing.update(reading.missing)
        reasons = last.throttle_reasons or ()
        slowed, held = bool(slowdowns(reasons)), clock_words(reasons)
        sources = dict.fromkeys((last.source, *last.sources.values()))
        facts = [f"from {', '.join(sources)}", *([held] if held else [])]
        self._source.setText(tr(" · ".join(facts)))
        set_look(self._source, role="warning" if slowed else "muted")
        for line, figure in zip(self.lines, FIGURES[self._kind], strict=True):
            values = np.array(
                [np.nan if (v := getattr(r, figure.field)) is None else v for r in recent],
                dtype=np.float64,
            )
            latest = getattr(last, figure.field)
            line.show_series(in_words(figure, latest), x, values, figure.least_span, warn=slowed)
            if latest is None:
                why = missing.get(figure.field, f"{last.source} does not say")
                line.setToolTip(tr(f"{figure.explanation}: not available, {why}"))
            else:
                source = last.sources.get(figure.field, last.source)
                line.setToolTip(tr(f"{figure.explanation}, the last minute, from {source}"))
