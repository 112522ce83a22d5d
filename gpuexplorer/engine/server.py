"""The engine's process: one thread reads, one writes, one samples telemetry, this one measures."""

from __future__ import annotations

import os
import platform
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from typing import BinaryIO

import msgspec

import gpuexplorer
from gpuexplorer.analysis.disturbance import shared_words
from gpuexplorer.analysis.energy import LEAST_IDLE_S
from gpuexplorer.analysis.energy import LEAST_S as LEAST_ENERGY_S
from gpuexplorer.core.accesses import AccessLook
from gpuexplorer.core.deadline import devices_deadline_s
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import CannotRunHere, DeviceLost, ExplorerError, InputError, WorkFailed
from gpuexplorer.core.memory import MemoryUse
from gpuexplorer.core.sample import Reading, SampleBatch
from gpuexplorer.core.text import path_text
from gpuexplorer.engine import protocol
from gpuexplorer.engine.deadlines import LAUNCH_STAGES
from gpuexplorer.engine.outbox import Outbox
from gpuexplorer.engine.overdue import SLACK_S, Overdue
from gpuexplorer.engine.packages import installed
from gpuexplorer.measure.job import Ready, Stopped, TooLong
from gpuexplorer.measure.laboratory import Laboratory, traffic_of, untimed_B_of
from gpuexplorer.measure.recordings import count_accesses, record_operators
from gpuexplorer.measure.transfers import METHOD as SEQUENCE_METHOD
from gpuexplorer.telemetry import ncu
from gpuexplorer.telemetry.ladder import survey
from gpuexplorer.telemetry.sampler import PERIOD_S, Sampler
from gpuexplorer.workloads.trust import programs as programs_in
from gpuexplorer.workloads.workload import Workload, WorkloadSource

EXIT_DEVICE_LOST = protocol.EXIT_TOLD
"""The exit status after an error that poisons the device's context; the client starts afresh."""

FIRST_READING_S = 0.4
"""After this long a device's first reading is there."""
REST_S = FIRST_READING_S + LEAST_IDLE_S + 2 * PERIOD_S
"""How long the device rests before a run that is long enough to tell a launch's energy."""
FIRST_LOOK_S = 5.0
"""After this long it is known who else uses a device, if anything tells it."""
REST_STEP_S = 0.05
PREPARE_AFTER_S = 0.02
"""Who only wanted to know the devices ends the engine within so long."""
PROFILE_SLACK_S = 30.0
"""A profiler that does not end in time is ended; this much later the engine counts as hung."""


