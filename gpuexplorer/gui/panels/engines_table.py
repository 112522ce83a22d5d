"""The engines in a table: which measures, what each has."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableWidget,
    QTableWidgetItem,
)

from gpuexplorer.core.language import tr
from gpuexplorer.core.units import quantity
from gpuexplorer.gui.model.engines import EngineRow
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.typeface import for_text

ROW_HEIGHT = 26
ROOM = 8
"""Pixels above and below a row's words together."""
MARK, NAME, PYTHON, OFFERS, ORIGIN, SIZE = range(6)
COLUMNS = (
    ("", 28, "The engine that measures now, and at the next start"),
    ("Engine", 150, "Its name: --python NAME on the command line"),
    ("Python", 70, "The version of its Python"),
    ("What it has", 300, "Its frameworks and devices, once it was asked, or why it cannot measure"),
    ("From", 130, "Whether it was set up here, added, or only found on this machine"),
    ("On disk", 80, "What an environment that was set up here takes, in bytes"),
)


class _Roomy(QStyledItemDelegate):
    """Leaves room above and below a cell's lines."""

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        """Return the size of a cell."""
        return super().sizeHint(option, index) + QSize(0, ROOM)


class EnginesTable(QTableWidget):
    """One row an engine; ``use_asked`` and ``remove_asked`` carry its name."""

    use_asked = Signal(str)
    remove_asked = Signal(str)

    def __init__(self) -> None:
        super().__init__(0, len(COLUMNS))
        self.setObjectName("enginesTable")
        self.setAccessibleName(tr("Engines"))
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setAlternatingRowColors(True)
        self.setItemDelegate(_Roomy(self))
        self.setShowGrid(False)
        self.setWordWrap(True)
        self.setTextElideMode(Qt.TextElideMode.ElideNone)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTabKeyNavigation(False)
        self.verticalHeader().hide()
        self.verticalHeader().setMinimumSectionSize(for_text(ROW_HEIGHT))
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setSectionResizeMode(OFFERS, QHeaderView.ResizeMode.Stretch)
        for column, (title, width, tip) in enumerate(COLUMNS):
            item = QTableWidgetItem(tr(title))
            item.setToolTip(tr(tip))
            item.setTextAlignment(_alignment(column))
            self.setHorizontalHeaderItem(column, item)
            header.resizeSection(column, width)
        self.rows: list[EngineRow] = []
        self.cellDoubleClicked.connect(lambda row, _: self.use_asked.emit(self.rows[row].name))
        for key, signal in (("Return", self.use_asked), ("Del", self.remove_asked)):
            action = QAction(self)
            action.setShortcut(QKeySequence(key))
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            action.triggered.connect(
                lambda _=False, signal=signal: self.chosen and signal.emit(self.chosen.name)
            )
            self.addAction(action)
        theme().changed.connect(self._paint)

    @property
    def chosen(self) -> EngineRow | None:
        """The row that the keyboard is at."""
        row = self.currentRow()
        return self.rows[row] if 0 <= row < len(self.rows) else None

    def show_rows(self, rows: Sequence[EngineRow], choose: str | None = None) -> None:
        """Show these; ``choose`` names the one to go to, else the present one stays chosen."""
        before = self.chosen
        name = choose or (before.name if before is not None else None)
        self.rows = list(rows)
        self.setRowCount(len(rows))
        self._paint()
        names = [row.name for row in rows]
        if name in names:
            self.setCurrentCell(names.index(name), NAME)
        elif rows and self.currentRow() < 0:
            self.setCurrentCell(0, NAME)

    def _paint(self) -> None:
        for place, row in enumerate(self.rows):
            self._paint_row(place, row)

    def _paint_row(self, place: int, row: EngineRow) -> None:
        mark = "●" if row.in_use else "○" if row.is_default else ""
        told = "\n".join(part for part in (row.frameworks, row.devices) if part) or row.state
        size = quantity(row.size_B, "B") if row.size_B is not None else ""
        words = (mark, row.title, row.python, told, row.origin_words, size)
        tips = (
            "Measures now" if row.in_use else "Used at the next start" if row.is_default else "",
            row.path, "", "", row.path, "",
        )  # fmt: skip
        colours = theme()
        for column, (text, tip) in enumerate(zip(words, tips, strict=True)):
            item = self.item(place, column)
            if item is None:
                item = QTableWidgetItem()
                item.setTextAlignment(_alignment(column))
                self.setItem(place, column, item)
            item.setText(tr(text))
            item.setToolTip(tr(tip))
            item.setForeground(colours.q("text"))
            font = item.font()
            font.setBold(column == NAME and row.in_use)
            item.setFont(font)
            if column == MARK:
                item.setForeground(colours.q("accent"))
            elif column == OFFERS and not row.known:
                bad = bool(row.problem) and not row.checking
                item.setForeground(colours.q("bad" if bad else "muted"))
            elif column in (ORIGIN, SIZE) or row.origin == "found":
                item.setForeground(colours.q("muted"))


def _alignment(column: int) -> Qt.AlignmentFlag:
    sides = {MARK: Qt.AlignmentFlag.AlignHCenter, SIZE: Qt.AlignmentFlag.AlignRight}
    return sides.get(column, Qt.AlignmentFlag.AlignLeft) | Qt.AlignmentFlag.AlignVCenter
