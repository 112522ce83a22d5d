"""A kernel's instructions to read: rows that belong to source lines, and the registers alive."""

from __future__ import annotations

from collections.abc import Collection

import msgspec
from PySide6.QtCore import QRect, QRectF, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from gpuexplorer.analysis.instructions import Place, Places
from gpuexplorer.analysis.listing import KernelListing
from gpuexplorer.core.language import as_is, tr
from gpuexplorer.gui.code.marked import MarkedText
from gpuexplorer.gui.code.view import LEAST_HEIGHT, READING, bring_in_sight
from gpuexplorer.gui.theme import blend, theme
from gpuexplorer.gui.typeface import fixed, for_text

GUTTER = 66
"""Pixels of the curve of registers, with its numbers."""
TINT = 0.22
"""How strongly rows that differ are coloured."""
SASS, PTX = "SASS", "PTX"


class Row(msgspec.Struct, frozen=True):
    """One line of a listing."""

    text: str
    places: Places
    live: int | None = None


def rows_of(kernel: KernelListing, form: str) -> list[Row]:
    """Return a kernel's lines in a form, ``SASS`` or ``PTX``."""
    if form == PTX:
        return [Row(line.text, line.places) for line in kernel.ptx]
    return [Row(f"{o.offset:04x}  {o.text}", o.places, o.live_registers) for o in kernel.sass]


class InstructionsText(MarkedText):
    """Instructions, a row each, with the registers alive there as a curve at the left.

    ``line_chosen`` carries the row, counted from 0, that was clicked or gone to with the keys.
    """

    line_chosen = Signal(int)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(tr("Instructions"))
        self.setReadOnly(True)
        self.setTextInteractionFlags(READING)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setFont(fixed())
        self.setFrameShape(self.Shape.NoFrame)
        self.setMinimumHeight(for_text(LEAST_HEIGHT))
        self.rows: list[Row] = []
        self.most = 0
        """Registers alive at most."""
        self.marked: frozenset[int] = frozenset()
        """The rows that are marked."""
        self.tinted: frozenset[int] = frozenset()
        """The rows that are coloured lightly: they differ from another listing's."""
        self._row = 0
        self._gutter = _Gutter(self)
        self.updateRequest.connect(lambda *_: self._gutter.update())
        self.cursorPositionChanged.connect(self._tell_row)
        theme().changed.connect(self._paint_marks)

    def show_rows(self, rows: list[Row]) -> None:
        """Show other rows, without marks; the same again change nothing."""
        if rows == self.rows:
            return
        self.rows = rows
        self.most = max((row.live or 0 for row in rows), default=0)
        with QSignalBlocker(self):
            self.setPlainText(as_is("\n".join(row.text for row in rows)))
        self._row = 0
        self.tinted = frozenset()
        self.mark(())
        self.setViewportMargins(self.gutter_width(), 0, 0, 0)
        self._gutter.setVisible(self.most > 0)
        self._gutter.update()

    def mark(self, rows: Collection[int], *, scroll: bool = False) -> None:
        """Mark rows instead of those before; ``scroll``: have the first of them in sight."""
        self.marked = frozenset(rows)
        self._paint_marks()
        if scroll and rows:
            bring_in_sight(self, min(rows))

    def tint(self, rows: Collection[int]) -> None:
        """Colour rows lightly instead of those before."""
        self.tinted = frozenset(rows)
        self._paint_marks()

    def _tell_row(self) -> None:
        row = self.textCursor().blockNumber()
        if row != self._row or row not in self.marked:
            self._row = row
            self.line_chosen.emit(row)

    def _paint_marks(self) -> None:
        colours = theme()
        tint = QColor(blend(colours.chart.palette[1], colours.chart.panel, TINT))
        marked = dict.fromkeys(self.marked, colours.q("selection"))
        self.mark_lines({**dict.fromkeys(self.tinted, tint), **marked})

    def lines_of(self, row: int, file: str) -> list[int]:
        """Return the lines of a file, counted from 0, that a row comes from."""
        return [place.line - 1 for place in self.rows[row].places if place.file == file]

    def rows_at(self, file: str, line: int) -> list[int]:
        """Return the rows that come from a line, counted from 1, of a file."""
        place = Place(file, line)
        return [number for number, row in enumerate(self.rows) if place in row.places]

    def gutter_width(self) -> int:
        """Return the pixels beside the text."""
        return for_text(GUTTER) if self.most else 0

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the curve beside the text."""
        super().resizeEvent(event)
        inside = self.contentsRect()
        high = self.viewport().height()  # without the bar below it
        self._gutter.setGeometry(QRect(inside.left(), inside.top(), for_text(GUTTER), high))

    def paint_curve(self, painter: QPainter, width: int) -> None:
        """Draw a bar and a number for each line in sight."""
        colours = theme()
        bar = QColor(colours.chart.palette[0])
        block = self.firstVisibleBlock()
        numbers = self.fontMetrics().horizontalAdvance("000") + 4
        while block.isValid():
            where = self.blockBoundingGeometry(block).translated(self.contentOffset())
            if where.top() > self.height():
                break
            number = block.blockNumber()
            live = self.rows[number].live if number < len(self.rows) else None
            if live is not None:
                long = (width - numbers - 6) * live / self.most
                painter.fillRect(QRectF(0, where.top(), long, where.height()), bar)
                painter.setPen(colours.q("muted"))
                at = QRectF(width - numbers - 4, where.top(), numbers, where.height())
                painter.drawText(at, Qt.AlignmentFlag.AlignRight, str(live))
            block = block.next()


class _Gutter(QWidget):
    """The strip in which the curve is drawn."""

    def __init__(self, text: InstructionsText) -> None:
        super().__init__(text)
        self._text = text
        self.setObjectName("registerCurve")
        self.setToolTip(tr("General registers of a thread that are alive at each instruction"))
        self.setAccessibleName(tr("Registers alive at each instruction"))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the part in sight."""
        painter = QPainter(self)
        painter.setFont(self._text.font())
        self._text.paint_curve(painter, self.width())
        painter.end()