class Server:
    """Serves one client until its input ends."""

    def __init__(
        self, incoming: BinaryIO, outgoing: BinaryIO, threads: int, *, alone: bool = False
    ) -> None:
        """``alone``: nobody on this machine ends what the engine has started; it does so itself."""
        self._alone = alone
        self._incoming = incoming
        self._outgoing = outgoing
        self._threads = threads
        self._laboratory = Laboratory(threads, lambda: self._sampler.clock_reasons)
        self._sources: dict[str, WorkloadSource] = {}
        self._workloads: dict[str, Workload] = {}
        self._changed = threading.Condition()
        self._wanted: protocol.Run | None = None
        self._list_devices: protocol.ListDevices | None = None
        self._shutdown = False
        self._latest = 0
        """The newest generation asked for."""
        self._cancelled = 0
        """Every generation up to this one is cancelled."""
        self._untold: set[str] = set()
        """Hardware of which nothing tells who else uses it."""

    def serve(self) -> int:
        """Shake hands, then do what is asked until the input ends; return the exit status."""
        self._outgoing.write(protocol.PREAMBLE)
        if not self._shake_hands():
            return 1
        self._outbox = Outbox(self._outgoing)
        self._sampler = Sampler(self._send_reading)
        threading.Thread(target=self._read_all, name="reader", daemon=True).start()
        try:
            return self._work()
        finally:
            self._sampler.stop()
            self._outbox.close()

    def _shake_hands(self) -> bool:
        body = protocol.read_body(self._incoming)
        if body is None:
            return False
        try:
            hello = protocol.client_decoder().decode(body)
        except (msgspec.DecodeError, ValueError):  # the second, of text that is none
            hello = None
        welcome = protocol.Welcome(
            protocol=protocol.PROTOCOL,
            version=gpuexplorer.__version__,
            pid=os.getpid(),
            python=platform.python_version(),
            monotonic_ns=time.perf_counter_ns(),
            utc=datetime.now(UTC).isoformat(),
            threads=self._threads,
        )
        # The answer goes out even to another version, so that it can say what it found.
        self._outgoing.write(protocol.frame(welcome))
        return isinstance(hello, protocol.Hello) and hello.protocol == protocol.PROTOCOL

    # ---- the reading thread

    def _read_all(self) -> None:
        """Take in messages; the end of the input ends the process, whatever it is doing."""
        try:
            while (body := protocol.read_body(self._incoming)) is not None:
                self._take(protocol.client_decoder().decode(body))
        except (protocol.ProtocolError, msgspec.DecodeError, OSError, ValueError) as error:
            print(f"engine: unreadable message: {error}", flush=True)
        profiler = sys.modules.get("gpuexplorer.telemetry.ncu")
        if profiler is not None:  # what it runs has a session of its own
            profiler.kill_running()
        if self._alone and os.getpgrp() == os.getsid(0):  # what sshd began for us alone
            os.killpg(0, signal.SIGKILL)
        os._exit(0)

    def _take(self, message: protocol.ClientMessage) -> None:
        with self._changed:
            if isinstance(message, protocol.Run):
                if message.workload is not None:  # kept even when a newer run replaces this one
                    self._sources[message.workload_sha256] = message.workload
                self._wanted = message
                self._latest = message.generation
            elif isinstance(message, protocol.Cancel):
                self._cancelled = max(self._cancelled, message.generation)
            elif isinstance(message, protocol.ListDevices):
                self._list_devices = message
            elif isinstance(message, protocol.Shutdown):
                self._shutdown = True
            self._changed.notify()

    # ---- the measuring thread

    def _work(self) -> int:
        while True:
            with self._changed:
                self._changed.wait_for(self._is_asked)
                if self._shutdown:
                    break
                list_devices, self._list_devices = self._list_devices, None
                run, self._wanted = self._wanted, None
            if list_devices is not None:
                self._answer_devices(list_devices)
                if run is None:
                    self._prepare_while_idle()
            if run is not None and not self._answer_run(run):
                return EXIT_DEVICE_LOST
        self._laboratory.close()
        return 0

    def _is_asked(self) -> bool:
        """Return whether there is something to do (the lock is held)."""
        return bool(self._wanted or self._list_devices or self._shutdown)

    def _prepare_while_idle(self) -> None:
        """Do what the first run would have to wait for, unless something is asked at once.

        A run that waits for it meanwhile has the deadline of a look for devices, in the client.
        """
        with self._changed:
            if self._changed.wait_for(self._is_asked, PREPARE_AFTER_S):
                return
        try:
            self._laboratory.prepare()
        except Exception:  # noqa: BLE001 - a run that needs it tells the user
            traceback.print_exc()

    def _answer_devices(self, asked: protocol.ListDevices) -> None:
        try:
            found = self._laboratory.devices()
            states = {}
            if asked.telemetry:
                by_hardware = {device.hardware_id: device for device in reversed(found.devices)}
                states = {key: tuple(survey(device)) for key, device in by_hardware.items()}
            packages = installed() if asked.packages else {}
            profiled = any(device.is_nvidia_gpu for device in found)
            no_profiler = ncu.missing() if profiled else ""
            self._outbox.put(
                protocol.Devices(
                    devices=found, telemetry=states, packages=packages, no_profiler=no_profiler
                )
            )
        except Exception as error:  # noqa: BLE001 - the client is told, whatever it is
            self._outbox.put(_failed(0, error))

    def _answer_run(self, run: protocol.Run) -> bool:
        """Do one run and say how it ended; False when the process cannot go on."""
        generation = run.generation
        sink: _RunSink | None = None

        def cancelled() -> bool:
            return self._shutdown or self._latest > generation or self._cancelled >= generation

        try:
            if cancelled():
                raise Stopped
            workload = self._workload(run)
            _check_agreed(workload, run)
            if run.waits:
                self._wait_for_others(run, cancelled)
            if run.recording == "counters":
                self._answer_counters(run, cancelled)
                return True
            sink = _RunSink(run, workload, self)
            if isinstance(run.recording, AccessLook):
                accesses = count_accesses(
                    self._laboratory, workload, run.config, sink, run.recording
                )
                self._outbox.put(protocol.Accessed(generation=generation, profile=accesses))
                return True
            if run.recording != "samples":
                shapes = run.recording == "shapes"
                profile = record_operators(
                    self._laboratory, workload, run.config, sink, shapes=shapes
                )
                self._outbox.put(protocol.Profiled(generation=generation, profile=profile))
                return True
            options = run.options
            stopped_by, phases = self._laboratory.run(
                workload,
                run.config,
                sink,
                cancelled,
                seconds=options.seconds,
                max_noise=options.max_noise,
                allow_s=float("inf") if options.allow_long else protocol.CONFIRM_ABOVE_S,
                samples=options.samples,
                warm_up_s=options.warm_up_s,
                in_search=options.keep_arrays,
                slower_than_s=options.slower_than_s,
            )
            if self._latest == generation and not options.keep_arrays:
                # no later run takes the arrays over
                started = time.perf_counter()
                self._laboratory.release()
                free_s = time.perf_counter() - started
                phases = msgspec.structs.replace(phases, free=free_s)
            self._outbox.put(
                protocol.Finished(generation=generation, stopped_by=stopped_by, phases_s=phases)
            )
        except Stopped:
            self._outbox.put(protocol.Cancelled(generation=generation))
        except TooLong as long:
            self._outbox.put(
                protocol.NeedsConfirmation(generation=generation, predicted_s=long.predicted_s)
            )
        except DeviceLost as error:
            self._outbox.put(_failed(generation, error))
            return False
        except Exception as error:  # noqa: BLE001 - the client is told, whatever it is
            self._outbox.put(_failed(generation, error))
        finally:
            if sink is not None:
                sink.close()
        return True

    def _wait_for_others(self, run: protocol.Run, cancelled: Callable[[], bool]) -> None:
        """Wait until nobody else uses the device, as far as something tells who does.

        That the run before has made way is told at once: who else is there takes seconds to learn.
        """
        self._tell_check(run)
        device = self._laboratory.device(run.config.device)
        if device.hardware_id in self._untold:
            return
        self._sampler.watch(device)
        began, told = time.monotonic(), False
        first: int | None = None
        while True:
            latest = self._sampler.latest
            if latest is None:
                nothing = time.monotonic() - began > FIRST_LOOK_S
            else:
                first = latest.t_ns if first is None else first
                nothing = latest.t_ns - first > FIRST_LOOK_S * 1e9
            known = latest is not None and not (latest.users is None and latest.other_cores is None)
            if latest is not None and known and not shared_words(latest, device, working=True):
                return
            if nothing and not known:
                self._untold.add(device.hardware_id)
                return
            if known and not told:
                told = True
                self._outbox.put(protocol.Stage(generation=run.generation, name="wait"))
            with self._changed:
                if cancelled():
                    raise Stopped
                self._changed.wait(REST_STEP_S)

    def _tell_check(self, run: protocol.Run) -> None:
        """Tell that a run has begun, and what comes first: its device is looked for."""
        self._outbox.put_soon(
            protocol.Stage(generation=run.generation, name="check", deadline_s=devices_deadline_s())
        )

    def _answer_counters(self, run: protocol.Run, cancelled: Callable[[], bool]) -> None:
        """Run one launch under Nsight Compute, in a process of its own."""
        self._tell_check(run)
        device = self._laboratory.device(run.config.device)
        if not device.is_nvidia_gpu:
            raise CannotRunHere(
                f"Nsight Compute looks into NVIDIA GPUs alone, and {device.name} is none",
                remedy="choose another device",
            )
        from gpuexplorer.engine.profile import count_launch

        ncu.find()
        self._laboratory.release()
        self._sampler.watch(None)  # a profiler wants the counters for itself

        def begins(limit_s: float) -> None:
            self._outbox.put(
                protocol.Stage(
                    generation=run.generation, name="profile", deadline_s=limit_s + PROFILE_SLACK_S
                )
            )

        counters = count_launch(run, self._workload(run), device, self._threads, cancelled, begins)
        if counters is None:
            raise Stopped
        self._outbox.put(protocol.Counted(generation=run.generation, counters=counters))

    def _workload(self, run: protocol.Run) -> Workload:
        sha256 = run.workload_sha256
        if sha256 not in self._workloads:
            if sha256 not in self._sources:
                raise InputError("the engine was not given this workload's sources")
            self._workloads[sha256] = Workload(self._sources[sha256])
        return self._workloads[sha256]

    def _send_reading(self, device_id: str, reading: Reading) -> None:
        self._outbox.put(protocol.Telemetry(device=device_id, reading=reading))

    def rest(self, generation: int) -> None:
        """Let the device rest, so that its power at rest is known; not where nothing counts energy.

        Ends early when the run is cancelled or replaced.
        """
        began = time.monotonic()
        while (passed_s := time.monotonic() - began) < REST_S:
            latest = self._sampler.latest
            if passed_s > FIRST_READING_S and (latest is None or latest.energy_J is None):
                return
            with self._changed:
                if self._shutdown or self._latest > generation or self._cancelled >= generation:
                    return
                self._changed.wait(REST_STEP_S)

    # ---- what a run reports

    def watch(self, device: DeviceInfo) -> None:
        """Follow this device's telemetry from now on."""
        self._sampler.watch(device)

    @property
    def outbox(self) -> Outbox:
        """The queue of messages to the client."""
        return self._outbox

    @property
    def laboratory(self) -> Laboratory:
        """Where the runs happen."""
        return self._laboratory


