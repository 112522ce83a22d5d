"""Long work for the engines' page, each piece in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar, cast

from PySide6.QtCore import QObject, QThread, Signal

from gpuexplorer.core.errors import ExplorerError, WorkFailed
from gpuexplorer.environments.cancelled import Cancelled

T = TypeVar("T")


class Task(QThread):
    """Does one piece of work; ``ended`` carries the task once ``outcome`` is there."""

    ended = Signal(object)

    def __init__(self, name: str, work: Callable[[threading.Event], object]) -> None:
        super().__init__()
        self.setObjectName(name)
        self._work = work
        self._cancel = threading.Event()
        self.outcome: object = None

    def cancel(self) -> None:
        """Have it end soon."""
        self._cancel.set()

    def run(self) -> None:
        """Work; in the thread."""
        self.outcome = self._do()
        self.ended.emit(self)

    def _do(self) -> object:
        try:
            return self._work(self._cancel)
        except Cancelled:
            return None
        except ExplorerError as error:
            return error
        except Exception as error:  # noqa: BLE001 - a bug must not end in silence
            return WorkFailed(f"{self.objectName()} broke: {type(error).__name__}: {error}")


class Tasks(QObject):
    """Starts tasks, and ends those that go on when the window closes."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._running: dict[Task, Callable[[object], None]] = {}

    def do(
        self,
        name: str,
        work: Callable[[threading.Event], T],
        then: Callable[[T | ExplorerError | None], None],
    ) -> Task:
        """Do something in a thread, then call ``then`` in this one.

        ``work`` gets the event that cancels it, and ``then`` what it returned, the ExplorerError it
        raised, or None when it was cancelled.
        """
        task = Task(name, work)
        self._running[task] = cast(Callable[[object], None], then)
        task.ended.connect(self._ended)
        task.start()
        return task

    def _ended(self, task: Task) -> None:
        then = self._running.pop(task, None)
        if then is not None:
            task.wait()
            then(task.outcome)

    def close_down(self) -> None:
        """Cancel everything and wait until nothing is left running; nobody is told."""
        running = list(self._running)
        self._running.clear()
        for task in running:
            task.cancel()
        for task in running:
            task.wait()
