"""Three ways to a further engine: set one up, find what is on this machine, add one by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QMenu, QWidget

from gpuexplorer.core.language import tr
from gpuexplorer.engine.candidates import FoundInterpreter
from gpuexplorer.gui.engines_checks import Checks
from gpuexplorer.gui.widgets.button import button

MOST_OFFERED = 24
"""Pythons found on this machine that are offered, and asked by Find."""


class EngineWays(QWidget):
    """A row of buttons; ``add_asked`` carries the path of an interpreter or of a folder."""

    set_up_asked = Signal()
    machine_asked = Signal()
    find_asked = Signal()
    add_asked = Signal(str)
    help_asked = Signal()

    def __init__(self, checks: Checks, taken: Callable[[], set[str]]) -> None:
        """``taken`` tells the paths that are engines already; ``checks`` looks for Pythons."""
        super().__init__()
        self.setObjectName("engineWays")
        self._checks, self._taken = checks, taken
        checks.found.connect(lambda _: self._fill_again())
        set_up = button(
            "&Set up an engine…", "setUpEngineButton",
            "Make an environment for your GPU or a framework: no terminal is needed",
            self.set_up_asked.emit, leads=True,
        )  # fmt: skip
        machine = button(
            "Add a &machine…", "addMachineButton",
            "Set an engine up on another machine, by your own ssh",
            self.machine_asked.emit,
        )  # fmt: skip
        self._find = button(
            "&Find", "findEnginesButton",
            "Look for the Pythons of this machine, and ask each what it has; measuring pauses "
            "meanwhile",
            self.find_asked.emit,
        )  # fmt: skip
        self._add = button(
            "&Add ▾", "addEngineButton",
            "Add a virtual environment, a conda environment, or any Python", lambda: None,
        )  # fmt: skip
        self._add.setStyleSheet("QPushButton::menu-indicator { width: 0px; }")
        self.menu = QMenu(self._add)
        self.menu.setToolTipsVisible(True)
        self.menu.aboutToShow.connect(self.fill_menu)
        self._add.setMenu(self.menu)
        help_button = button(
            "&Help", "helpEngineButton", "What an engine needs, and how to make one",
            self.help_asked.emit,
        )  # fmt: skip
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        for widget in (set_up, machine, self._find, self._add):
            row.addWidget(widget)
        row.addStretch(1)
        row.addWidget(help_button)

    def set_free(self, free: bool) -> None:
        """Offer what would ask engines, or not."""
        self._find.setEnabled(free)
        self._add.setEnabled(free)

    def pick_file(self) -> None:
        """Ask for an interpreter."""
        name, _ = QFileDialog.getOpenFileName(self, tr("A Python interpreter"), str(Path.home()))
        if name:
            self.add_asked.emit(name)

    def pick_folder(self) -> None:
        """Ask for an environment's folder."""
        name = QFileDialog.getExistingDirectory(
            self, tr("An environment's folder"), str(Path.home())
        )
        if name:
            self.add_asked.emit(name)

    def fill_menu(self) -> None:
        """Offer the Pythons that were found; look for them the first time."""
        self.menu.clear()
        self.menu.addAction(tr("Interpreter…"), self.pick_file)
        self.menu.addAction(tr("Environment's folder…"), self.pick_folder)
        self.menu.addSeparator()
        found = self._checks.candidates
        if found is None:
            self.menu.addAction(tr("looking for Pythons on this machine…")).setEnabled(False)
            self._checks.look_for_pythons()
            return
        taken = self._taken()
        offered = [one for one in found if one.path not in taken][:MOST_OFFERED]
        for one in offered:
            self._offer(one)
        if not offered:
            self.menu.addAction(tr("no other Python was found")).setEnabled(False)

    def _offer(self, one: FoundInterpreter) -> None:
        words = f"{one.kind}: {one.path}"
        action = self.menu.addAction(tr(f"{words}  (Python {one.python})" if one.python else words))
        action.triggered.connect(lambda _=False: self.add_asked.emit(one.path))

    def _fill_again(self) -> None:
        if self.menu.isVisible():
            self.fill_menu()
