"""The history as Qt's table sees it: pages of the store, with the runs that go on kept new."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import Any

import msgspec
from PySide6.QtCore import (
    QAbstractTableModel,
    QMimeData,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
    QTimer,
    Signal,
    Slot,
)

from gpuexplorer.core.language import tr
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.core.statistics import Summary
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.gui.model.history import History
from gpuexplorer.gui.model.history_columns import COLUMNS, Baselines, place_of, tip
from gpuexplorer.gui.model.history_pages import Answer, Ask, Change, Pages, View, change
from gpuexplorer.gui.model.history_rows import ordered, row_of, with_marks
from gpuexplorer.gui.store_worker import StoreWorker
from gpuexplorer.history.model import INTERRUPTED, Row

Index = QModelIndex | QPersistentModelIndex

RUNS_MIME = "application/x-gpuexplorer-runs"
"""Dragged rows: the runs' ids in ASCII, a line each."""
FIRST_ROWS = (0, 40)
"""What is asked for before the table says which rows are visible."""
MAX_FRESH = 2000
"""Runs of this window whose latest figures are kept for the table."""
MAX_WORDS = 200
"""Rows whose words are kept."""

_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_FLAGS = Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsDragEnabled
_DISPLAY, _ALIGNMENT, _TOOL_TIP = (
    Qt.ItemDataRole.DisplayRole,
    Qt.ItemDataRole.TextAlignmentRole,
    Qt.ItemDataRole.ToolTipRole,
)
_STAR, _RESULT, _TIME = place_of("star"), place_of("result"), place_of("time")
CLOSED, OPEN, BELOW = "▸ ", "▾ ", "    "
"""Before the time of a group's row, without and with its runs below it, and of these."""
NAMES = {
    "workload", "variant", "size", "precision", "device", "device_name", "tags", "note", "id",
    "machine", "person",
}  # fmt: skip
"""Columns in which names stand, and what a user wrote."""
COUNTED = {"workload", "variant", "size", "precision", "device", "device_name"}
"""Of these, those in which a group's row says how many there are, such as ``3 formats``."""
_NONE: tuple[str, ...] = ("…",) + ("",) * (len(COLUMNS) - 1)


def dragged_runs(data: QMimeData) -> list[str]:
    """Return the ids of the runs in dragged data; empty when it holds none."""
    if not data.hasFormat(RUNS_MIME):
        return []
    return bytes(data.data(RUNS_MIME).data()).decode("ascii", "replace").split()


class _Wanted(msgspec.Struct, frozen=True):
    """Rows that somebody waits for: those that stand at some places, wherever they move.

    What rows the store has there can be told of the state alone in which they were chosen.
    """

    state: int | None
    places: Sequence[QPersistentModelIndex]
    then: Callable[[list[Row]], None]
    lost: Callable[[], None]


