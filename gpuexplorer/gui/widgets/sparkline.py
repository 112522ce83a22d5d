"""One figure with its recent course: the device's clock, power, temperature or load."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpuexplorer.gui.model.trace import Floats
from gpuexplorer.gui.theme import theme


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

    def sizeHint(self) -> QSize:
        """Return the preferred size."""
        return QSize(150, 46)

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
        title_font = QFont(painter.font())
        title_font.setPointSizeF(title_font.pointSizeF() * 0.85)
        painter.setFont(title_font)
        painter.setPen(colours.q("muted"))
        painter.drawText(QRectF(0, 4, 84, 16), Qt.AlignmentFlag.AlignLeft, self._title)
        value_font = QFont(self.font())
        value_font.setWeight(QFont.Weight.DemiBold)
        painter.setFont(value_font)
        painter.setPen(
            colours.q("warning" if self._warn else "text" if self._words != "–" else "disabled")
        )
        painter.drawText(QRectF(0, 21, 90, 20), Qt.AlignmentFlag.AlignLeft, self._words)
        area = QRectF(92, 7, self.width() - 100, self.height() - 14)
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
        line = QPolygonF([QPointF(a, b) for a, b in zip(xs.tolist(), ys.tolist(), strict=True)])
        painter.setPen(QPen(QColor(theme().chart.colour(self._colour)), 1))
        painter.drawPolyline(line)
