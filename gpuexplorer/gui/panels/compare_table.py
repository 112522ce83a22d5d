"""The comparison in figures: a row for each, the reference marked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAction, QColor, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QMenu, QTableWidget, QTableWidgetItem

from gpuexplorer.charts.comparison import VERDICT_COLOURS, interval_words, ratio_words
from gpuexplorer.charts.words import config_words
from gpuexplorer.core.units import quantity
from gpuexplorer.gui.model.compare import Shown
from gpuexplorer.gui.theme import theme

ROW_HEIGHT = 24
COLUMNS = (
    ("", 26, "The reference: the others' times are divided by its. Click another to take that one"),
    ("configuration", 190, "What tells it from the others; the whole is its tooltip"),
    ("median", 84, "Median time of one launch, in seconds"),
    ("time ratio", 88, "Its time over the reference's: below 1 it is faster"),
    ("95 % interval", 132, "Of the ratio"),
    ("verdict", 108, "What the interval says: faster, slower, same, or that it cannot be told"),
    ("to know", 100, "What differs beside the configuration: source, compiler, driver, device"),
)
MARKS = {
    "faster": "◂  faster",
    "slower": "▸  slower",
    "same": "●  same",
    "can't tell": "○  can't tell",
}


class CompareTable(QTableWidget):
    """Shows rows; ``reference_asked`` and ``removed`` carry a row's place, ``restored`` too."""

    reference_asked = Signal(int)
    removed = Signal(int)
    restored = Signal(int)

    def __init__(self) -> None:
        super().__init__(0, len(COLUMNS))
        self.setObjectName("compareTable")
        self.setAccessibleName("Comparison in figures")
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
        header.setStretchLastSection(True)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        for section, (title, width, explanation) in enumerate(COLUMNS):
            item = QTableWidgetItem(title)
            item.setToolTip(explanation)
            left = section in (1, len(COLUMNS) - 2, len(COLUMNS) - 1)
            side = Qt.AlignmentFlag.AlignLeft if left else Qt.AlignmentFlag.AlignRight
            item.setTextAlignment(side | Qt.AlignmentFlag.AlignVCenter)
            self.setHorizontalHeaderItem(section, item)
            header.resizeSection(section, width)
        self.rows: list[Shown] = []
        self._reference = 0
        self._changeable = True
        self.cellClicked.connect(self._clicked)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._menu)
        self._make_reference = self._action("Make it the reference", "R", self._ask_reference)
        self._restore = self._action("Set the knobs to it", "Return", self._ask_knobs)
        self._remove = self._action("Remove it", "Del", self._ask_removal)
        theme().changed.connect(self._repaint)

    def _action(self, words: str, key: str, act: Callable[[], None]) -> QAction:
        action = QAction(words, self)
        action.setShortcut(QKeySequence(key))
        action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        action.triggered.connect(lambda _=False: act())
        self.addAction(action)
        return action

    @property
    def _chosen(self) -> bool:
        return 0 <= self.currentRow() < len(self.rows)

    def _ask_reference(self) -> None:
        if self._chosen and self._changeable:
            self.reference_asked.emit(self.currentRow())

    def _ask_knobs(self) -> None:
        if self._chosen:
            self.restored.emit(self.currentRow())

    def _ask_removal(self) -> None:
        if self._chosen and self._changeable:
            self.removed.emit(self.currentRow())

    def show_rows(self, rows: Sequence[Shown], reference: int, *, changeable: bool) -> None:
        """Show these; ``changeable`` says whether rows may be removed and the reference chosen."""
        self.rows, self._reference, self._changeable = list(rows), reference, changeable
        for action in (self._make_reference, self._remove):
            action.setEnabled(changeable)
        self._repaint()

    def _repaint(self) -> None:
        if self.rowCount() != len(self.rows):
            self.setRowCount(len(self.rows))
        for place, shown in enumerate(self.rows):
            self._show_row(place, shown)

    def _show_row(self, place: int, shown: Shown) -> None:
        line, is_reference = shown.line, place == self._reference
        known = bool(line.ratio and line.low and line.high)
        verdict = "▫  reference" if is_reference else ""
        if line.verdict is not None and known:
            verdict = MARKS[line.verdict]
        words = (
            "◉" if is_reference else "○",
            shown.label,
            quantity(shown.median_s, "s"),
            ratio_words(line.ratio) if known else "",
            interval_words(line.low, line.high) if line.low and line.high else "",
            f"  {verdict}" if verdict else "",
            " ".join(shown.warnings),
        )
        stored = shown.candidate.stored
        whole = config_words(shown.candidate.config)
        if stored is not None:
            then = quantity(stored.timing.median_s, "s")
            whole += f"\nstored as {stored.id[:8]} on {stored.time_utc[:10]}, median {then}"
        tips = (COLUMNS[0][2], whole, "", "", "", "", "\n".join(shown.warnings))
        for section, (text, tip) in enumerate(zip(words, tips, strict=True)):
            item = self.item(place, section)
            if item is None:
                item = QTableWidgetItem()
                side = (
                    Qt.AlignmentFlag.AlignRight if section in (2, 3, 4)
                    else Qt.AlignmentFlag.AlignHCenter if section == 0
                    else Qt.AlignmentFlag.AlignLeft
                )  # fmt: skip
                item.setTextAlignment(side | Qt.AlignmentFlag.AlignVCenter)
                self.setItem(place, section, item)
            if item.text() != text:
                item.setText(text)
            item.setToolTip(tip)
            item.setForeground(theme().q("text"))
        warned, told = self.item(place, 6), self.item(place, 5)
        assert warned is not None and told is not None
        warned.setForeground(theme().q("warning"))
        if known and line.verdict is not None:
            told.setForeground(QColor(theme().chart.palette[VERDICT_COLOURS[line.verdict]]))
        elif not is_reference:
            told.setForeground(theme().q("muted"))

    def _clicked(self, row: int, section: int) -> None:
        if section == 0 and row != self._reference and self._changeable:
            self.reference_asked.emit(row)

    def _menu(self, at: QPoint) -> None:
        row = self.rowAt(at.y())
        if row < 0:
            return
        self.setCurrentCell(row, 1)
        menu = QMenu(self)
        menu.addActions([self._make_reference, self._restore, self._remove])
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.viewport().mapToGlobal(at))
