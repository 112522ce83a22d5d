"""The operators of one iteration in a table: sorted by any column, the longest first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from gpuexplorer.charts.operators import memory_words, short
from gpuexplorer.core.operators import FAMILIES, Operator, family
from gpuexplorer.core.units import count, percent, quantity

ROW_HEIGHT = 23
Index = QModelIndex | QPersistentModelIndex
Key = float | str


@dataclass(frozen=True)
class Column:
    """One column: its words for an operator, what it is sorted by, and what it says."""

    title: str
    width: int
    tip: str
    words: Callable[[Operator], str]
    key: Callable[[Operator], Key]
    left: bool = False
    only: str = ""
    """Shown only with a GPU's times (``gpu``) or with shapes (``shapes``)."""


COLUMNS: tuple[Column, ...] = (
    Column("operator", 250, "The operator as PyTorch calls it",
           lambda o: short(o.name, 200), lambda o: o.name.lower(), left=True),
    Column("calls", 62, "How often it is called in one iteration",
           lambda o: count(o.calls), lambda o: float(o.calls)),
    Column("GPU", 84, "Time of the GPU kernels that it launches itself, in seconds",
           lambda o: quantity(o.device_self_s, "s"), lambda o: o.device_self_s or 0.0, only="gpu"),
    Column("GPU total", 84, "The same with those of what it calls, in seconds",
           lambda o: quantity(o.device_total_s, "s"), lambda o: o.device_total_s or 0.0,
           only="gpu"),
    Column("self", 84, "CPU time without what it calls, in seconds",
           lambda o: quantity(o.self_s, "s"), lambda o: o.self_s),
    Column("total", 84, "CPU time with what it calls, in seconds",
           lambda o: quantity(o.total_s, "s"), lambda o: o.total_s),
    Column("share", 68, "Its part of the iteration: of the GPU's time where there is one, of the "
           "CPU's otherwise", lambda o: percent(o.share), lambda o: o.share),
    Column("memory", 92, "Bytes it takes itself less those it gives back, on the run's device",
           lambda o: memory_words(o.memory_B), lambda o: o.memory_B or 0.0),
    Column("shapes", 240, "Shapes of its inputs", lambda o: o.shapes or "",
           lambda o: o.shapes or "", left=True, only="shapes"),
)  # fmt: skip


class OperatorModel(QAbstractTableModel):
    """Operators in the order that was chosen."""

    def __init__(self) -> None:
        super().__init__()
        self.operators: list[Operator] = []
        self.columns: list[Column] = [c for c in COLUMNS if not c.only]

    def show_operators(self, operators: tuple[Operator, ...], *, gpu: bool, shapes: bool) -> None:
        """Show another profile's operators, the longest first."""
        wanted = {"": True, "gpu": gpu, "shapes": shapes}
        self.beginResetModel()
        self.columns = [c for c in COLUMNS if wanted[c.only]]
        self.operators = list(operators)
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """Return how many operators there are."""
        return 0 if parent.isValid() else len(self.operators)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """Return how many columns are shown."""
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Return a cell's words, alignment or tooltip."""
        operator, column = self.operators[index.row()], self.columns[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.words(operator)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(column)
        if role == Qt.ItemDataRole.ToolTipRole:
            shapes = f"\n{operator.shapes}" if operator.shapes else ""
            return f"{operator.name}{shapes}\n{FAMILIES[family(operator.name)]}"
        return None

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> object:
        """Return a column's title, alignment or explanation."""
        if orientation != Qt.Orientation.Horizontal or section >= len(self.columns):
            return None
        column = self.columns[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.title
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return column.tip
        return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column."""
        if not 0 <= column < len(self.columns):
            return
        self.layoutAboutToBeChanged.emit()
        self.operators.sort(
            key=self.columns[column].key, reverse=order == Qt.SortOrder.DescendingOrder
        )
        self.layoutChanged.emit()


def _alignment(column: Column) -> int:
    side = Qt.AlignmentFlag.AlignLeft if column.left else Qt.AlignmentFlag.AlignRight
    return int((side | Qt.AlignmentFlag.AlignVCenter).value)


class OperatorTable(QTableView):
    """Shows a profile's operators; ``picked`` carries the name of the one chosen."""

    picked = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("operatorTable")
        self.setAccessibleName("Operators of one iteration")
        self.operator_model = OperatorModel()
        self.setModel(self.operator_model)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setAlternatingRowColors(True)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(ROW_HEIGHT)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setSortIndicatorShown(True)
        self.setSortingEnabled(False)
        header.sectionClicked.connect(self._sort)
        self._order: dict[int, Qt.SortOrder] = {}
        self.selectionModel().currentRowChanged.connect(self._chosen)

    def show_operators(self, operators: tuple[Operator, ...], *, gpu: bool, shapes: bool) -> None:
        """Show another profile's operators."""
        self.operator_model.show_operators(operators, gpu=gpu, shapes=shapes)
        for section, column in enumerate(self.operator_model.columns):
            self.horizontalHeader().resizeSection(section, column.width)
        modes = QHeaderView.ResizeMode
        self.horizontalHeader().setStretchLastSection(shapes)
        self.horizontalHeader().setSectionResizeMode(
            0, modes.Interactive if shapes else modes.Stretch
        )
        self.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.DescendingOrder)
        self._order = {}
        self.scrollToTop()

    def pick(self, name: str) -> None:
        """Select an operator by its name, without telling anybody."""
        rows = [r for r, o in enumerate(self.operator_model.operators) if o.name == name]
        before = self.selectionModel().blockSignals(True)
        if rows:
            self.selectRow(rows[0])
            self.scrollTo(self.operator_model.index(rows[0], 0))
        else:
            self.clearSelection()
        self.selectionModel().blockSignals(before)
        self.viewport().update()

    def _sort(self, section: int) -> None:
        """Sort by a column: numbers the largest first, words from the beginning; then turn it."""
        column = self.operator_model.columns[section]
        first = Qt.SortOrder.AscendingOrder if column.left else Qt.SortOrder.DescendingOrder
        last = self._order.get(section)
        order = first if last is None else _other(last)
        self._order = {section: order}
        self.operator_model.sort(section, order)
        self.horizontalHeader().setSortIndicator(section, order)

    def _chosen(self, current: QModelIndex, _: QModelIndex) -> None:
        if current.isValid():
            self.picked.emit(self.operator_model.operators[current.row()].name)


def _other(order: Qt.SortOrder) -> Qt.SortOrder:
    descending = order == Qt.SortOrder.DescendingOrder
    return Qt.SortOrder.AscendingOrder if descending else Qt.SortOrder.DescendingOrder
