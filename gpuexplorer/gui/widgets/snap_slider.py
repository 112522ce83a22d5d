"""A slider on a logarithmic scale that snaps to powers of two and marks what is out of reach."""

from __future__ import annotations

import math

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFontMetrics,
    QHelpEvent,
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QSlider, QToolTip, QWidget

from gpuexplorer.core.language import tr
from gpuexplorer.gui import typeface
from gpuexplorer.gui.model.knobs import next_step, snapped
from gpuexplorer.gui.theme import theme

HANDLE = 7.0
MARGIN = 9.0
MIDDLE = 11.0
"""Where the track is, from the top."""
STEPS = 19
"""Where the steps' names begin, from the top."""


class SnapSlider(QSlider):
    """A QSlider whose value is the quantity itself, 1 to the maximum, not a step's number.

    Dragging and arrow keys snap to powers of two, with Shift to every integer. ``moved`` says what
    the user asked for; the owner decides what may be and sets ``value``. Values above ``legal`` are
    hatched, and ``reason`` tells why in a tooltip.
    """

    moved = Signal(int)
    gesture_began = Signal()
    gesture_ended = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.legal = 1
        self.reason: str | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)
        self._hover = False
        theme().changed.connect(self.update)

    def set_reach(self, legal: int, reason: str | None) -> None:
        """Say how far the handle may go, and why no further."""
        if (legal, reason) != (self.legal, self.reason):
            self.legal, self.reason = legal, reason
            self.update()

    def sizeHint(self) -> QSize:
        """Return the preferred size."""
        return QSize(120, self._tall)

    def minimumSizeHint(self) -> QSize:
        """Return the least useful size."""
        return QSize(80, self._tall)

    # ---- geometry

    @property
    def _tall(self) -> int:
        """The height of the handle and of the steps' names below it."""
        return STEPS + 1 + QFontMetrics(typeface.small(self.font())).ascent()

    def _span(self) -> float:
        return max(1e-9, math.log2(self.maximum() / self.minimum()))

    def position_of(self, value: float) -> float:
        """Return the x coordinate, in pixels, at which a value stands."""
        share = math.log2(max(value, self.minimum()) / self.minimum()) / self._span()
        return MARGIN + share * (self.width() - 2 * MARGIN)

    def value_at(self, x: float, *, every_integer: bool) -> int:
        """Return the step nearest to an x coordinate."""
        share = (x - MARGIN) / max(1.0, self.width() - 2 * MARGIN)
        value = self.minimum() * 2.0 ** (min(max(share, 0.0), 1.0) * self._span())
        return snapped(value, self.minimum(), self.maximum(), every_integer=every_integer)

    # ---- the user's hands

    def _ask(self, value: int) -> None:
        if value != self.value():
            self.moved.emit(value)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Start a drag; the handle jumps to the pointer."""
        if event.button() == Qt.MouseButton.LeftButton and self.isEnabled():
            self.setSliderDown(True)
            self.gesture_began.emit()
            self._drag(event)
            event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Follow the pointer."""
        if self.isSliderDown():
            self._drag(event)
        event.accept()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """End a drag."""
        self._let_go()
        event.accept()

    def hideEvent(self, event: QHideEvent) -> None:
        """End a drag, for no release reaches what is hidden."""
        self._let_go()
        super().hideEvent(event)

    def _let_go(self) -> None:
        if self.isSliderDown():
            self.setSliderDown(False)
            self.gesture_ended.emit()

    def _drag(self, event: QMouseEvent) -> None:
        fine = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        self._ask(self.value_at(event.position().x(), every_integer=fine))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Step with the arrows; Shift steps by one; Home and End go to the ends."""
        key, fine = event.key(), bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        keys = Qt.Key
        if key in (keys.Key_Right, keys.Key_Up, keys.Key_Plus, keys.Key_PageUp):
            self._step(1, fine)
        elif key in (keys.Key_Left, keys.Key_Down, keys.Key_Minus, keys.Key_PageDown):
            self._step(-1, fine)
        elif key == keys.Key_Home:
            self._ask(self.minimum())
        elif key == keys.Key_End:
            self._ask(min(self.legal, self.maximum()))
        else:
            event.ignore()
            return
        event.accept()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Step with the wheel, once the slider was clicked or tabbed to."""
        if not self.hasFocus() or not event.angleDelta().y():
            event.ignore()
            return
        fine = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        self._step(1 if event.angleDelta().y() > 0 else -1, fine)
        event.accept()

    def _step(self, direction: int, fine: bool) -> None:
        if fine:
            self._ask(min(max(self.value() + direction, self.minimum()), self.maximum()))
        else:
            self._ask(next_step(self.value(), direction, self.minimum(), self.maximum()))

    def event(self, event: QEvent) -> bool:
        """Show the reason over the hatched part, and notice the pointer."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent) and self.reason:
            if event.pos().x() > self.position_of(self.legal) + HANDLE:
                QToolTip.showText(event.globalPos(), tr(self.reason), self)
                return True
        elif event.type() in (QEvent.Type.Enter, QEvent.Type.Leave):
            self._hover = event.type() == QEvent.Type.Enter
            self.update()
        return super().event(event)

    # ---- paint

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw track, steps, what is out of reach, and the handle."""
        colours, painter = theme(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        enabled = self.isEnabled()
        y = MIDDLE
        left, right = MARGIN, self.width() - MARGIN
        at, legal = (
            self.position_of(self.value()),
            self.position_of(min(self.legal, self.maximum())),
        )
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colours.q("border"))
        painter.drawRoundedRect(QRectF(left, y - 2, right - left, 4), 2, 2)
        if legal < right - 0.5:
            painter.setBrush(colours.q("bad_back"))
            painter.drawRect(QRectF(legal, y - 5, right - legal, 10))
            painter.setBrush(QBrush(colours.q("bad"), Qt.BrushStyle.BDiagPattern))
            painter.drawRect(QRectF(legal, y - 5, right - legal, 10))
        accent = colours.q("accent" if enabled else "disabled")
        painter.setBrush(accent)
        painter.drawRoundedRect(QRectF(left, y - 2, max(0.0, at - left), 4), 2, 2)
        self._paint_steps(painter, y)
        ring = QColor(colours.q("panel"))
        painter.setPen(QPen(accent, 2.0))
        painter.setBrush(accent if self.isSliderDown() else ring)
        radius = HANDLE if (self._hover or self.isSliderDown()) and enabled else HANDLE - 1
        painter.drawEllipse(QPointF(at, y), radius, radius)
        if self.hasFocus():
            halo = QColor(accent)
            halo.setAlpha(70)
            painter.setPen(QPen(halo, 3.0))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawEllipse(QPointF(at, y), HANDLE + 2.5, HANDLE + 2.5)
        painter.end()

    def _paint_steps(self, painter: QPainter, y: float) -> None:
        colours = theme()
        font = typeface.small(painter.font())
        painter.setFont(font)
        step = 1
        last_end = -1.0
        while step <= self.maximum():
            if step >= self.minimum():
                x = self.position_of(step)
                painter.setPen(QPen(colours.q("muted"), 1.0))
                painter.drawLine(QPointF(x, y + 5), QPointF(x, y + 8))
                words = _short(step)
                width = painter.fontMetrics().horizontalAdvance(words)
                begin = min(max(x - width / 2, 0.0), self.width() - width)
                if begin > last_end + 6:
                    painter.setPen(colours.q("muted" if step <= self.legal else "disabled"))
                    painter.drawText(QPointF(begin, STEPS + painter.fontMetrics().ascent()), words)
                    last_end = begin + width
            step *= 2


def _short(value: int) -> str:
    for power, letter in ((30, "Gi"), (20, "Mi"), (10, "Ki")):
        if value >= 1 << power and value > 8192:
            return f"{value >> power}{letter}"
    return str(value)
