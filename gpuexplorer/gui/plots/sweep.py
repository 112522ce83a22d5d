"""The chart of a sweep: one panel or small multiples, with a legend or the scale of colours."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QLinearGradient, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QScrollArea, QSizePolicy, QWidget

from gpuexplorer.charts.colours import colour_scale
from gpuexplorer.gui.model.sweep_picture import SweepPicture, value_text
from gpuexplorer.gui.plots.sweep_drawing import mark_path
from gpuexplorer.gui.plots.sweep_facet import LEAST_WIDTH, SweepFacet
from gpuexplorer.gui.theme import theme

LEAST_HEIGHT = 190
"""Of a panel when there are several rows of them."""
KEY_WIDTH = 124


def columns_of(panels: int, width: int) -> int:
    """Return how many panels stand side by side in so many pixels."""
    wanted = {1: 1, 2: 2, 4: 2}.get(panels, 3)
    return max(1, min(wanted, width // (LEAST_WIDTH + 4)))


class SweepKey(QWidget):
    """The legend of lines, or the scale of colours of heat maps; empty for bars."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("sweepKey")
        self.setFixedWidth(KEY_WIDTH)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        self._shown: SweepPicture | None = None
        theme().changed.connect(self.update)

    def show_picture(self, shown: SweepPicture) -> None:
        """Explain a chart."""
        self._shown = shown
        has_scale = shown.kind == "heat" and shown.low is not None
        self.setVisible(has_scale or bool(shown.names))
        self.setToolTip("\n".join(shown.names))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the entries."""
        if self._shown is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        font = painter.font()
        font.setPointSizeF(font.pointSizeF() * 0.88)
        painter.setFont(font)
        if self._shown.kind == "heat":
            self._scale(painter, self._shown)
        else:
            self._legend(painter, self._shown)
        painter.end()

    def _legend(self, painter: QPainter, shown: SweepPicture) -> None:
        metrics = painter.fontMetrics()
        height = metrics.height() + 5
        for slot, name in enumerate(shown.names):
            y = 12.0 + (slot + 0.5) * height
            colour = QColor(theme().chart.colour(slot))
            painter.setPen(QPen(colour, 1.5))
            painter.drawLine(QPointF(4, y), QPointF(24, y))
            painter.setBrush(QBrush(colour))
            painter.setPen(QPen(QColor(theme().chart.panel), 1))
            painter.drawPath(mark_path(slot, QPointF(14, y)))
            painter.setPen(QColor(theme().chart.text))
            words = metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, self.width() - 34)
            rect = QRectF(30, y - height / 2, self.width() - 30, height)
            painter.drawText(rect, int(Qt.AlignmentFlag.AlignVCenter.value), words)

    def _scale(self, painter: QPainter, shown: SweepPicture) -> None:
        if shown.low is None or shown.high is None:
            return
        metrics = painter.fontMetrics()
        line = metrics.height()
        bar = QRectF(6, 14 + 2 * line, 14, max(40.0, min(self.height() - 60.0 - 2 * line, 260.0)))
        gradient = QLinearGradient(bar.bottomLeft(), bar.topLeft())
        scale = colour_scale()
        for step in range(0, len(scale), 15):
            gradient.setColorAt(step / (len(scale) - 1), QColor(scale[step]))
        painter.fillRect(bar, QBrush(gradient))
        ends = (shown.high, shown.low)
        if shown.measure.less_is_better:
            ends = (shown.low, shown.high)
        chart = theme().chart
        painter.setPen(QColor(chart.muted))
        wrap = int((Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignLeft).value)
        painter.drawText(QRectF(4, 8, self.width() - 6, 2 * line), wrap, shown.measure.title)
        for value, y in ((ends[0], bar.top()), (ends[1], bar.bottom() - line)):
            painter.setPen(QColor(chart.text))
            rect = QRectF(bar.right() + 6, y, self.width() - bar.right() - 6, line)
            painter.drawText(
                rect, int(Qt.AlignmentFlag.AlignVCenter.value), value_text(shown.measure, value)
            )
        painter.setPen(QColor(chart.muted))
        said = "log scale" if shown.log else ""
        painter.drawText(QPointF(4, bar.bottom() + line + 4), said)


class SweepChart(QWidget):
    """Draws a ``SweepPicture``; ``hovered`` and ``chosen`` carry a cell's number."""

    hovered = Signal(object)
    chosen = Signal(int)

    def __init__(self, words: Callable[[int], str]) -> None:
        """``words`` says what a cell came to."""
        super().__init__()
        self.setObjectName("sweepChart")
        self.setAccessibleName("Chart of the sweep")
        self._words = words
        self.shown: SweepPicture | None = None
        self.facets: list[SweepFacet] = []
        self._arranged = (0, 0)
        self._room = QScrollArea()
        self._room.setObjectName("sweepFacets")
        self._room.setWidgetResizable(True)
        self._room.setFrameShape(QScrollArea.Shape.NoFrame)
        inside = QWidget()
        inside.setAutoFillBackground(True)
        inside.setBackgroundRole(inside.palette().ColorRole.Base)
        self._grid = QGridLayout(inside)
        self._grid.setContentsMargins(4, 0, 0, 2)
        self._grid.setSpacing(4)
        self._room.setWidget(inside)
        self.key = SweepKey()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2)
        row.addWidget(self._room, 1)
        row.addWidget(self.key)
        self.key.hide()

    def show_picture(self, shown: SweepPicture | None, current: int | None) -> None:
        """Draw a chart; None draws nothing."""
        self.shown = shown
        panels = shown.facets if shown is not None else ()
        self._have(len(panels))
        for facet, widget in zip(panels, self.facets, strict=True):
            assert shown is not None
            widget.show_facet(shown, facet, current)
        if shown is not None:
            self.key.show_picture(shown)
        else:
            self.key.hide()

    def _have(self, number: int) -> None:
        """Have so many panels in the grid."""
        while len(self.facets) > number:
            gone = self.facets.pop()
            self._grid.removeWidget(gone)
            gone.hide()
            gone.deleteLater()
        while len(self.facets) < number:
            made = SweepFacet(self._words)
            made.hovered.connect(self.hovered)
            made.chosen.connect(self.chosen)
            self.facets.append(made)
        self._arrange()

    def _arrange(self) -> None:
        """Give each panel its place, where the last ones no longer fit."""
        number = len(self.facets)
        columns = columns_of(number, self._room.viewport().width())
        if self._arranged == (number, columns):
            return
        self._arranged = number, columns
        for place, facet in enumerate(self.facets):
            facet.setMinimumHeight(120 if number <= columns else LEAST_HEIGHT)
            self._grid.addWidget(facet, place // columns, place % columns)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put as many panels side by side as there is room for."""
        super().resizeEvent(event)
        self._arrange()

    def place_of(self, index: int) -> tuple[SweepFacet, QPointF] | None:
        """Return where a cell is drawn; None when it is not."""
        for facet in self.facets:
            at = facet.place_of(index)
            if at is not None:
                return facet, at
        return None
