"""The engines that there are: the list, what is known of each, and what can be done with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.language import tr
from gpuexplorer.core.units import plural
from gpuexplorer.engine.candidates import FoundInterpreter
from gpuexplorer.engine.checking import EngineReport
from gpuexplorer.engine.interpreters import BUILT_IN
from gpuexplorer.gui.engines_checks import Checks
from gpuexplorer.gui.engines_made import MadeEngines
from gpuexplorer.gui.model.engine_details import details
from gpuexplorer.gui.model.engines import EngineRow, EnginesModel
from gpuexplorer.gui.notice import capital
from gpuexplorer.gui.panels.engines_table import EnginesTable
from gpuexplorer.gui.panels.engines_ways import MOST_OFFERED, EngineWays
from gpuexplorer.gui.task import Tasks
from gpuexplorer.gui.widgets.button import button

ABOUT = (
    "The process that measures runs in one of these Pythons. Everything measured is kept when you "
    "choose another."
)
CHECK_TIP = "Start it and ask what it has; measuring pauses meanwhile"
CANCEL_TIP = "End the check; nothing is found out"


class EnginesList(QWidget):
    """Shows the engines; ``use_asked`` carries the name of the one that is to measure.

    ``check_begins`` and ``check_ended`` enclose everything during which nothing should be measured.
    ``set_up_asked`` wants another one made, ``machine_asked`` one on another machine,
    ``update_asked`` carries the name of one there that is to become of this version,
    ``go_on_asked`` carries the ``Managed`` that is to be finished, ``help_asked`` wants the page on
    engines.
    """

    use_asked = Signal(str)
    check_begins = Signal()
    check_ended = Signal()
    set_up_asked = Signal()
    machine_asked = Signal()
    update_asked = Signal(str)
    go_on_asked = Signal(object)
    help_asked = Signal()
    close_asked = Signal()

    def __init__(
        self, tasks: Tasks, in_use: Callable[[], str | None], busy_with: Callable[[], str]
    ) -> None:
        """``in_use`` tells the word for the present engine, ``busy_with`` who else has it."""
        super().__init__()
        self.setObjectName("enginesList")
        self._in_use, self._busy_with = in_use, busy_with
        self.model = EnginesModel()
        self.checks = Checks(self)
        self.checks.began.connect(self.check_begins)
        self.checks.asking.connect(self._asking)
        self.checks.stepped.connect(self.tell)
        self.checks.checked.connect(self._checked)
        self.checks.ended.connect(self._checks_over)
        self.checks.found.connect(self._found)
        self.made = MadeEngines(self, tasks, self.model)
        self.made.changed.connect(self.refresh)
        self.made.told.connect(self.tell)
        self._used_before: set[str] = set()
        """Names that were removed while their engine measured."""
        self._finding = False
        self._put_together()

    # ---- construction

    def _put_together(self) -> None:
        about = QLabel(tr(ABOUT))
        about.setWordWrap(True)
        about.setProperty("role", "muted")
        self.table = EnginesTable()
        self.table.use_asked.connect(self.use)
        self.table.remove_asked.connect(self.remove)
        self.table.currentCellChanged.connect(lambda *_: self._show_chosen())
        self.ways = EngineWays(self.checks, self._taken)
        self.ways.set_up_asked.connect(self.set_up_asked)
        self.ways.machine_asked.connect(self.machine_asked)
        self.ways.find_asked.connect(self.find_pythons)
        self.ways.add_asked.connect(self.add)
        self.ways.help_asked.connect(self.help_asked)
        self.details = QPlainTextEdit()
        self.details.setObjectName("engineDetails")
        self.details.setAccessibleName(tr("What is known of the chosen engine"))
        self.details.setReadOnly(True)
        self.details.setTabChangesFocus(True)
        parts = QSplitter(Qt.Orientation.Vertical)
        parts.setChildrenCollapsible(False)
        parts.addWidget(self.table)
        parts.addWidget(self.details)
        parts.setStretchFactor(0, 1)
        parts.setSizes([330, 170])
        self.words = QLabel()
        self.words.setObjectName("engineWords")
        self.words.setWordWrap(True)
        self.words.setTextFormat(Qt.TextFormat.PlainText)
        self.words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(about)
        column.addWidget(self.ways)
        column.addWidget(parts, 1)
        column.addWidget(self.words)
        column.addLayout(self._buttons())
        undo = QShortcut(QKeySequence("Ctrl+Z"), self)
        undo.activated.connect(self.undo)

    def _buttons(self) -> QHBoxLayout:
        """Return the row of buttons for the chosen engine."""
        self.use_button = button(
            "&Use", "useEngineButton",
            "Measure in it, now and at the next start; the command line uses it too (Enter)",
            lambda: self._with_chosen(self.use),
        )  # fmt: skip
        self.check_button = button(
            "&Check", "checkEngineButton",
            CHECK_TIP,
            self._check_or_cancel,
        )  # fmt: skip
        self.go_on_button = button(
            "&Continue", "goOnEngineButton",
            "Finish setting it up, with what was downloaded",
            lambda: self._with_chosen(self.go_on),
        )  # fmt: skip
        self.update_button = button(
            "Up&date", "updateEngineButton",
            "Bring this version of GPU Explorer to its machine, and test it",
            lambda: self._with_chosen(self.update_asked.emit),
        )  # fmt: skip
        self.remove_button = button(
            "&Remove", "removeEngineButton", "", lambda: self._with_chosen(self.remove)
        )
        self.undo_button = button(
            "U&ndo", "undoEngineButton", "Bring back what was removed last (Ctrl+Z)", self.undo
        )
        close = button("Close", "closeEnginesButton", "Close this window", self.close_asked.emit)
        row = QHBoxLayout()
        for widget in (
            self.use_button, self.go_on_button, self.check_button, self.update_button,
            self.remove_button, self.undo_button,
        ):  # fmt: skip
            row.addWidget(widget)
        row.addStretch(1)
        row.addWidget(close)
        return row

    # ---- what can be done

    def _with_chosen(self, act: Callable[[str], None]) -> None:
        if self.table.chosen is not None:
            act(self.table.chosen.name)

    def _taken(self) -> set[str]:
        return {row.path for row in self.table.rows if row.origin != "found"}

    def _row(self, name: str) -> EngineRow | None:
        return next((row for row in self.table.rows if row.name == name), None)

    def use(self, name: str) -> None:
        """Have an engine measure, now and at the next start; one that was found gets a name."""
        row = self._row(name)
        if row is not None and row.origin == "unfinished":
            self.go_on(name)
            return
        try:
            if row is not None and row.origin in ("found", "managed"):
                name = self._named(row)
            if name in self.model.names:  # a path is used as long as the window is open
                self.model.choose(name)
        except ExplorerError as error:
            self._tell_error(error)
            return
        self.use_asked.emit(name)
        self.refresh(choose=name)

    def _named(self, row: EngineRow) -> str:
        """Return a row's name, a new one where it has none; raises InputError."""
        if row.name in self.model.names:
            return row.name
        name = self.model.add(row.path, row.managed.name if row.managed is not None else "")
        if row.report is not None:
            self.model.take(name, row.report)
        return name

    def go_on(self, name: str) -> None:
        """Finish an environment that was begun."""
        row = self._row(name)
        if row is not None and row.being_made:
            self.set_up_asked.emit()
        elif row is not None and row.origin == "unfinished" and self.model.making is None:
            self.go_on_asked.emit(row.managed)

    def add(self, path: Path | str) -> None:
        """Give an interpreter or an environment a name, and check it."""
        try:
            name = self.model.add(path)
        except ExplorerError as error:
            self._tell_error(error)
            return
        self.refresh(choose=name)
        self.tell(f"Added as '{name}'.")
        self.check(name)

    def remove(self, name: str) -> None:
        """Forget an engine, or delete one that was made here; the one in use gives way."""
        row = self._row(name)
        if row is None or row.name == BUILT_IN or name == self.model.making:
            return
        if row.managed is not None and row.origin in ("managed", "unfinished"):
            self.delete(name)
            return
        if row.machine is not None and not self.made.leave_or_delete(name, row.machine):
            return
        if name not in self.model.names:
            return
        try:
            self.model.remove(name)
        except ExplorerError as error:
            self._tell_error(error)
            return
        if row.in_use:
            self._used_before.add(name)
            self.use_asked.emit(BUILT_IN)
        self.tell(f"Removed '{name}'; Undo brings it back.")
        self.refresh()

    def undo(self) -> None:
        """Bring back the engine that was removed last, and use it if it was in use."""
        try:
            name = self.model.undo()
        except ExplorerError as error:
            self._tell_error(error)
            return
        if name is not None:
            self.tell(f"'{name}' is back.")
            if name in self._used_before:
                self._used_before.discard(name)
                self.use_asked.emit(name)
            self.refresh(choose=name)

    def delete(self, name: str) -> bool:
        """Delete an environment that was made here; return whether that was confirmed."""
        if not self.made.may_delete(name):
            return False
        if (self._in_use() or BUILT_IN) == name:
            self.made.delete_unused(name, lambda: self.use_asked.emit(BUILT_IN))
        else:
            self.made.delete(name)
        self.refresh()
        return True

    # ---- checking

    @property
    def checking(self) -> bool:
        """Whether an engine is being asked."""
        return self.checks.running

    def check(self, *names: str) -> None:
        """Ask engines what they have; nothing is measured meanwhile."""
        if self.checking or not names:
            return
        busy = self.busy()
        if busy:
            self.tell(f"The engine is {busy}: check again once that is done.")
            return
        self.checks.ask(names)

    def busy(self) -> str:
        """Say what else wants the processor for itself; empty when nothing does."""
        if self.model.making is not None:
            return f"held back while '{self.model.making}' is set up"
        return self._busy_with()

    def _check_or_cancel(self) -> None:
        if self.checking:
            self.checks.cancel()
            self.check_button.setEnabled(False)
        else:
            self._with_chosen(lambda name: self.check(name))

    def _asking(self, name: str) -> None:
        self.model.checking = name
        self.refresh()

    def _checked(self, name: str, report: EngineReport | None) -> None:
        self.model.checking = None
        if report is None:
            self.tell("Cancelled; nothing was found out.")
            return
        self.model.take(name, report)
        if report.ok:
            answered = f"answered in {report.handshake_s:.2f} s" if report.handshake_s else "ready"
            self.tell(f"'{name}': {answered}.")
        else:
            self.tell(f"'{name}': {report.problem}.")
        self.refresh()

    def _checks_over(self) -> None:
        self.model.checking = None
        if self._finding:
            self._finding = False
            self._say_found()
        self.check_ended.emit()
        self.refresh()

    # ---- Pythons on this machine

    def find_pythons(self) -> None:
        """Look for the Pythons of this machine and ask each what it has."""
        if self.checking or self._finding:
            return
        busy = self.busy()
        if busy:
            self.tell(f"The engine is {busy}: find again once that is done.")
            return
        self._finding = True
        self.tell("Looking for Pythons on this machine…")
        self.checks.look_for_pythons()
        self._show_chosen()

    def _found(self, found: list[FoundInterpreter]) -> None:
        if not self._finding:
            return
        self.model.found = found[:MOST_OFFERED]
        self.refresh()
        words = [row.name for row in self.table.rows if row.origin == "found"]
        if words:
            self.check(*words)
        if not self.checking:
            self._finding = False
            self._say_found()
            self._show_chosen()

    def _say_found(self) -> None:
        found = [row for row in self.table.rows if row.origin == "found"]
        able = sum(row.known for row in found)
        if not found:
            self.tell("No other Python was found on this machine. 'Set up an engine…' makes one.")
        else:
            self.tell(
                plural(
                    len(found),
                    "{number} Python found, {able} of them can measure as they are.",
                    "{number} Pythons found, {able} of them can measure as they are.",
                    able=able or "none",
                )
            )

    # ---- showing

    def refresh(self, choose: str | None = None) -> None:
        """Show the engines as they are known now."""
        try:
            rows = self.model.rows(self._in_use())
        except ExplorerError as error:
            self._tell_error(error)
            in_use = self._in_use() is None
            own = EngineRow(BUILT_IN, "this program's own Python", in_use, True, origin="built-in")
            rows = [own]
        self.table.show_rows(rows, choose)
        self._show_chosen()

    def _show_chosen(self) -> None:
        row = self.table.chosen
        origin = row.origin if row is not None else "built-in"
        made = origin in ("managed", "unfinished")
        free = not self.checking and not self._finding
        self.use_button.setEnabled(
            row is not None
            and origin != "unfinished"
            and not (row.in_use and row.is_default)
            and row.name != self.made.waiting
        )
        self.check_button.setText(tr("&Cancel" if self.checking else "&Check"))
        self.check_button.setToolTip(tr(CANCEL_TIP if self.checking else CHECK_TIP))
        self.check_button.setEnabled(
            self.checking or (row is not None and free and origin != "unfinished")
        )
        self.go_on_button.setVisible(origin == "unfinished")
        self.go_on_button.setEnabled(self.model.making is None)
        self.update_button.setVisible(origin == "far")
        self.update_button.setEnabled(free and self.model.making is None)
        self.ways.set_free(free)
        self.remove_button.setEnabled(
            row is not None
            and free
            and row.name not in (BUILT_IN, self.model.making)
            and (made or row.name in self.model.names)
        )
        self.remove_button.setToolTip(
            tr(
                "Delete it, after a question (Del)"
                if made
                else "Forget it, and delete what is on its machine if you want to (Del)"
                if origin == "far"
                else "Forget its name; it stays as it is (Del)"
            )
        )
        self.remove_button.setText(tr("&Remove…" if made or origin == "far" else "&Remove"))
        self.undo_button.setEnabled(self.model.can_undo is not None)
        text = details(row) if row is not None else ""
        if text != self.details.toPlainText():
            self.details.setPlainText(tr(text))

    def tell(self, words: str) -> None:
        """Say a sentence below the table."""
        self.words.setText(tr(words))

    def _tell_error(self, error: ExplorerError) -> None:
        self.tell(f"{capital(str(error))}.")

    def opened(self) -> None:
        """Bring everything up to date, and look for Pythons and environments."""
        self.refresh()
        self.made.look()
        if self.checks.candidates is None:
            self.checks.look_for_pythons()

    def stop(self) -> None:
        """Stop asking engines, and looking for them."""
        self._finding = False
        self.checks.cancel()
