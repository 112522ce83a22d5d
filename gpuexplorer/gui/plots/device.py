"""The device's figures over time: one small plot a figure, on the time axis of the timing plot.

Everything is painted by one widget: eight plots of their own would cost eight repaints a step.
"""

from __future__ import annotations

import msgspec
import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QHelpEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gpuexplorer.core.language import about, tr
from gpuexplorer.core.telemetry import clock_words, slowdowns
from gpuexplorer.core.units import quantity
from gpuexplorer.gui import typeface
from gpuexplorer.gui.model.device import DeviceTrack
from gpuexplorer.gui.plots.base import AXIS_WIDTH, SIDE_WIDTH, Plot
from gpuexplorer.gui.theme import blend, theme
from gpuexplorer.gui.typeface import for_text

ROW_HEIGHT = 46
MISSING_HEIGHT = 18
MOST_POINTS = 600
PADDING = 6


class Figure(msgspec.Struct, frozen=True):
    """One row: what it shows, of which fields of a reading, and how."""

    title: str
    unit: str
    fields: tuple[str, ...]
    least_span: float
    explanation: str
    is_share: bool = False
    """Whether it goes from 0 to 1 and is shown in per cent."""


CLOCK = Figure("clock", "Hz", ("sm_clock_Hz",), 50e6, "Clock of the multiprocessors or cores")
POWER = Figure("power", "W", ("power_W",), 10.0, "Power of the board or the processor, in watts")
TEMPERATURE = Figure("temperature", "°C", ("temperature_C",), 4.0, "Temperature of the chip")
LOAD = Figure("device load", "", ("load",), 0.3, "Share of time that something ran", True)

FIGURES: dict[str, tuple[Figure, ...]] = {
    "gpu": (
        CLOCK,
        POWER,
        TEMPERATURE,
        LOAD,
        Figure("SM active", "", ("sm_active",), 0.3,
               "Share of time that multiprocessors had work", True),
        Figure("occupancy", "", ("occupancy",), 0.3,
               "Warps resident over the most there can be, as achieved", True),
        Figure("DRAM traffic", "B/s", ("dram_B_per_s",), 1e9,
               "Bytes that the memory really moved, reads and writes"),
        Figure("PCIe in, out", "B/s", ("pcie_rx_B_per_s", "pcie_tx_B_per_s"), 1e6,
               "Bytes over the bus into the device (solid) and out of it (dotted)"),
    ),
    "cpu": (
        CLOCK,
        LOAD,
        TEMPERATURE,
        POWER,
        Figure("memory", "B", ("memory_used_B",), 1e6, "Memory of the measuring process"),
    ),
}  # fmt: skip


def in_words(figure: Figure, value: float | None) -> str:
    """Return a value with its unit."""
    if value is None or not np.isfinite(value):
        return "–"
    if figure.is_share:
        return f"{value * 100:.0f} %"
    if figure.unit == "°C":
        return f"{value:.0f} °C"
    return quantity(value, figure.unit)


NO_READING = "No reading yet: the device is read as soon as the engine is ready."