class _RunSink:
    """Turns what a run reports into messages of its generation."""

    def __init__(self, run: protocol.Run, workload: Workload, server: Server) -> None:
        self._generation = run.generation
        seconds, ends_early = run.options.seconds, (run.options.max_noise, run.options.samples)
        self._tells_energy = (
            seconds is not None and seconds > LEAST_ENERGY_S and ends_early == (None, None)
        )
        self._soon = run.options.keep_arrays
        """Whether what is told of the run may wait for its end: in a search it is taken as one."""
        self._memory: MemoryUse | None = None
        """What was told of the memory so far."""
        self._workload = workload
        self._server = server
        self._overdue: Overdue | None = None
        for program in programs_in(workload)[:1]:
            self._overdue = Overdue(path_text(program.path), self._hangs)

    def stage(self, name: str, deadline_s: float | None) -> None:
        if self._overdue is not None:
            self._overdue.stage(name, deadline_s)
            deadline_s = None if deadline_s is None else deadline_s + SLACK_S
        stage = protocol.Stage(generation=self._generation, name=name, deadline_s=deadline_s)
        if _risk(name) in ("", _risk(self._server.outbox.told)):
            self._server.outbox.put_soon(stage)
        else:  # what ends this process is told apart by the step that the client has heard of
            self._server.outbox.put(stage)

    def _hangs(self, stage: str, allowed_s: float, place: str) -> None:
        """End this process: what a user's file does not give back cannot be had otherwise."""
        if not place and not self._workload.is_own_model:
            return  # a kernel hangs, which the client tells
        self._server.outbox.put(
            protocol.Failed(
                generation=self._generation,
                kind=WorkFailed.kind,
                what=(
                    f"{place}: it did not come back within {allowed_s:.0f} s, at '{stage}'"
                    if place
                    else f"{self._workload.source.origin}: '{stage}' took longer than "
                    f"{allowed_s:.0f} s, outside the file's own code"
                ),
                remedy=(
                    "look for a loop without an end, or allow more with --deadline"
                    if place
                    else "allow more with --deadline"
                ),
            )
        )
        self._server.outbox.close()
        os._exit(EXIT_DEVICE_LOST)

    def close(self) -> None:
        """Watch the run no more."""
        if self._overdue is not None:
            self._overdue.close()

    def prepared(self, ready: Ready) -> None:
        plan = ready.runner.plan
        transfers = plan.config.include_transfers
        self._memory = ready.memory
        self._server.outbox.put(
            protocol.Prepared(
                generation=self._generation,
                config=plan.config,
                device=ready.device,
                environment=self._server.laboratory.environment(plan, ready.device),
                verification=ready.verification,
                not_verified=ready.not_verified,
                printed=ready.runner.printed(),
                arithmetic=ready.runner.arithmetic(),
                resources=ready.runner.resources(),
                phases_s=ready.phases_s,
                traffic=traffic_of(plan),
                untimed_B=untimed_B_of(plan, ready.device),
                flops=plan.flops,
                fewer_flops=plan.fewer_flops,
                predicted_s=ready.predicted_s,
                memory=ready.memory,
                method=SEQUENCE_METHOD if transfers else ready.runner.method,
                resolution_s=1e-7 if transfers else ready.runner.resolution_s,
            ),
            soon=self._soon,
        )

        self._server.watch(ready.device)  # now, so that no reading comes before the run is known
        if self._tells_energy and not transfers:
            self.stage("rest", None)
            self._server.rest(self._generation)

    def samples(self, batch: SampleBatch) -> None:
        if self._overdue is not None:
            self._overdue.alive()
        self._server.outbox.put_samples(self._generation, batch, soon=self._soon)

    def memory(self, use: MemoryUse) -> None:
        if use != self._memory:
            self._server.outbox.put(protocol.MemoryCounted(generation=self._generation, memory=use))


