"""The comparison in figures: a row for each, the reference marked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAction, QColor, QKeySequence
from PySide6.QtWidgets import QMenu

from gpuexplorer.charts.comparison import VERDICT_COLOURS, interval_words, ratio_words
from gpuexplorer.charts.words import config_words
from gpuexplorer.core.units import quantity
from gpuexplorer.gui.model.compare import Shown
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.widgets.rows_table import CENTRE, LEFT, RIGHT, Column, RowsTable

ROW_HEIGHT = 24
COLUMNS = (
    Column(
        "", "The reference: the others' times are divided by its. Click another to take that one",
        CENTRE, 26,
    ),
    Column("configuration", "What tells it from the others; the whole is its tooltip", LEFT, 190),
    Column("median", "Median time of one launch, in seconds", RIGHT, 84),
    Column("time ratio", "Its time over the reference's: below 1 it is faster", RIGHT, 88),
    Column("95 % interval", "Of the ratio", RIGHT, 132),
    Column(
        "verdict", "What the interval says: faster, slower, same, or that it cannot be told",
        LEFT, 108,
    ),
    Column(
        "to know", "What differs beside the configuration: source, compiler, driver, device",
        LEFT, 100,
    ),
)  # fmt: skip
MARKS = {
    "faster": "◂  faster",
    "slower": "▸  slower",
    "same": "●  same",
    "can't tell": "○  can't tell",
}


class CompareTable(RowsTable):
    """Shows rows; ``reference_asked`` and ``removed`` carry a row's place, ``restored`` too."""

    reference_asked = Signal(int)
    removed = Signal(int)
    restored = Signal(int)

    def __init__(self) -> None:
        super().__init__("compareTable", "Comparison in figures", ROW_HEIGHT)
        self.set_columns(COLUMNS)
        self.rows: list[Shown] = []
        self._reference = 0
        self._changeable = True
        self.cellClicked.connect(self._clicked)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._menu)
        self._make_reference = self._action("Make it the reference", "R", self._ask_reference)
        self._restore = self._action("Set the knobs to it", "Return", self._ask_knobs)
        self._remove = self._action("Remove it", "Del", self._ask_removal)

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
        self.paint_rows()

    def paint_rows(self) -> None:
        """Write the rows anew in the present colours."""
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
        tips = (COLUMNS[0].tip, whole, "", "", "", "", "\n".join(shown.warnings))
        for section, (text, tip) in enumerate(zip(words, tips, strict=True)):
            self.put(place, section, text, tip).setForeground(theme().q("text"))
        self.cell(place, 6).setForeground(theme().q("warning"))
        if known and line.verdict is not None:
            colour = theme().chart.palette[VERDICT_COLOURS[line.verdict]]
            self.cell(place, 5).setForeground(QColor(colour))
        elif not is_reference:
            self.cell(place, 5).setForeground(theme().q("muted"))

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
