"""The thread that owns the store of runs: every query and every write of the window happens here.

The main thread asks through ``ask`` (rows to show, the latest wins), ``do`` (anything else) and
hands its runs over through ``go_on`` and ``end``. Whatever goes wrong with the store is told once;
measuring goes on, and what was measured is kept and tried again.
"""

from __future__ import annotations

import gc
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar, cast

import msgspec
from PySide6.QtCore import Signal, Slot

from gpuexplorer.core.errors import ExplorerError, WorkFailed
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.gui.model.history_columns import Baselines, baseline_key
from gpuexplorer.gui.model.history_pages import PAGE, Answer, Ask, View
from gpuexplorer.gui.model.keeping import RESCUE_FOLDER, Keeper, take_in
from gpuexplorer.gui.task import Task, outcome_of
from gpuexplorer.history.model import Query, Sort
from gpuexplorer.history.peek import newest
from gpuexplorer.history.store import Store

T = TypeVar("T")

POLL_S = 1.0
"""Between two looks whether another program changed the store."""
RETRY_S = 4.0
"""Between two tries to open or write a store that refused."""
HOLD_S = 0.4
MOST_HELD_S = 3.0
"""While knobs move nothing is written for so long after each move, and for so long at the most."""
ROOM_S = 0.1
"""Between two such times, for what waits."""
ENDED_S = 15.0
"""Between two looks whether the programs still run whose runs go on."""
REST_S = 5.0
"""After so long without a question or a write, the memory that they took is freed."""
BUSY_S = 2.0
"""How long one waits for another program that is writing; a search for rows waits as long."""
CLOSE_S = 20.0
"""How long the window's end may take because of the store."""
MAX_BASELINES = 1000
IN_PART = -1
"""The state of rows that the open store is to complete; none of its own is it."""


class Trouble(msgspec.Struct, frozen=True):
    """Why the store cannot be used, and how many runs that ended wait for it."""

    error: ExplorerError
    waiting: int
    readable: bool
    """Whether what it holds can be shown."""


class _Job(msgspec.Struct, frozen=True):
    ticket: int
    work: Callable[[Store], object]
    needs: Sequence[str]


