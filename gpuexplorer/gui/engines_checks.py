"""Asking engines what they have, one after another, in threads, so that the window goes on."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from functools import partial

from PySide6.QtCore import QObject, Signal

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.engine.candidates import FoundInterpreter, find_candidates
from gpuexplorer.engine.checking import EngineReport, check_engine
from gpuexplorer.gui.notice import capital
from gpuexplorer.gui.task import Task, Tasks


class Checks(QObject):
    """Asks engines in turn and looks for Pythons; the owner's thread is never held up.

    ``began`` and ``ended`` enclose everything that was asked at once, during which nothing should
    be measured. ``asking`` carries the word for the engine that comes now, ``stepped`` a sentence,
    ``checked`` an engine's word and its report (None when it was cancelled), ``found`` the Pythons
    of this machine.
    """

    began = Signal()
    ended = Signal()
    asking = Signal(str)
    stepped = Signal(str)
    checked = Signal(str, object)
    found = Signal(object)
    _step = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: deque[str] = deque()
        self._asked = 0
        self._tasks = Tasks(self)
        self._check: Task | None = None
        self._word: str | None = None
        self._searching = False
        self._step.connect(self._tell_step)
        self.candidates: list[FoundInterpreter] | None = None
        """The Pythons found on this machine; None before the first search."""

    # ---- engines

    @property
    def running(self) -> bool:
        """Whether an engine is being asked."""
        return self._check is not None

    @property
    def current(self) -> str | None:
        """The word for the engine that is being asked."""
        return self._word

    def ask(self, words: Iterable[str]) -> None:
        """Ask these engines after those that wait already."""
        new = [word for word in words if word not in self._waiting and word != self.current]
        self._waiting.extend(new)
        self._asked += len(new)
        if self._check is None and self._waiting:
            self.began.emit()
            self._next()

    def cancel(self) -> None:
        """Ask no more; the one that is being asked ends within a moment."""
        self._waiting.clear()
        if self._check is not None:
            self._check.cancel()

    def _next(self) -> None:
        word = self._word = self._waiting.popleft()
        self._check = self._tasks.do("engine-check", partial(self._look, word), self._over)
        self.asking.emit(word)

    def _look(self, word: str, cancel: threading.Event) -> EngineReport:
        """Start an engine, ask it and end it; in the thread."""
        told = ""

        def step(words: str) -> None:
            nonlocal told
            if words != told:
                told = words
                self._step.emit(words)

        return check_engine(word, cancelled=cancel.is_set, on_step=step)

    def _tell_step(self, words: str) -> None:
        if self._word is None:
            return
        number = self._asked - len(self._waiting)
        asking = f"Asking '{self._word}'"
        if self._asked > 1:
            asking = f"Asking '{self._word}' ({number} of {self._asked})"
        self.stepped.emit(f"{asking}: {words}…")

    def _over(self, found: EngineReport | ExplorerError | None) -> None:
        word = self._word or ""
        if isinstance(found, ExplorerError):
            found = EngineReport(name=word, path=word, problem=found.what, remedy=found.remedy)
        self.checked.emit(word, found)
        self._check = self._word = None
        if self._waiting:
            self._next()
        else:
            self._asked = 0
            self.ended.emit()

    # ---- Pythons

    @property
    def searching(self) -> bool:
        """Whether Pythons are looked for."""
        return self._searching

    def look_for_pythons(self) -> None:
        """Look for Pythons on this machine; ``found`` carries them."""
        if not self._searching:
            self._searching = True
            self._tasks.do("engine-search", lambda _: find_candidates(), self._looked)

    def _looked(self, found: list[FoundInterpreter] | ExplorerError | None) -> None:
        self._searching = False
        self.candidates = found if isinstance(found, list) else []
        if isinstance(found, ExplorerError):
            self.stepped.emit(f"{capital(str(found))}.")
        self.found.emit(self.candidates)

    def close_down(self) -> None:
        """Wait until nothing is left running."""
        self._waiting.clear()
        self._tasks.close_down()
        self._check = self._word = None
        self._searching = False
