"""Asking engines what they have, one after another, each in a thread of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from PySide6.QtCore import QObject, Signal

from gpuexplorer.engine.candidates import Candidate
from gpuexplorer.gui.engine_check import CandidateSearch, EngineCheck


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

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: deque[str] = deque()
        self._asked = 0
        self._check: EngineCheck | None = None
        self._search: CandidateSearch | None = None
        self.candidates: list[Candidate] | None = None
        """The Pythons found on this machine; None before somebody looked."""

    # ---- engines

    @property
    def running(self) -> bool:
        """Whether an engine is being asked."""
        return self._check is not None

    @property
    def current(self) -> str | None:
        """The word for the engine that is being asked."""
        return self._check.word if self._check is not None else None

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
        check = self._check = EngineCheck(self._waiting.popleft())
        check.stepped.connect(self._step)
        check.done.connect(self.checked)
        check.finished.connect(self._over)
        check.start()
        self.asking.emit(check.word)

    def _step(self, words: str) -> None:
        if self._check is None:
            return
        number = self._asked - len(self._waiting)
        of = f" ({number} of {self._asked})" if self._asked > 1 else ""
        self.stepped.emit(f"Asking '{self._check.word}'{of}: {words}…")

    def _over(self) -> None:
        if self._check is None:
            return
        self._check.wait()
        self._check = None
        if self._waiting:
            self._next()
        else:
            self._asked = 0
            self.ended.emit()

    # ---- Pythons

    @property
    def searching(self) -> bool:
        """Whether Pythons are looked for."""
        return self._search is not None

    def look_for_pythons(self) -> None:
        """Look for Pythons on this machine; ``found`` carries them."""
        if self._search is None:
            self._search = CandidateSearch()
            self._search.found.connect(self._take)
            self._search.finished.connect(self._looked)
            self._search.start()

    def _take(self, found: list[Candidate]) -> None:
        self.candidates = found

    def _looked(self) -> None:
        if self._search is None:
            return
        self._search.wait()
        self._search = None
        self.found.emit(self.candidates or [])

    def close_down(self) -> None:
        """Wait until nothing is left running."""
        self._waiting.clear()
        for thread in (self._check, self._search):
            if thread is not None:
                thread.finished.disconnect()
                if isinstance(thread, EngineCheck):
                    thread.cancel()
                thread.wait()
        self._check = self._search = None
