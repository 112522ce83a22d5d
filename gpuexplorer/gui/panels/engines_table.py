"""The engines in a table: which measures, what each has."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem

from gpuexplorer.gui.model.engines import EngineRow
from gpuexplorer.gui.theme import theme

ROW_HEIGHT = 26
COLUMNS = (
    ("", 28, "The engine that measures now, and at the next start"),
    ("Engine", 130, "Its name: --python NAME on the command line"),
    ("Python", 70, "The version of its Python, once it was asked"),
    ("Frameworks", 260, "Those installed there, with their versions, once it was asked"),
    ("Interpreter", 200, "The program that runs it"),
)
LAST = len(COLUMNS) - 1


class EnginesTable(QTableWidget):
    """One row an engine; ``use_asked`` and ``remove_asked`` carry its name."""

    use_asked = Signal(str)
    remove_asked = Signal(str)

    def __init__(self) -> None:
        super().__init__(0, len(COLUMNS))
        self.setObjectName("enginesTable")
        self.setAccessibleName("Engines")
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setAlternatingRowColors(True)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(ROW_HEIGHT)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setSectionResizeMode(LAST, QHeaderView.ResizeMode.Stretch)
        for column, (title, width, tip) in enumerate(COLUMNS):
            item = QTableWidgetItem(title)
            item.setToolTip(tip)
            item.setTextAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
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
            self.setCurrentCell(names.index(name), 1)
        elif rows and self.currentRow() < 0:
            self.setCurrentCell(0, 1)

    def _paint(self) -> None:
        for place, row in enumerate(self.rows):
            self._paint_row(place, row)

    def _paint_row(self, place: int, row: EngineRow) -> None:
        report = row.report
        known = report is not None and report.ok
        told = row.frameworks or row.state
        python = report.python if report is not None else None
        mark = "●" if row.in_use else "○" if row.is_default else ""
        words = (mark, row.name, python or "", told, row.path)
        tips = (
            "Measures now" if row.in_use else "Used at the next start" if row.is_default else "",
            "", "", row.state if not known else told, row.path,
        )  # fmt: skip
        colours = theme()
        for column, (text, tip) in enumerate(zip(words, tips, strict=True)):
            item = self.item(place, column)
            if item is None:
                item = QTableWidgetItem()
                self.setItem(place, column, item)
            item.setText(text)
            item.setToolTip(tip)
            item.setForeground(colours.q("text"))
            font = item.font()
            font.setBold(column == 1 and row.in_use)
            item.setFont(font)
            if column == 0:
                item.setForeground(colours.q("accent"))
                item.setTextAlignment(Qt.AlignmentFlag.AlignCenter)
            elif column == 3 and not known:
                bad = report is not None and not row.checking
                item.setForeground(colours.q("bad" if bad else "muted"))
            elif column == LAST:
                item.setForeground(colours.q("muted"))
