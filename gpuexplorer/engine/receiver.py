"""What came of one run, from the messages about it: the only place that reads them in order.

A terminal that blocks for the engine, a job's thread and the live view all hand each message to a
``Receiver``.
"""

from __future__ import annotations

from collections.abc import Callable

from gpuexplorer.analysis.energy import idle_power_W
from gpuexplorer.core.accesses import AccessProfile
from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import ExplorerError, WorkFailed, WrongResult
from gpuexplorer.core.operators import OperatorProfile
from gpuexplorer.core.run_options import LIVE, RunOptions
from gpuexplorer.core.telemetry import Counters
from gpuexplorer.engine import protocol
from gpuexplorer.engine.client import EngineLost, Event
from gpuexplorer.engine.errors import LongRun, error_of, error_of_loss
from gpuexplorer.engine.record import RunRecord

CeilingsOf = Callable[[DeviceInfo], Ceilings | None]
"""Finds what a device was measured to do at most; a run is held against it."""


class Receiver:
    """Takes what is told about one run, one message after another.

    Once ``ended``, ``error`` says what went wrong, with the configuration; None for nothing. What
    was sampled by then is the ``record`` in any case.
    """

    def __init__(
        self,
        config: RunConfig,
        options: RunOptions = LIVE,
        ceilings: CeilingsOf | None = None,
    ) -> None:
        self._config = config
        self._options = options
        self._ceilings = ceilings
        self.stage = "start"
        """The step that the engine is at."""
        self.record: RunRecord | None = None
        """What was sampled so far; None until the run is prepared."""
        self.earlier: list[RunRecord] = []
        """What was sampled before it was prepared again, in the order of time: runs of their own,
        for samples of two ways to time them never stand in one series."""
        self.counters: Counters | None = None
        self.profile: OperatorProfile | None = None
        self.accesses: AccessProfile | None = None
        self.ended = False
        self.error: ExplorerError | None = None

    def take(self, told: Event) -> bool:
        """Take in what is told next; return whether the run has ended."""
        record = self.record
        match told:
            case protocol.Stage():
                if self.stage == "rest" and record is not None:  # what follows it is the warm-up
                    record.idle_power_W = idle_power_W(record.readings)
                self.stage = told.name
            case protocol.Prepared():
                self._prepared(told)
            case protocol.Samples() if record is not None:
                record.add(told.batch, dropped=told.dropped)
            case protocol.Telemetry() if record is not None:
                if told.device == record.prepared.device.id:  # not of one that was watched before
                    record.add_reading(told.reading)
            case protocol.MemoryCounted() if record is not None:
                record.memory = told.memory
            case protocol.Finished():
                if record is not None:
                    record.end(told.stopped_by, told.phases_s)
                self.ended = True
            case protocol.Counted():
                self.counters = told.counters
                if record is not None:
                    record.count(told.counters)
                self.ended = True
            case protocol.Profiled():
                self.profile = told.profile
                self.ended = True
            case protocol.Accessed():
                self.accesses = told.profile
                self.ended = True
            case protocol.Cancelled():
                self.ended = True
            case protocol.NeedsConfirmation():
                self._fail(LongRun(told.predicted_s))
            case protocol.Failed():
                self._failed(error_of(told))
            case EngineLost() if told.generation or not told.restarting:
                if record is not None:
                    record.end(told.kind)
                self._fail(error_of_loss(told))
        return self.ended

    def measured(self) -> RunRecord:
        """Return what a run that has ended sampled; raise what it ended with."""
        if self.error is not None:
            raise self.error
        if self.record is None or not self.record.samples:
            raise WorkFailed("the run was stopped before it had a sample")
        return self.record

    def counted(self) -> Counters:
        """Return what was counted in a launch; raise what the run ended with."""
        if self.error is not None:
            raise self.error
        if self.counters is None:
            raise WorkFailed("the launch was stopped before it was counted")
        return self.counters

    def profiled(self) -> OperatorProfile:
        """Return the operators that were recorded; raise what the run ended with."""
        if self.error is not None:
            raise self.error
        if self.profile is None:
            raise WorkFailed("the launch was stopped before it was recorded")
        return self.profile

    def accessed(self) -> AccessProfile:
        """Return the accesses that were counted; raise what the run ended with."""
        if self.error is not None:
            raise self.error
        if self.accesses is None:
            raise WorkFailed("the launch was stopped before its accesses were counted")
        return self.accesses

    def _prepared(self, prepared: protocol.Prepared) -> None:
        """Begin a record; a run that is prepared again is timed in another way from there on."""
        if self.record is not None and self.record.samples:
            self.record.end("timing")
            self.earlier.append(self.record)
        self.record = RunRecord(prepared, max_noise=self._options.max_noise)
        if self._ceilings is not None:
            self.record.ceilings = self._ceilings(prepared.device)

    def _failed(self, error: ExplorerError) -> None:
        if self.record is not None:
            self.record.end("failed")
            if isinstance(error, WrongResult):
                self.record.found_wrong()
        self._fail(error)

    def _fail(self, error: ExplorerError) -> None:
        error.config = self._config
        self.error, self.ended = error, True
