"""The flame chart: nested calls over time, in the kind of work's colours; the wheel zooms in."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QToolTip

from gpuexplorer.charts.colours import words_on
from gpuexplorer.charts.operators import OTHER
from gpuexplorer.core.language import tr
from gpuexplorer.gui import typeface
from gpuexplorer.gui.model.flame import Flags, Flame, Floats, Visible, Whole
from gpuexplorer.gui.plain import plain_tip
from gpuexplorer.gui.plots.base import Plot
from gpuexplorer.gui.theme import blend, theme

ROW_PX = 19
GAP_PX = 1.0
LEAST_SPAN_PX = 2
"""Narrower calls of a row are drawn together."""
WORDS_FROM_PX = 26.0
"""Spans narrower than this carry no words."""
NEAR_PX = 3.0
LEAST_RANGE_S = 1e-7
ZOOM, PAN = 0.8, 0.15
FOCUS_PX = 2.0
DIMMED = 0.28
"""How strongly other calls show while one operator is picked out."""


class FlameItem(pg.GraphicsObject):  # type: ignore[misc]
    """Draws the visible calls in pixels, so that words and edges stay sharp at any zoom."""

    def __init__(self) -> None:
        super().__init__()
        self.flame: Flame | None = None
        self._picked: Flags | None = None
        self.drawn = 0
        """Spans of the last painting."""

    def show_flame(self, flame: Flame | None) -> None:
        """Draw another profile."""
        self.prepareGeometryChange()
        self.flame = flame
        self._picked = None
        self.update()

    def pick(self, calls: Whole) -> None:
        """Let these calls stand out; none: all stand alike."""
        self._picked = None
        if self.flame is not None and len(calls):
            self._picked = np.zeros(len(self.flame.row), dtype=np.bool_)
            self._picked[calls] = True
        self.update()

    @property
    def picked(self) -> Whole:
        """The calls that stand out."""
        return np.flatnonzero(self._picked) if self._picked is not None else np.empty(0, np.int64)

    def boundingRect(self) -> QRectF:
        """Return what is covered."""
        if self.flame is None:
            return QRectF()
        return QRectF(
            0.0, 0.0, max(self.flame.end_s, LEAST_RANGE_S), float(max(self.flame.rows, 1))
        )

    def paint(self, painter: QPainter, *args: object) -> None:
        """Draw what the view shows."""
        flame, box = self.flame, self.getViewBox()
        if flame is None or box is None:
            return
        (low_s, high_s), _ = box.viewRange()
        transform = painter.worldTransform()
        pixels = int(abs(transform.m11()) * (high_s - low_s)) or 1
        seen = flame.visible(low_s, high_s, max(1, pixels // LEAST_SPAN_PX), self._picked)
        self.drawn = len(seen.row)
        left = transform.m11() * np.maximum(seen.left, low_s) + transform.dx()
        right = transform.m11() * np.minimum(seen.left + seen.width, high_s) + transform.dx()
        top: Floats = transform.m22() * seen.row.astype(np.float64) + transform.dy() + GAP_PX / 2
        tall = abs(transform.m22()) - GAP_PX
        painter.save()
        painter.resetTransform()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        rects = [
            QRectF(x, y, max(x1 - x - GAP_PX / 2, 1.0), tall)
            for x, x1, y in zip(left.tolist(), right.tolist(), top.tolist(), strict=True)
        ]
        self._paint_spans(painter, seen, rects)
        self._paint_words(painter, flame, seen, rects)
        self._paint_titles(painter, flame, transform.dy(), transform.m22(), tall,
                           transform.m11() * low_s + transform.dx())  # fmt: skip
        painter.restore()

    def _paint_spans(self, painter: QPainter, seen: Visible, rects: list[QRectF]) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        dims = self._picked is not None
        for slot in np.unique(seen.colour).tolist():
            for stands_out in (False, True):
                wanted = (seen.colour == slot) & (seen.picked == stands_out)
                painter.setBrush(QColor(self._colour(slot, dim=dims and not stands_out)))
                painter.drawRects([rects[i] for i in np.flatnonzero(wanted).tolist()])

    def _paint_words(
        self, painter: QPainter, flame: Flame, seen: Visible, rects: list[QRectF]
    ) -> None:
        painter.setFont(typeface.small(painter.font()))
        metrics = painter.fontMetrics()
        dims = self._picked is not None
        for i in np.flatnonzero(seen.index >= 0).tolist():
            rect = rects[i]
            if rect.width() < WORDS_FROM_PX:
                continue
            fill = self._colour(int(seen.colour[i]), dim=dims and not seen.picked[i])
            painter.setPen(QPen(QColor(words_on(fill))))
            words = flame.labels[int(flame.name[seen.index[i]])]
            painter.drawText(
                rect.adjusted(3, 0, -3, 0),
                int((Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter).value),
                metrics.elidedText(words, Qt.TextElideMode.ElideRight, int(rect.width()) - 6),
            )

    def _paint_titles(
        self, painter: QPainter, flame: Flame, dy: float, m22: float, tall: float, left: float
    ) -> None:
        painter.setPen(QPen(QColor(theme().chart.muted)))
        for track, begin in zip(flame.profile.tracks, flame.begins, strict=True):
            where = QRectF(left + 4, m22 * (begin - 1) + dy, 400, tall)
            painter.drawText(
                where,
                int((Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter).value),
                tr(track.title),
            )

    @staticmethod
    def _colour(slot: int, *, dim: bool) -> str:
        chart = theme().chart
        colour = chart.muted if slot == OTHER else chart.palette[slot % len(chart.palette)]
        return blend(colour, chart.panel, DIMMED) if dim else colour


class FlamePlot(Plot):
    """Calls over time. The wheel zooms, dragging pans, a double click shows the whole iteration.

    ``picked`` carries the operator's name of a call that was clicked.
    """

    picked = Signal(str)

    def __init__(self) -> None:
        super().__init__("", "s")
        self.setObjectName("flamePlot")
        self.setAccessibleName(tr("Flame chart: nested operator calls over time"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.y_axis.hide()
        self.area.show_grid(x=True, y=False, alpha=0.12)
        self.box.invertY(True)
        self.box.setMouseEnabled(x=True, y=False)
        self.flame_item = FlameItem()
        self.add(self.flame_item)
        self.double_clicked.connect(self.fit)
        self.box.sigResized.connect(lambda _: self._fit_rows())
        self._pressed_at: tuple[float, float] | None = None

    @property
    def flame(self) -> Flame | None:
        """What is drawn."""
        return self.flame_item.flame

    def show_flame(self, flame: Flame | None) -> None:
        """Draw a profile's calls from begin to end."""
        self.flame_item.show_flame(flame)
        if flame is not None:
            self.setMinimumHeight(min(flame.rows, 200) * ROW_PX + self.x_axis.height() + 8)
            end_s = max(flame.end_s, LEAST_RANGE_S)
            self.box.setLimits(
                xMin=-0.02 * end_s,
                xMax=1.02 * end_s,
                minXRange=LEAST_RANGE_S,
                maxXRange=1.04 * end_s,
            )
        self.fit()

    def fit(self) -> None:
        """Show the whole iteration."""
        flame = self.flame
        if flame is None:
            return
        self.box.setXRange(0.0, max(flame.end_s, LEAST_RANGE_S), padding=0.01)
        self._fit_rows()

    def _fit_rows(self) -> None:
        """Give each row its height, from the top."""
        if self.flame is None:
            return
        tall = max(self.box.height() / ROW_PX, 1.0)
        self.box.setYRange(0.0, max(tall, float(self.flame.rows)), padding=0)

    def pick(self, name: str) -> None:
        """Let the calls of an operator stand out; empty: all stand alike."""
        if self.flame is not None:
            calls = self.flame.named(name) if name else np.empty(0, dtype=np.int64)
            self.flame_item.pick(calls)

    def repaint_theme(self) -> None:
        """Take the theme's colours."""
        super().repaint_theme()
        if hasattr(self, "flame_item"):
            self.flame_item.update()

    def call_at(self, x_px: float, y_px: float) -> int | None:
        """Return the call drawn at a place of the widget; None where there is none."""
        flame = self.flame
        if flame is None:
            return None
        where = self.box.mapSceneToView(self.mapToScene(int(x_px), int(y_px)))
        near_s = NEAR_PX * self.box.viewPixelSize()[0]
        return flame.at(float(where.x()), int(np.floor(where.y())), near_s)

    def viewportEvent(self, event: QEvent) -> bool:
        """Say in the tooltip which call is under the pointer."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            call = self.call_at(event.pos().x(), event.pos().y())
            flame = self.flame
            words = flame.words(call) if flame is not None and call is not None else ""
            QToolTip.showText(event.globalPos(), plain_tip(tr(words)), self)
            return True
        return bool(super().viewportEvent(event))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Note where a click begins."""
        self._pressed_at = event.position().x(), event.position().y()
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Pick the operator that was clicked, if the pointer did not drag."""
        super().mouseReleaseEvent(event)
        x, y = event.position().x(), event.position().y()
        if self._pressed_at is None or self.flame is None:
            return
        if abs(x - self._pressed_at[0]) + abs(y - self._pressed_at[1]) <= NEAR_PX:
            call = self.call_at(x, y)
            flame = self.flame
            self.picked.emit(
                "" if call is None else flame.profile.names[flame.profile.calls[call].name]
            )

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the focus."""
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Show that the focus is elsewhere."""
        super().focusOutEvent(event)
        self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint, and a ring around what is seen of it with the focus."""
        super().paintEvent(event)
        if self.hasFocus():
            painter = QPainter(self.viewport())
            painter.setPen(QPen(theme().q("accent"), FOCUS_PX))
            seen = QRectF(self.visibleRegion().boundingRect())
            painter.drawRect(seen.adjusted(1, 1, -1, -1))
            painter.end()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Zoom with + and -, pan with the arrows, show everything with Home."""
        (low, high), _ = self.box.viewRange()
        span = high - low
        match event.key():
            case Qt.Key.Key_Plus | Qt.Key.Key_Equal:
                self.box.setXRange(low + span * (1 - ZOOM) / 2, high - span * (1 - ZOOM) / 2,
                                   padding=0)  # fmt: skip
            case Qt.Key.Key_Minus:
                more = span * (1 / ZOOM - 1) / 2
                self.box.setXRange(low - more, high + more, padding=0)
            case Qt.Key.Key_Left:
                self.box.setXRange(low - span * PAN, high - span * PAN, padding=0)
            case Qt.Key.Key_Right:
                self.box.setXRange(low + span * PAN, high + span * PAN, padding=0)
            case Qt.Key.Key_Home:
                self.fit()
            case Qt.Key.Key_Up | Qt.Key.Key_Down | Qt.Key.Key_PageUp | Qt.Key.Key_PageDown:
                event.ignore()  # what holds the plot scrolls
                return
            case _:
                super().keyPressEvent(event)
                return
        event.accept()
