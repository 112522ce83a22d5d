"""The area of a panel and its axes: what lies under the pointer, the wheel, and what ticks say."""

from __future__ import annotations

import math
from typing import Any

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QHelpEvent, QWheelEvent
from PySide6.QtWidgets import QAbstractScrollArea

from gpuexplorer.charts.spec import Axis
from gpuexplorer.core.language import tr
from gpuexplorer.core.units import quantity
from gpuexplorer.gui.plots.base import OUTSIDE_PX, TOP_PX, Plot, QuantityAxis
from gpuexplorer.gui.show.marks import Marks
from gpuexplorer.gui.typeface import for_text

NAMES_SHARE = 0.38
"""Of a panel's width, the names of categories at its left have this at the most."""
GAP_PX = 10
MOST_INSET = 0.4
"""Of an axis that is too short for words at its ends, at either of them."""
FROM_AXIS_PX = 6
"""Between an axis along x and its words, so that they keep clear of the lowest of the other's."""


class ChartAxis(QuantityAxis):
    """Shows what an ``Axis`` says; ticks are as many as have room."""

    def __init__(self, orientation: str, unit: str) -> None:
        super().__init__(orientation, unit)
        self.shown = Axis(label="")
        self._names_px = 400.0
        self.bare = False
        """Whether there are no words at the ticks."""
        if self._along:
            self.setStyle(tickTextOffset=FROM_AXIS_PX)

    def boundingRect(self) -> QRectF:
        """Return what is drawn on: a little beyond the ends along x, too."""
        across = for_text(OUTSIDE_PX) if self._along else 0
        return super().boundingRect().adjusted(-across, 0, across, 0)

    def show_axis(self, axis: Axis) -> None:
        """Show another axis."""
        if axis == self.shown:
            return
        self.shown = axis
        self.set_unit("" if axis.unit == "%" else axis.unit)
        self.setLogMode(axis.scale == "log")
        self.update()

    def width_wanted(self, panel_px: float) -> float:
        """Return the width that the words at an upright axis need in a panel."""
        metrics = QFontMetricsF(self.font())
        if self.bare:
            return metrics.horizontalAdvance("00 %") / 2  # of the other axis' first number
        if self.shown.categories:
            self._names_px = NAMES_SHARE * panel_px
            widest = max(map(metrics.horizontalAdvance, self.shown.categories))
            return min(widest, self._names_px) + 2 * GAP_PX
        sample = (
            quantity(888.8e-6, self.shown.unit, 4) if self.shown.unit not in ("", "%") else "8888 %"
        )
        return metrics.horizontalAdvance(sample) + 2 * GAP_PX

    def tickValues(self, low: float, high: float, size: float) -> list[tuple[float, list[float]]]:
        """Return the ticks that have room in ``size`` pixels."""
        axis = self.shown
        low, high = min(low, high), max(low, high)  # the other way round where the first is on top
        if axis.categories:
            places = [
                float(i) for i in range(len(axis.categories)) if low - 1e-6 <= i <= high + 1e-6
            ]
            return [(1.0, self._with_room(places, low, high, size))]
        if axis.ticks:
            ticks = [self._view(tick) for tick in axis.ticks]
            inside = sorted(t for t in ticks if low - 1e-9 <= t <= high + 1e-9)
            kept = self._with_room(inside, low, high, size)
            if len(kept) >= 2 or not self.logMode:
                return [(1.0, kept)]
        found: list[tuple[float, list[float]]] = super().tickValues(low, high, size)
        if self.logMode and self._along:
            beyond = self._beyond_px(found[0][1]) / size * (high - low)
            if sum(low + beyond <= place <= high - beyond for place in found[0][1]) < 2:
                inset = min(beyond, MOST_INSET * (high - low))
                found = super().tickValues(low + inset, high - inset, size)
            kept = self._with_room(found[0][1], low, high, size)  # 1, 2 and 5 stand unevenly
            if len(kept) >= 2:
                return [(1.0, kept)]
        return found

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """Return the words at ticks."""
        axis = self.shown
        if self.bare:
            return ["" for _ in values]
        if axis.categories:
            return [self._fitting(axis.categories[round(v)]) for v in values]
        if axis.ticks:
            return [f"{self._value(v):.12g}" for v in values]
        if axis.unit == "%":
            return [tr(f"{v:g} %") for v in values]
        if not axis.unit and not self.logMode:
            return [f"{v:g}" for v in values]
        return super().tickStrings(values, scale, spacing)

    def _view(self, value: float) -> float:
        return math.log10(value) if self.logMode and value > 0 else value

    def _value(self, place: float) -> float:
        return float(f"{10.0**place:.12g}") if self.logMode else place

    def _fitting(self, name: str) -> str:
        if self._along:
            return name
        metrics = QFontMetricsF(self.font())
        return metrics.elidedText(name, Qt.TextElideMode.ElideRight, self._names_px)

    def _beyond_px(self, places: list[float]) -> float:
        """Return how far words at an end of the axis reach beyond what there is room for."""
        advance = QFontMetricsF(self.font()).horizontalAdvance
        widest = max(map(advance, self.tickStrings(places, 1.0, 1.0)))
        return float(widest / 2 + GAP_PX - for_text(OUTSIDE_PX))

    def _with_room(self, places: list[float], low: float, high: float, size: float) -> list[float]:
        """Return those places whose words do not run into the one kept before."""
        metrics = QFontMetricsF(self.font())
        per_unit = size / max(high - low, 1e-12)
        words = self.tickStrings(places, 1.0, 1.0) if not self.bare else [""] * len(places)
        kept: list[float] = []
        taken = -math.inf
        for place, word in zip(places, words, strict=True):
            half = (
                metrics.horizontalAdvance(word) + GAP_PX if self._along else metrics.height()
            ) / 2
            at = (place - low) * per_unit
            if at - half >= taken - 0.5:
                kept.append(place)
                taken = at + half
        return kept


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
        super().__init__("", "")
        self.setObjectName("chartPanel")
        self.marks = Marks()
        self.area.setContentsMargins(0, for_text(TOP_PX), RIGHT_PX, 0)
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
        """Zoom, or leave the wheel to what scrolls around it, unless Ctrl is held."""
        held = event.modifiers() & Qt.KeyboardModifier.ControlModifier
        if not held and self._scrolled_around():
            event.ignore()
        else:
            super().wheelEvent(event)

    def _scrolled_around(self) -> bool:
        """Return whether the chart, or the page that it stands on, has more than its room."""
        around = self.parentWidget()
        while around is not None:
            if isinstance(around, QAbstractScrollArea):
                bar = around.verticalScrollBar()
                if bar.maximum() > bar.minimum():
                    return True
            around = around.parentWidget()
        return False

    def viewportEvent(self, event: QEvent) -> bool:
        """Ask for the words on the mark under the pointer."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            key = self.key_at(self.mapToScene(event.pos()))
            self.tip_wanted.emit(event.globalPos(), key or "")
            return True
        return bool(super().viewportEvent(event))