def _risk(stage: str) -> str:
    """Return what may end this process at a step: building, launching; "" for work of our own."""
    return "launch" if stage in LAUNCH_STAGES else stage if stage == "build" else ""


def _check_agreed(workload: Workload, run: protocol.Run) -> None:
    """Refuse to run a user's file that was not agreed to."""
    programs = [] if run.agreed else programs_in(workload)
    if programs:
        raise InputError(
            f"{programs[0].path} is a program, and nobody agreed to run it",
            remedy="read it, then agree with --trust, or in a terminal or the window when asked",
        )


def _failed(generation: int, error: Exception) -> protocol.Failed:
    """Turn an exception into the message that says it in one sentence."""
    lines = traceback.format_exc()
    if isinstance(error, ExplorerError):
        failed = error
    elif isinstance(error, MemoryError):
        failed = WorkFailed("the memory is not enough for this size", remedy="choose a smaller one")
    elif isinstance(error, ImportError):
        failed = CannotRunHere(
            f"a library is missing: {error}", remedy="see 'gpuexplorer doctor' for what to install"
        )
    else:
        failed = WorkFailed(
            f"the engine failed: {type(error).__name__}: {error}",
            remedy="please report it with the output of 'gpuexplorer -v'",
        )
    return protocol.Failed(
        generation=generation,
        kind=failed.kind,
        what=failed.what,
        remedy=failed.remedy,
        detail=failed.detail,
        exit_code=failed.exit_code,
        traceback=lines,
    )
