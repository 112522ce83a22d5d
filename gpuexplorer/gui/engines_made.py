"""Environments that were made here: looked up, sized and deleted in threads.

What does it is imported there too: the window need not wait for that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QMessageBox, QWidget

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.language import tr
from gpuexplorer.core.units import listed, quantity
from gpuexplorer.engine.machine import Machine
from gpuexplorer.gui.model.engines import EnginesModel
from gpuexplorer.gui.notice import capital
from gpuexplorer.gui.task import Tasks

if TYPE_CHECKING:
    from gpuexplorer.environments.far import Removed
    from gpuexplorer.environments.managed import Managed


class MadeEngines(QObject):
    """Keeps the model's list of environments true, and deletes them.

    ``changed`` says that the model knows something new, ``told`` carries a sentence.
    """

    changed = Signal()
    told = Signal(str)

    def __init__(self, parent: QWidget, tasks: Tasks, model: EnginesModel) -> None:
        super().__init__(parent)
        self._window, self._tasks, self._model = parent, tasks, model
        self._looking = self._look_again = False
        self.waiting: str | None = None
        """An environment that is deleted as soon as its engine has ended."""

    # ---- looking

    def look(self) -> None:
        """Look which there are and how large they are; ``changed`` says when that is known."""
        if self._looking:
            self._look_again = True
            return
        self._looking = True
        self._tasks.do("engine-look", lambda _: _listed(), self._looked)

    def _looked(self, made: list[Managed] | ExplorerError | None) -> None:
        self._looking = False
        if self._look_again:
            self._look_again = False
            self.look()
            return
        if isinstance(made, ExplorerError):
            self._tell_error(made)
            return
        self._model.managed = list(made or ())
        self.changed.emit()
        names = [one.name for one in self._model.managed]
        if names:
            self._tasks.do("engine-sizes", lambda _: _sizes_B(names), self._sized)

    def _sized(self, sizes: dict[str, int] | ExplorerError | None) -> None:
        if isinstance(sizes, dict):  # one that is deleted meanwhile is looked at again anyway
            self._model.sizes_B = sizes
            self.changed.emit()

    # ---- deleting

    def may_delete(self, name: str) -> bool:
        """Ask whether an environment shall be deleted, with the space that this frees."""
        size_B = self._model.sizes_B.get(name)
        sentences = [f"That frees {quantity(size_B, 'B')}."] if size_B is not None else []
        sentences += [
            "Runs that were measured in it stay in the history.",
            "It can be set up again at any time.",
        ]
        buttons = QMessageBox.StandardButton
        answer = QMessageBox.question(
            self._window,
            tr("Remove an engine"),
            tr(f"Delete '{name}' with everything in it?\n\n{' '.join(sentences)}"),
            buttons.Yes | buttons.Cancel,
            buttons.Cancel,
        )
        return answer == buttons.Yes

    def leave_or_delete(self, name: str, machine: Machine) -> bool:
        """Ask what becomes of what was set up on another machine; False: nothing shall change."""
        buttons = QMessageBox.StandardButton
        answer = QMessageBox.question(
            self._window,
            tr("Remove an engine"),
            tr(
                f"Delete what was set up for '{name}' on {machine.host} as well?\n\nNo only "
                "forgets the name here. Runs that were measured there stay in the history."
            ),
            buttons.Yes | buttons.No | buttons.Cancel,
            buttons.Cancel,
        )
        if answer == buttons.Yes:
            self._tasks.do(
                "engine-remove",
                lambda cancel: _removed_there(name, machine, cancel),
                partial(self._deleted_there, name, machine),
            )
        return answer != buttons.Cancel

    def _deleted_there(
        self, name: str, machine: Machine, freed: Removed | ExplorerError | None
    ) -> None:
        if isinstance(freed, ExplorerError):
            self.told.emit(f"'{name}' is forgotten, but {freed}.")
        elif freed is not None:
            self.told.emit(_removed_words(name, machine.host, freed))

    def delete(self, name: str) -> None:
        """Delete an environment."""
        self.told.emit(f"Removing '{name}'…")
        self._tasks.do("engine-remove", lambda _: _removed(name), partial(self._deleted, name))

    def delete_unused(self, name: str, give_way: Callable[[], None]) -> None:
        """Delete the environment that measures, once another engine has taken its place."""
        self.waiting = name
        self.told.emit(f"Removing '{name}': its engine ends first…")
        give_way()

    def engine_ended(self, in_use: str | None) -> None:
        """Delete what waited until another engine measured."""
        if self.waiting is not None and in_use != self.waiting:
            name, self.waiting = self.waiting, None
            self.delete(name)

    def _deleted(self, name: str, freed: int | ExplorerError | None) -> None:
        if isinstance(freed, ExplorerError):
            self._tell_error(freed)
        elif freed is not None:
            self.told.emit(f"Removed '{name}'; that freed {quantity(freed, 'B')}.")
            self._model.reports.pop(name, None)
        self.look()

    def _tell_error(self, error: ExplorerError) -> None:
        self.told.emit(f"{capital(str(error))}.")


def _listed() -> list[Managed]:
    # All that makes one is imported as well, so that the way to a new engine opens at once.
    from gpuexplorer.environments import create, managed  # noqa: F401

    return managed.list_managed()


def _removed_words(name: str, host: str, done: Removed) -> str:
    """Say what was deleted on another machine, or for which engines all of it stays."""
    if done.everything_stays:
        others = listed(f"'{other}'" for other in done.others)
        return f"'{name}' is forgotten; what was set up on {host} stays for {others}."
    freed = quantity(done.freed_B, "B")
    return f"Removed '{name}'; that freed {freed} on {host}."


def _removed_there(name: str, machine: Machine, cancel: threading.Event) -> Removed:
    from gpuexplorer.environments import far

    return far.remove(name, machine, cancel)


def _removed(name: str) -> int:
    from gpuexplorer.environments import managed

    return managed.remove(name)


def _sizes_B(names: list[str]) -> dict[str, int]:
    """Return what environments take on the disk, of those whose folder can be looked at."""
    from gpuexplorer.environments import managed

    sizes = {}
    for name in names:
        with suppress(ExplorerError):
            sizes[name] = managed.disk_use(name)
    return sizes
