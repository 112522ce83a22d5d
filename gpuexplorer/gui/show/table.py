"""A sheet on screen: sorted by any column, copied as text, its rows linked to a chart's marks."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
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
from PySide6.QtGui import (
    QFont,
    QFontMetrics,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from gpuexplorer.core.language import about, tr
from gpuexplorer.core.sheet import Cell, Column, Medium, Row, Sheet, told
from gpuexplorer.gui.plain import plain_tip
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.typeface import for_text

ROW_HEIGHT = 23
SPARE_PX = 20
"""What a column has beside its words: the cell's and its words' own margins."""
WIDEST_PX = 230
"""No column of words begins wider."""
LEAST_WORDS_PX = 120
"""The column that takes what room is left is cut to this at the most."""
LOOKED_AT = 1000
"""Rows whose words decide how wide columns are."""

COLOURS = {
    "skipped": "muted", "wrong": "warning", "best": "good", "passed": "good", "failed": "bad",
    "faster": "good", "slower": "warning", "same": "accent", "can't tell": "muted",
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
        self.left_out: frozenset[int] = frozenset()
        """Columns for which there is no room; a row's tip has what stands there."""
        self._sorted: tuple[int, Qt.SortOrder] | None = None

    def show_sheet(self, sheet: Sheet) -> None:
        """Show another sheet in the order that was chosen, as far as it has that column.

        Rows that are the ones from before by their keys move without a reset.
        """
        sheet = told(sheet)
        columns = sheet.columns_on(Medium.WINDOW)
        before, after = self.sheet.rows_on(Medium.WINDOW), sheet.rows_on(Medium.WINDOW)
        if columns == self.columns and _are_same(before, after):
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
            if one is row or (key and one.marked(key) and one.key == key)
        )

    def _in_order(self, sheet: Sheet) -> list[Row]:
        """Return the rows sorted; those that are not known in the column come last either way."""
        rows = list(sheet.rows_on(Medium.WINDOW))
        if self._sorted is None:
            return rows
        column = self.columns[self._sorted[0]]
        falling = self._sorted[1] == Qt.SortOrder.DescendingOrder
        numbers, words, unknown = list[float](), list[str](), list[Row]()
        by_number, by_words = list[Row](), list[Row]()
        for row in rows:  # a wide sweep has thousands: nothing is made for each
            order = _order(row.cell(column), column)
            if isinstance(order, str):
                words.append(order)
                by_words.append(row)
            elif order is not None:
                numbers.append(order)
                by_number.append(row)
            else:
                unknown.append(row)
        known = [_put_by(by_number, numbers, falling), _put_by(by_words, words, falling)]
        return [*chain.from_iterable(reversed(known) if falling else known), *unknown]

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
            return self._tip(row)
        if role == Roles.TextAlignmentRole:
            return _side(column, index.column())
        if role == Roles.FontRole and row.role == "best":
            font = QFont()
            font.setBold(True)
            return font
        if role == Roles.ForegroundRole:
            shade = row.cell(column).role or ("skipped" if row.role == "skipped" else "")
            colour = COLOURS.get(shade)
            return theme().q(colour) if colour is not None else None
        return None

    def _tip(self, row: Row) -> str:
        """Return all that a row says: what there is no room for, too, and what a click does."""
        texts = row.texts(self.columns)
        lines = [row.tip]
        for number in sorted(self.left_out):
            words = about(self.columns[number].title, texts[number])
            if texts[number] not in ("", "–") and texts[number] not in row.tip:
                lines.append(words)
        if row.key and self._act:
            lines.append(tr(self._act))
        return plain_tip("\n".join(lines))

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
            return tr(f"{column.tip} (unit: {column.unit})") if column.unit else column.tip
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
        self._cells: list[int] = []
        self._widths: list[int] = []
        """The width that each column's words need, without its title and with it."""
        self._stretched = (0, False)
        """The column that takes what room is left, and whether there is too little."""
        self._bare: set[int] = set()
        """Columns of words in which nothing stands: they give way first."""
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
        sheet = told(sheet)
        fresh = sheet.columns_on(Medium.WINDOW) != self.shown.columns
        chosen = self.key
        if fresh:
            self.sortByColumn(-1, ASCENDING)
        self.shown.show_sheet(sheet)
        if self.key != chosen:
            self.show_key(chosen)
        self._measure()
        self._fit(anew=fresh)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Have columns give way, or come back."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self, *, anew: bool = False) -> None:
        """Show the columns there is room for; ``anew`` takes the widths that their words need.

        One column of words takes what room is left, and is cut where there is too little.
        """
        columns, widths, room = self.shown.columns, self._widths, self.viewport().width()
        if not columns or len(widths) != len(columns):  # of which the words are not known yet
            return
        turns = sorted(
            (n not in self._bare, column.gives_way, -n)
            for n, column in enumerate(columns)
            if column.gives_way
        )
        going, stretched = set[int](), self._stretched_of(())
        while turns and self._missing(going, stretched) > 0:
            going.add(-turns.pop(0)[-1])
            stretched = self._stretched_of(going)
        back, self.shown.left_out = self.shown.left_out - going, frozenset(going)
        header, modes, last = self.horizontalHeader(), QHeaderView.ResizeMode, len(columns) - 1
        scrolls = self._missing(going, stretched) > 0
        if anew or (stretched, scrolls) != self._stretched:
            anew, self._stretched = True, (stretched, scrolls)
            header.setStretchLastSection(stretched == last)
            for number in range(len(columns)):
                inner = number == stretched != last and not scrolls
                header.setSectionResizeMode(number, modes.Stretch if inner else modes.Interactive)
            if scrolls:  # what stretches would be squeezed to nothing
                self.setColumnWidth(stretched, self._least_of(stretched))
        kept = [
            max(self.columnWidth(number), width)
            for number, width in enumerate(widths)
            if number not in going and number != stretched
        ]
        if sum(kept) + self._least_of(stretched) > room:  # of wider words, which are gone
            anew = True
        for number, width in enumerate(widths):
            self.setColumnHidden(number, number in going)
            if number in going or number == stretched:
                continue
            if anew or number in back or self.columnWidth(number) < width:
                self.setColumnWidth(number, width)
        if stretched == last:
            room -= header.sectionPosition(last)
            self.setColumnWidth(last, max(self._least_of(last), room))

    def _stretched_of(self, going: Collection[int]) -> int:
        """Return which column takes the room that is left: the last one of words, or the first."""
        words = [n for n, c in enumerate(self.shown.columns) if c.words and n not in going]
        last = len(self.shown.columns) - 1
        return last if last in words else next(iter(words), 0)

    def _missing(self, going: set[int], stretched: int) -> int:
        """Return how many pixels are missing where some columns give way."""
        needed = [width for n, width in enumerate(self._widths) if n not in going | {stretched}]
        return sum(needed) + self._least_of(stretched) - self.viewport().width()

    def _least_of(self, stretched: int) -> int:
        """Return the width that the column keeps that takes what room is left: its title is cut."""
        least = self.horizontalHeader().minimumSectionSize()
        return max(min(self._cells[stretched], for_text(LEAST_WORDS_PX)), least)

    @property
    def whole_height(self) -> int:
        """The height in which every row is seen, and the bar that moves the columns."""
        return self.height_of(len(self.shown.rows)) + self.horizontalScrollBar().sizeHint().height()

    def height_of(self, rows: float) -> int:
        """Return the height in which so many rows are seen."""
        high = round(self.verticalHeader().defaultSectionSize() * rows)
        return self.horizontalHeader().sizeHint().height() + high + 2 * self.frameWidth()

    @property
    def whole_width(self) -> int:
        """The width in which every column is seen."""
        bar = self.verticalScrollBar().sizeHint().width()
        return sum(self._widths) + bar + 2 * self.frameWidth()

    @property
    def least_width(self) -> int:
        """The width in which every column is seen that gives way to none."""
        columns = self.shown.columns
        if not columns or len(self._widths) != len(columns):
            return 0
        going = {number for number, column in enumerate(columns) if column.gives_way}
        beside = self.width() - self.viewport().width()
        needed = self._missing(going, self._stretched_of(going)) + self.viewport().width()
        return needed + beside

    @property
    def key(self) -> str:
        """The key of the row that is chosen; empty where none is, or it has none."""
        row = self.currentIndex().row()
        return self.shown.rows[row].key if 0 <= row < len(self.shown.rows) else ""

    def show_key(self, key: str) -> None:
        """Choose the row that a mark of the chart stands for; nothing where there is none."""
        rows = self.shown.rows
        place = next((n for n, row in enumerate(rows) if row.marked(key)), None)
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

    def _measure(self) -> None:
        """Find the width that each column's words take in the first rows."""
        font = self.font()
        font.setBold(True)  # as titles are, and rows that stand out
        metrics = QFontMetrics(font)
        shown = self.shown
        lines = [row.texts(shown.columns) for row in shown.rows[:LOOKED_AT]]
        cells, widths, bare = list[int](), list[int](), set[int]()
        for number, column in enumerate(shown.columns):
            words = {line[number] for line in lines}
            if column.words and not any(words):
                bare.add(number)
            most = WIDEST_PX if column.words else sys.maxsize
            wide = max(map(metrics.horizontalAdvance, words), default=0) + SPARE_PX
            title = metrics.horizontalAdvance(column.title) + SPARE_PX
            cells.append(min(wide, most))
            widths.append(min(max(wide, title), most))
        self._cells, self._widths, self._bare = cells, widths, bare

    def _activated(self, index: QModelIndex) -> None:
        key = self.shown.rows[index.row()].key
        if key:
            self.chosen.emit(key)


