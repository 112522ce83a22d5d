"""Words and rings over a panel, painted in pixels at places of its axes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPen

from gpuexplorer.gui import typeface

PADDING = 2.0
RING_PX = 7.0


class Text(msgspec.Struct, frozen=True):
    """Words at a place in the view's units; ``anchor`` is the share of them that stands there."""

    words: str
    x: float
    y: float
    colour: str
    anchor: tuple[float, float] = (0.0, 0.5)
    offset: tuple[float, float] = (0.0, 0.0)
    """In pixels, to the right and down."""
    behind: str = ""
    """Colour of the ground behind them; empty for none."""
    leader: tuple[float, float] | None = None
    """Where a thin line from them ends."""


class Ring(msgspec.Struct, frozen=True):
    """A frame around a mark: a circle at a place, or a rectangle where it has an extent."""

    area: QRectF
    colour: str


class _Overlay(pg.GraphicsObject):  # type: ignore[misc]
    """Covers what is visible of the view, whatever that is."""

    def boundingRect(self) -> QRectF:
        """Return what is visible."""
        view = self.getViewBox()
        return QRectF(view.viewRect()) if view is not None else QRectF()

    def viewTransformChanged(self) -> None:
        """Cover what is visible now."""
        self.prepareGeometryChange()


class Texts(_Overlay):
    """Words that keep their size; those that would leave the panel are moved in."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: tuple[Text, ...] = ()
        self._font = QFont()
        self._line_colour = "#808080"

    def set_texts(self, texts: Sequence[Text], font: QFont, line_colour: str) -> None:
        """Show these instead; ``line_colour`` is that of leaders."""
        if (tuple(texts), line_colour) != (self.texts, self._line_colour):
            self.texts, self._line_colour = tuple(texts), line_colour
            self._font = typeface.small(font)
            self.update()

    def paint(self, painter: QPainter, *args: object) -> None:
        """Write the words."""
        if not self.texts:
            return
        transform = painter.transform()
        inside = transform.mapRect(self.boundingRect())
        painter.resetTransform()
        painter.setFont(self._font)
        metrics = painter.fontMetrics()
        height = float(metrics.height())
        for text in self.texts:
            at = transform.map(QPointF(text.x, text.y))
            wide = metrics.horizontalAdvance(text.words) + 1.0
            left = at.x() - text.anchor[0] * wide + text.offset[0]
            left = max(min(left, inside.right() - wide - PADDING), inside.left() + PADDING)
            top = at.y() - text.anchor[1] * height + text.offset[1]
            if inside.top() <= at.y() <= inside.bottom():
                top = max(min(top, inside.bottom() - height), inside.top())
            box = QRectF(left, top, wide, height)
            if text.leader is not None:
                end = transform.map(QPointF(*text.leader))
                near = QPointF(
                    box.left() if end.x() < box.left() else box.right(), box.center().y()
                )
                painter.setPen(QPen(QColor(self._line_colour), 1))
                painter.drawLine(near, end)
            if text.behind:
                painter.fillRect(box.adjusted(-1, 1, 1, -1), QColor(text.behind))
            painter.setPen(QColor(text.colour))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text.words)


class Rings(_Overlay):
    """Frames around what is pointed at or measured now."""

    def __init__(self) -> None:
        super().__init__()
        self._rings: tuple[Ring, ...] = ()

    def set_rings(self, rings: Sequence[Ring]) -> None:
        """Show these instead."""
        if tuple(rings) != self._rings:
            self._rings = tuple(rings)
            self.update()

    def paint(self, painter: QPainter, *args: object) -> None:
        """Draw the frames."""
        if not self._rings:
            return
        transform = painter.transform()
        painter.resetTransform()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for ring in self._rings:
            painter.setPen(QPen(QColor(ring.colour), 2))
            area = transform.mapRect(ring.area)
            if ring.area.isEmpty():
                painter.drawEllipse(area.center(), RING_PX, RING_PX)
            else:
                painter.drawRect(area.adjusted(1, 1, -1, -1))
