"""A blocking session with an engine, for the command line and for notebooks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.closing import Closing
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.counters import Counters
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import (
    CannotRunHere,
    ExplorerError,
    InputError,
    MemoryTaken,
    OutOfMemory,
    WorkFailed,
    WrongResult,
)
from gpuexplorer.core.operators import OperatorProfile
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.telemetry import SourceState
from gpuexplorer.core.units import quantity
from gpuexplorer.engine import protocol
from gpuexplorer.engine.client import Engine, EngineLost, EngineOptions, Event
from gpuexplorer.engine.process import check_threads
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.workloads.workload import Workload

POLL_S = 0.25


class LongRun(InputError):
    """One launch would take long, and nobody agreed to that yet."""

    kind = "long-run"

    def __init__(self, predicted_s: float) -> None:
        super().__init__(
            f"one launch would take about {quantity(predicted_s, 's', 2)}",
            remedy="agree to it with --yes, or choose another block or a smaller size",
        )
        self.predicted_s = predicted_s


class EngineKilled(WorkFailed):
    """Somebody else ended the engine in the middle of a run: nothing says that it would fail."""

    kind = "lost"


class EngineGone(CannotRunHere):
    """There is no engine any more, and starting one failed too often to try again."""


@dataclass(frozen=True)
class Progress:
    """Where a run is: the step, and what was sampled so far."""

    stage: str
    samples: int
    elapsed_s: float
    seconds: float | None


class Session(Closing):
    """An engine for one thing after another; use it in a ``with`` statement.

    Every call raises the ExplorerError that says what went wrong.
    """

    def __init__(
        self,
        *,
        python: str | None = None,
        threads: int | None = None,
        log: Callable[[str], None] | None = None,
        ceilings: Callable[[DeviceInfo], Ceilings | None] | None = None,
    ) -> None:
        """``ceilings`` finds what a device was measured to do at most; runs are held against it.

        Raises InputError for more CPU threads than this machine has.
        """
        check_threads(threads)
        self._ceilings = ceilings
        self._engine = Engine(EngineOptions(python=python, threads=threads), self._on_event, log)
        self._devices: protocol.Devices | None = None
        self._record: RunRecord | None = None
        self._max_noise: float | None = None
        self._counters: Counters | None = None
        self._profile: OperatorProfile | None = None
        self._stage = "start"
        self._error: Exception | None = None
        self._cannot_start: Exception | None = None
        self._ended = False
        self._engine.start()

    def close(self) -> None:
        """End the engine."""
        self._engine.close()

    @property
    def pid(self) -> int | None:
        """The engine's process number, while there is one."""
        return self._engine.pid

    def devices(self, *, on_wait: Callable[[], None] | None = None) -> DeviceList:
        """Return every device and every backend that has none.

        ``on_wait`` is called a few times a second meanwhile; what it raises ends the waiting.
        """
        return self._found(on_wait=on_wait).devices

    def telemetry(self) -> dict[str, tuple[SourceState, ...]]:
        """Return the state of every source that is meant for a device, by its hardware."""
        return self._found(telemetry=True).telemetry

    def _found(
        self, *, telemetry: bool = False, on_wait: Callable[[], None] | None = None
    ) -> protocol.Devices:
        """Ask the engine what there is, once."""
        found = self._devices
        if found is None or (telemetry and not found.telemetry):
            self._devices, self._error = None, None
            self._engine.list_devices(telemetry=telemetry)
            while (found := self._devices) is None:
                self._raise_error()
                self._engine.poll(POLL_S)
                if on_wait is not None:
                    on_wait()
        return found

    def measure(
        self,
        config: RunConfig,
        workload: Workload,
        *,
        seconds: float | None,
        max_noise: float | None = None,
        allow_long: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> RunResult:
        """Measure one configuration and return its document.

        ``seconds`` is how long to sample. With ``max_noise`` it is at most so long: the run ends
        when the median is known to that fraction, or when more samples would not help.

        Raises LongRun when a launch would take long and ``allow_long`` is False. An error in the
        middle of the run has what was sampled by then as its ``partial``. On KeyboardInterrupt the
        run is cancelled; what was sampled by then is ``partial()``.
        """
        try:
            record = self.measure_record(
                config,
                workload,
                seconds=seconds,
                max_noise=max_noise,
                allow_long=allow_long,
                on_progress=on_progress,
            )
        except ExplorerError as error:
            error.partial = self.partial()
            raise
        return record.result()

    def measure_record(
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
        on_progress: Callable[[Progress], None] | None = None,
    ) -> RunRecord:
        """Measure as ``measure`` does and return the record, from which the document is made.

        ``samples``, ``warm_up_s`` and ``keep_arrays`` are those of ``Engine.run``. Raises
        InputError where neither ``seconds`` nor ``samples`` ends it: nobody could cancel it.
        """
        self._begin()
        if seconds is None and samples is None:
            raise InputError(
                "nothing ends this run: seconds and samples are both None",
                remedy="give one of them",
            )
        self._max_noise = max_noise
        self._engine.run(
            config,
            workload,
            seconds=seconds,
            max_noise=max_noise,
            samples=samples,
            warm_up_s=warm_up_s,
            keep_arrays=keep_arrays,
            allow_long=allow_long,
        )
        self._wait(seconds, on_progress)
        record = self._sampled()
        if record is None:
            raise WorkFailed("the run was cancelled before it had a sample")
        return record

    def count(
        self,
        config: RunConfig,
        workload: Workload,
        *,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Counters:
        """Run one launch under Nsight Compute and return what the hardware counted.

        Raises CannotRunHere without an NVIDIA GPU, without ``ncu`` or without the permission.
        """
        self._begin()
        self._engine.run(config, workload, seconds=None, counters=True)
        self._wait(None, on_progress)
        if self._counters is None:
            raise WorkFailed("the launch was cancelled before it was counted")
        return self._counters

    def operators(
        self,
        config: RunConfig,
        workload: Workload,
        *,
        shapes: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> OperatorProfile:
        """Record the operators of one launch, with the shapes of their inputs if asked for.

        Raises CannotRunHere for a configuration whose operators nothing tells.
        """
        self._begin()
        self._engine.run(config, workload, seconds=None, operators=True, shapes=shapes)
        self._wait(None, on_progress)
        if self._profile is None:
            raise WorkFailed("the launch was cancelled before it was recorded")
        return self._profile

    def _begin(self) -> None:
        self._record, self._error, self._ended, self._stage = None, None, False, "start"
        self._counters = None
        self._profile = None

    def _wait(self, seconds: float | None, on_progress: Callable[[Progress], None] | None) -> None:
        """Wait for the engine's last message of the run; raise what went wrong."""
        started = time.monotonic()
        try:
            while not self._ended:
                self._raise_error()
                self._engine.poll(POLL_S)
                if on_progress is not None:
                    on_progress(self._progress(started, seconds))
        except KeyboardInterrupt:
            self._engine.cancel()
            while not self._ended and self._error is None:
                self._engine.poll(POLL_S)
            raise
        self._raise_error()

    def partial(self) -> RunResult | None:
        """Return the document of what the latest run has sampled so far, None for nothing."""
        record = self._sampled()
        return record.result() if record is not None else None

    @property
    def record(self) -> RunRecord | None:
        """What the latest run has sampled so far; None before its first sample."""
        return self._sampled()

    def _sampled(self) -> RunRecord | None:
        return self._record if self._record and self._record.samples else None

    def _progress(self, started: float, seconds: float | None) -> Progress:
        return Progress(
            stage=self._stage,
            samples=self._record.samples if self._record else 0,
            elapsed_s=time.monotonic() - started,
            seconds=seconds,
        )

    def _raise_error(self) -> None:
        if self._cannot_start is not None:
            raise self._cannot_start
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _on_event(self, event: Event) -> None:
        match event:
            case protocol.Devices():
                self._devices = event
            case protocol.Stage():
                self._stage = event.name
            case protocol.Prepared():
                self._record = RunRecord(event, max_noise=self._max_noise)
                if self._ceilings is not None:
                    self._record.ceilings = self._ceilings(event.device)
            case protocol.Samples() if self._record is not None:
                self._record.add(event.batch)
            case protocol.Telemetry() if self._record is not None:
                self._record.add_reading(event.reading)
            case protocol.MemoryCounted() if self._record is not None:
                self._record.memory = event.memory
            case protocol.Finished():
                if self._record is not None:
                    self._record.end(event.stopped_by, event.phases_s)
                self._ended = True
            case protocol.Counted():
                self._counters = event.counters
                self._ended = True
            case protocol.Profiled():
                self._profile = event.profile
                self._ended = True
            case protocol.Cancelled():
                self._ended = True
            case protocol.NeedsConfirmation():
                self._error = LongRun(event.predicted_s)
            case protocol.Failed():
                self._error = error_of(event)
                if self._record is not None:
                    self._record.end("failed")
                    if isinstance(self._error, WrongResult):
                        self._record.found_wrong()
            case EngineLost():
                if self._record is not None:
                    self._record.end(event.kind)
                if event.generation or not event.restarting:
                    self._error = error_of_loss(event, _NO_START if event.kind == "start" else "")
                    if not event.restarting:
                        self._cannot_start = self._error


_NO_START = "see 'gpuexplorer doctor', or choose another interpreter with --python"


def error_of_loss(lost: EngineLost, remedy: str = "") -> ExplorerError:
    """Return the error that a run ends with when its engine is lost; ``remedy`` is the usual one.

    Of an engine that somebody else ended there is nothing to mend.
    """
    if not lost.restarting:
        return EngineGone(lost.reason, remedy=lost.remedy or remedy, detail=lost.detail)
    if lost.outside:
        return EngineKilled(lost.reason, remedy="run it again", detail=lost.detail)
    return WorkFailed(lost.reason, remedy=lost.remedy or remedy, detail=lost.detail)


def error_of(failed: protocol.Failed) -> ExplorerError:
    """Return the error a Failed message stands for."""
    by_kind: dict[str, type[ExplorerError]] = {
        e.kind: e for e in (WrongResult, OutOfMemory, MemoryTaken)
    }
    by_code: dict[int, type[ExplorerError]] = {2: InputError, 3: CannotRunHere}
    kind = by_kind.get(failed.kind) or by_code.get(failed.exit_code, WorkFailed)
    error = kind(failed.what, remedy=failed.remedy, detail=failed.detail)
    error.add_note(failed.traceback)
    return error
