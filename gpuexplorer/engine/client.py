"""The parent's handle on its engine: start, ask, watch, cancel, restart, end.

Everything here runs in the thread that calls ``poll``; only ``wake`` may be called from another.
An engine that is suspended (SIGSTOP) is noticed within seconds, reported as the stage
``SUSPENDED``, and replaced if it is not continued soon. Time for which this program was suspended
itself, as by Ctrl-Z, counts towards no deadline (see ``suspension``).
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Literal

import msgspec

import gpuexplorer
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.equal_parts import reusing
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.run_options import LIVE, RunOptions
from gpuexplorer.core.shared_device import when_shared
from gpuexplorer.engine import failed_start, link, protocol, suspension
from gpuexplorer.engine.deadlines import CANCEL_GRACE_S, NEVER, Deadlines
from gpuexplorer.engine.death import (
    for_memory,
    from_outside,
    how_it_ended,
    killed_for_memory,
    what_to_do,
)
from gpuexplorer.engine.device_look import DeviceLook
from gpuexplorer.engine.failed_start import FailedStart
from gpuexplorer.engine.machine import ended_with
from gpuexplorer.engine.own_model_loss import FileLoss, ended_by_file
from gpuexplorer.engine.process import EngineProcess, engine_start
from gpuexplorer.engine.reconnecting import LinkWatch
from gpuexplorer.workloads.loader import own_root
from gpuexplorer.workloads.trust import agreed
from gpuexplorer.workloads.workload import Workload

HANDSHAKE_S = 30.0
"""How long an engine may take to answer: a cold disk and a slow machine included."""
SUSPENDED = "suspended"
"""The stage that a run is told to be at while its engine is suspended from outside."""
MAX_FAILED_STARTS = 3
DRAIN_S = 0.05
"""How long messages are handled at one go once there are some."""
MOST_WAITING = 300
"""Messages that wait to be handled, five seconds' worth of samples, before the next is read."""
LOOK_FOR_ROOM_S = 0.1

LossKind = Literal["crash", "hang", "cancelled", "start"]
_LAST_MESSAGES = (
    protocol.Finished,
    protocol.Counted,
    protocol.Profiled,
    protocol.Accessed,
    protocol.Cancelled,
    protocol.Failed,
    protocol.NeedsConfirmation,
)


class EngineOptions(msgspec.Struct, frozen=True):
    """Which engine: its interpreter and its CPU threads (None: cores-1).

    ``python`` is a word as ``interpreters`` reads it: a name, a path; None: this program's own.
    """

    python: str | None = None
    threads: int | None = None
    handshake_s: float = HANDSHAKE_S


class EngineReady(msgspec.Struct, frozen=True):
    """An engine has shaken hands, ``handshake_s`` seconds after it was started."""

    welcome: protocol.Welcome
    handshake_s: float
    restarted: bool


class EngineLost(msgspec.Struct, frozen=True):
    """An engine has ended; what it delivered stays valid.

    ``generation`` is the run that was going, 0 for none. ``kind``: ``crash``, ``hang``,
    ``cancelled`` (ended because a launch would not stop) or ``start`` (it never answered).
    ``restarting`` is False when starting it failed too often to try again. ``detail`` is what an
    engine that never answered printed last. ``outside``: it was ended or suspended from outside, or
    memory was short, so that the run may be repeated. ``may_be_long``: it was ended at the
    first part of a launch that was not agreed to take long. ``far``: it was on another machine,
    which is tried again until it answers.
    """

    generation: int
    kind: LossKind
    reason: str
    exit_code: int | None
    restarting: bool
    remedy: str = ""
    detail: str = ""
    outside: bool = False
    may_be_long: bool = False
    far: bool = False


Event = protocol.EngineMessage | EngineReady | EngineLost


