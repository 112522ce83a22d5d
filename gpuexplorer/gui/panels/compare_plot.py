"""The forest plot: a dot and an interval for each, on a logarithmic axis of the time ratio."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFontMetricsF,
    QHelpEvent,
    QPainter,
    QPaintEvent,
    QPolygonF,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gpuexplorer.charts.comparison import (
    VERDICT_COLOURS,
    Line,
    interval_words,
    ratio_range,
    ratio_words,
)
from gpuexplorer.core.comparison import TOLERANCE, Verdict
from gpuexplorer.core.units import percent
from gpuexplorer.gui.model.compare import ticks
from gpuexplorer.gui.plots.base import line_pen
from gpuexplorer.gui.theme import blend, theme

ROW = 30
MOST_ROW = 54
AXIS = 40
"""Height of the ticks and the axis' words."""
TOP = 20
"""Height of the band's words."""
GAP = 12
"""Between an interval and its words."""
NAMES_SHARE = 0.36
"""Of the width, the names have this at the most."""
RADIUS = 5.5
TICK_GAP = 70
"""Pixels from one tick to the next at the least."""


class ForestPlot(QWidget):
    """Draws lines: who is faster stands left of the band, who is slower right of it."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("forestPlot")
        self.setAccessibleName("Time ratios with their 95 % intervals")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.lines: list[Line] = []
        self.tolerance = TOLERANCE
        self.reference = ""
        self.waiting = ""
        self._range = ratio_range(())
        theme().changed.connect(self.update)

    def show_lines(self, lines: Sequence[Line], tolerance: float, waiting: str = "") -> None:
        """Draw these; ``waiting`` is said of those without a ratio."""
        self.lines, self.tolerance, self.waiting = list(lines), tolerance, waiting
        self._range = ratio_range(self.lines)
        self.reference = next((line.label for line in self.lines if line.verdict is None), "")
        self.setAccessibleDescription(
            "; ".join(f"{ln.label}: {self.words(ln)}" for ln in self.lines)
        )
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """Return room for every line."""
        return QSize(500, TOP + AXIS + MOST_ROW * max(2, len(self.lines)))

    def minimumSizeHint(self) -> QSize:
        """Return the least room in which the lines can be read."""
        return QSize(320, TOP + AXIS + ROW * max(2, len(self.lines)))

    # ---- geometry

    def _names_width(self) -> float:
        bold = self.font()
        bold.setBold(True)
        metrics = QFontMetricsF(bold)
        widest = max((metrics.horizontalAdvance(line.label) for line in self.lines), default=0.0)
        return min(widest + 24.0, NAMES_SHARE * self.width())

    def _area(self) -> QRectF:
        left = self._names_width()
        rows = max(1, len(self.lines))
        tall = min(self.height() - TOP - AXIS, MOST_ROW * rows)
        return QRectF(left, TOP, max(40.0, self.width() - left - 12), max(1.0, float(tall)))

    def x_of(self, ratio: float) -> float:
        """Return where a ratio stands, in pixels."""
        low, high = self._range
        area = self._area()
        share = math.log(ratio / low) / math.log(high / low)
        return area.left() + area.width() * share

    def y_of(self, place: int) -> float:
        """Return the middle of a line's row, in pixels."""
        area = self._area()
        return area.top() + area.height() * (place + 0.5) / max(1, len(self.lines))

    # ---- drawing

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw band, axis and lines."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = self._area()
        self._draw_axis(painter, area)
        for place, line in enumerate(self.lines):
            self._draw_line(painter, area, place, line)
        painter.end()

    def _draw_axis(self, painter: QPainter, area: QRectF) -> None:
        chart = theme().chart
        left, right = self.x_of(1 / (1 + self.tolerance)), self.x_of(1 + self.tolerance)
        wide = max(right - left, 2.0)
        band = QRectF(left, area.top(), wide, area.height())
        painter.fillRect(band, QColor(blend(chart.palette[0], chart.panel, 0.2)))
        small = painter.font()
        small.setPointSizeF(small.pointSizeF() * 0.9)
        painter.save()
        painter.setFont(small)
        painter.setPen(theme().q("muted"))
        middle = self.x_of(1.0)
        for words, at, flag in (
            ("◂ faster", middle - wide / 2 - 8, Qt.AlignmentFlag.AlignRight),
            ("slower ▸", middle + wide / 2 + 8, Qt.AlignmentFlag.AlignLeft),
        ):
            box = QRectF(at - 200 if flag == Qt.AlignmentFlag.AlignRight else at, 0, 200, TOP - 2)
            painter.drawText(box, flag | Qt.AlignmentFlag.AlignBottom, words)
        bottom = area.bottom()
        for tick in ticks(*self._range, max(2, int(area.width() / TICK_GAP))):
            x = self.x_of(tick)
            painter.setPen(line_pen(chart.grid))
            painter.drawLine(QPointF(x, area.top()), QPointF(x, bottom))
            painter.setPen(theme().q("muted"))
            box = QRectF(x - 40, bottom + 2, 80, 16)
            painter.drawText(box, Qt.AlignmentFlag.AlignHCenter, f"{tick:g}")
        painter.setPen(line_pen(blend(chart.palette[0], chart.panel, 0.8)))
        painter.drawLine(QPointF(middle, area.top()), QPointF(middle, bottom))
        painter.setPen(theme().q("muted"))
        said = f"time over that of {self.reference}" if self.reference else "ratio of times"
        said += f", log scale · band: the same, within {percent(self.tolerance)}"
        box = QRectF(area.left() - 60, bottom + 20, area.width() + 60, 18)
        words = painter.fontMetrics().elidedText(
            said, Qt.TextElideMode.ElideMiddle, int(box.width())
        )
        painter.drawText(box, Qt.AlignmentFlag.AlignHCenter, words)
        painter.restore()

    def _draw_line(self, painter: QPainter, area: QRectF, place: int, line: Line) -> None:
        y = self.y_of(place)
        font = painter.font()
        font.setBold(line.verdict is None)
        painter.setFont(font)
        painter.setPen(theme().q("text"))
        room = self._names_width() - 20
        name = painter.fontMetrics().elidedText(line.label, Qt.TextElideMode.ElideRight, int(room))
        painter.drawText(QRectF(12, y - 12, room, 24), Qt.AlignmentFlag.AlignVCenter, name)
        font.setBold(False)
        painter.setFont(font)
        begin = end = self.x_of(1.0)
        if line.verdict is None:
            draw_mark(painter, QPointF(self.x_of(1.0), y), None)
        elif line.ratio and line.low and line.high:
            colour = QColor(theme().chart.palette[VERDICT_COLOURS[line.verdict]])
            pen = line_pen(colour.name(), 2)
            painter.setPen(pen)
            low, high = self.x_of(line.low), self.x_of(line.high)
            painter.drawLine(QPointF(low, y), QPointF(high, y))
            for x in (low, high):
                painter.drawLine(QPointF(x, y - 4), QPointF(x, y + 4))
            draw_mark(painter, QPointF(self.x_of(line.ratio), y), line.verdict)
            begin, end = min(low, begin), max(high, end)
        painter.setPen(theme().q("text" if line.ratio else "muted"))
        self._write_beside(painter, self.words(line), begin - GAP, end + GAP, y)

    def _write_beside(
        self, painter: QPainter, words: str, before: float, after: float, y: float
    ) -> None:
        """Write a line's words right of what is drawn of it, or left where they fit only there."""
        wide = painter.fontMetrics().horizontalAdvance(words) + 2.0
        x = after
        if after + wide > self.width() and before - wide >= self._area().left():
            x = before - wide
        painter.drawText(
            QRectF(min(x, self.width() - wide), y - 12, wide, 24),
            Qt.AlignmentFlag.AlignVCenter, words,
        )  # fmt: skip

    def words(self, line: Line) -> str:
        """Return what stands beside a line."""
        return line.words if line.verdict is None or line.ratio else self.waiting

    def event(self, event: QEvent) -> bool:
        """Show a line's figures as its tooltip."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            area = self._area()
            inside = area.top() <= event.pos().y() < area.bottom() and self.lines
            place = int((event.pos().y() - area.top()) / area.height() * max(1, len(self.lines)))
            words = line_words(self.lines[place], self.reference) if inside else ""
            QToolTip.showText(event.globalPos(), words, self)
            return True
        return super().event(event)


def line_words(line: Line, reference: str) -> str:
    """Return one line in words."""
    if line.verdict is None:
        return f"{line.label}\nThe reference: the others' times are divided by its."
    if not (line.ratio and line.low and line.high):
        return f"{line.label}\nToo few rounds for a ratio yet; eight are needed."
    return (
        f"{line.label}: {line.verdict}\n"
        f"{ratio_words(line.ratio)} times the time of {reference}, "
        f"95 % interval {interval_words(line.low, line.high)}"
    )


def draw_mark(painter: QPainter, at: QPointF, verdict: Verdict | None) -> None:
    """Draw what stands for a verdict, told apart by its shape too; None for the reference.

    A triangle points to the faster or the slower side, a disc is the same, a ring cannot be told.
    """
    chart = theme().chart
    if verdict is None:
        painter.setPen(line_pen(chart.muted, 2))
        painter.setBrush(QColor(chart.panel))
        painter.drawRect(QRectF(at.x() - 4.5, at.y() - 4.5, 9, 9))
        return
    colour = QColor(chart.palette[VERDICT_COLOURS[verdict]])
    painter.setPen(line_pen(colour.name(), 2))
    painter.setBrush(QColor(chart.panel) if verdict == "can't tell" else QBrush(colour))
    if verdict in ("same", "can't tell"):
        painter.drawEllipse(at, RADIUS - 1, RADIUS - 1)
        return
    side = -1 if verdict == "faster" else 1
    painter.drawPolygon(
        QPolygonF(
            [
                QPointF(at.x() + side * RADIUS, at.y()),
                QPointF(at.x() - side * RADIUS * 0.8, at.y() - RADIUS),
                QPointF(at.x() - side * RADIUS * 0.8, at.y() + RADIUS),
            ]
        )
    )
