"""Work that has the window's engine to itself for a while: calibration, a block map, a sweep ...

A job is a thread that measures one configuration after another through the live engine. What the
engine says of its runs goes straight from the engine's thread to the job's, past the main thread,
which stays free to draw. ``Jobs.begin`` lends it the engine, one job at a time.
"""

from __future__ import annotations

import queue
import threading
import time

from PySide6.QtCore import Signal

from gpuexplorer.core.accesses import AccessLook, AccessProfile
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import Cancelled
from gpuexplorer.core.operators import OperatorProfile
from gpuexplorer.core.run_options import LIVE, RunOptions
from gpuexplorer.engine import protocol
from gpuexplorer.engine.receiver import CeilingsOf, Receiver
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.session import EngineSession, RunProgress
from gpuexplorer.gui.task import Task, outcome_of
from gpuexplorer.gui.worker import JOB_TICKET, QUIET_TICKET, EngineWorker, JobEvent
from gpuexplorer.workloads.workload import Workload


class EngineJob(Task):
    """A task that has the engine; make a subclass for each kind of work.

    ``stepped`` carries whatever the kind tells of its progress; ``ended`` the outcome that
    ``worked`` carried: the session emits it once it has the engine back, so a slot that is
    connected to it can use the engine. ``waits`` says that a pause has begun: no run is going on,
    and nothing is asked of the engine until ``resume``. Once cancelled, it has no outcome.
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
        ceilings: CeilingsOf | None = None,
    ) -> None:
        """``ceilings`` finds what a device was measured to do at most; runs are held against it."""
        super().__init__("job")
        self._worker = worker
        self._ceilings = ceilings
        self.quiet = False
        """Whether nobody asked for it, and nobody is to be troubled with it."""
        self._gate = threading.Condition()
        self._paused = self._waiting = False
        self.waited_s = 0.0
        """How long it has waited in pauses, which are no part of what it takes."""
        self._inbox: queue.SimpleQueue[JobEvent | None] = queue.SimpleQueue()
        self._receiver: Receiver | None = None

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

    @property
    def waits_for_others(self) -> bool:
        """Whether its run waits until nobody else uses the device."""
        run = self._receiver
        return run is not None and not run.ended and run.stage == "wait"

    # ---- in the thread

    def run(self) -> None:
        """Work, and tell how it ended."""
        outcome = outcome_of(self.doing, self.work)
        self._receiver, self._inbox = None, queue.SimpleQueue()  # else they last as long as it
        self.worked.emit(None if self.cancelled else outcome)

    def keep_going(self) -> None:
        """Wait while the job is paused; raise Cancelled once it is cancelled."""
        with self._gate:
            began = time.monotonic()
            while self._paused and not self.cancelled:
                if not self._waiting:
                    self._waiting = True
                    self.waits.emit()
                self._gate.wait()
            self.waited_s += time.monotonic() - began
            if self.cancelled:
                raise Cancelled
            self._waiting = False

    def measure(self, config: RunConfig, workload: Workload, options: RunOptions) -> RunRecord:
        """Measure one configuration as ``EngineSession.measure`` does.

        Waits first while the job is paused. Raises Cancelled, LongRun when a launch would take long
        and that is not agreed to, EngineGone when there is no engine any more, and the
        ExplorerError of whatever went wrong with this run alone.
        """
        return self._run(config, workload, options, "samples").measured()

    def operators(
        self, config: RunConfig, workload: Workload, *, shapes: bool = False
    ) -> OperatorProfile:
        """Record the operators of one launch; waits and raises as ``measure`` does."""
        recording: protocol.Recording = "shapes" if shapes else "operators"
        return self._run(config, workload, LIVE, recording).profiled()

    def accesses(self, config: RunConfig, workload: Workload, look: AccessLook) -> AccessProfile:
        """Count what one warp asks of memory; raise what the run ended with."""
        return self._run(config, workload, LIVE, look).accessed()

    def _run(
        self,
        config: RunConfig,
        workload: Workload,
        options: RunOptions,
        recording: protocol.Recording,
    ) -> Receiver:
        """Have the engine do a run, and wait until it has ended."""
        self.keep_going()
        inbox: queue.SimpleQueue[JobEvent | None] = queue.SimpleQueue()
        self._inbox = inbox  # ``cancel`` puts None into the latest
        if self.cancelled:
            raise Cancelled
        run = self._receiver = Receiver(config, options, self._ceilings)
        ticket = QUIET_TICKET if self.quiet else JOB_TICKET
        self._worker.ask_run(config, workload, options, recording, ticket=ticket, sink=inbox.put)
        try:
            while (heard := inbox.get()) is not None and not self.cancelled:
                if run.take(heard):
                    return run
        finally:
            self._worker.release(inbox.put)
        raise Cancelled


class JobEngine:
    """An engine of this job alone; it stops when the job does."""

    def __init__(self, job: EngineJob, session: EngineSession) -> None:
        self._job, self._session = job, session

    @property
    def pid(self) -> int | None:
        """The engine's process number, while there is one."""
        return self._session.pid

    def devices(self) -> DeviceList:
        """Return what it can run work on."""
        return self._session.devices(on_wait=self._job.keep_going)

    def close(self) -> None:
        """End it."""
        self._session.close()

    def measure(self, config: RunConfig, workload: Workload, options: RunOptions) -> RunRecord:
        """Measure as the job does: not while it is paused, and not once it is cancelled."""
        self._job.keep_going()
        return self._session.measure(config, workload, options, on_progress=self._look)

    def _look(self, _: RunProgress) -> None:
        if self._job.cancelled:
            raise Cancelled
