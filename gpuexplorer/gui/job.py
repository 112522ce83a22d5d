"""Work that has the window's engine to itself for a while: calibration, a block map, a sweep ...

A job is a thread that measures one configuration after another through the live engine. What the
engine says of its runs goes straight from the engine's thread to the job's, past the main thread,
which stays free to draw. ``Jobs.begin`` lends it the engine, one job at a time.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from PySide6.QtCore import Signal

from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import Cancelled, WorkFailed
from gpuexplorer.core.operators import OperatorProfile
from gpuexplorer.core.sample import Reading
from gpuexplorer.engine import protocol
from gpuexplorer.engine.client import EngineLost
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.session import LongRun, error_of, error_of_loss
from gpuexplorer.gui.task import Task, outcome_of
from gpuexplorer.gui.worker import EngineWorker, Heard
from gpuexplorer.workloads.workload import Workload


class EngineJob(Task):
    """A task that has the engine; make a subclass for each kind of work.

    ``stepped`` carries whatever the kind tells of its progress; ``ended`` the outcome that
    ``worked`` carried: the session emits it once it has the engine back, so whoever hears it finds
    everything as it is afterwards. ``waits`` says that a pause has begun: no run is going on, and
    nothing is asked of the engine until ``resume``. Once cancelled, it has no outcome.
    """

    doing = "working"
    """What the status bar says meanwhile; ``done`` and ``not_done`` what it says afterwards."""
    done = "done"
    not_done = "cancelled"

    stepped = Signal(object)
    ended = Signal(object)
    waits = Signal()

    def __init__(
        self,
        worker: EngineWorker,
        *,
        ceilings: Callable[[DeviceInfo], Ceilings | None] | None = None,
    ) -> None:
        """``ceilings`` finds what a device was measured to do at most; runs are held against it."""
        super().__init__("job")
        self._worker = worker
        self._ceilings = ceilings
        self._gate = threading.Condition()
        self._paused = self._waiting = False
        self._inbox: queue.SimpleQueue[Heard | None] = queue.SimpleQueue()

    # ---- asked from the main thread

    def cancel(self) -> None:
        """Stop at the next launch boundary."""
        with self._gate:
            super().cancel()
            holds_engine = not self._waiting
            self._gate.notify_all()
        if holds_engine:
            self._worker.ask_cancel()
        self._inbox.put(None)

    def pause(self) -> None:
        """Ask for no further run once the present one has ended; ``waits`` says when."""
        with self._gate:
            self._paused = True

    def resume(self) -> None:
        """Go on after a pause."""
        with self._gate:
            self._paused = self._waiting = False
            self._gate.notify_all()

    @property
    def paused(self) -> bool:
        """Whether it was asked to pause."""
        return self._paused

    @property
    def waiting(self) -> bool:
        """Whether a pause has begun; it lasts until ``resume`` or ``cancel``."""
        with self._gate:
            return self._waiting and not self.cancelled

    # ---- in the thread

    def run(self) -> None:
        """Work, and tell how it ended."""
        outcome = outcome_of(self.doing, self.work)
        self.worked.emit(None if self.cancelled else outcome)

    def keep_going(self) -> None:
        """Wait while the job is paused; raise Cancelled once it is cancelled."""
        with self._gate:
            while self._paused and not self.cancelled:
                if not self._waiting:
                    self._waiting = True
                    self.waits.emit()
                self._gate.wait()
            if self.cancelled:
                raise Cancelled
            self._waiting = False

    def measure(
        self,
        config: RunConfig,
        workload: Workload,
        *,
        seconds: float | None,
        max_noise: float | None = None,
        samples: int | None = None,
        warm_up_s: float | None = None,
        keep_arrays: bool = False,
        allow_long: bool = False,
    ) -> RunRecord:
        """Measure one configuration as ``engine.session.Session.measure_record`` does.

        Waits first while the job is paused. Raises Cancelled, LongRun when a launch would take
        long and ``allow_long`` is False, EngineGone when there is no engine any more, and the
        ExplorerError of whatever went wrong with this run alone.
        """
        self.keep_going()
        inbox: queue.SimpleQueue[Heard | None] = queue.SimpleQueue()
        self._inbox = inbox  # ``cancel`` puts None into the latest
        if self.cancelled:
            raise Cancelled
        self._worker.ask_for(
            inbox.put,
            config,
            workload,
            seconds=seconds,
            max_noise=max_noise,
            samples=samples,
            warm_up_s=warm_up_s,
            keep_arrays=keep_arrays,
            allow_long=allow_long,
        )
        record: RunRecord | None = None
        while True:
            heard = inbox.get()
            if heard is None or self.cancelled:
                raise Cancelled
            if isinstance(heard, protocol.Prepared):
                record = RunRecord(heard, max_noise=max_noise)
                if self._ceilings is not None:
                    record.ceilings = self._ceilings(heard.device)
            elif isinstance(heard, protocol.Samples) and record is not None:
                record.add(heard.batch)
            elif isinstance(heard, Reading) and record is not None:
                record.add_reading(heard)
            elif isinstance(heard, protocol.MemoryCounted) and record is not None:
                record.memory = heard.memory
            elif isinstance(heard, protocol.Finished) and record is not None:
                record.end(heard.stopped_by, heard.phases_s)
                return record
            else:
                _raise_of(heard)

    def operators(
        self, config: RunConfig, workload: Workload, *, shapes: bool = False
    ) -> OperatorProfile:
        """Record the operators of one launch; waits and raises as ``measure`` does."""
        self.keep_going()
        inbox: queue.SimpleQueue[Heard | None] = queue.SimpleQueue()
        self._inbox = inbox
        if self.cancelled:
            raise Cancelled
        self._worker.ask_for(
            inbox.put, config, workload, seconds=None, operators=True, shapes=shapes
        )
        while True:
            heard = inbox.get()
            if heard is None or self.cancelled:
                raise Cancelled
            if isinstance(heard, protocol.Profiled):
                return heard.profile
            _raise_of(heard)

    measure_record = measure
    """The name a blocking session has for it, so that a job can stand where one is asked for."""


def _raise_of(heard: Heard) -> None:
    """Raise what a run ended with, if it did not end well."""
    if isinstance(heard, protocol.Cancelled):
        raise WorkFailed("the run was cancelled before it had a sample")
    if isinstance(heard, protocol.NeedsConfirmation):
        raise LongRun(heard.predicted_s)
    if isinstance(heard, protocol.Failed):
        raise error_of(heard)
    if isinstance(heard, EngineLost):
        raise error_of_loss(heard)