class DevicePlots(QWidget):
    """The rows, one under the other; those without a reading become one line with the reason."""

    def __init__(self, track: DeviceTrack, timing: Plot, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("devicePlots")
        self._track, self._timing = track, timing
        self._figures: tuple[Figure, ...] = ()
        self._shown: list[Figure] = []
        self._missing: list[tuple[Figure, str]] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(tr("Device figures over time"))
        self.set_kind("cpu")
        timing.box.sigXRangeChanged.connect(self._moved)
        theme().changed.connect(self.update)

    def set_kind(self, kind: str) -> None:
        """Show what a ``gpu`` or a ``cpu`` has."""
        figures = FIGURES.get(kind, FIGURES["cpu"])
        if figures is not self._figures:
            self._figures = figures
            self._sort()

    def refresh(self) -> None:
        """Draw what is new; costs nothing while it is not on screen."""
        if self.isVisible():
            self._sort()
            self.update()

    @property
    def shown(self) -> list[str]:
        """The titles of the rows that have something to draw."""
        return [figure.title for figure in self._shown]

    @property
    def missing(self) -> dict[str, str]:
        """The figures without a reading, and why."""
        return {figure.title: why for figure, why in self._missing}

    def spoken(self) -> str:
        """Return the present value of each figure, and why others have none."""
        rows = [(figure.title, self._values(figure)) for figure in self._shown]
        rows += [(figure.title, why) for figure, why in self._missing]
        return "; ".join(about(title, words) for title, words in rows)

    def sizeHint(self) -> QSize:
        """Return the preferred size."""
        height = len(self._shown) * for_text(ROW_HEIGHT) + len(self._missing) * for_text(
            MISSING_HEIGHT
        )
        return QSize(300, height + 2 * PADDING)

    def minimumSizeHint(self) -> QSize:
        """Return the least size."""
        return self.sizeHint()

    def _moved(self, *_: object) -> None:
        if self.isVisible():
            self.update()

    def _sort(self) -> None:
        """Tell the figures with readings from those without."""
        track = self._track
        shown = [f for f in self._figures if any(name in track.sources for name in f.fields)]
        missing = [(f, self._why(f)) for f in self._figures if f not in shown]
        if track.latest is None:
            shown, missing = [], []
        if shown != self._shown or missing != self._missing:
            self._shown, self._missing = shown, missing
            self.updateGeometry()

    def _why(self, figure: Figure) -> str:
        for name in figure.fields:
            if name in self._track.missing:
                return self._track.missing[name]
        return "no source of this device tells"

    # ---- painting

    def _area(self) -> tuple[float, float]:
        """Return where the timing plot's time axis begins and ends, in this widget's pixels."""
        rect = self._timing.box.sceneBoundingRect()
        view = self._timing
        left = view.mapToGlobal(view.mapFromScene(rect.topLeft()))
        right = view.mapToGlobal(view.mapFromScene(rect.topRight()))
        return float(self.mapFromGlobal(left).x()), float(self.mapFromGlobal(right).x())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw every row that the exposed part touches."""
        painter = QPainter(self)
        small = typeface.small(self.font())
        left, right = self._area()
        low_s, high_s = (float(v) for v in self._timing.box.viewRange()[0])
        top = float(PADDING)
        if not self._shown and not self._missing:
            painter.setPen(theme().q("muted"))
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, tr(NO_READING))
        for row, figure in enumerate(self._shown):
            area = QRectF(left, top + 3, right - left, for_text(ROW_HEIGHT) - 8)
            if event.rect().top() <= area.bottom() and area.top() <= event.rect().bottom():
                painter.setFont(small)
                self._paint_held(painter, area, low_s, high_s, named=row == 0)
                self._paint_row(painter, small, area, figure, low_s, high_s)
            top += for_text(ROW_HEIGHT)
        painter.setFont(small)
        for figure, why in self._missing:
            area = QRectF(12, top, self.width() - 24, for_text(MISSING_HEIGHT))
            words = tr(f"{figure.title}: not available: {why}")
            painter.setPen(theme().q("muted"))
            fitting = painter.fontMetrics().elidedText(
                words, Qt.TextElideMode.ElideRight, int(area.width())
            )
            painter.drawText(area, Qt.AlignmentFlag.AlignVCenter, fitting)
            top += for_text(MISSING_HEIGHT)
        painter.end()

    def _paint_held(
        self, painter: QPainter, area: QRectF, low_s: float, high_s: float, *, named: bool
    ) -> None:
        colours = theme()
        for span in self._track.held:
            if span.end_s < low_s or span.start_s > high_s:
                continue
            begin, end = (
                area.left() + (min(max(s, low_s), high_s) - low_s) / (high_s - low_s) * area.width()
                for s in (span.start_s, span.end_s)
            )
            band = QRectF(begin, area.top() - 3, max(end - begin, 2.0), area.height() + 8)
            colour, strength = ("warning", 0.22) if span.slowed else ("muted", 0.10)
            fill = QColor(blend(colours.colour(colour), colours.chart.panel, strength))
            painter.fillRect(band, fill)
            if named:
                painter.setPen(colours.q("text" if span.slowed else "muted"))
                room = QRectF(begin + 3, area.top() - 3, area.right() - begin, 14)
                painter.drawText(room, Qt.AlignmentFlag.AlignLeft, tr(clock_words(span.reasons)))

    def _paint_row(
        self,
        painter: QPainter,
        small: QFont,
        area: QRectF,
        figure: Figure,
        low_s: float,
        high_s: float,
    ) -> None:
        colours, track = theme(), self._track
        lines = [
            track.series(name, low_s, high_s, MOST_POINTS)
            for name in figure.fields
            if name in track.sources
        ]
        values = np.concatenate([np.empty(0), *(y for _, y in lines)])
        painter.setPen(QPen(colours.q("border"), 1))
        painter.drawLine(area.bottomLeft(), area.bottomRight())
        if len(values):
            low, high = float(values.min()), float(values.max())
            spare = max(0.0, figure.least_span - (high - low)) / 2
            low, high = max(0.0, low - spare), high + spare
            if figure.is_share:
                high = min(high, max(1.0, float(values.max())))
            painter.save()
            painter.setClipRect(area.adjusted(0, -2, 0, 2))
            for slot, (x, y) in enumerate(lines):
                xs = area.left() + (x - low_s) / (high_s - low_s) * area.width()
                ys = area.bottom() - (y - low) / max(high - low, 1e-30) * area.height()
                pen = QPen(QColor(colours.chart.colour(0)), 1)
                pen.setCosmetic(True)
                if slot:
                    pen.setStyle(Qt.PenStyle.DotLine)
                painter.setPen(pen)
                painter.drawPolyline(
                    QPolygonF(
                        [QPointF(a, b) for a, b in zip(xs.tolist(), ys.tolist(), strict=True)]
                    )
                )
            painter.restore()
            painter.setPen(QColor(colours.chart.muted))
            wide = for_text(AXIS_WIDTH)
            gutter = QRectF(area.left() - wide, area.top() - 1, wide - 6, for_text(14))
            flags = Qt.AlignmentFlag.AlignRight
            painter.drawText(gutter, flags, tr(in_words(figure, high)))
            gutter.moveBottom(area.bottom() + 1)
            painter.drawText(gutter, flags, tr(in_words(figure, low)))
        self._paint_side(painter, small, area, figure)

    def _paint_side(self, painter: QPainter, small: QFont, area: QRectF, figure: Figure) -> None:
        colours, latest = theme(), self._track.latest
        side = QRectF(area.right() + 12, area.top(), for_text(SIDE_WIDTH) - 20, for_text(16))
        painter.setPen(colours.q("muted"))
        painter.drawText(side, Qt.AlignmentFlag.AlignLeft, tr(figure.title))
        source = self._source(figure)
        painter.drawText(side, Qt.AlignmentFlag.AlignRight, tr(source))
        bold = QFont(self.font())
        bold.setWeight(QFont.Weight.DemiBold)
        painter.setFont(bold)
        reasons = latest.throttle_reasons if latest is not None and figure is CLOCK else None
        painter.setPen(colours.q("warning" if slowdowns(reasons or ()) else "text"))
        side.translate(0, for_text(16))
        side.setHeight(for_text(20))
        painter.drawText(side, Qt.AlignmentFlag.AlignLeft, tr(self._values(figure)))
        painter.setFont(small)

    def _values(self, figure: Figure) -> str:
        """Return the present value of each of a figure's fields in words."""
        found = [self._track.now(name) for name in figure.fields if name in self._track.sources]
        return ", ".join(in_words(figure, value) for value in found)

    def _source(self, figure: Figure) -> str:
        names = dict.fromkeys(
            self._track.sources[name] for name in figure.fields if name in self._track.sources
        )
        return ", ".join(names)

    def event(self, event: QEvent) -> bool:
        """Explain the row under the pointer."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), tr(self.explanation(event.pos().y())), self)
            return True
        return super().event(event)

    def explanation(self, y: int) -> str:
        """Return what stands at a height, in words."""
        row = (y - PADDING) // for_text(ROW_HEIGHT)
        if 0 <= row < len(self._shown):
            figure = self._shown[row]
            return f"{figure.explanation}; from {self._source(figure)}"
        row = (y - PADDING - len(self._shown) * for_text(ROW_HEIGHT)) // for_text(MISSING_HEIGHT)
        if 0 <= row < len(self._missing):
            figure, why = self._missing[row]
            return f"{figure.explanation}; not available: {why}"
        return ""
