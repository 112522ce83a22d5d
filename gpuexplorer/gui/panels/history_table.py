"""The history's table: how it looks, its keys, its columns and what a click does."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from msgspec.structs import replace
from PySide6.QtCore import (
    QByteArray,
    QEvent,
    QItemSelection,
    QItemSelectionModel,
    QPoint,
    QRect,
    QSignalBlocker,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QBrush,
    QFocusEvent,
    QHelpEvent,
    QHideEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QToolTip, QWidget

from gpuexplorer.core.language import as_is
from gpuexplorer.gui.model.history_columns import COLUMNS, place_of
from gpuexplorer.gui.panels.history_layout import ColumnLayout
from gpuexplorer.gui.panels.history_model import CLOSED, HistoryModel, Index
from gpuexplorer.gui.panels.history_paint import MARGIN, Cell, Look, RowPainter
from gpuexplorer.gui.plain import plain_tip
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.typeface import for_text

ROW_HEIGHT = 22
NEAR = 12
"""Rows beyond the edges that are asked for with the seen ones."""
STAR, TIME = place_of("star"), place_of("time")
PART_S = 0.006
"""How long rows are painted at a time that have just come into view: a slow machine takes longer
than a frame for a screen of them, and paints the rest after what waits meanwhile."""
MAX_CHOSEN = 5000
"""Rows that something is done to at once."""

_KEYS = {
    "star": QKeySequence("S"),
    "change": QKeySequence("F2"),
    "delete": QKeySequence("Del"),
    "undo": QKeySequence("Ctrl+Z"),
    "copy": QKeySequence("Ctrl+C"),
    "restore": QKeySequence("Return"),
}


class HistoryTable(QTableView):
    """The table; newest first until a title is clicked.

    ``action_asked`` carries what to do (a key of ``_KEYS``) with the chosen runs; ``menu_asked``
    where the menu for them is to open; ``star_clicked`` the run whose star was clicked.
    """

    action_asked = Signal(str)
    menu_asked = Signal(object)
    star_clicked = Signal(object)
    tip_wanted = Signal(object, object)
    chosen_changed = Signal()

    def __init__(self, runs: HistoryModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("historyTable")
        self._runs = runs
        runs.setParent(self)  # whom a hidden table tells, as one does that goes while it is seen
        self.can_undo = False
        """Whether Ctrl+Z here brings deleted runs back; else it is the window's."""
        self._painter = RowPainter()
        self._in_parts = False
        """Whether what is painted next has just come into view."""
        self._chosen_ids: list[str] = []
        self._current = -1
        self._was_at = 0
        self._reset_view = runs.view
        self.setModel(runs)
        runs.seen = self.seen
        runs.modelAboutToBeReset.connect(self._before_reset)
        runs.modelReset.connect(self._after_reset)
        runs.modelReset.connect(self._paint_in_parts)
        runs.rowsInserted.connect(self._inserted)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setAlternatingRowColors(True)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setDragEnabled(True)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragOnly)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerItem)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        # Every pixel is painted here, so that scrolling moves what is there and paints the rest.
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        rows = self.verticalHeader()
        rows.hide()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        rows.setDefaultSectionSize(for_text(ROW_HEIGHT))
        self._prepare_header()
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._menu)
        self.doubleClicked.connect(self._double_clicked)
        self.clicked.connect(self._clicked)
        self.selectionModel().selectionChanged.connect(lambda *_: self.chosen_changed.emit())
        theme().changed.connect(self._take_colours)
        self._take_colours()

    def _take_colours(self) -> None:
        colours = theme()
        self._pens = {
            name: QPen(colours.q(name)) for name in ("text", "accent", "muted", "bad", "warning")
        }
        self._look = Look(
            base=QBrush(colours.q("panel")),
            other=QBrush(colours.q("raised")),
            chosen=QBrush(colours.q("selection")),
            frame=QPen(colours.q("accent")),
        )
        self.viewport().update()

    def _prepare_header(self) -> None:
        self.column_layout = ColumnLayout(self)
        header = self.horizontalHeader()
        header.setSortIndicatorShown(True)
        self._show_order()
        header.sectionClicked.connect(self._sort_by)

    # ---- order and columns

    def _sort_by(self, section: int) -> None:
        """Sort by a column, the other way round when it is clicked again."""
        column, view = COLUMNS[section], self._runs.view
        if column.sort is not None:
            descending = not view.descending if view.sort == column.sort else column.descending
            self._runs.show_view(replace(view, sort=column.sort, descending=descending))
        self._show_order()

    def _show_order(self) -> None:
        view, header = self._runs.view, self.horizontalHeader()
        order = Qt.SortOrder.DescendingOrder if view.descending else Qt.SortOrder.AscendingOrder
        section = next(i for i, column in enumerate(COLUMNS) if column.sort == view.sort)
        with QSignalBlocker(header):
            header.setSortIndicator(section, order)

    def columns(self) -> QByteArray:
        """Return widths, places and choice of the columns."""
        return self.column_layout.state()

    def restore_columns(self, state: QByteArray) -> None:
        """Take columns as they were; the order of the rows is not part of it."""
        if not state.isEmpty():
            self.column_layout.restore(state)
            self._show_order()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show as many columns as there is room for."""
        super().resizeEvent(event)
        self.column_layout.fit()

    # ---- which rows

    def seen(self) -> tuple[int, int]:
        """Return the first and last place that can be seen, and some more."""
        first = max(0, self.rowAt(0))
        count = self.viewport().height() // for_text(ROW_HEIGHT) + 1
        return max(0, first - NEAR), first + count + NEAR

    def chosen_places(self) -> list[int]:
        """Return the chosen places in order, ``MAX_CHOSEN`` and one more at most."""
        found: list[int] = []
        for part in sorted(self._parts(), key=lambda part: part.start):
            room = MAX_CHOSEN + 1 - len(found)
            found.extend(part[:room])
            if len(found) > MAX_CHOSEN:
                break
        return found

    def chosen_count(self) -> int:
        """Return how many rows are chosen."""
        return sum(len(part) for part in self._parts())

    def _parts(self) -> list[range]:
        """Return the stretches of rows that are chosen."""
        chosen = self.selectionModel().selection()
        parts = (chosen.at(i) for i in range(chosen.count()))
        return [range(part.top(), part.bottom() + 1) for part in parts]

    def _before_reset(self) -> None:
        places = self.chosen_places()[:MAX_CHOSEN]
        rows = (self._runs.row(place) for place in places)
        self._chosen_ids = [row.id for row in rows if row is not None]
        self._current = self.currentIndex().row()
        self._was_at = self.verticalScrollBar().value()

    def _after_reset(self) -> None:
        """Choose again what was chosen, as far as it is still there."""
        if self._runs.view.alike(self._reset_view):
            self.updateGeometries()
            self.verticalScrollBar().setValue(self._was_at)
        self._reset_view = self._runs.view
        places = [self._runs.find(run_id) for run_id in self._chosen_ids]
        self.choose([place for place in places if place is not None])
        if not self.currentIndex().isValid() and self._current >= 0 and self._runs.rowCount():
            row = min(self._current, self._runs.rowCount() - 1)
            flag = QItemSelectionModel.SelectionFlag.NoUpdate
            self.selectionModel().setCurrentIndex(self._runs.index(row, 1), flag)
        self.chosen_changed.emit()

    def choose(self, places: Sequence[int]) -> None:
        """Choose exactly these rows."""
        last = self._runs.columnCount() - 1
        selection = QItemSelection()
        for place in places:
            selection.select(self._runs.index(place, 0), self._runs.index(place, last))
        flags = QItemSelectionModel.SelectionFlag
        if places:
            self.selectionModel().setCurrentIndex(self._runs.index(places[0], 1), flags.NoUpdate)
        self.selectionModel().select(selection, flags.ClearAndSelect)

    def _inserted(self, _parent: Index, first: int, last: int) -> None:
        """Stay at the same runs when others come in above."""
        bar = self.verticalScrollBar()
        if first == 0 and bar.value() > 0:
            bar.setValue(bar.value() + last + 1)

    # ---- mouse and keys

    def _clicked(self, index: Index) -> None:
        row = self._runs.row(index.row())
        if index.column() == STAR and row is not None:
            self.star_clicked.emit(row)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Show a group's runs, or hide them, by a click on its mark."""
        at = event.position().toPoint()
        index = self.indexAt(at)
        row = self._runs.row(index.row()) if index.isValid() else None
        mark = self.columnViewportPosition(TIME) <= at.x() < self._mark_ends()
        if mark and row is not None and row.folded is not None and row.group is not None:
            self._runs.toggle(row.group)
            event.accept()
            return
        super().mousePressEvent(event)

    def _mark_ends(self) -> int:
        width = self.fontMetrics().horizontalAdvance(CLOSED)
        return self.columnViewportPosition(TIME) + MARGIN + width

    def _fold_by_key(self, key: int) -> bool:
        """Show or hide the runs of the current row's group; False where that means nothing."""
        row = self._runs.row(self.currentIndex().row())
        if row is None or row.group is None or not self._runs.view.folds:
            return False
        unfolded = row.group in self._runs.view.unfolded
        if (key == Qt.Key.Key_Right and row.folded is not None and not unfolded) or (
            key == Qt.Key.Key_Left and unfolded
        ):
            if row.folded is None and (place := self._runs.find(row.group)) is not None:
                self.choose([place])
            self._runs.toggle(row.group)
            return True
        return False

    def _double_clicked(self, index: Index) -> None:
        if index.column() != STAR:
            self.choose([index.row()])
            self.action_asked.emit("restore")

    def _menu(self, at: QPoint) -> None:
        index = self.indexAt(at)
        if index.isValid():
            self.menu_asked.emit(self.viewport().mapToGlobal(at))

    def event(self, event: QEvent) -> bool:
        """Take keys that mean something here before the window's commands do."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            if self._wanted(event) is not None:
                event.accept()
                return True
        return super().event(event)

    def _wanted(self, event: QKeyEvent) -> str | None:
        if event.key() == Qt.Key.Key_Enter:
            return "restore"
        pressed = QKeySequence(event.keyCombination())
        found = next((name for name, keys in _KEYS.items() if keys == pressed), None)
        return None if found == "undo" and not self.can_undo else found

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Do what a key says with the chosen runs."""
        wanted = self._wanted(event)
        if wanted is not None:
            self.action_asked.emit(wanted)
            event.accept()
        elif event.key() in (Qt.Key.Key_Right, Qt.Key.Key_Left) and self._fold_by_key(event.key()):
            event.accept()
        elif event.key() == Qt.Key.Key_Menu:
            index = self.currentIndex()
            if index.isValid():
                at = self.visualRect(index).bottomLeft()
                self.menu_asked.emit(self.viewport().mapToGlobal(at))
        else:
            super().keyPressEvent(event)

    def keyboardSearch(self, search: str) -> None:
        """Search nothing by typing: it would walk through every run there is."""

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Have a current row, so that keys have something to act on."""
        super().focusInEvent(event)
        if not self.currentIndex().isValid() and self._runs.rowCount():
            self.selectionModel().setCurrentIndex(
                self._runs.index(0, 1), QItemSelectionModel.SelectionFlag.NoUpdate
            )

    def viewportEvent(self, event: QEvent) -> bool:
        """Tell the whole of what is cut; ask for a tooltip that the store has to be asked for."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            index = self.indexAt(event.pos())
            row = self._runs.row(index.row()) if index.isValid() else None
            if row is not None and COLUMNS[index.column()].key == "baseline":
                self.tip_wanted.emit(row, event.globalPos())
            elif row is not None and (whole := self.cut_words(index)):
                tip = index.data(Qt.ItemDataRole.ToolTipRole) or ""
                words = plain_tip(f"{whole}\n{tip}".strip())
                QToolTip.showText(event.globalPos(), as_is(words), self.viewport())
                return True
        return super().viewportEvent(event)

    def cut_words(self, index: Index) -> str:
        """Return the words of a cell that has no room for all of them; else nothing."""
        words = self._runs.painted(index.row())[0][index.column()]
        room = self.columnWidth(index.column()) - 2 * MARGIN
        return words if self.fontMetrics().horizontalAdvance(words) > room else ""

    def let_go(self) -> None:
        """Let go of words that are laid out and were not in sight lately."""
        self._painter.let_go()

    def _paint_in_parts(self) -> None:
        self._in_parts = True

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """Scroll; a picture that is taken of the table at rest is painted at once."""
        self._in_parts = True
        super().scrollContentsBy(dx, dy)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the rows that are to be drawn, or the first of those that have come into view."""
        until = time.perf_counter() + (PART_S if self._in_parts else math.inf)
        self._in_parts = False
        painter = QPainter(self.viewport())
        painter.setFont(self.font())
        self._painter.set_font(self.font())
        area, metrics, look = event.rect(), self.fontMetrics(), self._look
        painter.fillRect(area, look.base)
        cells = self._cells_in(area)
        first, last = self.rowAt(area.top()), self.rowAt(area.bottom())
        if first < 0 or not cells:
            return
        chosen, width = self._parts(), max(cell.x + cell.width for cell in cells)
        for place in range(first, (last if last >= 0 else self._runs.rowCount() - 1) + 1):
            top = self.rowViewportPosition(place)
            if place > first and time.perf_counter() > until:
                self._in_parts = True
                area.setTop(top)
                self.viewport().update(area)
                break
            words, colours = self._runs.painted(place)
            back = look.other if place % 2 else look.base
            if any(place in part for part in chosen):
                back = look.chosen
            self._painter.draw_row(
                painter,
                QRect(0, top, width, for_text(ROW_HEIGHT)),
                cells,
                [words[cell.section] for cell in cells],
                back,
                [self._pens[colours.get(cell.section, "text")] for cell in cells],
                metrics,
            )
        current = self.currentIndex()
        if self.hasFocus() and current.isValid():
            painter.setPen(look.frame)
            painter.drawRect(
                QRect(
                    0, self.rowViewportPosition(current.row()), width - 1, for_text(ROW_HEIGHT) - 1
                )
            )

    def _cells_in(self, area: QRect) -> list[Cell]:
        """Return the columns that reach into an area."""
        header = self.horizontalHeader()
        found = []
        for section, column in enumerate(COLUMNS):
            if not header.isSectionHidden(section):
                x, width = header.sectionViewportPosition(section), header.sectionSize(section)
                if x <= area.right() and x + width >= area.left():
                    found.append(Cell(section, x, width, column.number))
        return found

    # ---- being seen

    def showEvent(self, event: QShowEvent) -> None:
        """Be kept up to date from now on."""
        super().showEvent(event)
        self._runs.look(True)

    def hideEvent(self, event: QHideEvent) -> None:
        """Need no rows while the table is hidden."""
        super().hideEvent(event)
        self._runs.look(False)
