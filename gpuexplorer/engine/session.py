"""A blocking session with an engine, for the command line and for notebooks."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from gpuexplorer.analysis.disturbance import shared_words
from gpuexplorer.core.accesses import AccessLook, AccessProfile
from gpuexplorer.core.closing import Closing
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.operators import OperatorProfile
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.run_options import LIVE, RunOptions
from gpuexplorer.core.telemetry import Counters, SourceState
from gpuexplorer.engine import protocol
from gpuexplorer.engine.client import Engine, EngineLost, EngineOptions, Event
from gpuexplorer.engine.cores import check_threads
from gpuexplorer.engine.errors import error_of, error_of_loss
from gpuexplorer.engine.interpreters import is_far
from gpuexplorer.engine.receiver import CeilingsOf, Receiver
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.workloads.workload import Workload

POLL_S = 0.25


class RunProgress(msgspec.Struct, frozen=True):
    """Where a run is: the step, and what was sampled so far."""

    stage: str
    samples: int
    elapsed_s: float
    seconds: float | None
    record: RunRecord | None = None
    """What was received by then; it grows."""


class EngineSession(Closing):
    """An engine for one thing after another; use it in a ``with`` statement.

    Every call raises the ExplorerError that says what went wrong.
    """

    def __init__(
        self,
        *,
        python: str | None = None,
        threads: int | None = None,
        log: Callable[[str], None] | None = None,
        ceilings: CeilingsOf | None = None,
        on_shared: Callable[[str], None] | None = None,
    ) -> None:
        """``ceilings`` finds what a device was measured to do at most; runs are held against it.

        ``on_shared`` is told, in words, who else uses a device: other programs that a run meets on
        a GPU, each once, and whoever a run waits for.

        Raises InputError for more CPU threads than this machine has.
        """
        if not is_far(python):
            check_threads(threads)
        self._ceilings = ceilings
        self._on_shared = on_shared
        self._met: set[int] = set()
        """Processes of others that were told."""
        self._waits = False
        """Whether it was told that the run waits."""
        self._engine = Engine(EngineOptions(python=python, threads=threads), self._on_event, log)
        self._devices: protocol.Devices | None = None
        self._receiver: Receiver | None = None
        self._error: ExplorerError | None = None
        self._cannot_start: ExplorerError | None = None
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
        options: RunOptions,
        *,
        on_progress: Callable[[RunProgress], None] | None = None,
    ) -> RunRecord:
        """Measure one configuration and return its record, from which the document is made.

        Raises LongRun when a launch would take long and that is not agreed to, InputError where
        nothing ends the run, because this call blocks and cannot be cancelled. On KeyboardInterrupt
        the run is cancelled; what was sampled by then is ``partial()``.
        """
        self._receiver = None
        if not options.ends:
            raise InputError(
                "nothing ends this run: seconds and samples are both None",
                remedy="give one of them",
            )
        return self._run(config, workload, options, "samples", on_progress).measured()

    def count(
        self,
        config: RunConfig,
        workload: Workload,
        *,
        on_progress: Callable[[RunProgress], None] | None = None,
    ) -> Counters:
        """Run one launch under Nsight Compute and return what the hardware counted.

        Raises CannotRunHere without an NVIDIA GPU, without ``ncu`` or without the permission.
        """
        return self._run(config, workload, LIVE, "counters", on_progress).counted()

    def operators(
        self,
        config: RunConfig,
        workload: Workload,
        *,
        shapes: bool = False,
        on_progress: Callable[[RunProgress], None] | None = None,
    ) -> OperatorProfile:
        """Record the operators of one launch, with the shapes of their inputs if asked for.

        Raises CannotRunHere for a configuration whose operators nothing tells.
        """
        recording: protocol.Recording = "shapes" if shapes else "operators"
        return self._run(config, workload, LIVE, recording, on_progress).profiled()

    def accesses(
        self,
        config: RunConfig,
        workload: Workload,
        look: AccessLook,
        *,
        on_progress: Callable[[RunProgress], None] | None = None,
    ) -> AccessProfile:
        """Count what one warp asks of memory.

        Raises CannotRunHere for a device other than the CPU device, WorkFailed with file and line
        for a source whose accesses cannot be followed.
        """
        return self._run(config, workload, LIVE, look, on_progress).accessed()

    def _run(
        self,
        config: RunConfig,
        workload: Workload,
        options: RunOptions,
        recording: protocol.Recording,
        on_progress: Callable[[RunProgress], None] | None,
    ) -> Receiver:
        """Have the engine do a run, and wait until it has ended."""
        run = self._receiver = Receiver(config, options, self._ceilings)
        self._error = None
        self._engine.run(config, workload, options, recording)
        started = time.monotonic()
        try:
            while not run.ended:
                self._raise_error()
                self._engine.poll(POLL_S)
                if on_progress is not None:
                    samples = run.record.samples if run.record is not None else 0
                    elapsed_s = time.monotonic() - started
                    on_progress(
                        RunProgress(run.stage, samples, elapsed_s, options.seconds, run.record)
                    )
        except KeyboardInterrupt:
            self._engine.cancel()
            # No last word comes of one that was just being taken in.
            while self._engine.is_measuring and not run.ended and self._error is None:
                self._engine.poll(POLL_S)
            raise
        return run

    def partial(self) -> RunResult | None:
        """Return the document of what the latest run has sampled so far, None for nothing."""
        record = self.record
        return record.result() if record is not None else None

    @property
    def record(self) -> RunRecord | None:
        """What the latest run has sampled so far; None before its first sample."""
        record = self._receiver.record if self._receiver is not None else None
        return record if record is not None and record.samples else None

    @property
    def earlier(self) -> list[RunRecord]:
        """What the latest run had sampled when the way it was timed stopped working, as runs."""
        return self._receiver.earlier if self._receiver is not None else []

    def _raise_error(self) -> None:
        """Raise what is wrong with the engine itself."""
        if self._cannot_start is not None:
            raise self._cannot_start.with_traceback(None)
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _on_event(self, event: Event) -> None:
        match event:
            case protocol.Devices():
                self._devices = event
            case EngineLost(restarting=False):
                self._cannot_start = error_of_loss(event)
            case protocol.Failed(generation=0):
                self._error = error_of(event)
            case protocol.Telemetry() if self._on_shared is not None:
                self._tell_shared(event, self._on_shared)
        if self._receiver is not None and not self._receiver.ended:
            self._receiver.take(event)

    def _tell_shared(self, told: protocol.Telemetry, tell: Callable[[str], None]) -> None:
        """Say who else uses the device, once."""
        receiver, found = self._receiver, self._devices
        if receiver is None or receiver.ended or found is None:
            return
        device = next((one for one in found.devices if one.id == told.device), None)
        if device is None:
            return
        waits = receiver.stage == "wait"
        pids = {one.pid for one in told.reading.users or ()}
        words = shared_words(told.reading, device, working=waits)
        if waits and words and not self._waits:
            tell(f"waiting until {device.name} is free: {words}")
        elif not waits and pids - self._met:
            tell(f"warning: {device.name} is shared: {words}")
        self._waits = waits
        self._met |= pids
