"""Every configuration of a sweep in a table: its values, its figures, or why it has none."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from gpuexplorer.core.axis_words import is_number_axis, value_words
from gpuexplorer.core.knobs import BLOCK_AXES
from gpuexplorer.core.units import percent, quantity
from gpuexplorer.search.outcome import Cell
from gpuexplorer.search.space import Space

HEADER_PIXELS = 24
"""What a header needs beside its words."""

Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True)
class Column:
    """A column: its title, words and sort key of a cell, and what it means."""

    title: str
    words: Callable[[Cell], str]
    key: Callable[[Cell], Any]
    tip: str
    width: int
    number: bool = True
    live: bool = True
    """Whether it changes while the sweep goes on."""


def _error(cell: Cell) -> float | None:
    if cell.result is None:
        return None
    timing = cell.result.timing
    if timing.ci95_low_s is None or timing.ci95_high_s is None or timing.median_s <= 0:
        return None
    return (timing.ci95_high_s - timing.ci95_low_s) / 2 / timing.median_s


def _flops(cell: Cell) -> float | None:
    return cell.result.throughput.flop_per_s if cell.result is not None else None


def _bandwidth(cell: Cell) -> float | None:
    return cell.result.throughput.bandwidth_B_per_s if cell.result is not None else None


def _outcome(cell: Cell) -> str:
    if cell.skipped is not None:
        return cell.skipped
    if cell.result is None:
        return "waiting"
    if cell.result.timing.suspect is not None:
        return f"⚠ suspect: {cell.result.timing.suspect}"
    return "✓ verified" if cell.result.verification is not None else "measured"


def _last(value: float | None, *, most_first: bool = False) -> float:
    """Return what a figure sorts by: those without one come last, or below all others."""
    if value is None:
        return -math.inf if most_first else math.inf
    return value


FIGURES = (
    Column("median", lambda c: quantity(c.median_s, "s") if c.median_s else "",
           lambda c: _last(c.median_s if c.ranked else None),
           "Median time of one launch, in seconds", 68),
    Column("± 95 %", lambda c: percent(_error(c)) if _error(c) is not None else "",
           lambda c: _last(_error(c)), "Half the 95 % confidence interval over the median", 66),
    Column("throughput", lambda c: quantity(_flops(c), "FLOP/s") if _flops(c) else "",
           lambda c: _last(_flops(c) if c.ranked else None, most_first=True),
           "Useful operations over the median, FLOP/s", 88),
    Column("bandwidth", lambda c: quantity(_bandwidth(c), "B/s") if _bandwidth(c) else "",
           lambda c: _last(_bandwidth(c) if c.ranked else None, most_first=True),
           "Compulsory bytes over the median, B/s", 80),
    Column("result", _outcome, _outcome, "Whether it was verified, or why it has no figure",
           90, False),
)  # fmt: skip


def columns_of(space: Space) -> tuple[Column, ...]:
    """Return the columns of a space: one for each axis, then the figures."""

    def of(name: str, title: str, values: Sequence[Any]) -> Column:
        number = is_number_axis(name)
        places = {value: place for place, value in enumerate(values)}

        def words(cell: Cell) -> str:
            return value_words(name, cell.point.values[name])

        def key(cell: Cell) -> Any:
            value = cell.point.values[name]
            return value if number else places.get(value, len(places))

        short = name[-1] if name in BLOCK_AXES else title
        return Column(short, words, key, f"{title}: an axis of the sweep", 44, number, False)

    return (*(of(a.name, a.title, a.values) for a in space.axes), *FIGURES)


class SweepTableModel(QAbstractTableModel):
    """The cells as Qt sees them; it sorts by itself, so that many rows sort at once."""

    def __init__(self) -> None:
        super().__init__()
        self._cells: list[Cell] = []
        self._order: list[int] = []
        self._columns: tuple[Column, ...] = ()
        self._sorted: tuple[int, Qt.SortOrder] | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns."""
        return self._columns

    def show_space(self, space: Space | None, cells: list[Cell]) -> None:
        """Show the cells of a space; the list stays the sweep's own and may change."""
        self.beginResetModel()
        self._cells = cells
        self._order = list(range(len(cells)))
        self._columns = columns_of(space) if space is not None else ()
        self._sorted = None
        self.endResetModel()

    def cells_changed(self) -> None:
        """Show what cells have become; rows that are sorted by a figure find their place anew."""
        if not self._order:
            return
        if self._sorted is not None and self._columns[self._sorted[0]].live:
            self.sort(*self._sorted)
        else:
            last = self.index(len(self._order) - 1, len(self._columns) - 1)
            self.dataChanged.emit(self.index(0, 0), last)

    def cell_of(self, row: int) -> int:
        """Return which cell stands in a row."""
        return self._order[row]

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """Return the number of configurations."""
        return 0 if parent.isValid() else len(self._order)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """Return the number of columns."""
        return 0 if parent.isValid() else len(self._columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return a cell's words, alignment or tooltip."""
        if not index.isValid() or index.row() >= len(self._order):
            return None
        column = self._columns[index.column()]
        cell = self._cells[self._order[index.row()]]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.words(cell)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column.number else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{_outcome(cell)}\nDouble click sets the knobs to this configuration."
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return a column's title or meaning."""
        if orientation != Qt.Orientation.Horizontal or section >= len(self._columns):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._columns[section].title
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._columns[section].tip
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag
            right = self._columns[section].number
            return (side.AlignRight if right else side.AlignLeft) | side.AlignVCenter
        return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column; -1 is the order of the axes."""
        self.layoutAboutToBeChanged.emit()
        before = self.persistentIndexList()
        kept = [(self._order[i.row()], i.column()) for i in before]
        made = list(range(len(self._cells)))
        self._sorted = (column, order) if 0 <= column < len(self._columns) else None
        if self._sorted is not None:
            key = self._columns[column].key
            made.sort(
                key=lambda i: key(self._cells[i]), reverse=order == Qt.SortOrder.DescendingOrder
            )
        self._order = made
        rows = {cell: row for row, cell in enumerate(made)} if kept else {}
        self.changePersistentIndexList(before, [self.index(rows[c], col) for c, col in kept])
        self.layoutChanged.emit()


class SweepTable(QTableView):
    """The table; ``chosen`` carries the cell of a row that was double-clicked."""

    chosen = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("sweepTable")
        self.runs = SweepTableModel()
        self.setModel(self.runs)
        self.setSortingEnabled(True)
        self.sortByColumn(-1, Qt.SortOrder.AscendingOrder)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setAlternatingRowColors(True)
        self.setShowGrid(False)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(22)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setStretchLastSection(True)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.activated.connect(lambda index: self.chosen.emit(self.runs.cell_of(index.row())))

    def show_space(self, space: Space | None, cells: list[Cell]) -> None:
        """Show the cells of a space."""
        self.runs.show_space(space, cells)
        self.sortByColumn(-1, Qt.SortOrder.AscendingOrder)
        metrics = self.fontMetrics()
        for section, column in enumerate(self.runs.columns):
            title = metrics.horizontalAdvance(column.title) + HEADER_PIXELS
            self.horizontalHeader().resizeSection(section, max(column.width, title))
