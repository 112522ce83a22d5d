"""A study in a table: figures, or in their place why there are none."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QTableWidgetItem

from gpuexplorer.gui.model.lab_rows import Table
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.widgets.rows_table import LEFT, RIGHT, Column, RowsTable

ROW_HEIGHT = 23
SPARE_PX = 22
"""What a column has beside its words: the cell's and its words' own margins."""
FIRST_WIDEST = 230


class LabTable(RowsTable):
    """Shows a ``Table``; ``chosen`` carries a place, ``hovered`` a place or None."""

    chosen = Signal(int)
    hovered = Signal(object)

    def __init__(self, name: str) -> None:
        super().__init__(name, "The study in figures", ROW_HEIGHT)
        self.setMouseTracking(True)
        self.shown = Table()
        self.itemActivated.connect(self._activated)
        self.itemEntered.connect(lambda item: self.hovered.emit(self._place(item.row())))

    def paint_rows(self) -> None:
        """Write the rows anew in the present colours."""
        self.show_table(self.shown)

    def leaveEvent(self, event: QEvent) -> None:
        """Point at nothing any more."""
        super().leaveEvent(event)
        self.hovered.emit(None)

    def show_table(self, table: Table) -> None:
        """Show these rows."""
        fresh = table.columns != self.shown.columns
        self.shown = table
        with QSignalBlocker(self):
            self.clearSpans()
            self.set_columns(
                [
                    Column(title, tip, RIGHT if number else LEFT)
                    for number, (title, tip) in enumerate(table.columns)
                ]
            )
            self.setRowCount(len(table.rows))
            for line in range(len(table.rows)):
                self._show_row(line)
        if fresh or not self._sized():
            self._size()

    def _show_row(self, line: int) -> None:
        row = self.shown.rows[line]
        wide = len(self.shown.columns)
        cells = [*row.cells, row.note] if row.note else list(row.cells)
        tip = row.tip + ("\nDouble click sets the knobs to it." if row.place is not None else "")
        for column in range(wide):
            item = QTableWidgetItem(cells[column] if column < len(cells) else "")
            item.setToolTip(tip)
            item.setTextAlignment(_side(0 if row.note else column))
            if row.note:
                item.setForeground(theme().q("muted"))
            if row.strong:
                font = item.font()
                font.setBold(True)
                item.setFont(font)
            self.setItem(line, column, item)
        if row.note and wide > 2:
            self.setSpan(line, 1, 1, wide - 1)

    def _sized(self) -> bool:
        """Whether every word has room."""
        widths = self._wanted()
        return all(self.columnWidth(c) >= w for c, w in enumerate(widths[:-1]))

    def _wanted(self) -> list[int]:
        """Return the width that each column's words take."""
        font = self.font()
        font.setBold(True)  # as titles are, and rows that stand out
        metrics = QFontMetrics(font)
        found = []
        for column, (title, _) in enumerate(self.shown.columns):
            words = [title, *(r.cells[column] for r in self.shown.rows if column < len(r.cells))]
            wide = max(metrics.horizontalAdvance(w) for w in words) + SPARE_PX
            found.append(min(wide, FIRST_WIDEST) if column == 0 else wide)
        return found

    def _size(self) -> None:
        for column, wide in enumerate(self._wanted()):
            self.setColumnWidth(column, wide)

    def _place(self, line: int) -> int | None:
        return self.shown.rows[line].place if 0 <= line < len(self.shown.rows) else None

    def _activated(self, item: QTableWidgetItem) -> None:
        place = self._place(item.row())
        if place is not None:
            self.chosen.emit(place)


def _side(column: int) -> Qt.AlignmentFlag:
    return (RIGHT if column else LEFT) | Qt.AlignmentFlag.AlignVCenter
