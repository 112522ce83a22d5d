"""The window's threads: whatever may take longer than a frame is done by a ``Task``.

The main thread asks and is told. ``Tasks`` does a thing after which another follows, ``Background``
the latest of each kind; what owns an engine or the store is a ``Task`` whose work lasts until it is
closed.

What receives a signal of another thread is declared as a ``Slot``: otherwise Qt for Python gives
the object a description of its own, made anew as more is connected, and has crashed in signals of
other threads (PYSIDE-3124).
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from functools import partial
from typing import TypeVar, cast

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QThread, QTimer, Signal, Slot

from gpuexplorer.core.errors import Cancelled, ExplorerError, WorkFailed, without_frames
from gpuexplorer.gui.scheduling import wake_soon

T = TypeVar("T")


class Task(QThread):
    """Does its work in a thread of its own, which has the task's name.

    ``worked`` carries the outcome: what the work returned, the ExplorerError that it raised, or
    None when it was cancelled. The work is given, or a subclass has it as ``work``.
    """

    worked = Signal(object)

    def __init__(
        self,
        name: str,
        work: Callable[[threading.Event], object] | None = None,
        then: Callable[[object], None] | None = None,
    ) -> None:
        """``work`` gets the event that cancels it; ``then`` the outcome, in the thread of here."""
        super().__init__()
        self.setObjectName(name)
        self._given = work
        self.cancel_event = threading.Event()
        self._then = then
        if then is not None:
            self.worked.connect(self._go_on)

    def cancel(self) -> None:
        """Have it end soon."""
        self.cancel_event.set()

    @property
    def cancelled(self) -> bool:
        """Whether it was asked to end."""
        return self.cancel_event.is_set()

    def work(self) -> object:
        """Do it, in the thread, and return the outcome."""
        if self._given is None:
            raise TypeError(f"{type(self).__name__} does not say what its work is")
        return self._given(self.cancel_event)

    def run(self) -> None:
        """Work, and tell how it ended."""
        wake_soon()  # it may hold the interpreter, for which the main thread would wait
        self.worked.emit(outcome_of(self.objectName(), self.work))

    @Slot(object)
    def _go_on(self, outcome: object) -> None:
        self.wait()
        QTimer.singleShot(0, partial(id, self))  # it is not to go within its own slot
        then, self._then = self._then, None  # which may hold this task
        if then is not None:
            then(outcome)


def outcome_of(name: str, work: Callable[[], object]) -> object:
    """Return what work returned, its ExplorerError, or None when it was cancelled.

    A bug must not end in silence: any other exception is returned as a WorkFailed with ``name``.
    An error is without the frames that it came through: who keeps it would keep what they hold.
    """
    try:
        return work()
    except Cancelled:
        return None
    except ExplorerError as error:
        return without_frames(error)
    except Exception as error:  # noqa: BLE001
        return WorkFailed(f"{name} failed: {error!r}", detail=traceback.format_exc())


class Tasks(QObject):
    """Starts tasks, and ends those that go on when the window closes."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._running: set[Task] = set()

    @property
    def busy(self) -> bool:
        """Whether a task is going on."""
        return bool(self._running)

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

        def after(outcome: object) -> None:
            if task in self._running:
                self._running.remove(task)
                cast(Callable[[object], None], then)(outcome)

        task = Task(name, work, after)
        self._running.add(task)
        task.start()
        return task

    def wait(self) -> None:
        """Wait until every task has ended; what follows them comes later."""
        for task in self._running:
            task.wait()

    def finish(self) -> None:
        """Wait until every task has ended, and have done what follows them."""
        while self._running:
            task = next(iter(self._running))
            task.wait()
            QCoreApplication.sendPostedEvents(task, QEvent.Type.MetaCall.value)

    def close_down(self) -> None:
        """Cancel everything and wait until nothing is left running; nothing is emitted."""
        running = list(self._running)
        self._running.clear()
        for task in running:
            task.cancel()
        for task in running:
            task.wait()


class Background(Task):
    """Does one thing after another, the latest of each kind; ``ended`` carries kind and outcome.

    The outcome is that of a ``Task``; of what was cancelled nothing is told.
    """

    ended = Signal(str, object)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._gate = threading.Condition()
        self._waiting: dict[str, Callable[[], object]] = {}

    def ask(self, kind: str, work: Callable[[], object]) -> None:
        """Have work done soon, instead of what of this kind still waits; from the main thread."""
        with self._gate:
            if self.cancelled:
                return
            self._waiting[kind] = work
            self._gate.notify_all()
        if not self.isRunning():
            self.start()

    def drop(self, kind: str) -> None:
        """Forget what of a kind still waits."""
        with self._gate:
            self._waiting.pop(kind, None)

    def close(self) -> None:
        """End the thread; what waits is not done any more."""
        with self._gate:
            self.cancel()
            self._waiting.clear()
            self._gate.notify_all()
        self.wait()

    def work(self) -> None:
        """Work until closed."""
        while (found := self._next()) is not None:
            kind, work = found
            outcome = outcome_of(kind, work)
            del found, work  # and what it holds
            if outcome is not None:
                self.ended.emit(kind, outcome)
            del outcome  # until there is something else to do, it would be kept

    def _next(self) -> tuple[str, Callable[[], object]] | None:
        with self._gate:
            self._gate.wait_for(lambda: self._waiting or self.cancelled)
            if self.cancelled:
                return None
            kind = next(iter(self._waiting))
            return kind, self._waiting.pop(kind)
