"""A sheet on screen: sorted by any column, copied as text, its rows linked to a chart's marks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QFont, QFontMetrics, QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QHeaderView, QTableView

from gpuexplorer.charts.comparison import VERDICT_COLOURS
from gpuexplorer.core.sheet import Cell, Column, Medium, Row, Sheet
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.widgets.rows_table import show_as_rows

ROW_HEIGHT = 23
SPARE_PX = 22
"""What a column has beside its words: the cell's and its words' own margins."""
WIDEST_PX = 230
"""No column of words begins wider."""
LOOKED_AT = 1000
"""Rows whose words decide how wide columns are."""

COLOURS = {
    "skipped": "muted", "wrong": "warning", "best": "good", "passed": "good", "failed": "bad",
}  # fmt: skip
"""The theme's colours for the words of cells; a row that is the best is bold instead."""

Index = QModelIndex | QPersistentModelIndex
Roles = Qt.ItemDataRole
ASCENDING = Qt.SortOrder.AscendingOrder


class SheetModel(QAbstractTableModel):
    """A sheet's rows in the order that was chosen; ``act`` says what a double click does."""

    def __init__(self, act: str = "") -> None:
        super().__init__()
        self._act = act
        self.sheet = Sheet()
        self.columns: tuple[Column, ...] = ()
        self.rows: list[Row] = []
        self._sorted: tuple[int, Qt.SortOrder] | None = None

    def show_sheet(self, sheet: Sheet) -> None:
        """Show another sheet in the order that was chosen, as far as it has that column.

        Rows that are the ones from before by their keys move without a reset.
        """
        columns = sheet.columns_on(Medium.WINDOW)
        if columns == self.columns and _are_same(self.rows, sheet.rows_on(Medium.WINDOW)):
            self._put_in_order(sheet)
            return
        self.beginResetModel()
        self.columns = columns
        if self._sorted is not None and self._sorted[0] >= len(columns):
            self._sorted = None
        self.sheet, self.rows = sheet, self._in_order(sheet)
        self.endResetModel()

    def sort(self, column: int, order: Qt.SortOrder = ASCENDING) -> None:
        """Sort by a column; -1 is the sheet's own order."""
        self._sorted = (column, order) if 0 <= column < len(self.columns) else None
        self._put_in_order(self.sheet)

    def _put_in_order(self, sheet: Sheet) -> None:
        """Show the same rows in order, as a sheet has them now."""
        self.layoutAboutToBeChanged.emit()
        before = [(index, self.rows[index.row()]) for index in self.persistentIndexList()]
        self.sheet, self.rows = sheet, self._in_order(sheet)
        places = {id(row): self._place_of(row) for _, row in before}
        for index, row in before:
            self.changePersistentIndex(index, self.index(places[id(row)], index.column()))
        self.layoutChanged.emit()

    def _place_of(self, row: Row) -> int:
        """Return where a row is now, which a row with the same key may stand for."""
        key = row.key
        return next(
            place
            for place, one in enumerate(self.rows)
            if one is row or (key and key in one.marks and one.key == key)
        )

    def _in_order(self, sheet: Sheet) -> list[Row]:
        """Return the rows sorted; those that are not known in the column come last either way."""
        rows = list(sheet.rows_on(Medium.WINDOW))
        if self._sorted is None:
            return rows
        column = self.columns[self._sorted[0]]
        found = [(_order(row.cell(column), column), row) for row in rows]
        known = [(order, row) for order, row in found if order is not None]
        known.sort(key=itemgetter(0), reverse=self._sorted[1] == Qt.SortOrder.DescendingOrder)
        return [row for _, row in known] + [row for order, row in found if order is None]

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """Return the number of rows."""
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """Return the number of columns."""
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: Index, role: int = Roles.DisplayRole) -> Any:
        """Return a cell's words, side, tooltip, font or colour."""
        if not index.isValid() or index.row() >= len(self.rows):
            return None
        row, column = self.rows[index.row()], self.columns[index.column()]
        if role == Roles.DisplayRole:
            return row.texts(self.columns)[index.column()]
        if role == Roles.ToolTipRole:
            return f"{row.tip}\n{self._act}" if row.key and self._act else row.tip
        if role == Roles.TextAlignmentRole:
            return _side(column, index.column())
        if role == Roles.FontRole and row.role == "best":
            font = QFont()
            font.setBold(True)
            return font
        if role == Roles.ForegroundRole:
            shade = row.cell(column).role or ("skipped" if row.role == "skipped" else "")
            if shade in VERDICT_COLOURS:
                return QColor(theme().chart.palette[VERDICT_COLOURS[shade]])
            colour = COLOURS.get(shade)
            return theme().q(colour) if colour is not None else None
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Roles.DisplayRole
    ) -> Any:
        """Return a column's title, meaning or side."""
        if orientation != Qt.Orientation.Horizontal or section >= len(self.columns):
            return None
        column = self.columns[section]
        if role == Roles.DisplayRole:
            return column.title
        if role == Roles.ToolTipRole:
            return f"{column.tip}, in {column.unit}" if column.unit else column.tip
        if role == Roles.TextAlignmentRole:
            return _side(column, section)
        if role == Roles.InitialSortOrderRole:
            first = Qt.SortOrder.DescendingOrder if column.most_first else ASCENDING
            return first.value
        return None

    def tabbed(self) -> str:
        """Return titles and rows as lines with tabs, as spreadsheets take them."""
        lines = [[column.title for column in self.columns]]
        lines += [row.texts(self.columns) for row in self.rows]
        return "\n".join("\t".join(" ".join(t.split()) for t in line) for line in lines) + "\n"


