"""One panel of a sweep's chart.

It is kept as a picture and drawn anew only when what it shows, its size or the colours change; what
the pointer points at is drawn over it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QHelpEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gpuexplorer.gui.model.sweep_picture import Facet, SweepPicture
from gpuexplorer.gui.plots.sweep_drawing import DRAWERS, Spot
from gpuexplorer.gui.theme import theme

NEAR_PIXELS = 16
LEAST_WIDTH = 126


class SweepFacet(QWidget):
    """``hovered`` carries the cell under the pointer or None, ``chosen`` one that was clicked."""

    hovered = Signal(object)
    chosen = Signal(int)

    def __init__(self, words: Callable[[int], str]) -> None:
        """``words`` says what a cell came to, for its tooltip."""
        super().__init__()
        self.setObjectName("sweepFacet")
        self._words = words
        self._shown: SweepPicture | None = None
        self._facet: Facet | None = None
        self._current: int | None = None
        self._hover: int | None = None
        self._picture: QPixmap | None = None
        self._spots: list[Spot] = []
        self.setMouseTracking(True)
        self.setMinimumSize(LEAST_WIDTH, 120)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        theme().changed.connect(self.redraw)

    def show_facet(self, shown: SweepPicture, facet: Facet, current: int | None) -> None:
        """Draw a panel; ``current`` is the cell that is being measured."""
        if (shown, facet) != (self._shown, self._facet):
            self._shown, self._facet = shown, facet
            self._picture = None
        self._current = current
        self.update()

    def redraw(self) -> None:
        """Draw everything anew."""
        self._picture = None
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Draw in the new size."""
        self._picture = None
        super().resizeEvent(event)

    # ---- the pointer

    def cell_at(self, where: QPointF) -> int | None:
        """Return the cell drawn at a point, or near one; None where there is none."""
        best, nearest = None, float(NEAR_PIXELS)
        for spot in self._spots:
            if spot.rect.contains(where):
                return spot.mark.index
            if self._shown is not None and self._shown.kind == "lines":
                gap = spot.rect.center() - where
                distance = math.hypot(gap.x(), gap.y())
                if distance < nearest:
                    best, nearest = spot.mark.index, distance
        return best

    def place_of(self, index: int) -> QPointF | None:
        """Return the middle of what is drawn of a cell; None when it is not drawn here."""
        for spot in self._spots:
            if spot.mark.index == index:
                return spot.rect.center()
        return None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Point at a cell."""
        self._point_at(self.cell_at(event.position()))

    def leaveEvent(self, event: QEvent) -> None:
        """Point at nothing."""
        self._point_at(None)
        super().leaveEvent(event)

    def _point_at(self, index: int | None) -> None:
        if index != self._hover:
            self._hover = index
            self.hovered.emit(index)
            self.setCursor(
                Qt.CursorShape.ArrowCursor if index is None else Qt.CursorShape.PointingHandCursor
            )
            self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the cell."""
        index = self.cell_at(event.position())
        if index is not None and event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit(index)

    def event(self, event: QEvent) -> bool:
        """Say what the cell under the pointer came to."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            index = self.cell_at(QPointF(event.pos()))
            text = self._words(index) if index is not None else ""
            QToolTip.showText(event.globalPos() + QPoint(0, 6), text, self)
            return True
        return super().event(event)

    # ---- drawing

    def paintEvent(self, event: QPaintEvent) -> None:
        """Show the picture, and what is pointed at or measured now."""
        if self._picture is None:
            self._draw()
        painter = QPainter(self)
        if self._picture is not None:
            painter.drawPixmap(0, 0, self._picture)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for index, colour in ((self._current, "accent"), (self._hover, "text")):
            for spot in self._spots:
                if index is not None and spot.mark.index == index:
                    painter.setPen(QPen(theme().q(colour), 2))
                    painter.setBrush(Qt.BrushStyle.NoBrush)
                    if self._shown is not None and self._shown.kind == "lines":
                        painter.drawEllipse(spot.rect.center(), 6.5, 6.5)
                    else:
                        painter.drawRect(spot.rect.adjusted(1, 1, -1, -1))
        painter.end()

    def _draw(self) -> None:
        ratio = self.devicePixelRatioF()
        picture = QPixmap(self.size() * ratio)
        picture.setDevicePixelRatio(ratio)
        picture.fill(QColor(theme().chart.panel))
        self._spots = []
        shown, facet = self._shown, self._facet
        if shown is not None and facet is not None and self.width() > 60 and self.height() > 60:
            painter = QPainter(picture)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            font = self.font()
            font.setPointSizeF(font.pointSizeF() * 0.88)
            painter.setFont(font)
            draw = DRAWERS[shown.kind]
            self._spots = draw(painter, QRectF(self.rect()), shown, facet).draw()
            painter.end()
        self._picture = picture