def _are_same(before: Sequence[Row], after: Sequence[Row]) -> bool:
    """Whether rows are the ones from before, themselves or by their keys."""
    if len(before) != len(after):
        return False
    if all(a is b or (a.key and a.key == b.key) for a, b in zip(before, after, strict=True)):
        return True
    gone, new = set(map(id, before)), set(map(id, after))
    keys = {row.key for row in before if id(row) not in new} - {""}
    if len(keys) != len(gone - new):
        return False
    for row in after:
        if id(row) not in gone:
            if row.key not in keys:
                return False
            keys.remove(row.key)
    return True


def _order(cell: Cell, column: Column) -> float | str | None:
    """Return what a cell is sorted by: its value, else its words; None where it has neither."""
    value = cell.value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value if not math.isnan(value) else None
    words = value if isinstance(value, str) else cell.text if column.words else ""
    return words.lower() if words not in ("", "–") else None


def _put_by(
    rows: Sequence[Row], orders: Sequence[float] | Sequence[str], falling: bool
) -> Iterator[Row]:
    """Return rows by what each is sorted by, in the order that they had where that is the same."""
    places = sorted(range(len(rows)), key=orders.__getitem__, reverse=falling)
    return (rows[place] for place in places)


def _side(column: Column, number: int) -> Qt.AlignmentFlag:
    left = column.words or number == 0
    side = Qt.AlignmentFlag.AlignLeft if left else Qt.AlignmentFlag.AlignRight
    return side | Qt.AlignmentFlag.AlignVCenter


def show_as_rows(table: QTableView, name: str, accessible: str, row_height: int) -> None:
    """Have a table look and behave as every table of results does."""
    table.setObjectName(name)
    table.setAccessibleName(tr(accessible))
    table.setProperty("role", "rows")
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    table.setAlternatingRowColors(True)
    table.setShowGrid(False)
    table.setWordWrap(False)
    table.setTabKeyNavigation(False)
    table.verticalHeader().hide()
    table.verticalHeader().setDefaultSectionSize(for_text(row_height))
    header = table.horizontalHeader()
    header.setTextElideMode(Qt.TextElideMode.ElideRight)
    header.setHighlightSections(False)
    header.setStretchLastSection(True)
    header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
