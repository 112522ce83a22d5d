"""A heat map's cells, and the scale that says what their colours mean."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QImage,
    QLinearGradient,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpuexplorer.charts.colours import colour_scale, words_at
from gpuexplorer.charts.spec import Axis, Floats, Panel, Series
from gpuexplorer.charts.style import Theme
from gpuexplorer.core.language import tr
from gpuexplorer.core.units import percent, quantity
from gpuexplorer.gui import typeface
from gpuexplorer.gui.theme import blend, theme
from gpuexplorer.gui.typeface import for_text

LEAST_HEIGHT = 15
"""Pixels of a cell that has room for its words."""
EMPTY_SHARE = 0.35
"""How strongly cells without a value are drawn, in the colour of the grid."""
SCALE_WIDTH = 112


def fractions(values: Floats, axis: Axis) -> Floats:
    """Return places on the scale of colours, 0 bad to 1 good; times are better short."""
    low, high = axis.low or 0.0, axis.high or 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        if axis.scale == "log":
            found: Floats = np.log(values / low) / np.log(high / low)
        else:
            found = (values - low) / (high - low)
    found = np.clip(found, 0.0, 1.0)
    return 1.0 - found if axis.unit == "s" else found


def value_words(value: float, unit: str) -> str:
    """Return a value with its unit; a share as a percentage."""
    return percent(value / 100) if unit == "%" else quantity(value, unit)


class HeatItem(pg.GraphicsObject):  # type: ignore[misc]
    """All cells as one small picture made large: many take no longer than few."""

    def __init__(self) -> None:
        super().__init__()
        self._one: Series | None = None
        self._panel: Panel | None = None
        self._colours: Theme | None = None
        self._image = QImage()
        self._hatched: list[tuple[int, int]] = []
        self._shades: Floats = np.empty(0)

    def show(self, one: Series, panel: Panel, colours: Theme) -> None:
        """Show these cells."""
        if (one, panel.z, colours) == (self._one, self._panel and self._panel.z, self._colours):
            return
        assert panel.z is not None
        self.prepareGeometryChange()
        self._one, self._panel, self._colours = one, panel, colours
        columns, rows = len(panel.x.categories), len(panel.y.categories)
        empty = QColor(blend(colours.grid, colours.panel, EMPTY_SHARE)).rgb()
        pixels = np.full((rows, columns), empty, dtype=np.uint32)
        palette = np.array([QColor(c).rgb() for c in colour_scale()], dtype=np.uint32)
        known = np.isfinite(one.z)
        x, y = one.x.astype(int), one.y.astype(int)
        self._shades = fractions(one.z, panel.z)
        at = np.rint(self._shades[known] * (len(palette) - 1)).astype(int)
        pixels[y[known], x[known]] = palette[at]
        never = np.isnan(one.z)  # an infinite one is still to come
        self._hatched = list(zip(x[never].tolist(), y[never].tolist(), strict=True))
        self._image = QImage(
            pixels.tobytes(), columns, rows, 4 * columns, QImage.Format.Format_RGB32
        ).copy()
        self.update()

    def boundingRect(self) -> QRectF:
        """Return what the cells cover."""
        return QRectF(-0.5, -0.5, self._image.width(), self._image.height())

    def paint(self, painter: QPainter, *args: object) -> None:
        """Draw cells, hatches, the lines between them, and words where there is room."""
        if self._one is None or self._colours is None or self._image.isNull():
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
        painter.drawImage(self.boundingRect(), self._image)
        transform = painter.transform()
        painter.resetTransform()
        cell = transform.mapRect(QRectF(0, 0, 1, 1))
        if self._hatched:
            colour = QColor(self._colours.muted)
            colour.setAlphaF(0.45)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QBrush(colour, Qt.BrushStyle.BDiagPattern))
            painter.drawRects(
                [transform.mapRect(QRectF(x - 0.5, y - 0.5, 1, 1)) for x, y in self._hatched]
            )
        painter.setPen(QPen(QColor(self._colours.panel), 1))
        whole = transform.mapRect(self.boundingRect())
        for column in range(self._image.width() + 1):
            x = whole.left() + column * cell.width()
            painter.drawLine(QPointF(x, whole.top()), QPointF(x, whole.bottom()))
        for row in range(self._image.height() + 1):
            y = whole.top() + row * cell.height()
            painter.drawLine(QPointF(whole.left(), y), QPointF(whole.right(), y))
        self._write(painter, whole, cell)

    def _write(self, painter: QPainter, whole: QRectF, cell: QRectF) -> None:
        """Write the words into cells, dark on light and light on dark."""
        one = self._one
        assert one is not None
        font = typeface.small(QFont())
        painter.setFont(font)
        metrics = painter.fontMetrics()
        longest = max((metrics.horizontalAdvance(words) for words in one.labels), default=0)
        if not longest or longest + 4 > cell.width() or cell.height() < for_text(LEAST_HEIGHT):
            return
        for x, y, shade, words in zip(one.x, one.y, self._shades, one.labels, strict=False):
            if not words or np.isnan(shade):  # what was not measured is in no colour of the scale
                continue
            box = QRectF(
                whole.left() + x * cell.width(), whole.bottom() - (y + 1) * cell.height(),
                cell.width(), cell.height(),
            )  # fmt: skip
            painter.setPen(QColor(words_at(float(shade))))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, words)


class ColourScale(QWidget):
    """The colours from good, at the top, to bad, with the values at both ends."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedWidth(for_text(SCALE_WIDTH))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        self._axis: Axis | None = None

    def show_axis(self, axis: Axis) -> None:
        """Explain the colours of an axis."""
        if axis != self._axis:
            self._axis = axis
            self.setToolTip(tr(axis.label))
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the scale."""
        axis, colours = self._axis, theme().chart
        if axis is None:
            return
        painter = QPainter(self)
        font = typeface.small(painter.font())
        painter.setFont(font)
        line = painter.fontMetrics().height()
        wrap = int((Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignLeft).value)
        painter.setPen(QColor(colours.muted))
        painter.drawText(QRectF(4, 2, self.width() - 6, 3 * line), wrap, axis.label)
        bar = QRectF(6, 6 + 3 * line, 14, max(30.0, min(self.height() - 5.0 * line - 30, 240.0)))
        gradient = QLinearGradient(bar.bottomLeft(), bar.topLeft())
        scale = colour_scale()
        for step in range(0, len(scale), 15):
            gradient.setColorAt(step / (len(scale) - 1), QColor(scale[step]))
        painter.fillRect(bar, QBrush(gradient))
        low, high = axis.low or 0.0, axis.high or 1.0
        best, worst = (low, high) if axis.unit == "s" else (high, low)
        middle = int(Qt.AlignmentFlag.AlignVCenter.value)
        painter.setPen(QColor(colours.text))
        for value, y in ((best, bar.top()), (worst, bar.bottom() - line)):
            beside = QRectF(bar.right() + 6, y, self.width() - bar.right() - 6, line)
            painter.drawText(beside, middle, value_words(value, axis.unit))
        if axis.scale == "log":
            painter.setPen(QColor(colours.muted))
            painter.drawText(QPointF(4, bar.bottom() + line + 2), tr("log scale"))
        painter.end()
