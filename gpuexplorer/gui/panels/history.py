"""This session's runs in a table that sorts, restores a run's knobs, and hands runs to export."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QSortFilterProxyModel,
    Qt,
    Signal,
)
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QMenu, QTableView, QWidget

from gpuexplorer.charts.words import block_words
from gpuexplorer.core.statistics import Summary
from gpuexplorer.core.units import count, percent, quantity
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.gui.model.history import Entry, History

Index = QModelIndex | QPersistentModelIndex
SORT_ROLE = Qt.ItemDataRole.UserRole


@dataclass(frozen=True)
class Column:
    """One column: its title, its words, what it sorts by, and what it means."""

    title: str
    words: Callable[[Entry], str]
    sort: Callable[[Entry], Any]
    explanation: str
    width: int
    number: bool = True


def _size(entry: Entry) -> str:
    return ", ".join(f"{k} = {v}" for k, v in entry.config.size.items())


def _first_size(entry: Entry) -> int:
    return next(iter(entry.config.size.values()))


def _workload(entry: Entry) -> str:
    return entry.config.workload


def _variant(entry: Entry) -> str:
    return entry.config.variant


def _precision(entry: Entry) -> str:
    return entry.config.precision


def _caches(entry: Entry) -> str:
    return entry.config.cache


def _device(entry: Entry) -> str:
    return entry.config.device


def _block_shape(entry: Entry) -> tuple[int, ...]:
    return entry.config.block or (0, 0, 0)


def _block(entry: Entry) -> str:
    return block_words(entry.config.block) if entry.config.block else "library"


def _outcome(entry: Entry) -> str:
    if not entry.verified:
        return "✗ wrong"
    return "✓ verified" if entry.suspect is None else "⚠ suspect"


def _ranked(entry: Entry, rate: float | None) -> float:
    """Return what a rate sorts by: below every other where it cannot be true."""
    return (rate or 0.0) if entry.suspect is None else -1.0


COLUMNS = (
    Column(
        "time",
        lambda e: datetime.fromisoformat(e.time_utc).astimezone().strftime("%H:%M:%S"),
        lambda e: e.time_utc,
        "When the run began, local time",
        72,
        False,
    ),
    Column("workload", _workload, _workload, "Workload", 90, False),
    Column("variant", _variant, _variant, "Variant", 100, False),
    Column("size", _size, _first_size, "Problem size", 90, False),
    Column("block", _block, _block_shape, "Threads per block, x × y", 72, False),
    Column("precision", _precision, _precision, "Number format", 78, False),
    Column("caches", _caches, _caches, "Hot, or emptied before each launch", 60, False),
    Column("device", _device, _device, "Device the run used", 80, False),
    Column(
        "median",
        lambda e: quantity(e.summary.median_s, "s"),
        lambda e: e.summary.median_s if e.suspect is None else float("inf"),
        "Median time of one launch, in seconds",
        84,
    ),
    Column(
        "± 95 %",
        lambda e: percent(e.summary.relative_error),
        lambda e: float("inf") if e.summary.relative_error is None else e.summary.relative_error,
        "Half the 95 % confidence interval over the median",
        66,
    ),
    Column(
        "throughput",
        lambda e: quantity(e.flop_per_s, "FLOP/s"),
        lambda e: _ranked(e, e.flop_per_s),
        "Useful operations over the median, FLOP/s",
        104,
    ),
    Column(
        "bandwidth",
        lambda e: quantity(e.bandwidth_B_per_s, "B/s"),
        lambda e: _ranked(e, e.bandwidth_B_per_s),
        "Compulsory bytes over the median, B/s",
        90,
    ),
    Column("launches", lambda e: count(e.samples), lambda e: e.samples, "Launches timed", 76),
    Column(
        "result",
        _outcome,
        lambda e: (e.verified, e.suspect is None),
        "Whether the result agreed with float64, and whether the figure can be true",
        80,
        False,
    ),
)  # fmt: skip


class HistoryModel(QAbstractTableModel):
    """A ``History`` as Qt sees it."""

    def __init__(self, history: History) -> None:
        super().__init__()
        self._history = history

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """Return the number of runs."""
        return 0 if parent.isValid() else len(self._history)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """Return the number of columns."""
        return 0 if parent.isValid() else len(COLUMNS)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return a cell's words, what it sorts by, alignment or tooltip."""
        if not index.isValid() or index.row() >= len(self._history):
            return None
        entry, column = self._history[index.row()], COLUMNS[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.words(entry)
        if role == SORT_ROLE:
            return column.sort(entry)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column.number else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.ToolTipRole:
            kept = "" if entry.record is not None else "\nIts samples were let go to save memory."
            suspect = f"\nSuspect: {entry.suspect}." if entry.suspect is not None else ""
            return f"{entry.device}{suspect}\nDouble click sets the knobs to this run.{kept}"
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return a column's title or meaning."""
        if orientation == Qt.Orientation.Horizontal:
            if role == Qt.ItemDataRole.DisplayRole:
                return COLUMNS[section].title
            if role == Qt.ItemDataRole.TextAlignmentRole:
                side = Qt.AlignmentFlag
                return (side.AlignRight if COLUMNS[section].number else side.AlignLeft) | (
                    side.AlignVCenter
                )
            if role == Qt.ItemDataRole.ToolTipRole:
                return COLUMNS[section].explanation
        return None

    def update(self, ticket: int, record: RunRecord, summary: Summary, *, running: bool) -> None:
        """Add a run at the top, or bring its figures up to date."""
        at = self._history.find(ticket)
        if at is None:
            self.beginInsertRows(QModelIndex(), 0, 0)
            self._history.update(ticket, record, summary, running=running)
            self.endInsertRows()
            while self._history.over_full:
                self.drop_oldest()
        else:
            self._history.update(ticket, record, summary, running=running)
            self._changed(at)

    def finish(self, ticket: int) -> None:
        """Note that a run is over."""
        at = self._history.finish(ticket)
        if at is not None:
            self._changed(at)

    def _changed(self, row: int) -> None:
        self.dataChanged.emit(self.index(row, 0), self.index(row, len(COLUMNS) - 1))

    def drop_oldest(self) -> None:
        """Remove the oldest run."""
        last = len(self._history) - 1
        self.beginRemoveRows(QModelIndex(), last, last)
        self._history.drop_oldest()
        self.endRemoveRows()


class _ByValue(QSortFilterProxyModel):
    def lessThan(self, left: Index, right: Index) -> bool:
        a, b = left.data(SORT_ROLE), right.data(SORT_ROLE)
        return bool(a < b)


class HistoryTable(QTableView):
    """The table; newest first until a header is clicked."""

    restore_asked = Signal(object)
    export_asked = Signal(object)
    copy_asked = Signal(object)

    def __init__(self, history: History, runs: HistoryModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("historyTable")
        self._history = history
        self._sorted = _ByValue(self)
        self._sorted.setSourceModel(runs)
        self._sorted.setSortRole(SORT_ROLE)
        self.setModel(self._sorted)
        self.setSortingEnabled(True)
        self.sortByColumn(-1, Qt.SortOrder.DescendingOrder)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setAlternatingRowColors(True)
        self.setShowGrid(False)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(22)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setStretchLastSection(True)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        for section, column in enumerate(COLUMNS):
            header.resizeSection(section, column.width)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._menu)
        self.doubleClicked.connect(lambda index: self._emit(self.restore_asked, index))

    def _entry(self, index: Index) -> Entry | None:
        source = self._sorted.mapToSource(index)
        return self._history[source.row()] if source.isValid() else None

    def _emit(self, signal: Any, index: Index) -> None:
        entry = self._entry(index)
        if entry is not None:
            signal.emit(entry)

    def _menu(self, at: QPoint) -> None:
        index = self.indexAt(at)
        entry = self._entry(index)
        if entry is None:
            return
        menu = QMenu(self)
        for words, signal, possible in (
            ("Set the knobs to this run", self.restore_asked, True),
            ("Export this run…", self.export_asked, entry.record is not None),
            ("Copy its command line", self.copy_asked, True),
        ):
            action = QAction(words, menu)
            action.setEnabled(possible)
            action.triggered.connect(lambda _=False, signal=signal: signal.emit(entry))
            menu.addAction(action)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.viewport().mapToGlobal(at))
