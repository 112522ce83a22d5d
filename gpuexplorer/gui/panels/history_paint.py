"""Draws the history's rows: words laid out once, so that a screen of runs costs a few milliseconds.

Qt's own delegate asks the model for seven things a cell and lays every text out anew, which through
Python takes longer than a frame.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QBrush, QFont, QFontMetrics, QPainter, QPen, QStaticText

MAX_TEXTS = 800
"""Laid out texts that are gathered, as many as a large screen shows; each takes 1.5 KiB."""
MARGIN = 4


class Cell(msgspec.Struct, frozen=True):
    """A column as it stands in the view."""

    section: int
    x: int
    width: int
    right: bool
    """Whether its words stand at the right."""


class RowPainter:
    """Draws rows of words."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, int], tuple[QStaticText, int]] = {}
        self._before: dict[tuple[str, int], tuple[QStaticText, int]] = {}
        """Texts that were not drawn since the others are gathered."""
        self._font = QFont()

    def let_go(self) -> None:
        """Forget the texts that were not drawn since this was called before."""
        self._before, self._texts = self._texts, {}

    def set_font(self, font: QFont) -> None:
        """Use this font from now on."""
        if font != self._font:
            self._font = QFont(font)
            self._texts.clear()
            self._before.clear()

    def _text(self, words: str, width: int, metrics: QFontMetrics) -> tuple[QStaticText, int]:
        key = (words, width)
        found = self._texts.get(key)
        if found is None:
            if len(self._texts) >= MAX_TEXTS:
                self.let_go()
            found = self._before.pop(key, None)
            if found is not None:
                self._texts[key] = found
                return found
            found = self._laid_out(words)
            if found[1] > width:
                cut = metrics.elidedText(words, Qt.TextElideMode.ElideRight, width)
                found = self._laid_out(cut)
            self._texts[key] = found
        return found

    def _laid_out(self, words: str) -> tuple[QStaticText, int]:
        """Return a text and its width, which it knows once it is laid out."""
        text = QStaticText(words)
        text.setTextFormat(Qt.TextFormat.PlainText)
        text.setPerformanceHint(QStaticText.PerformanceHint.AggressiveCaching)
        text.prepare(font=self._font)
        return text, math.ceil(text.size().width())

    def draw_row(
        self,
        painter: QPainter,
        rect: QRect,
        cells: Sequence[Cell],
        words: Sequence[str],
        back: QBrush,
        pens: Sequence[QPen],
        metrics: QFontMetrics,
    ) -> None:
        """Draw one row; ``pens`` and ``words`` go with ``cells``."""
        painter.fillRect(rect, back)
        y = rect.top() + (rect.height() - metrics.height()) // 2
        pen = None
        for cell, said, wanted in zip(cells, words, pens, strict=True):
            if not said:
                continue
            room = cell.width - 2 * MARGIN
            text, width = self._text(said, room, metrics)
            if wanted is not pen:
                pen = wanted
                painter.setPen(pen)
            x = cell.x + MARGIN + (max(0, room - width) if cell.right else 0)
            painter.drawStaticText(QPoint(x, y), text)


class Look(msgspec.Struct, frozen=True):
    """Brushes and pens of a table."""

    base: QBrush
    other: QBrush
    """Of every second row."""
    chosen: QBrush
    frame: QPen
    """Around the row that keys act on."""
