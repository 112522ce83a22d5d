"""The area of a panel: what lies under the pointer, and the wheel."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, Signal
from PySide6.QtGui import QHelpEvent, QWheelEvent

from gpuexplorer.gui.plots.base import Plot
from gpuexplorer.gui.show.axis import ChartAxis
from gpuexplorer.gui.show.marks import Marks

RIGHT_PX = 16
"""At the right of the area, for the last word of its axis."""


class PanelPlot(Plot):
    """A plot with marks; ``hovered`` carries a key or None, ``chosen`` a key."""

    hovered = Signal(object)
    chosen = Signal(str)
    tip_wanted = Signal(object, str)
    """A place on the screen, and the key of the mark there or ""."""
    axis_class = ChartAxis

    def __init__(self) -> None:
        self.scrolls = False
        """Whether the wheel is for a scroll bar around it, unless Ctrl is held."""
        super().__init__("", "")
        self.setObjectName("chartPanel")
        self.marks = Marks()
        self.getPlotItem().setContentsMargins(0, 2, RIGHT_PX, 0)
        self._hovered: str | None = None
        self.scene().sigMouseMoved.connect(self._moved)
        self.scene().sigMouseClicked.connect(self._clicked)

    def key_at(self, scene: QPointF) -> str | None:
        """Return the key of the mark at a place of the scene; None where there is none."""
        if not self.box.sceneBoundingRect().contains(scene):
            if not (self.marks.rows and scene.x() < self.box.sceneBoundingRect().left()):
                return None
        return self.marks.at(self.box.mapSceneToView(scene), self._unit_px())

    def _unit_px(self) -> tuple[float, float]:
        (left, right), (low, high) = self.box.viewRange()
        return (
            self.box.width() / max(right - left, 1e-300),
            self.box.height() / max(high - low, 1e-300),
        )

    def place_of(self, key: str) -> QPoint | None:
        """Return where a key's mark is in the viewport; None when it is not drawn."""
        areas = self.marks.areas(key)
        if not areas:
            return None
        place: QPoint = self.mapFromScene(self.box.mapViewToScene(areas[0].center()))
        return place

    def _moved(self, scene: QPointF) -> None:
        key = self.key_at(scene)
        hand = Qt.CursorShape.PointingHandCursor
        self.setCursor(hand if key is not None else Qt.CursorShape.ArrowCursor)
        self._hover(key)

    def _hover(self, key: str | None) -> None:
        if key != self._hovered:
            self._hovered = key
            self.hovered.emit(key)

    def _clicked(self, event: Any) -> None:
        key = self.key_at(event.scenePos())
        if key is not None and event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit(key)

    def leaveEvent(self, event: QEvent) -> None:
        """Point at nothing any more."""
        super().leaveEvent(event)
        self._hover(None)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom, or leave the wheel to what scrolls."""
        held = event.modifiers() & Qt.KeyboardModifier.ControlModifier
        if self.scrolls and not held:
            event.ignore()
        else:
            super().wheelEvent(event)

    def viewportEvent(self, event: QEvent) -> bool:
        """Ask for the words on the mark under the pointer."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            key = self.key_at(self.mapToScene(event.pos()))
            self.tip_wanted.emit(event.globalPos(), key or "")
            return True
        return bool(super().viewportEvent(event))
