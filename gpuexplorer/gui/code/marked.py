"""A text whose lines can have backgrounds."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QPlainTextEdit


class MarkedText(QPlainTextEdit):
    """Lies its letters over the marks of whole lines.

    A selection over the full width would cut what reaches below its line, such as underscores.
    """

    def __init__(self) -> None:
        super().__init__()
        self._marks: dict[int, QColor] = {}

    def mark_lines(self, marks: Mapping[int, QColor]) -> None:
        """Give lines, counted from 0, a background instead of those before."""
        if marks != self._marks:
            self._marks = dict(marks)
            self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the marks, and the text over them."""
        painter = QPainter(self.viewport())
        wide, foot = self.viewport().width(), event.rect().bottom()
        block = self.firstVisibleBlock()
        while self._marks and block.isValid():
            where = self.blockBoundingGeometry(block).translated(self.contentOffset())
            if where.top() > foot:
                break
            colour = self._marks.get(block.blockNumber())
            if colour is not None:
                painter.fillRect(QRectF(0, where.top(), wide, where.height()), colour)
            block = block.next()
        painter.end()
        super().paintEvent(event)
