"""Settings > Engines: the Pythons that engines run in: list, check, set up, use, remove."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QDialog, QMessageBox, QStackedWidget, QVBoxLayout, QWidget

from gpuexplorer.core.language import tr
from gpuexplorer.gui.help_here import PAGE
from gpuexplorer.gui.panels.engines_list import EnginesList
from gpuexplorer.gui.screen import open_size
from gpuexplorer.gui.task import Tasks

if TYPE_CHECKING:
    from gpuexplorer.environments.managed import Managed
    from gpuexplorer.gui.panels.engines_setup import EngineSetup


class EnginesDialog(QDialog):
    """Two pages: the list of engines, and the way to a new one.

    ``use_asked`` carries the name of the engine that is to measure. ``check_begins`` and
    ``check_ended`` enclose everything during which nothing should be measured. ``message`` carries
    a sentence for the window behind, ``help_asked`` wants the page on engines.
    """

    use_asked = Signal(str)
    check_begins = Signal()
    check_ended = Signal()
    message = Signal(str)
    help_asked = Signal()

    def __init__(
        self, parent: QWidget, in_use: Callable[[], str | None], busy_with: Callable[[], str]
    ) -> None:
        """``in_use`` tells the word for the present engine, ``busy_with`` who else has it."""
        super().__init__(parent)
        self.setObjectName("enginesDialog")
        self.setProperty(PAGE, "engines")
        self.setWindowTitle(tr("Engines"))
        self.resize(open_size(self, 980, 640))
        self._in_use, self._busy_with = in_use, busy_with
        self._setup: EngineSetup | None = None
        self._tasks = Tasks(self)
        self.list = EnginesList(self._tasks, in_use, busy_with)
        self.list.use_asked.connect(self.use_asked)
        self.list.check_begins.connect(self.check_begins)
        self.list.check_ended.connect(self.check_ended)
        self.list.help_asked.connect(self.help_asked)
        self.list.close_asked.connect(self.close)
        self.list.set_up_asked.connect(self.set_up)
        self.list.machine_asked.connect(self.add_machine)
        self.list.update_asked.connect(self._update)
        self.list.go_on_asked.connect(self._go_on)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.list)
        column = QVBoxLayout(self)
        column.addWidget(self._stack)

    @property
    def setup(self) -> EngineSetup:
        """The way to a new engine, made when it is first wanted."""
        if self._setup is None:
            from gpuexplorer.gui.panels.engines_setup import EngineSetup

            setup = self._setup = EngineSetup(self._tasks, self._busy_with)
            setup.back_asked.connect(self.show_list)
            making = setup.making
            making.began.connect(self._making_began)
            making.over.connect(self._making_over)
            making.use_asked.connect(self._use_made)
            making.remove_asked.connect(self._remove_begun)
            self._stack.addWidget(setup)
        return self._setup

    @property
    def making(self) -> str:
        """The name of the environment that is being made; empty when there is none."""
        setup = self._setup
        return setup.making.name if setup is not None and setup.making.working else ""

    # ---- pages

    def show_list(self) -> None:
        """Show the engines that there are."""
        self._stack.setCurrentWidget(self.list)
        self.list.refresh()
        self.list.made.look()
        self.list.table.setFocus()

    def set_up(self) -> None:
        """Show the way to a new engine, or how far the one is that is being made."""
        self.list.stop()
        setup = self.setup
        self._stack.setCurrentWidget(setup)
        setup.begin()

    def add_machine(self) -> None:
        """Show the way to an engine on another machine."""
        self.list.stop()
        setup = self.setup
        self._stack.setCurrentWidget(setup)
        setup.add_machine()

    def _update(self, name: str) -> None:
        row = next((one for one in self.list.table.rows if one.name == name), None)
        if row is not None and row.machine is not None:
            self.list.stop()
            setup = self.setup
            self._stack.setCurrentWidget(setup)
            setup.update_far(name, row.machine)

    def _go_on(self, unfinished: Managed) -> None:
        setup = self.setup
        self._stack.setCurrentWidget(setup)
        setup.go_on(unfinished)

    # ---- what is made

    def _making_began(self) -> None:
        self.list.model.making = self.making
        self.check_begins.emit()
        self.list.refresh()

    def _making_over(self) -> None:
        making = self.setup.making
        self.list.model.making = None
        self.check_ended.emit()
        self.list.made.look()
        if not self.isVisible() or self._stack.currentWidget() is self.list:
            words = (
                f"Engine '{making.name}' is ready."
                if making.state == "ready"
                else f"Engine '{making.name}' was not finished."
            )
            self.list.tell(words)
            self.message.emit(" ".join((words, "Settings > Engines shows it.")))

    def _use_made(self, name: str) -> None:
        self.show_list()
        self.list.use(name)

    def _remove_begun(self, name: str) -> None:
        if self.list.delete(name):
            self.setup.making.forget()
            self.show_list()

    # ---- the window's life

    def engine_ended(self) -> None:
        """Go on with what waited until another engine measured."""
        self.list.made.engine_ended(self._in_use())

    def follow(self, present: str) -> None:
        """Show which engine measures, once that has changed."""
        if not any(row.in_use and row.name == present for row in self.list.table.rows):
            self.list.refresh()

    def may_close(self) -> bool:
        """Ask whether what is being made shall be stopped; False: the window stays."""
        name = self.making
        if not name:
            return True
        buttons = QMessageBox.StandardButton
        answer = QMessageBox.question(
            self if self.isVisible() else self.parentWidget(),
            tr("An engine is being set up"),
            tr(
                f"Stop setting up '{name}' and close?\n\nWhat was downloaded is kept; Continue, in "
                "Settings > Engines, sets up the rest."
            ),
            buttons.Yes | buttons.Cancel,
            buttons.Cancel,
        )
        return answer == buttons.Yes

    def showEvent(self, event: QShowEvent) -> None:
        """Bring everything up to date, and look for Pythons."""
        super().showEvent(event)
        if not event.spontaneous():
            self.list.opened()

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop a check that is going on, however the dialog was closed; what is made goes on."""
        if not event.spontaneous():
            self.list.stop()
            if self._setup is not None:
                self._setup.stop_planning()
            if self.making:
                self.message.emit(
                    f"Setting up '{self.making}' continues; Settings > Engines shows how far it is."
                )
        super().hideEvent(event)

    def close_down(self) -> None:
        """Stop everything and wait until nothing is left running."""
        if self._setup is not None:
            self._setup.close_down()
        self.list.checks.close_down()
        self._tasks.close_down()