class SheetTable(QTableView):
    """Shows a sheet; ``hovered`` carries the tip of the row under the pointer, or None.

    ``current`` carries the key of the row that was moved to, ``chosen`` that of one double-clicked.
    """

    current = Signal(str)
    chosen = Signal(str)
    hovered = Signal(object)

    def __init__(self, name: str, accessible: str, act: str = "") -> None:
        super().__init__()
        show_as_rows(self, name, accessible, ROW_HEIGHT)
        self.shown = SheetModel(act)
        self.setModel(self.shown)
        self.setSortingEnabled(True)
        self.sortByColumn(-1, ASCENDING)
        self.setMouseTracking(True)
        self.activated.connect(self._activated)
        self.selectionModel().currentRowChanged.connect(lambda *_: self.current.emit(self.key))
        self.entered.connect(lambda index: self.hovered.emit(self.shown.rows[index.row()].tip))
        theme().changed.connect(self.viewport().update)

    def show_sheet(self, sheet: Sheet) -> None:
        """Show another sheet; the row that is chosen stays so, and so do widths that suffice."""
        fresh = sheet.columns_on(Medium.WINDOW) != self.shown.columns
        chosen = self.key
        if fresh:
            self.sortByColumn(-1, ASCENDING)
        self.shown.show_sheet(sheet)
        if self.key != chosen:
            self.show_key(chosen)
        if fresh and self.shown.columns:  # the words of the last column take what room is left
            words = self.shown.columns[-1].words
            modes, header = QHeaderView.ResizeMode, self.horizontalHeader()
            header.setStretchLastSection(words)
            header.setSectionResizeMode(0, modes.Interactive if words else modes.Stretch)
        widths = self._needed()
        if fresh or any(self.columnWidth(c) < w for c, w in enumerate(widths[:-1])):
            for column, width in enumerate(widths):
                self.setColumnWidth(column, width)

    @property
    def whole_height(self) -> int:
        """The height in which every row is seen, and the bar that moves the columns."""
        rows = self.verticalHeader().defaultSectionSize() * len(self.shown.rows)
        head, bar = self.horizontalHeader().sizeHint(), self.horizontalScrollBar().sizeHint()
        return head.height() + rows + bar.height() + 2 * self.frameWidth()

    @property
    def whole_width(self) -> int:
        """The width in which every column is seen."""
        bar = self.verticalScrollBar().sizeHint().width()
        return sum(self._needed()) + bar + 2 * self.frameWidth()

    @property
    def key(self) -> str:
        """The key of the row that is chosen; empty where none is, or it has none."""
        row = self.currentIndex().row()
        return self.shown.rows[row].key if 0 <= row < len(self.shown.rows) else ""

    def show_key(self, key: str) -> None:
        """Choose the row that a mark of the chart stands for; nothing where there is none."""
        rows = self.shown.rows
        place = next((n for n, row in enumerate(rows) if key in row.marks), None)
        if place is None:
            return
        flags = QItemSelectionModel.SelectionFlag
        index = self.shown.index(place, 0)
        self.selectionModel().setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy the table as text with tabs."""
        if event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(self.shown.tabbed())
            return
        super().keyPressEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        """Point at nothing any more."""
        super().leaveEvent(event)
        self.hovered.emit(None)

    def _needed(self) -> list[int]:
        """Return the width that each column's words take in the first rows."""
        font = self.font()
        font.setBold(True)  # as titles are, and rows that stand out
        metrics = QFontMetrics(font)
        shown = self.shown
        lines = [row.texts(shown.columns) for row in shown.rows[:LOOKED_AT]]
        found = []
        for number, column in enumerate(shown.columns):
            words = {column.title, *(line[number] for line in lines)}
            width = max(map(metrics.horizontalAdvance, words)) + SPARE_PX
            found.append(min(width, WIDEST_PX) if column.words else width)
        return found

    def _activated(self, index: QModelIndex) -> None:
        key = self.shown.rows[index.row()].key
        if key:
            self.chosen.emit(key)


def _are_same(before: Sequence[Row], after: Sequence[Row]) -> bool:
    """Whether rows are the ones from before, themselves or by their keys."""
    if len(before) != len(after):
        return False
    gone, new = set(map(id, before)), set(map(id, after))
    olds = [row.key for row in before if id(row) not in new]
    news = [row.key for row in after if id(row) not in gone]
    return "" not in olds and len(set(olds)) == len(olds) and set(olds) == set(news)


def _order(cell: Cell, column: Column) -> tuple[float, str] | None:
    """Return what a cell is sorted by: its value, else its words; None where it has neither."""
    value = cell.value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return (float(value), "") if not math.isnan(value) else None
    words = value if isinstance(value, str) else cell.text if column.words else ""
    return (math.inf, words.lower()) if words not in ("", "–") else None


def _side(column: Column, number: int) -> Qt.AlignmentFlag:
    left = column.words or number == 0
    side = Qt.AlignmentFlag.AlignLeft if left else Qt.AlignmentFlag.AlignRight
    return side | Qt.AlignmentFlag.AlignVCenter
