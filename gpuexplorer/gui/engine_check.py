"""Asking an engine what it has, in a thread of its own, so that the window goes on."""

from __future__ import annotations

import threading

from PySide6.QtCore import QThread, Signal

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.engine.candidates import find_candidates
from gpuexplorer.engine.checking import CheckCancelled, EngineReport, check_engine


class EngineCheck(QThread):
    """Starts an engine, asks it, ends it. ``stepped`` says what it does, ``done`` the report.

    ``done`` carries the engine's word and the report, or None when it was cancelled.
    """

    stepped = Signal(str)
    done = Signal(str, object)

    def __init__(self, word: str) -> None:
        super().__init__()
        self.setObjectName("engine-check")
        self.word = word
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """Have it end within a moment."""
        self._cancelled.set()

    def run(self) -> None:
        """Ask; in the thread."""
        told = ""

        def step(words: str) -> None:
            nonlocal told
            if words != told:
                told = words
                self.stepped.emit(words)

        report: EngineReport | None
        try:
            report = check_engine(self.word, cancelled=self._cancelled.is_set, on_step=step)
        except CheckCancelled:
            report = None
        except ExplorerError as error:
            report = EngineReport(
                name=self.word, path=self.word, problem=error.what, remedy=error.remedy
            )
        except Exception as error:  # noqa: BLE001 - a bug must not end in silence
            report = EngineReport(
                name=self.word, path=self.word, problem=f"asking it failed: {error!r}"
            )
        self.done.emit(self.word, report)


class CandidateSearch(QThread):
    """Looks for Pythons on this machine; ``found`` carries the candidates."""

    found = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("engine-search")

    def run(self) -> None:
        """Look; in the thread, because folders may lie on a slow disk."""
        self.found.emit(find_candidates())
