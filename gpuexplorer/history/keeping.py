"""What is measured is kept while it goes: its document and its runs so far, as a group of a store.

A comparison, say, keeps each of its rounds, so that a crash takes the last seconds alone::

    keeping = Keeping("comparison", store, on_trouble)

    def so_far() -> tuple[dict[str, Any], list[RunResult]]:
        result = comparing.result()
        return without_runs(result), [one.run for one in result.contestants]

    comparing.measure(session, on_round=lambda _: keeping.offer(so_far))
    keeping.end(*so_far())

``store`` is the ``Store`` itself, or the window's thread that owns it (``Session.keeping`` of the
window makes one for that); None keeps nothing. Runs that come one by one are given to ``take``
instead, with or without a new document.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.interrupts import interrupts_held
from gpuexplorer.core.result import RunResult
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.history.store import Store

EVERY_S = 3.0
"""Between two writes; what nothing follows is written after twice that."""
TRY_AGAIN_S = 30.0
"""A store that failed is tried again after this long, and once more at the end."""
SHARE = 20
"""What takes a second to make and to write is written every so many seconds at the most."""

Run = RunResult | RunRecord


class DoesWithStore(Protocol):
    """A store, or a thread that owns one (``gui.store_worker.StoreWorker``)."""

    def do(
        self,
        work: Callable[[Store], object],
        then: Callable[[object], None] | None = None,
    ) -> None:
        """Do something with the store, then call ``then`` with the outcome or ExplorerError."""


class TakesRun(Protocol):
    """Something that stores a run as soon as that is possible (``StoreWorker.end``)."""

    def __call__(self, run: Run, *, group: str | None) -> None:
        """Take in a run that has ended."""


class Keeping:
    """Keeps one result in a group of a store while it is measured.

    The job that measures calls ``offer`` or ``take`` whenever there is something new, and ``end``
    however it ends, all from one thread. A run that comes again with more samples takes the place
    of what was stored of it. Until ``end`` the group counts as unfinished. A store that fails is no
    reason to stop measuring: ``on_trouble`` is told once, and what waits is tried again later.
    """

    def __init__(
        self,
        kind: str,
        store: DoesWithStore | None,
        on_trouble: Callable[[ExplorerError], object] = lambda error: None,
        *,
        group: str | None = None,
        rescue: TakesRun | None = None,
        every_s: float = EVERY_S,
    ) -> None:
        """``group`` is the id of one to go on with; ``rescue`` takes runs refused until the end."""
        self._kind, self._store, self._on_trouble = kind, store, on_trouble
        self._rescue, self._every_s = rescue, every_s
        self._id = group or uuid.uuid4().hex
        self.group = group
        """The group's id; None until the store has it."""
        self.has_written = False
        """Whether the store took any of it."""
        self.finished = False
        """Whether the store has all of it."""
        self.trouble: ExplorerError | None = None
        """Why the store did not take what it was given last; None when it did."""
        self._lock = threading.Lock()
        self._one_write = threading.Lock()
        self._document: Any = None
        """The latest one, as long as it is not written."""
        self._states: dict[str, object] = {}
        """What tells the latest state of each run from those before, by the run's id."""
        self._waiting: dict[str, Run] = {}
        """Runs that are not written yet as they are now."""
        self._due = 0.0
        self._late: threading.Timer | None = None
        """Writes what nothing follows."""
        self._also: Callable[[Store], object] | None = None
        self._writing = self._ended = self._finishes = self._told = False

    def offer(self, so_far: Callable[[], tuple[Any, Iterable[Run]]]) -> None:
        """Keep document and runs as they are now, which are made only when a write is due.

        Nothing is begun without a run.
        """
        began = time.monotonic()
        if self._store is None or self._writing or began < self._due:
            return
        document, runs = so_far()
        runs = list(runs)
        if runs or self.group is not None:
            self.take(document, runs)
        now = time.monotonic()
        with self._lock:
            self._due = max(self._due, now + SHARE * (now - began))

    def take(self, document: Any = None, runs: Iterable[Run] = ()) -> None:
        """Keep a document (None: the one before stays) and runs, with what follows soon after."""
        if self._store is None:
            return
        with self._lock:
            self._note(document, runs)
            self._ended = False
        self._write_if_due()

    def drop(self, run_id: str) -> None:
        """Take a run that was kept out of the list, as one does whose figures do not hold."""
        if self._store is None:
            return
        with self._lock:
            self._waiting.pop(run_id, None)
            self._states.pop(run_id, None)
        self._store.do(lambda store: self._delete(store, run_id), self.tell)

    @interrupts_held()
    def end(
        self,
        document: Any,
        runs: Iterable[Run] = (),
        *,
        finished: bool = True,
        also: Callable[[Store], object] | None = None,
    ) -> None:
        """Write what is left, and what it ``also`` comes to.

        Not ``finished``: it was left, and may be gone on with.
        """
        if self._store is None:
            return
        with self._lock:
            self._note(document, runs)
            self._ended, self._finishes, self._also = True, finished, also
            late, self._late = self._late, None
        if late is not None:
            late.cancel()
        if self.trouble is not None:
            self._give_up()
        self._store.do(self._write, self._wrote)

    @property
    def recovered(self) -> bool:
        """Whether the store has taken at the end all that it refused, of which was told."""
        with self._lock:
            return self._told and self._ended and not self._writing and self.trouble is None

    def tell(self, outcome: object) -> None:
        """Tell of a store that failed, the first time."""
        if isinstance(outcome, ExplorerError) and not self._told:
            self._told = True
            self._on_trouble(outcome)

    # ---- inside

    def _note(self, document: Any, runs: Iterable[Run]) -> None:
        if document is not None:
            self._document = document
        for run in runs:
            if isinstance(run, RunRecord):
                state: object = (run.samples, run.dropped, run.stopped_by)
                if not run.samples:
                    continue
            else:
                state = run.timing
            if self._states.get(run.id) != state:
                self._waiting[run.id] = run.snapshot() if isinstance(run, RunRecord) else run
                self._states[run.id] = state

    def _write_if_due(self) -> None:
        with self._lock:
            is_due = time.monotonic() >= self._due and not self._writing
            if self._ended or (self._document is None and not self._waiting):
                return
            if is_due:
                self._writing = True
            elif self._late is None:
                wait_s = max(self._due - time.monotonic(), 0.0) + self._every_s
                self._start_late(wait_s, self._write_late)
        if is_due and self._store is not None:
            self._store.do(self._write, self._wrote)

    def _start_late(self, wait_s: float, write: Callable[[], None]) -> None:
        self._late = threading.Timer(wait_s, write)
        self._late.name, self._late.daemon = "keeping", True
        self._late.start()

    def _write_again(self) -> None:
        """Write what was refused at the end."""
        with self._lock:
            self._late = None
        if self._store is not None:
            self._store.do(self._write, self._wrote)

    def _write_late(self) -> None:
        with self._lock:
            self._late = None
        self._write_if_due()

    def _write(self, store: Store) -> None:
        """Write what waits, in the store's thread."""
        try:
            self._write_all(store)
        except ExplorerError:
            if self._ended:  # nobody may be left to hear of it: the window may be closing
                self._give_up()
            raise

    def _write_all(self, store: Store) -> None:
        with self._one_write:
            with self._lock:
                document, runs = self._document, dict(self._waiting)
                finished = self._ended and self._finishes
            results = (
                run.result(listed=False) if isinstance(run, RunRecord) else run
                for run in runs.values()
            )
            store.add_group(self._kind, document, results, group=self._id, finished=finished)
            with self._lock:
                self.group, self.finished, self.has_written = self._id, finished, True
                if self._document is document:
                    self._document = None
                for run_id, run in runs.items():
                    if self._waiting.get(run_id) is run:  # else it went on meanwhile
                        del self._waiting[run_id]
                ended, also = self._ended, self._also
            if ended and also is not None:
                also(store)
                self._also = None

    def _delete(self, store: Store, run_id: str) -> None:
        with self._one_write:  # which may be writing it now
            if store.known([run_id]):
                store.delete(run_id)

    def _wrote(self, outcome: object) -> None:
        error = outcome if isinstance(outcome, ExplorerError) else None
        wait_s = TRY_AGAIN_S if error is not None else self._every_s
        with self._lock:
            self._writing, self.trouble = False, error
            self._due = time.monotonic() + wait_s
            if error is not None and self._ended and self._rescue is not None:
                self._start_late(TRY_AGAIN_S, self._write_again)  # the document, at least
        self.tell(error)

    def _give_up(self) -> None:
        """Hand over the runs that the store has refused."""
        if self._rescue is None:
            return
        with self._lock:
            runs, self._waiting = self._waiting, {}
        for run in runs.values():
            self._rescue(run, group=self._id)
