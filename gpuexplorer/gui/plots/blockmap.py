"""The block map as an XY pad: the pointer and the keys take the sliders along."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QFocusEvent, QHelpEvent, QHideEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QToolTip

from gpuexplorer.core.config import Block
from gpuexplorer.core.language import tr
from gpuexplorer.gui.model.map_look import place_of
from gpuexplorer.gui.plain import plain_tip
from gpuexplorer.gui.plots.map_drawing import MapDrawing

STEPS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, 1),
    Qt.Key.Key_Down: (0, -1),
}


class MapCanvas(MapDrawing):
    """A map that is clicked, dragged over and walked through.

    ``picked`` carries the block that was clicked, dragged to or reached by an arrow key;
    ``hovered`` the cell under the pointer, or None. ``gesture`` says when a drag begins and ends.
    """

    picked = Signal(object)
    hovered = Signal(object)
    gesture = Signal(bool)

    def __init__(self) -> None:
        super().__init__()
        self._dragging = False
        self._dragged_to: int | None = None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take the sliders to the cell."""
        if event.button() != Qt.MouseButton.LeftButton:
            return
        if self.number_at(event.position()) is None:
            return
        self._dragging, self._dragged_to = True, None
        self.gesture.emit(True)
        self._drag(event.position())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Drag the sliders along, or say what lies under the pointer."""
        if self._dragging:
            self._drag(event.position())
        self._hover(self.number_at(event.position()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """End a drag."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._let_go()

    def hideEvent(self, event: QHideEvent) -> None:
        """End a drag, for no release reaches what is hidden."""
        self._let_go()
        super().hideEvent(event)

    def _let_go(self) -> None:
        if self._dragging:
            self._dragging = False
            self.gesture.emit(False)

    def leaveEvent(self, event: QEvent) -> None:
        """Say nothing of a cell that the pointer has left."""
        self._hover(None)
        super().leaveEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the focus."""
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Show that the focus is elsewhere."""
        super().focusOutEvent(event)
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move by arrow keys to the next cell that can run; Home goes to the best."""
        if self._held is not None and event.key() == Qt.Key.Key_Home:
            if self._held.best is not None:
                self.picked.emit(self._held.best)
            return
        step = STEPS.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
            return
        target = self._next_cell(*step)
        if target is not None:
            self.picked.emit(target)

    def _next_cell(self, right: int, up: int) -> Block | None:
        """Return the next block in a direction that can run."""
        if self._held is None or self._block is None:
            return None
        grid = self._held.wanted.grid
        place = place_of(grid, self._block)
        column, row = (round(place[0]), round(place[1])) if place is not None else (0, 0)
        while True:
            column, row = column + right, row + up
            if not (0 <= column < len(grid.x) and 0 <= row < len(grid.y)):
                return None
            cell = self._held.cells[row * len(grid.x) + column]
            if cell.state != "cannot":
                return cell.block

    def _drag(self, where: QPointF) -> None:
        number = self._nearest(where)
        if number is None or number == self._dragged_to or self._held is None:
            return
        self._dragged_to = number
        cell = self._held.cells[number]
        if cell.state != "cannot":
            self.picked.emit(cell.block)

    def _hover(self, number: int | None) -> None:
        if number != self._hovered:
            self._hovered = number
            self.hovered.emit(self.hovered_cell)
            self.update()

    def event(self, event: QEvent) -> bool:
        """Show what is known of the cell under the pointer as its tooltip."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            number = self.number_at(QPointF(event.pos()))
            if number is None or self._held is None or self._look is None:
                QToolTip.hideText()
            else:
                words = self._look.cell_words(self._held.cells[number]).replace(": ", "\n", 1)
                box = self.cell_rect(number).toAlignedRect()
                QToolTip.showText(event.globalPos(), plain_tip(tr(words)), self, box)
            return True
        return super().event(event)
