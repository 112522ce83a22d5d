"""Settings > Engines: the Pythons that engines run in: add, check, use, remove."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QHideEvent, QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QMenu,
    QPlainTextEdit,
    QPushButton,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.engine.candidates import Candidate
from gpuexplorer.engine.checking import EngineReport
from gpuexplorer.engine.interpreters import BUILT_IN
from gpuexplorer.gui.engine_check import CandidateSearch, EngineCheck
from gpuexplorer.gui.model.engines import EngineRow, EnginesModel
from gpuexplorer.gui.notice import capital
from gpuexplorer.gui.panels.engines_table import EnginesTable
from gpuexplorer.gui.widgets.words import Words

MOST_OFFERED = 24
"""Pythons found on this machine that the menu offers."""
ABOUT = (
    "The process that measures runs in one of these Pythons, with the frameworks installed there. "
    "Everything measured is kept when you choose another."
)


class EnginesDialog(QDialog):
    """Shows the engines; ``use_asked`` carries the name of the one that is to measure.

    ``check_begins`` and ``check_ended`` enclose a check, during which nothing should be measured.
    ``help_asked`` wants the page on engines.
    """

    use_asked = Signal(str)
    check_begins = Signal()
    check_ended = Signal()
    help_asked = Signal()

    def __init__(
        self, parent: QWidget, in_use: Callable[[], str | None], busy_with: Callable[[], str]
    ) -> None:
        """``in_use`` tells the word for the present engine, ``busy_with`` who else has it."""
        super().__init__(parent)
        self.setObjectName("enginesDialog")
        self.setWindowTitle("Engines")
        self.resize(860, 520)
        self._in_use, self._busy_with = in_use, busy_with
        self.model = EnginesModel()
        self._check: EngineCheck | None = None
        self._search: CandidateSearch | None = None
        self.candidates: list[Candidate] | None = None
        """The Pythons found on this machine; None before somebody looked."""
        self._used_before: set[str] = set()
        """Names that were removed while their engine measured."""
        self._put_together()

    # ---- construction

    def _put_together(self) -> None:
        about = QLabel(ABOUT)
        about.setWordWrap(True)
        about.setProperty("role", "muted")
        self.table = EnginesTable()
        self.table.use_asked.connect(self.use)
        self.table.remove_asked.connect(self.remove)
        self.table.currentCellChanged.connect(lambda *_: self._show_chosen())
        self.details = QPlainTextEdit()
        self.details.setObjectName("engineDetails")
        self.details.setReadOnly(True)
        self.details.setPlaceholderText("Check an engine to see its devices and what it lacks.")
        parts = QSplitter(Qt.Orientation.Vertical)
        parts.setChildrenCollapsible(False)
        parts.addWidget(self.table)
        parts.addWidget(self.details)
        parts.setStretchFactor(0, 3)
        parts.setStretchFactor(1, 2)
        self.words = Words()
        self.words.setObjectName("engineWords")
        column = QVBoxLayout(self)
        column.setSpacing(8)
        column.addWidget(about)
        column.addWidget(parts, 1)
        column.addWidget(self.words)
        column.addLayout(self._buttons())
        undo = QShortcut(QKeySequence("Ctrl+Z"), self)
        undo.activated.connect(self.undo)

    def _buttons(self) -> QHBoxLayout:
        self.use_button = self._button(
            "&Use", "useEngineButton",
            "Measure in it, now and at the next start; the command line uses it too (Enter)",
            lambda: self._with_chosen(self.use),
        )  # fmt: skip
        self.check_button = self._button(
            "&Check", "checkEngineButton",
            "Start it and ask what it has; measuring pauses meanwhile",
            self._check_or_cancel,
        )  # fmt: skip
        self.add_button = QPushButton("&Add ▾")
        self.add_button.setObjectName("addEngineButton")
        self.add_button.setToolTip("Add a virtual environment, a conda environment, or any Python")
        self.add_button.setStyleSheet("QPushButton::menu-indicator { width: 0px; }")
        self.add_button.setAutoDefault(False)
        self.add_menu = QMenu(self.add_button)
        self.add_menu.setToolTipsVisible(True)
        self.add_menu.aboutToShow.connect(self._fill_menu)
        self.add_button.setMenu(self.add_menu)
        self.remove_button = self._button(
            "&Remove", "removeEngineButton",
            "Forget its name; its environment stays as it is (Del)",
            lambda: self._with_chosen(self.remove),
        )  # fmt: skip
        self.undo_button = self._button(
            "U&ndo", "undoEngineButton", "Bring back what was removed last (Ctrl+Z)", self.undo
        )
        self.help_button = self._button(
            "&Help", "helpEngineButton", "What an engine needs, and how to make one",
            self.help_asked.emit,
        )  # fmt: skip
        close = self._button("Close", "closeEnginesButton", "Close this window", self.close)
        row = QHBoxLayout()
        for widget in (
            self.use_button, self.check_button, self.add_button, self.remove_button,
            self.undo_button,
        ):  # fmt: skip
            row.addWidget(widget)
        row.addStretch(1)
        row.addWidget(self.help_button)
        row.addWidget(close)
        return row

    def _button(self, words: str, name: str, tip: str, act: Callable[[], object]) -> QPushButton:
        button = QPushButton(words)
        button.setObjectName(name)
        button.setToolTip(tip)
        button.setAutoDefault(False)
        button.clicked.connect(lambda _=False: act())
        return button

    # ---- what can be done

    def _with_chosen(self, act: Callable[[str], None]) -> None:
        if self.table.chosen is not None:
            act(self.table.chosen.name)

    def use(self, name: str) -> None:
        """Have an engine measure, now and at the next start."""
        try:
            if name in self.model.names:  # a path is used as long as the window is open
                self.model.choose(name)
        except ExplorerError as error:
            self._tell(f"{capital(str(error))}.")
            return
        self.use_asked.emit(name)
        self.refresh()

    def add(self, path: Path | str) -> None:
        """Give an interpreter or an environment a name, and check it."""
        try:
            name = self.model.add(path)
        except ExplorerError as error:
            self._tell(f"{capital(str(error))}.")
            return
        self.refresh(choose=name)
        self._tell(f"Added as '{name}'.")
        self.check(name)

    def remove(self, name: str) -> None:
        """Forget an engine; the one in use gives way to the built-in one."""
        row = next((r for r in self.table.rows if r.name == name), None)
        if row is None or name not in self.model.names or name == BUILT_IN:
            return
        try:
            self.model.remove(name)
        except ExplorerError as error:
            self._tell(f"{capital(str(error))}.")
            return
        if row.in_use:
            self._used_before.add(name)
            self.use_asked.emit(BUILT_IN)
        self._tell(f"Removed '{name}'; Undo brings it back.")
        self.refresh()

    def undo(self) -> None:
        """Bring back the engine that was removed last, and use it if it was in use."""
        try:
            name = self.model.undo()
        except ExplorerError as error:
            self._tell(f"{capital(str(error))}.")
            return
        if name is not None:
            self._tell(f"'{name}' is back.")
            if name in self._used_before:
                self._used_before.discard(name)
                self.use_asked.emit(name)
            self.refresh(choose=name)

    def pick_file(self) -> None:
        """Ask for an interpreter."""
        name, _ = QFileDialog.getOpenFileName(self, "A Python interpreter", str(Path.home()))
        if name:
            self.add(name)

    def pick_folder(self) -> None:
        """Ask for an environment's folder."""
        name = QFileDialog.getExistingDirectory(self, "An environment's folder", str(Path.home()))
        if name:
            self.add(name)

    # ---- checking

    @property
    def checking(self) -> bool:
        """Whether an engine is being asked."""
        return self._check is not None

    def check(self, name: str) -> None:
        """Ask an engine what it has; nothing is measured meanwhile."""
        if self.checking:
            return
        busy = self._busy_with()
        if busy:
            self._tell(f"The engine is {busy}: check again once that is done.")
            return
        self.check_begins.emit()
        check = self._check = EngineCheck(name)
        check.stepped.connect(self._stepped)
        check.done.connect(self._checked)
        check.finished.connect(self._check_over)
        self.model.checking = name
        self.refresh()
        check.start()

    def _check_or_cancel(self) -> None:
        if self._check is not None:
            self._check.cancel()
            self.check_button.setEnabled(False)
        else:
            self._with_chosen(self.check)

    def _stepped(self, words: str) -> None:
        if self._check is not None:
            self._tell(f"Asking '{self._check.word}': {words}…")

    def _checked(self, name: str, report: EngineReport | None) -> None:
        self.model.checking = None
        if report is None:
            self._tell("Stopped; nothing was found out.")
            return
        self.model.take(name, report)
        if report.ok:
            answered = f"answered in {report.handshake_s:.2f} s" if report.handshake_s else "ready"
            self._tell(f"'{name}' {answered}.")
        else:
            self._tell(f"'{name}': {report.problem}.")

    def _check_over(self) -> None:
        if self._check is not None:
            self._check.wait()
            self._check = None
        self.check_ended.emit()
        self.refresh()

    # ---- Pythons on this machine

    def _fill_menu(self) -> None:
        menu = self.add_menu
        menu.clear()
        menu.addAction("Interpreter…", self.pick_file)
        menu.addAction("Environment's folder…", self.pick_folder)
        menu.addSeparator()
        if self.candidates is None:
            menu.addAction("looking for Pythons on this machine…").setEnabled(False)
            self._look_for_pythons()
            return
        try:
            taken = {row.path for row in self.model.rows(self._in_use())}
        except ExplorerError:
            taken = set()
        for one in [c for c in self.candidates if c.path not in taken][:MOST_OFFERED]:
            version = f"  (Python {one.python})" if one.python else ""
            action = menu.addAction(f"{one.kind}: {one.path}{version}")
            action.triggered.connect(lambda _=False, path=one.path: self.add(path))
        if not self.candidates:
            menu.addAction("no other Python was found").setEnabled(False)

    def _look_for_pythons(self) -> None:
        if self._search is None:
            self._search = CandidateSearch()
            self._search.found.connect(self._take_candidates)
            self._search.start()

    def _take_candidates(self, found: list[Candidate]) -> None:
        self.candidates = found
        if self.add_menu.isVisible():
            self._fill_menu()

    # ---- showing

    def refresh(self, choose: str | None = None) -> None:
        """Show the engines as they are known now."""
        try:
            rows = self.model.rows(self._in_use())
        except ExplorerError as error:
            self._tell(f"{capital(str(error))}.")
            rows = [EngineRow(BUILT_IN, "this program's own Python", self._in_use() is None, True)]
        self.table.show_rows(rows, choose)
        self._show_chosen()

    def _show_chosen(self) -> None:
        row = self.table.chosen
        named = row is not None and row.name in self.model.names
        self.use_button.setEnabled(row is not None and not (row.in_use and row.is_default))
        self.check_button.setText("&Cancel" if self.checking else "&Check")
        self.check_button.setEnabled(row is not None or self.checking)
        self.add_button.setEnabled(not self.checking)
        self.remove_button.setEnabled(
            row is not None and named and row.name != BUILT_IN and not self.checking
        )
        removed = self.model.can_undo
        self.undo_button.setEnabled(removed is not None)
        text = details(row.report) if row is not None and row.report is not None else ""
        if text != self.details.toPlainText():
            self.details.setPlainText(text)

    def _tell(self, words: str) -> None:
        self.words.setText(words)

    def showEvent(self, event: QShowEvent) -> None:
        """Bring everything up to date, and look for Pythons."""
        super().showEvent(event)
        self.refresh()
        self._look_for_pythons()

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop a check that is going on, however the dialog was closed."""
        if self._check is not None and not event.spontaneous():
            self._check.cancel()
        super().hideEvent(event)

    def close_down(self) -> None:
        """Wait until nothing is left running."""
        if self._check is not None:
            self._check.cancel()
            self._check.wait()
        if self._search is not None:
            self._search.wait()


def details(report: EngineReport) -> str:
    """Return everything that is known of an engine, a line each."""
    if not report.ok:
        remedy = [f"→ {report.remedy}"] if report.remedy else []
        said = ["", "Its last words:", *report.said] if report.said else []
        return "\n".join([f"{capital(report.problem or '')}.", *remedy, *said])
    lines = []
    for device in report.devices or ():
        lines.append(f"{device.id}   {device.name}, {device.driver}")
    for missing in report.devices.unavailable if report.devices is not None else ():
        lines.append(f"no {missing.backend}: {missing.reason}")
        if missing.remedy:
            lines.append(f"    → {missing.remedy}")
    versions = ", ".join(f"{name} {version}" for name, version in report.packages.items())
    return "\n".join([*lines, "", f"Python {report.python}: {versions}"])