class Engine:
    """An engine that is kept alive: whatever ends its process, a fresh one follows."""

    def __init__(
        self,
        options: EngineOptions,
        on_event: Callable[[Event], None],
        log: Callable[[str], None] | None = None,
    ) -> None:
        self.options = options
        self._on_event = on_event
        self._log = log or (lambda line: None)
        self._inbox: queue.SimpleQueue[
            tuple[EngineProcess, protocol.EngineMessage | None] | None
        ] = queue.SimpleQueue()
        self._handled = threading.Event()
        """Some message was handled since the reading thread looked."""
        self._process: EngineProcess | None = None
        self._ready = False
        self._was_ready = False
        """Whether an engine of these options has ever answered."""
        self._starts = 0
        self._killed_before: int | None = None
        """How many processes the system had ended for want of memory when this one started."""
        self._failed_starts = 0
        self._generation = 0
        self._run: protocol.Run | None = None
        """The latest run, until its last message."""
        self._workload: Workload | None = None
        self._kernels: str | None = None
        """Where that workload comes from, where it is the user's own."""
        self._prepared: protocol.Prepared | None = None
        """What was told last of a run that begins: of the next one nearly all is the same."""
        self._sent = False
        """Whether the latest run was sent to the present process."""
        self._began = False
        """Whether the engine has begun the latest run, rather than being busy with the last one."""
        self._resent = 0
        self._cancelled = False
        """Whether the latest run was cancelled after it was sent."""
        self._deadlines = Deadlines(options.handshake_s)
        self._look = DeviceLook(self._deadlines)
        self._link = LinkWatch()

    # ---- asking

    @property
    def generation(self) -> int:
        """The number of the latest run asked for."""
        return self._generation

    @property
    def pid(self) -> int | None:
        """The engine's process number, while there is one."""
        return self._process.pid if self._process else None

    @property
    def ready(self) -> bool:
        """Whether the engine has shaken hands."""
        return self._ready

    @property
    def is_measuring(self) -> bool:
        """Whether a run was asked for, and its last word has not come."""
        return self._run is not None

    def start(self) -> None:
        """Start the process; EngineReady or EngineLost follows through ``poll``."""
        if self._process is None:
            self._failed_starts = 0
            self._spawn()

    def list_devices(self, *, telemetry: bool = False, packages: bool = False) -> None:
        """Ask for the devices; a ``protocol.Devices`` event follows."""
        self._look.want(telemetry=telemetry, packages=packages)
        self._send_waiting()

    def run(
        self,
        config: RunConfig,
        workload: Workload,
        options: RunOptions = LIVE,
        recording: protocol.Recording = "samples",
    ) -> int:
        """Measure a configuration instead of whatever runs; return the run's generation.

        What is recorded is told by ``Samples``, ``Counted``, ``Profiled`` or ``Accessed`` events.
        InputError for a number among the options that would never end it.
        """
        options.check()
        if self._run is not None and self._sent:
            self._deadlines.stop()
        self._generation += 1
        if workload is not self._workload:
            root = own_root(workload)
            self._workload, self._kernels = workload, str(root) if root is not None else None
        self._run = protocol.Run(
            generation=self._generation,
            config=config,
            workload_sha256=workload.sha256,
            options=options,
            recording=recording,
            agreed=agreed(workload),
            waits=when_shared() == "wait",
        )
        self._sent = self._began = self._cancelled = False
        self._resent = 0
        if self._process is None and self._link.due is None:  # it was given up
            self.start()
        self._send_waiting()
        return self._generation

    def cancel(self) -> None:
        """Stop the run: at the next launch boundary, or by ending the process."""
        if self._run is None:
            return
        if not self._sent or self._process is None:
            self._run = None
            self._on_event(protocol.Cancelled(generation=self._generation))
            return
        self._deadlines.stop()
        self._cancelled = True
        self._process.send(protocol.Cancel(generation=self._generation))

    def wake(self) -> None:
        """Make ``poll`` return; may be called from any thread."""
        self._inbox.put(None)

    # ---- watching

    def poll(self, timeout_s: float) -> None:
        """Handle what arrived and what is overdue; wait up to ``timeout_s`` for something."""
        limit = time.monotonic() + timeout_s
        waited = False
        self._deadlines.discount()
        while True:
            now = time.monotonic()
            due = min(limit, self._next_due(), now + suspension.LOOK_EVERY_S)
            try:
                item = (
                    self._inbox.get_nowait()
                    if waited
                    else self._inbox.get(timeout=max(0.0, due - now))
                )
            except queue.Empty:
                self._deadlines.discount()
                self._look_for_suspension()
                self._check_overdue()
                if waited or time.monotonic() >= limit:
                    return
                continue
            self._deadlines.discount()
            if item is not None:
                self._handle(*item)
                self._handled.set()
            if not waited:
                waited, limit = True, time.monotonic() + DRAIN_S
            elif time.monotonic() >= limit:  # an engine may tell more than a busy machine handles
                return

    def _deliver(self, process: EngineProcess, message: protocol.EngineMessage | None) -> None:
        """Take a message of an engine's, in its reading thread; wait while too many are unhandled.

        Meanwhile the engine's own outbox fills, which leaves out samples and says how many.
        """
        while self._inbox.qsize() >= MOST_WAITING and not process.ending:
            self._handled.wait(LOOK_FOR_ROOM_S)
        self._handled.clear()
        self._inbox.put((process, message))

    def close(self) -> None:
        """End the process, in bounded time."""
        process, self._process = self._process, None
        self._ready = False
        self._run = None
        self._link.due = None
        if process is not None:
            process.send(protocol.Shutdown())
            process.end(CANCEL_GRACE_S)

    # ---- the process

    def _spawn(self) -> None:
        self._ready = False
        self._deadlines.started()
        self._starts += 1
        self._killed_before = killed_for_memory()
        try:
            launch = engine_start(self.options.python, self.options.threads)
        except ExplorerError as error:
            self._cannot_start(
                FailedStart(f"the engine cannot be started: {error.what}", error.remedy)
            )
            return
        try:
            self._process = EngineProcess(launch, self._deliver, self._log)
        except OSError as error:
            self._cannot_start(failed_start.cannot_run(launch, error))
            return
        self._process.send(
            protocol.Hello(protocol=protocol.PROTOCOL, client_version=gpuexplorer.__version__)
        )

    def _cannot_start(self, why: FailedStart, status: int | None = None) -> None:
        """Tell why there is no engine; trying again would not help."""
        self._failed_starts = MAX_FAILED_STARTS
        self._after_loss("start", why.reason, status, why.remedy, why.detail)

    def _send_waiting(self) -> None:
        """Send what was asked for before the engine was ready."""
        if not self._ready or self._process is None:
            return
        question = self._look.question(after_run=self._run is not None and self._sent)
        if question is not None:
            self._process.send(question)
        if self._run is not None and not self._sent and self._workload is not None:
            self._sent = True
            self._look.run_sent()
            source = None
            if self._workload.sha256 not in self._process.sent_workloads:
                self._process.sent_workloads.add(self._workload.sha256)
                source = self._workload.source
            self._process.send(msgspec.structs.replace(self._run, workload=source))

    def _handle(self, process: EngineProcess, message: protocol.EngineMessage | None) -> None:
        if process is not self._process:
            return  # a process that was given up
        if self._deadlines.suspension.heard():
            self._continued()
        if message is None:
            self._process_ended()
        elif isinstance(message, protocol.Welcome):
            self._welcome(message)
        elif isinstance(message, protocol.Refused):
            self._end_and_tell(failed_start.refused(message))
        elif isinstance(message, protocol.Devices):
            self._look.answered(run_waits=self._run is not None and self._sent)
            self._failed_starts = 0
            self._on_event(message)
        elif isinstance(message, protocol.Telemetry):
            self._on_event(message)
        else:
            self._run_message(message)

    def _welcome(self, welcome: protocol.Welcome) -> None:
        process = self._process
        assert process is not None
        other = failed_start.another_version(process, welcome)
        if other is not None:
            self._end_and_tell(other)
            return
        process.answers_as = welcome.pid
        self._ready = self._was_ready = True
        self._link = LinkWatch()
        self._on_event(
            EngineReady(
                welcome=welcome,
                handshake_s=time.monotonic() - self._deadlines.started_at,
                restarted=self._starts > 1,
            )
        )
        self._send_waiting()

    def _run_message(
        self,
        message: protocol.Stage
        | protocol.Prepared
        | protocol.Samples
        | protocol.MemoryCounted
        | protocol.NeedsConfirmation
        | protocol.Finished
        | protocol.Counted
        | protocol.Profiled
        | protocol.Accessed
        | protocol.Cancelled
        | protocol.Failed,
    ) -> None:
        if message.generation == 0:  # the devices could not be looked for
            self._look.answered(run_waits=self._run is not None and self._sent)
            self._on_event(message)
            return
        if message.generation != self._generation:
            return  # of a run that was replaced
        if not self._began:
            self._began = True
            self._failed_starts = 0
            self._deadlines.stopping_since = None  # the run before it has made way
        if isinstance(message, protocol.Stage):
            self._deadlines.begin(message.name, message.deadline_s)
        if isinstance(message, _LAST_MESSAGES):
            self._run = None
            self._deadlines.done()
            self._look.run_ended()
        else:
            self._deadlines.heard()
        if isinstance(message, protocol.Prepared) and self._process is not None:
            self._prepared = message = reusing(
                _labelled(message, self._process.launch.label, self._kernels), self._prepared
            )
        self._on_event(message)

    # ---- what is overdue

    def _next_due(self) -> float:
        if self._process is None:
            return NEVER if self._link.due is None else self._link.due
        return self._deadlines.due(ready=self._ready, cancelled=self._cancelled)

    def _look_for_suspension(self, *, at_once: bool = False) -> bool:
        """Return whether an engine that owes an answer is found to be suspended now.

        The system is asked only when that is due, unless ``at_once``.
        """
        process = self._process
        awaited = not self._ready or self._run is not None or self._look.asked
        watch = self._deadlines.suspension
        if process is None or not awaited or not watch.look(process, at_once=at_once):
            return False
        if watch.since is None:
            self._continued()
            return False
        self._log(
            f"the engine, process {process.pid}, was suspended from outside; it is replaced unless "
            f"it is continued within {suspension.PATIENCE_S:.0f} s"
        )
        self._tell_stage(SUSPENDED)
        return True

    def _continued(self) -> None:
        self._log("the engine was continued")
        self._deadlines.continued()
        self._tell_stage(self._deadlines.stage)

    def _tell_stage(self, name: str) -> None:
        if self._run is not None and self._began:
            self._on_event(protocol.Stage(generation=self._generation, name=name))

    def _check_overdue(self) -> None:
        if time.monotonic() < self._next_due():
            return
        if self._process is None:
            self._link.due = None
            self._spawn()
            return
        if self._deadlines.stopping_since is not None:
            if not self._deadlines.is_kept_waiting(self._process.core_waits_s()):
                self._give_up("cancelled", self._deadlines.not_stopped())
            return
        if self._deadlines.suspension.since is not None:
            self._give_up_suspended()
            return
        if self._look_for_suspension(at_once=True):
            return
        if self._ready:
            running = self._run is not None
            if self._look.asked and not (running and self._began):
                self._failed_starts = MAX_FAILED_STARTS  # a fresh one would meet the same driver
            self._give_up("hang", *self._deadlines.hang(running=running, agreed=self._agreed))
        else:
            status = self._process.end(0)
            why = failed_start.silent(self._process, self.options.handshake_s)
            self._start_failed(why, status)

    @property
    def _agreed(self) -> bool:
        """Whether the launches of the run that is going may take long."""
        return self._run is not None and self._run.options.allow_long

    def _process_ended(self) -> None:
        """The stream ended by itself: the process crashed, was killed, or gave up."""
        process = self._process
        assert process is not None
        status = process.end(1.0)
        if not self._ready:
            self._start_failed(failed_start.ended(process, status), status)
            return
        machine, killed_before = process.launch.machine, self._killed_before
        if machine is not None and link.is_of_link(status):
            self._after_loss("crash", link.lost(machine), status, outside=True)
        else:
            if machine is not None and status is not None:
                status, killed_before = ended_with(status), None
            words = how_it_ended(status, killed_before, process.output, self._deadlines.stage)
            config = self._run.config if self._run is not None and self._began else None
            own = ended_by_file(self._workload, config, status, words, list(process.output))
            told = own or FileLoss(
                words, what_to_do(status, self._deadlines.stage, _kernel(self._workload, config))
            )
            outside = own is None and (from_outside(status) or for_memory(status, process.output))
            self._after_loss(
                "crash", told.reason, status, told.remedy, told.detail, outside=outside
            )

    def _start_failed(self, why: FailedStart, status: int | None) -> None:
        """Tell why an engine never answered; one in another Python that never did is given up."""
        process = self._process
        assert process is not None
        if process.launch.machine is not None and self._was_ready and link.is_of_link(status):
            if self._link.plan():
                self._log(why.reason)
                self._process = None
                return
            self._failed_starts = MAX_FAILED_STARTS
        if process.launch.label is not None and not self._was_ready:
            self._failed_starts = MAX_FAILED_STARTS
        self._failed_starts += 1
        self._after_loss("start", why.reason, status, why.remedy, why.detail)

    def _end_and_tell(self, why: FailedStart) -> None:
        """End a process that answered, but is no engine of ours."""
        process = self._process
        assert process is not None
        self._cannot_start(why, process.end(0))

    def _give_up(self, kind: LossKind, reason: str, remedy: str = "") -> None:
        """End a process that does not do what it should."""
        process = self._process
        assert process is not None
        long = kind == "hang" and self._deadlines.stage == "predict" and not self._agreed
        status = process.end(0)
        self._after_loss(kind, reason, status, remedy, may_be_long=long)

    def _give_up_suspended(self) -> None:
        """End a process that was suspended and not continued."""
        process = self._process
        assert process is not None
        reason = suspension.not_continued()
        status = process.end(0)
        self._failed_starts += not self._ready
        self._after_loss("hang" if self._ready else "start", reason, status, outside=True)

    def _after_loss(
        self,
        kind: LossKind,
        reason: str,
        status: int | None,
        remedy: str = "",
        detail: str = "",
        *,
        outside: bool = False,
        may_be_long: bool = False,
    ) -> None:
        """Tell what happened, and start afresh; a run that had not begun is asked for again."""
        self._failed_starts += self._look.asked and self._run is None
        far = self._process is not None and self._process.launch.machine is not None
        self._process = None
        self._ready = False
        self._look.lost()
        self._deadlines.ended()
        restarting = self._failed_starts < MAX_FAILED_STARTS
        ask_again = (
            restarting
            and not self._began
            and not self._cancelled
            and self._resent < MAX_FAILED_STARTS
        )
        lost_generation = 0
        if self._run is not None:
            if ask_again:
                self._resent += self._sent
                self._sent = False
            else:
                lost_generation = self._generation
                self._run = None
        self._on_event(
            EngineLost(
                generation=lost_generation,
                kind=kind,
                reason=reason,
                exit_code=status,
                restarting=restarting,
                remedy=remedy,
                detail=detail,
                outside=outside,
                may_be_long=may_be_long,
                far=far,
            )
        )
        if not restarting or self._process is not None:
            return
        if far:
            self._link.plan()
        else:
            self._spawn()


def _kernel(workload: Workload | None, config: RunConfig | None) -> bool:
    """Return whether a run is of a kernel, rather than of a library's or a framework's code."""
    variants = workload.manifest.variants if workload is not None else {}
    return (
        config is not None and config.variant in variants and bool(variants[config.variant].launch)
    )


def _labelled(
    prepared: protocol.Prepared, label: str | None, kernels: str | None
) -> protocol.Prepared:
    """Return a message with what the user calls the engine, and where the workload comes from."""
    environment = msgspec.structs.replace(prepared.environment, engine=label, kernels=kernels)
    return msgspec.structs.replace(prepared, environment=environment)