class HistoryModel(QAbstractTableModel):
    """The runs that a ``View`` asks for, page by page.

    ``settled`` follows every answer of the store: the number of rows may have changed.
    """

    settled = Signal()

    def __init__(self, history: History, runs: StoreWorker) -> None:
        super().__init__()
        self._history, self._runs = history, runs
        self._view = View()
        self._pages = Pages()
        self._shown_view = self._view
        """What the pages are of; the last one until the store has answered."""
        self._held: frozenset[str] = frozenset()
        self._fresh: dict[str, Row] = {}
        """This window's runs with their latest figures, the newest last."""
        self._words: dict[str, tuple[Row, tuple[str, ...]]] = {}
        """Rows with their words, by their ids."""
        self.baselines: Baselines = {}
        self._said_with: tuple[frozenset[str], Baselines, date] = (
            frozenset(), self.baselines, date.today(),
        )  # fmt: skip
        """What words depend on beside their row."""
        self._waiting: list[_Wanted] = []
        self.seen: Callable[[], tuple[int, int]] = lambda: FIRST_ROWS
        """Returns the first and last place that the table shows."""
        self._looked_at, self._outdated = True, False
        self._asking = QTimer(self)
        self._asking.setSingleShot(True)
        self._asking.setInterval(0)
        self._asking.timeout.connect(self._ask)
        runs.answered.connect(self._take)
        runs.changed.connect(self._let_go)
        runs.changed.connect(self.refresh)
        runs.opened.connect(self.refresh)
        runs.troubled.connect(self._take_trouble)

    # ---- which runs

    @property
    def view(self) -> View:
        """Which runs are wanted, in which order."""
        return self._view

    @property
    def answered(self) -> bool:
        """Whether what is shown is what is wanted."""
        return self._pages.state is not None and self._shown_view == self._view

    @property
    def total(self) -> int:
        """How many runs there are for the view."""
        return len(self._pages.extras) + self._pages.runs

    def show_view(self, view: View) -> None:
        """Show other runs, or others first."""
        if view != self._view:
            self._view = view
            self._ask()

    def toggle(self, group: str) -> None:
        """Show the runs of a group below its row, or no more."""
        self.show_view(self._view.toggled(group))

    def look(self, on: bool) -> None:
        """Note whether the table is visible; a hidden one asks for nothing."""
        self._looked_at = on
        if on and self._outdated:
            self.refresh()
        elif not on and self._asking.isActive():
            self._asking.stop()
            self._outdated = True

    @Slot()
    def refresh(self) -> None:
        """Ask again, because the store has changed."""
        self._outdated = not self._looked_at
        if self._looked_at:
            self._asking.start()

    def _ask(self) -> None:
        pages = self._pages
        same = self._shown_view == self._view
        visible = pages.pages_of(*self.seen()) if self._shown_view.alike(self._view) else ()
        places = [at.row() for one in self._waiting for at in one.places if at.isValid()]
        wanted = dict.fromkeys((*(visible or (0,)), *pages.pages_at(places)))
        known = pages.state if same else None
        missing = pages.missing(wanted) if same else tuple(wanted)
        self._runs.ask(Ask(self._view, known, missing, tuple(wanted)))

    @Slot(object)
    def _take(self, answer: Answer) -> None:
        if answer.view != self._view:
            return
        other = answer.view != self._shown_view
        self._shown_view = answer.view
        self._held, self.baselines = answer.held, answer.baselines
        unfolded = answer.view.unfolded if answer.view.folds else frozenset()
        said_with = (unfolded, answer.baselines, date.today())
        same_words = said_with == self._said_with
        if not same_words:
            self._said_with = said_with
            self._words.clear()
        self._apply(self._pages.after(answer), anew=other, same_words=same_words)
        self._forget_fresh()
        self._answer_waiting()
        self.settled.emit()

    def _apply(self, pages: Pages, *, anew: bool = False, same_words: bool = True) -> None:
        """Show other rows, in the way that leaves selection and place as they are if it can be."""
        shown, pages = self._pages, pages.below(self._extras())
        found = Change("other") if anew else change(shown, pages)
        if found.kind == "other":
            self.beginResetModel()
            self._pages = pages
            self.endResetModel()
            return
        before, moved = len(shown), 0
        if found.kind == "above":
            moved = found.count
            self.beginInsertRows(QModelIndex(), 0, found.count - 1)
            self._pages = pages
            self.endInsertRows()
        elif found.count > 0:
            self.beginInsertRows(QModelIndex(), before, before + found.count - 1)
            self._pages = pages
            self.endInsertRows()
        elif found.count < 0:
            self.beginRemoveRows(QModelIndex(), before + found.count, before - 1)
            self._pages = pages
            self.endRemoveRows()
        self._pages = pages
        first, last = self.seen()
        places: Sequence[int] = range(first, min(last + 1, len(pages)))
        if same_words:
            places = [p for p in places if shown.row(p - moved) != pages.row(p)]
        if places:
            self._touch(places[0], places[-1])

    def _extras(self) -> Sequence[Row]:
        """Return this window's runs that the store does not hold, where they belong on top."""
        if not (self._shown_view.by_time or self._runs.trouble is not None):
            return ()
        rows = [row for row in self._fresh.values() if row.id not in self._held]
        return ordered(rows, self._shown_view)

    # ---- this window's runs

    def update(self, ticket: int, record: RunRecord, summary: Summary, *, running: bool) -> None:
        """Bring a run's figures up to date, in the session's history and in the table."""
        entry = self._history.update(ticket, record, summary, running=running)
        row = row_of(entry, record)
        known = self._fresh.pop(row.id, None)
        self._fresh[row.id] = row
        while len(self._fresh) > MAX_FRESH:
            del self._fresh[next(iter(self._fresh))]
        if known is None or row.id not in self._held:
            self._apply(self._pages)
        place = self._pages.find(row.id)
        if place is not None:
            self._touch(place, place)

    def sampled(self, record: RunRecord, batches: Iterable[SampleBatch]) -> None:
        """Hand the samples of a run over to the store."""
        self._runs.go_on(record, batches)

    def finish(self, ticket: int, record: RunRecord) -> None:
        """Note that a run is over, and store it."""
        self._history.finish(ticket)
        if record.samples:
            self._runs.end(record)

    @Slot(object)
    def _take_trouble(self, _trouble: object) -> None:
        self._apply(self._pages)

    @Slot()
    def _let_go(self) -> None:
        """Leave to the store what it holds."""
        self._history.let_go(self._runs.kept)
        self._forget_fresh()

    def _forget_fresh(self) -> None:
        """Forget figures that the store tells as well, unless the table would miss them."""
        for run_id, row in [*self._fresh.items()]:
            if row.running or not self._runs.kept(run_id):
                continue
            place = self._pages.find(run_id)
            shown = self._pages.row(place) if place is not None else None
            told = shown is None or (run_id in self._held and not shown.running)
            if told or not self._looked_at:
                del self._fresh[run_id]

    def _touch(self, first: int, last: int) -> None:
        self.dataChanged.emit(self.index(first, 0), self.index(last, len(COLUMNS) - 1))

    # ---- rows

    def row(self, place: int) -> Row | None:
        """Return the run at a place, with its latest figures; None when it is not known yet."""
        row = self._pages.row(place)
        if row is None or not row.running:
            return row
        fresh = self._fresh.get(row.id)
        return with_marks(fresh, row) if fresh is not None else row

    def find(self, run_id: str) -> int | None:
        """Return the place of a run among those that are known."""
        return self._pages.find(run_id)

    def latest(self, row: Row) -> Row:
        """Return a row with its latest figures, as far as they are known."""
        place = self.find(row.id)
        now = self.row(place) if place is not None else None
        return now if now is not None else row

    def stored(self, row: Row) -> bool:
        """Return whether the store holds a run."""
        return row.id not in self._fresh or row.id in self._held

    def with_rows(
        self,
        places: Sequence[int],
        then: Callable[[list[Row]], None],
        lost: Callable[[], None] = lambda: None,
    ) -> None:
        """Call ``then`` with the runs at some places, now or once the store has told them.

        ``lost`` is called instead where others may stand there by then.
        """
        rows = [row for place in places if (row := self.row(place)) is not None]
        if len(rows) == len(places):
            then(rows)
            return
        held = [QPersistentModelIndex(self.index(place, 0)) for place in places]
        self._waiting.append(_Wanted(self._pages.state, held, then, lost))
        self._asking.start()

    def _answer_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if self._pages.state != one.state or not all(at.isValid() for at in one.places):
                one.lost()
                continue
            rows = [row for at in one.places if (row := self.row(at.row())) is not None]
            if len(rows) == len(one.places):
                one.then(rows)
            else:
                self._waiting.append(one)
        if self._waiting:
            self._asking.start()

    # ---- as Qt asks

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """Return the number of runs, whether they are known or not."""
        return 0 if parent.isValid() else len(self._pages)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """Return the number of columns."""
        return 0 if parent.isValid() else len(COLUMNS)

    def data(self, index: Index, role: int = _DISPLAY) -> Any:
        """Return a cell's words, alignment or tooltip."""
        if role == _DISPLAY:
            return self._cells(self.row(index.row()))[index.column()]
        if role == _ALIGNMENT:
            return _RIGHT if COLUMNS[index.column()].number else _LEFT
        if role == _TOOL_TIP:
            row = self.row(index.row())
            if row is not None:
                stored = self.stored(row)
                return tr(tip(row, COLUMNS[index.column()].key, self.baselines, stored=stored))
        return None

    def _cells(self, row: Row | None) -> tuple[str, ...]:
        if row is None:
            self._asking.start()
            return _NONE
        known = self._words.get(row.id)
        if known is not None and known[0] == row:
            return known[1]
        if len(self._words) >= MAX_WORDS:
            self._words.clear()
        ours = set() if row.folded is None else COUNTED
        told = [
            words if column.key in NAMES - ours else tr(words)
            for column in COLUMNS
            for words in [column.words(row, self.baselines)]
        ]
        told[_TIME] = f"{self._mark(row)}{told[_TIME]}"
        cells = tuple(told)
        self._words[row.id] = row, cells
        return cells

    def _mark(self, row: Row) -> str:
        """Return what stands before a row's time: whether there are runs below it, or above."""
        unfolded = self._shown_view.unfolded
        if row.folded is not None:
            return OPEN if row.group in unfolded else CLOSED
        return BELOW if row.group in unfolded and self._shown_view.folds else ""

    def painted(self, place: int) -> tuple[tuple[str, ...], Mapping[int, str]]:
        """Return a row's words, and the theme's name of the colour of those that have their own."""
        row = self.row(place)
        words = self._cells(row)
        if row is None:
            return words, {_STAR: "muted"}
        colours = {_STAR: "accent" if row.starred else "muted"}
        if row.verified is False or row.damaged is not None:
            colours[_RESULT] = "bad"
        elif row.suspect is not None or row.stopped_by == INTERRUPTED:
            colours[_RESULT] = "warning"
        return words, colours

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = _DISPLAY) -> Any:
        """Return a column's title or meaning."""
        if orientation == Qt.Orientation.Horizontal:
            column = COLUMNS[section]
            if role == _DISPLAY:
                return tr(column.title)
            if role == _ALIGNMENT:
                return _RIGHT if column.number else _LEFT
            if role == _TOOL_TIP:
                return tr(column.explanation)
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Let rows be chosen and dragged."""
        return _FLAGS if index.isValid() else Qt.ItemFlag.NoItemFlags

    def mimeTypes(self) -> list[str]:
        """Return what dragged rows are."""
        return [RUNS_MIME]

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        """Return dragged rows: the ids of those that are known."""
        rows = [self.row(place) for place in dict.fromkeys(index.row() for index in indexes)]
        data = QMimeData()
        ids = [row.id for row in rows if row is not None and row.folded is None]
        data.setData(RUNS_MIME, "\n".join(ids).encode())
        return data
