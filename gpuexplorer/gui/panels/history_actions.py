"""What can be done to chosen runs of the history, each through the store's thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec
from PySide6.QtCore import QObject, QPoint, Qt, Signal, SignalInstance
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QApplication, QMenu, QToolTip, QWidget

from gpuexplorer import reproduce
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.language import tr
from gpuexplorer.core.result import Environment, RunResult
from gpuexplorer.core.units import count, plural
from gpuexplorer.gui.model.ghosts import StoredRun, ghost_of
from gpuexplorer.gui.model.history import History
from gpuexplorer.gui.model.history_columns import against_baseline, baseline_key
from gpuexplorer.gui.notice import Notice, capital
from gpuexplorer.gui.panels.history_chosen import Chosen
from gpuexplorer.gui.panels.history_model import HistoryModel
from gpuexplorer.gui.panels.history_table import MAX_CHOSEN, HistoryTable
from gpuexplorer.gui.store_worker import StoreWorker
from gpuexplorer.history.errors import StoreDamaged
from gpuexplorer.history.fingerprint import differences
from gpuexplorer.history.model import Deletion, Query, Row
from gpuexplorer.history.store import Store

if TYPE_CHECKING:
    from gpuexplorer.gui.panels.history_notes import NotesDialog

T = TypeVar("T")
MAX_COPIED = 200
"""Runs copied as commands at once."""
MAX_COMPARED = 16
MAX_STORED = 6
"""Runs whose launches are drawn over each other."""
MAX_UNDO = 50
SHOWN_DIFFERENCES = 8

OF_ONE_RUN = ("ghost", "export", "script", "baseline")
Rows = list[Row]
LOST = "The list has changed before the chosen runs were known: choose them again."
FOREIGN = "Another program measured this: GPU Explorer cannot measure it again."


class Repeatable(NamedTuple):
    """What a run was, where, and how long its launches took: enough to have it again."""

    config: RunConfig
    environment: Environment
    median_s: float
    foreign: bool = False
    """Whether another program measured it."""


COMMANDS_COPIED = "The command line is on the clipboard.", "The command lines are on the clipboard."
SCRIPTS_COPIED = (
    "The Python script is on the clipboard.",
    "The Python scripts are on the clipboard.",
)


def _runs_of(store: Store, groups: Sequence[str], query: Query) -> Rows:
    """Return the runs of some groups that a query is for."""
    found: Rows = []
    for group in groups:
        asked = msgspec.structs.replace(query, group=group)
        found += store.find(asked, limit=MAX_CHOSEN - len(found))
    return found


class HistoryActions(QObject):
    """Does what the table, its menu or a key asks for.

    ``restore_asked`` carries a RunConfig, ``ghost_asked`` a Ghost, ``export_asked`` a RunRecord,
    ``compare_asked`` and ``stored_asked`` a list of ids, the older runs first; ``open_asked`` a
    group's id; ``message`` a sentence for the status bar, ``notice`` a Notice.
    """

    restore_asked = Signal(object)
    ghost_asked = Signal(object)
    export_asked = Signal(object)
    compare_asked = Signal(list)
    stored_asked = Signal(list)
    open_asked = Signal(str)
    message = Signal(str)
    notice = Signal(object)
    deleted = Signal(str)
    """What was deleted, in words."""
    undone = Signal()
    marked = Signal()
    """Tags or notes have changed."""

    def __init__(
        self,
        parent: QWidget,
        table: HistoryTable,
        model: HistoryModel,
        runs: StoreWorker,
        history: History,
    ) -> None:
        super().__init__(parent)
        self._window = parent
        self._table, self._model, self._runs, self._history = table, model, runs, history
        self._deletions: deque[Deletion] = deque(maxlen=MAX_UNDO)
        self.kernel_folders: Callable[[], Sequence[Path]] = tuple
        """Returns the user's kernel folders, for runs that do not say theirs."""
        self._does: dict[str, Callable[[Rows], None]] = {
            "restore": self._restore,
            "star": self._star,
            "change": self._change,
            "delete": self._delete,
            "copy": partial(self._copy, reproduce.command_line, COMMANDS_COPIED, "\n"),
            "script": partial(self._copy, reproduce.python_script, SCRIPTS_COPIED, "\n\n"),
            "export": self._export,
            "ghost": self._ghost,
            "compare": self._compare,
            "stored": self._compare_stored,
            "baseline": self._compare_with_baseline,
        }
        table.action_asked.connect(self.ask)
        table.menu_asked.connect(self.open_menu)
        table.star_clicked.connect(lambda row: self._do("star", model.view.query, [row]))
        table.tip_wanted.connect(self._tip)

    # ---- asking

    def ask(self, wanted: str) -> None:
        """Do something with the chosen runs; ``undo`` brings the last deleted ones back."""
        if wanted == "undo":
            self.undo()
            return
        self._ask_of(self._chosen(), wanted)

    def _chosen(self) -> Chosen:
        """Return the chosen rows, or the current one, whatever is chosen later."""
        places, number = self._table.chosen_places(), self._table.chosen_count()
        current = self._table.currentIndex()
        if not places and current.isValid():
            places, number = [current.row()], 1
        return Chosen(self._model, places, number)

    def _ask_of(self, chosen: Chosen, wanted: str) -> None:
        """Do something with rows that were chosen before."""
        if chosen.number > MAX_CHOSEN:
            self.message.emit(
                f"{count(chosen.number)} runs are chosen; choose {count(MAX_CHOSEN)} at most."
            )
        elif chosen.number:
            chosen.use(partial(self._do, wanted, chosen.query), partial(self.message.emit, LOST))

    def _do(self, wanted: str, query: Query, rows: Rows) -> None:
        """Do something with rows; with a group's row it is done with its runs, or its view.

        The runs of a group are those that ``query`` is for.
        """
        groups = [row.group for row in rows if row.folded is not None and row.group is not None]
        if not groups:
            self._does[wanted](rows)
        elif wanted == "restore":
            self._open_or_restore(rows[0])
        elif wanted in OF_ONE_RUN:
            self.message.emit("This takes one run: → shows the runs of the group.")
        else:

            def got(found: Rows) -> None:
                alone = (row for row in rows if row.folded is None)
                self._does[wanted]([*{row.id: row for row in (*alone, *found)}.values()])

            self._with_store(lambda store: _runs_of(store, groups, query), got)

    def _open_or_restore(self, row: Row) -> None:
        if row.folded is not None and row.group is not None:
            self.open_asked.emit(row.group)
        else:
            self._restore([row])

    def open_menu(self, at: QPoint) -> None:
        """Open the menu for the chosen runs."""
        menu = self.menu()
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(at)

    def menu(self) -> QMenu:
        """Return the menu for the runs that are chosen now, whatever is chosen by the click."""
        held = self._chosen()
        chosen = self._table.chosen_count()
        one = chosen == 1
        place = self._table.chosen_places()[0] if one else -1
        row = self._model.row(place) if one else None
        group = row is not None and row.folded is not None
        one_run, many = one and not group, not one or group
        runs = row.folded.runs if row is not None and row.folded is not None else chosen
        menu = QMenu(self._window)
        menu.setObjectName("historyMenu")
        based = row is not None and against_baseline(row, self._model.baselines) is not None
        for wanted, words, keys, possible in (
            (
                "restore",
                "Open in its view" if group else "Set the knobs to this run",
                "Return",
                one,
            ),
            ("ghost", "Pin as a ghost", "", one_run),
            ("", "", "", True),
            (
                "compare",
                f"Compare these {count(chosen)} runs…" if chosen > 1 else "Compare with…",
                "",
                2 <= chosen <= MAX_COMPARED,
            ),
            (
                "stored",
                "Compare as stored",
                "",
                2 <= chosen <= MAX_STORED,
            ),
            ("baseline", "Compare with its baseline…", "", based),
            ("", "", "", True),
            ("star", "Star, or take the star away", "S", True),
            ("change", "Tags…" if many else "Tags and note…", "F2", True),
            ("", "", "", True),
            ("copy", "Copy as a command", "Ctrl+C", runs <= MAX_COPIED),
            ("script", "Copy as a Python script", "", one_run),
            ("export", "Export this run…", "", one_run),
            ("", "", "", True),
            ("delete", f"Delete {count(runs)} runs" if runs > 1 else "Delete", "Del", True),
        ):
            if not wanted:
                menu.addSeparator()
                continue
            action = QAction(tr(words), menu)
            action.setObjectName(f"history_{wanted}")
            if keys:  # shown; the table itself takes the key
                action.setShortcut(QKeySequence(keys))
                action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            action.setEnabled(possible)
            action.triggered.connect(lambda _=False, wanted=wanted: self._ask_of(held, wanted))
            menu.addAction(action)
        return menu

    # ---- doing

    def _with_store(
        self,
        work: Callable[[Store], T],
        then: Callable[[T], object] = lambda outcome: None,
        *,
        needs: Sequence[str] = (),
        failed: Callable[[], object] = lambda: None,
    ) -> None:
        """Do something with the store, then call ``then`` with what came of it.

        What failed is told as a notice, after ``failed`` is called.
        """

        def done(outcome: T | ExplorerError) -> None:
            if isinstance(outcome, ExplorerError):
                failed()
                self._failed(outcome)
            else:
                then(outcome)

        self._runs.do(work, done, needs=needs)

    def _failed(self, error: ExplorerError) -> None:
        self.notice.emit(Notice("bad", f"{capital(str(error))}.", detail=error.detail))

    def _star(self, rows: Rows) -> None:
        on = not all(row.starred for row in rows)
        ids = [row.id for row in rows]
        self._with_store(lambda store: store.star(ids, on), needs=ids)

    def _change(self, rows: Rows) -> None:
        self._with_store(lambda store: store.choices("tag"), partial(self._ask_notes, rows))

    def _ask_notes(
        self, rows: Sequence[Row], tags: Sequence[str], typed: tuple[str, str] | None = None
    ) -> None:
        """Open the dialog, with what was ``typed`` before where that was not stored."""
        from gpuexplorer.gui.panels.history_notes import NotesDialog

        dialog = NotesDialog(rows, tags, self._window, typed)
        dialog.accepted.connect(partial(self._changed, dialog))
        dialog.open()

    def _changed(self, dialog: NotesDialog) -> None:
        ids = [row.id for row in dialog.rows]
        added, removed, note = dialog.added, dialog.removed, dialog.new_note
        rows, typed = dialog.rows, (dialog.tags.text(), dialog.note.toPlainText())

        def work(store: Store) -> None:
            for tag in added:
                store.tag(ids, tag)
            for tag in removed:
                store.tag(ids, tag, False)
            if note is not None:
                store.note(ids[0], note)

        again = partial(self._ask_notes, rows, (), typed)
        self._with_store(work, lambda _: self.marked.emit(), needs=ids, failed=again)

    def _delete(self, rows: Rows) -> None:
        ids = [row.id for row in rows if not row.running]
        if not ids:
            self.message.emit("A run that is still going cannot be deleted; stop it first.")
            return

        def then(deletion: Deletion) -> None:
            if deletion.runs:
                self._offer_undo(deletion)
                self.deleted.emit(
                    plural(deletion.runs, "{number} run deleted", "{number} runs deleted")
                )

        self._with_store(lambda store: store.delete(ids), then, needs=ids)

    def _offer_undo(self, deletion: Deletion) -> None:
        self._deletions.append(deletion)
        self._table.can_undo = True

    def undo(self) -> None:
        """Bring back what was deleted last in this window."""
        if not self._deletions:
            return
        deletion = self._deletions.pop()
        self._table.can_undo = bool(self._deletions)

        def then(number: int) -> None:
            self.undone.emit()
            self.message.emit(plural(number, "The run is back.", "{number} runs are back."))

        self._with_store(
            lambda store: store.undelete(deletion), then, failed=lambda: self._offer_undo(deletion)
        )

    # ---- a run's configuration

    def _with_configs(self, rows: Rows, then: Callable[[list[Repeatable]], None]) -> None:
        """Call ``then`` with the runs' configurations, and where they ran: this session's are at
        hand.
        """
        here: dict[str, Repeatable] = {
            entry.id: Repeatable(entry.config, entry.environment, entry.summary.median_s)
            for entry in self._history
        }
        known = [here[row.id] for row in rows if row.id in here]
        if len(known) == len(rows):
            then(known)
            return
        ids = [row.id for row in rows]

        def got(found: list[RunResult | StoreDamaged]) -> None:
            damaged = [error for error in found if isinstance(error, StoreDamaged)]
            read = [run for run in found if not isinstance(run, StoreDamaged)]
            if read:
                then(
                    [
                        Repeatable(
                            run.config,
                            run.environment,
                            run.timing.median_s,
                            run.origin is not None,
                        )
                        for run in read
                    ]
                )
            if damaged:
                self._failed(damaged[0])

        self._with_store(lambda store: store.get_all(ids, samples=False), got)

    def _restore(self, rows: Rows) -> None:
        def restore(known: list[Repeatable]) -> None:
            if known[0].foreign:  # what it calls matmul need not be ours
                self.message.emit(FOREIGN)
            else:
                self.restore_asked.emit(known[0].config)

        self._with_configs(rows[:1], restore)

    def _copy(
        self,
        make: Callable[..., str],
        copied: tuple[str, str],
        between: str,
        rows: Rows,
    ) -> None:
        def again(run: Repeatable) -> str:
            own = Path(run.environment.kernels) if run.environment.kernels else None
            here = own is not None and own.is_absolute()  # else it came without its place
            folders = [own] if own is not None and here else self.kernel_folders()
            agreed = reproduce.is_long(run.median_s)
            return make(run.config, folders, engine=run.environment.engine, agreed=agreed)

        def copy(known: list[Repeatable]) -> None:
            ours = [run for run in known if not run.foreign]
            if not ours:
                self.message.emit(FOREIGN)
                return
            QApplication.clipboard().setText(between.join(again(run) for run in ours))
            told = [plural(len(ours), *copied)]
            if left_out := len(known) - len(ours):
                told.append(
                    plural(
                        left_out,
                        "{number} run of another program is left out.",
                        "{number} runs of other programs are left out.",
                    )
                )
            self.message.emit(" ".join(told))

        self._with_configs(rows[:MAX_COPIED], copy)

    # ---- a run with its samples

    def _export(self, rows: Rows) -> None:
        for entry in self._history:
            if entry.id == rows[0].id and entry.record is not None:
                self.export_asked.emit(entry.record)
                return

        self._with_run(rows[0].id, StoredRun, self.export_asked)

    def _ghost(self, rows: Rows) -> None:
        self._with_run(rows[0].id, ghost_of, self.ghost_asked)

    def _with_run(
        self, run_id: str, make: Callable[[RunResult], object], asked: SignalInstance
    ) -> None:
        """Have a signal carry what is made of a run with its samples."""
        self._with_store(
            lambda store: make(store.get(run_id, listed=False)), asked.emit, needs=[run_id]
        )

    # ---- comparing

    def _compare(self, rows: Rows) -> None:
        if not 2 <= len(rows) <= MAX_COMPARED:
            self.message.emit(f"Choose 2 to {MAX_COMPARED} runs to compare.")
            return
        self.compare_asked.emit([row.id for row in sorted(rows, key=lambda row: row.time_utc)])

    def _compare_stored(self, rows: Rows) -> None:
        rows = [row for row in rows if not row.running]
        if not 2 <= len(rows) <= MAX_STORED:
            self.message.emit(f"Choose 2 to {MAX_STORED} runs that are done.")
            return
        self.stored_asked.emit([row.id for row in sorted(rows, key=lambda row: row.time_utc)])

    def _compare_with_baseline(self, rows: Rows) -> None:
        baseline = self._model.baselines.get(baseline_key(rows[0]))
        if baseline is not None and baseline.id != rows[0].id:
            self.compare_asked.emit([baseline.id, rows[0].id])

    def _tip(self, row: Row, at: QPoint) -> None:
        """Show what differs between a run and its baseline, once the store has told it."""
        found = against_baseline(row, self._model.baselines)
        if found is None or not found.differs:
            return
        ids = (found.baseline.id, row.id)

        def got(sentences: list[str] | ExplorerError) -> None:
            if not isinstance(sentences, ExplorerError) and QToolTip.isVisible():
                more = len(sentences) - SHOWN_DIFFERENCES
                lines = sentences[:SHOWN_DIFFERENCES] + ([f"… and {more} more"] if more > 0 else [])
                QToolTip.showText(
                    at, tr("\n".join([found.sentence, "⚠ The two differ:", *lines])), self._table
                )

        self._runs.do(lambda store: differences(*(store.get(i, samples=False) for i in ids)), got)
