"""What the Lab's charts share: marks that can be pointed at and clicked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QToolTip

from gpuexplorer.gui.plots.base import Plot

NEAR_PX = 16


@dataclass(frozen=True)
class Mark:
    """One place of a chart, in the view's units, and the row of the table it stands for."""

    x: float
    y: float
    row: int
    words: str
    """What is known of it, for its tooltip."""
    wide: tuple[float, float] | None = None
    """A bar's ends along x: it is pointed at anywhere between them."""


class MarkedPlot(Plot):
    """A plot of marks; ``hovered`` carries a row or None, ``chosen`` a row that was clicked."""

    hovered = Signal(object)
    chosen = Signal(int)

    def __init__(self, name: str, title: str, unit: str, x_unit: str) -> None:
        super().__init__(unit, x_unit)
        self.setObjectName(name)
        self.setAccessibleName(title)
        self.box.setMouseEnabled(x=False, y=False)
        self.marks: tuple[Mark, ...] = ()
        self._words: list[pg.TextItem] = []
        self._hovered: int | None = None
        self.scene().sigMouseMoved.connect(self._moved)
        self.scene().sigMouseClicked.connect(self._clicked)

    # ---- for those who draw

    def set_marks(self, marks: Sequence[Mark]) -> None:
        """Let these be pointed at."""
        self.marks = tuple(marks)
        self.setAccessibleDescription("; ".join(m.words.replace("\n", ", ") for m in marks))

    def clear_words(self) -> None:
        """Take all words away."""
        for item in self._words:
            self.removeItem(item)
        self._words = []

    def write(
        self, text: str, x: float, y: float, colour: str, anchor: tuple[float, float] = (0, 0.5)
    ) -> pg.TextItem:
        """Write words at a place of the view."""
        item = pg.TextItem(text, color=colour, anchor=anchor)
        item.setZValue(8)
        item.setPos(x, y)
        self.addItem(item, ignoreBounds=True)
        self._words.append(item)
        return item

    # ---- pointing

    def place_of(self, row: int) -> QPointF | None:
        """Return where a row's mark stands in the widget; None when it is not drawn."""
        for mark in self.marks:
            if mark.row == row:
                return self.mapFromScene(self.box.mapViewToScene(pg.Point(mark.x, mark.y)))  # type: ignore[no-any-return]
        return None

    def mark_at(self, scene: QPointF) -> Mark | None:
        """Return the mark at a place of the scene, the nearest of several."""
        nearest, distance = None, float(NEAR_PX)
        for mark in self.marks:
            at = self.box.mapViewToScene(pg.Point(mark.x, mark.y))
            away_x = abs(at.x() - scene.x())
            if mark.wide is not None:
                left, right = (
                    self.box.mapViewToScene(pg.Point(x, mark.y)).x() for x in sorted(mark.wide)
                )
                away_x = max(left - scene.x(), scene.x() - right, 0.0)
            away = math.hypot(away_x, at.y() - scene.y())
            if away <= distance:
                nearest, distance = mark, away
        return nearest

    def _moved(self, scene: QPointF) -> None:
        mark = self.mark_at(scene)
        row = mark.row if mark is not None else None
        self.setCursor(
            Qt.CursorShape.PointingHandCursor if row is not None else Qt.CursorShape.ArrowCursor
        )
        if row != self._hovered:
            self._hovered = row
            self.hovered.emit(row)

    def _clicked(self, event: Any) -> None:
        mark = self.mark_at(event.scenePos())
        if mark is not None and mark.row >= 0 and event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit(mark.row)

    def leaveEvent(self, event: QEvent) -> None:
        """Point at nothing any more."""
        super().leaveEvent(event)
        if self._hovered is not None:
            self._hovered = None
            self.hovered.emit(None)

    def viewportEvent(self, event: QEvent) -> bool:
        """Show what is known of a mark as its tooltip."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            mark = self.mark_at(self.mapToScene(event.pos()))
            QToolTip.showText(event.globalPos(), mark.words if mark is not None else "", self)
            return True
        return bool(super().viewportEvent(event))


def log_range(values: Sequence[float], empty: tuple[float, float]) -> tuple[float, float]:
    """Return log10 of a range that holds positive values, with room around them."""
    logs = [math.log10(v) for v in values if v > 0 and math.isfinite(v)]
    if not logs:
        return math.log10(empty[0]), math.log10(empty[1])
    low, high = min(logs), max(logs)
    room = max(0.08 * (high - low), 0.08)
    return low - room, high + room