class StoreWorker(Task):
    """Owns a ``Store``.

    ``answered`` carries the ``Answer`` to the latest ``ask``; ``changed`` says that the store holds
    something else than before, by this or another program; ``troubled`` carries a ``Trouble`` once
    for each that begins or grows, None when it is over; ``opened`` says that the store can be used.
    """

    answered = Signal(object)
    changed = Signal()
    opened = Signal()
    troubled = Signal(object)
    _done = Signal(int, object)

    def __init__(self, open_store: Callable[[], Store] | None = None) -> None:
        super().__init__("store")
        self._peek_is_due = open_store is None
        self._open_store = open_store or (lambda: Store.open_to_read(busy_s=BUSY_S))
        self._keeper = Keeper()
        self._wake = threading.Condition()
        self._ask: Ask | None = None
        self._jobs: deque[_Job] = deque()
        self._callbacks: dict[int, Callable[[object], None]] = {}
        self._tickets = 0
        self._store: Store | None = None
        self._held_from = self._held_until = 0.0
        self._open_at = self._read_at = 0.0
        """When the next try to open or to read is due, after one that failed."""
        self._used_at: float | None = None
        """When the store was last asked or written; None since it rests."""
        self._ended_at = 0.0
        """When to look again for runs whose program is gone."""
        self._others_run = False
        """Whether a run that was asked for goes on in another program, or did when it ended."""
        self._seen: int | None = None
        """The state of the store that ``changed`` told of."""
        self._found_baselines: Baselines = {}
        self._based_on: int | None = None
        self._told: Trouble | None = None
        self._unread = False
        """Whether what is told is that it cannot be read."""
        self.trouble: Trouble | None = None
        """What is wrong with the store, as far as the main thread was told."""
        self.left_behind: ExplorerError | None = None
        """Why runs were lost at the window's end; None when none was."""
        self._done.connect(self._finish_job)
        self.troubled.connect(self._note_trouble)

    # ---- asked from the main thread

    def ask(self, ask: Ask) -> None:
        """Answer this instead of any question before that is not answered yet."""
        with self._wake:
            self._ask = ask
            self._wake.notify()

    def do(
        self,
        work: Callable[[Store], T],
        then: Callable[[T | ExplorerError], None] | None = None,
        *,
        needs: Sequence[str] = (),
    ) -> None:
        """Do something with the store in its thread, then call ``then`` in this one.

        ``then`` gets what ``work`` returned, or the ExplorerError it raised. Of the runs ``needs``
        everything that is in hand is written first.
        """
        with self._wake:
            if self.cancelled:
                return
            self._tickets += 1
            if then is not None:
                self._callbacks[self._tickets] = cast(Callable[[object], None], then)
            self._jobs.append(_Job(self._tickets, work, tuple(needs)))
            self._wake.notify()

    def go_on(self, record: RunRecord, batches: Iterable[SampleBatch]) -> None:
        """Take in what a run that goes on sampled; it is written every second."""
        self._keeper.go_on(record, batches, time.monotonic())

    def end(self, run: RunRecord | RunResult, *, group: str | None = None) -> None:
        """Store a run that has ended; one of a sweep or tuning with its ``group``."""
        self._keeper.end(run, time.monotonic(), group)
        with self._wake:
            self._wake.notify()

    def kept(self, run_id: str) -> bool:
        """Return whether the store holds all of a run of this window that has ended."""
        return self._keeper.kept(run_id)

    def hold(self) -> None:
        """Leave the processor to a knob's answer: write nothing for a moment."""
        now = time.monotonic()
        if now >= self._held_until:
            if now < self._held_until + ROOM_S:  # what was held back has its turn first
                return
            self._held_from = now
        self._held_until = min(now + HOLD_S, self._held_from + MOST_HELD_S)

    def close(self, timeout_s: float = CLOSE_S) -> bool:
        """Write what is in hand, close the store, end the thread; return whether it ended in time.

        What could not be written is in files beside the store then, for the next window;
        ``left_behind`` says why when not even that was possible.
        """
        with self._wake:
            self.cancel()
            self._wake.notify()
        if not self.isRunning() and not self.isFinished():
            return True
        return self.wait(int(timeout_s * 1000))

    @Slot(int, object)
    def _finish_job(self, ticket: int, outcome: object) -> None:
        then = self._callbacks.pop(ticket, None)
        if then is not None and not self.cancelled:
            then(outcome)

    @Slot(object)
    def _note_trouble(self, trouble: Trouble | None) -> None:
        self.trouble = trouble

    @property
    def rests(self) -> bool:
        """Whether nothing was asked or written for a while, and their memory is free again."""
        return self._used_at is None

    # ---- in the thread

    def work(self) -> None:
        """Serve until closed."""
        try:
            while self._wait():
                self._serve()
            self._do_jobs()
            self._last_words()
        finally:
            if self._store is not None:
                self._store.close()

    def _wait(self) -> bool:
        """Wait until there is something to do; False once it is time to end."""
        with self._wake:
            now = time.monotonic()
            dues = [now + POLL_S, self._open_at if self._store is None else now + POLL_S]
            due_s = self._keeper.due_s()
            if due_s is not None and self._store is not None:
                dues.append(max(due_s, self._held_until))
            if self._ask is not None:
                dues.append(self._read_at if self._store is not None else self._open_at)
            patience = 0.0 if self._jobs else min(dues) - now
            if not self.cancelled and patience > 0:
                self._wake.wait(patience)
            return not self.cancelled

    def _serve(self) -> None:
        """Do everything that waits, once; rows for the table come first."""
        if self._peek_is_due:
            self._peek()
        self._keep_open()
        self._answer_ask()
        self._do_jobs()
        if self._store is not None:
            self._write(self._store)
        self._look()

    def _do_jobs(self) -> None:
        """Do what was asked for, at the end as well: what was measured until then may be in it."""
        with self._wake:
            jobs = list(self._jobs)
            self._jobs.clear()
        for job in jobs:
            self._used_at = time.monotonic()
            self._done.emit(job.ticket, self._outcome(job))

    def _peek(self) -> None:
        """Show the newest runs before the store is open, which takes several times as long."""
        self._peek_is_due = False
        found = newest(PAGE)
        if found is not None:
            whole = all(row.folded is None for row in found.rows)
            state = found.state if whole else IN_PART
            self.answered.emit(
                Answer(View(), state, found.total, {0: found.rows}, frozenset(), {}, found.runs)
            )

    def _keep_open(self) -> None:
        """Open the store if it is not, its file was taken away, or it could only be read so far."""
        now, store = time.monotonic(), self._store
        if now < self._open_at:
            return
        gone = store is not None and store.path is not None and not store.path.exists()
        if store is not None and store.can_write and not gone:
            return
        self._open_at = now + RETRY_S
        opened = outcome_of("opening the history", self._open)
        if isinstance(opened, ExplorerError):
            self._in_trouble(opened)
            return
        self._store, self._seen, self._read_at = cast(Store, opened), None, 0.0
        if store is None:
            gc.freeze()  # what was imported for it need never be walked through
            self._recovered()
            self.opened.emit()
        else:
            store.close()

    def _open(self) -> Store:
        """Open the store, and take in what an earlier window could not write."""
        store = self._open_store()
        folder = rescue_folder(store)
        if store.can_write and folder.is_dir():
            take_in(store, folder)
        return store

    def _outcome(self, job: _Job) -> object:
        """Return what a job returned, or its error."""
        store = self._store
        if store is None:
            return self._told.error if self._told is not None else WorkFailed("no history yet")

        def work() -> object:
            if job.needs:
                self._keeper.write(store, time.monotonic(), job.needs)
            return job.work(store)

        return outcome_of("the history", work)

    # ---- reading

    def _answer_ask(self) -> None:
        store, now = self._store, time.monotonic()
        with self._wake:
            if self._ask is None or store is None or now < self._read_at:
                return
            ask, self._ask = self._ask, None
        self._used_at = now
        try:
            self.answered.emit(self._answer(store, ask))
        except ExplorerError as error:
            with self._wake:
                self._ask = self._ask or ask
            self._cannot_read(error)
        else:
            self._can_read()

    def _look(self) -> None:
        """Tell when the store has changed; finish what programs that are gone left running."""
        store, now = self._store, time.monotonic()
        if store is None or now < self._read_at:
            return
        if self._others_run and now >= self._ended_at:
            self._ended_at = now + ENDED_S
            with suppress(ExplorerError):
                self._open_store().close()
        try:
            generation = store.generation()
            if self._used_at is not None and now >= self._used_at + REST_S:
                store.rest()
                self._used_at = None
        except ExplorerError as error:
            self._cannot_read(error)
            return
        self._can_read()
        if generation != self._seen:
            self._seen = generation
            self.changed.emit()

    def _cannot_read(self, error: ExplorerError) -> None:
        self._read_at = time.monotonic() + RETRY_S
        self._unread = True
        self._in_trouble(error)

    def _can_read(self) -> None:
        """Recover from what could not be read; a store that takes nothing may be read."""
        if self._unread:
            self._unread = False
            self._recovered()

    def _answer(self, store: Store, ask: Ask) -> Answer:
        """Return what is asked for, all of it as of one state of the store."""
        view, held = ask.view, self._keeper.held
        found = store.timeline(
            view.query, dict.fromkeys((*ask.visible, *ask.missing)), PAGE,
            sort=cast(Sort, view.sort), descending=view.descending, unfolded=view.unfolded,
            known=ask.known, missing=ask.missing,
        )  # fmt: skip
        listed = [*found.pages.values(), *(rows for _, rows in found.unfolded)]
        going = {row.id for rows in listed for row in rows if row.running and row.folded is None}
        known = found.rows is None
        if going or not known:
            self._others_run = bool(going - held)
        return Answer(
            view, found.state, found.rows, found.pages, held,
            self._baselines(store, found.state), found.runs, None if known else found.unfolded,
        )  # fmt: skip

    def _baselines(self, store: Store, state: int) -> Baselines:
        """Return the latest starred run of each problem."""
        if self._based_on != state:
            starred = store.find(Query(starred=True), limit=MAX_BASELINES)
            usable = [row for row in starred if row.median_s and row.suspect is None]
            self._based_on = state
            found = {baseline_key(row): row for row in reversed(usable)}
            if found != self._found_baselines:  # else the same object says so in no time
                self._found_baselines = found
        return self._found_baselines

    # ---- writing

    def _write(self, store: Store) -> None:
        now = time.monotonic()
        due_s = self._keeper.due_s()
        if due_s is None or max(due_s, self._held_until) > now:
            return
        self._used_at = now
        try:
            self._keeper.write(store, now)
        except ExplorerError as error:
            self._keeper.put_off(time.monotonic() + RETRY_S)
            self._unread = False
            self._in_trouble(error)
        else:
            self._recovered()

    def _last_words(self) -> None:
        """Write what is in hand; into files where the store does not take it."""
        store = self._store
        self._keeper.end_all(time.monotonic())
        if store is not None:
            try:
                self._keeper.write(store, time.monotonic())
            except ExplorerError as error:
                self.left_behind = error
        if not self._keeper.waiting:
            return
        try:
            self._keeper.rescue(rescue_folder(store))
        except ExplorerError as error:
            self.left_behind = error
        else:
            self.left_behind = None

    # ---- telling

    def _in_trouble(self, error: ExplorerError) -> None:
        trouble = Trouble(error, self._keeper.waiting, self._store is not None)
        if self._told is None or (str(self._told.error), self._told.waiting) != (
            str(error),
            trouble.waiting,
        ):
            self._told = trouble
            self.troubled.emit(trouble)

    def _recovered(self) -> None:
        if self._told is not None and not self._keeper.waiting:
            self._told = None
            self.troubled.emit(None)


def rescue_folder(store: Store | None) -> Path:
    """Return where runs go that the store does not take."""
    from gpuexplorer.calibration.store import data_folder

    path = store.path if store is not None else None
    return (path.parent if path is not None else data_folder()) / RESCUE_FOLDER
