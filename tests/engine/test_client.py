"""The client keeps an engine alive, whatever ends its process, and nothing outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import psutil
import pytest

from gpuexplorer.core import deadline
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.sample import Reading
from gpuexplorer.engine import client, protocol, suspension
from gpuexplorer.engine.client import Engine, EngineLost, EngineOptions, EngineReady, Event
from gpuexplorer.engine.deadlines import Deadlines
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.workload import Workload, WorkloadSource
from tests.support.prepared import prepared


class Watched:
    """An engine and every event it had."""

    def __init__(self, options: EngineOptions | None = None) -> None:
        self.events: list[Event] = []
        self.times: list[float] = []
        self.log: list[str] = []
        self.engine = Engine(options or EngineOptions(), self._take, self.log.append)
        self.engine.start()

    def _take(self, event: Event) -> None:
        self.events.append(event)
        self.times.append(time.monotonic())

    def until(self, condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
        limit = time.monotonic() + timeout_s
        while not condition():
            self.engine.poll(0.1)
            assert time.monotonic() < limit, self.events[-5:]

    def of(self, kind: type) -> list[Event]:
        return [e for e in self.events if isinstance(e, kind)]

    def wait(self, kind: type, more_than: int = 0, timeout_s: float = 30.0) -> Event:
        self.until(lambda: len(self.of(kind)) > more_than, timeout_s)
        return self.of(kind)[-1]

    def devices(self) -> DeviceList:
        self.engine.list_devices()
        event = self.wait(protocol.Devices)
        assert isinstance(event, protocol.Devices)
        return event.devices


@pytest.fixture
def watched() -> Iterator[Watched]:
    one = Watched()
    yield one
    one.engine.close()


@pytest.fixture
def on_one_core() -> Iterator[Watched]:
    """An engine that leaves the other cores to other tests, where a launch lasts for long."""
    one = Watched(EngineOptions(threads=1))
    yield one
    one.engine.close()


MATMUL = load()["matmul"]


def config(devices: DeviceList, workload: Workload = MATMUL, **changes: object) -> RunConfig:
    request = RunRequest(workload=workload.name, device="cpu")
    for name, value in changes.items():
        setattr(request, name, value)
    return complete(request, workload, devices)


def folder(source: str, block: str = "[16, 16]", work: str = "0") -> Workload:
    """Return a workload of one kernel that writes an N-element array C of ones."""
    manifest = f"""
        format = 1
        name = "probe"
        title = "Probe"
        summary = "A kernel of the tests."
        sizes.N = {{ min = 1, max = 1048576, default = 1024 }}
        precisions.fp32 = {{ tolerance = 1e-6 }}
        arrays.A = {{ shape = ["N"], role = "in" }}
        arrays.C = {{ shape = ["N"], role = "out" }}
        work = {{ flops = {work}, read_bytes = "N * itemsize", write_bytes = "N * itemsize" }}
        reference.outputs = {{ C = "A * 0 + 1" }}
        [variants.only]
        title = "Only"
        teaches = "Nothing."
        [[variants.only.launch]]
        source = "probe.cu"
        entry = "probe"
        block = {block}
        grid = ["ceil_div(N, block_x * block_y)"]
        args = ["A", "C", "N"]
    """
    return Workload(WorkloadSource(manifest=manifest, files={"probe.cu": source}))


ENDLESS = """
__global__ void probe(const float *A, volatile float *C, int N)
{
    int i = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    if (i < N) {
        C[i] = 0.0f;
        while (C[i] != 2.0f) {
            C[i] = 1.0f;
        }
    }
}
"""

OUT_OF_BOUNDS = """
__global__ void probe(const float *A, float *C, int N)
{
    int i = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    if (i < N) {
        C[i] = 1.0f;
        C[i + 400000000] = 3.0f;
    }
}
"""


def test_handshake_and_devices(watched: Watched) -> None:
    ready = watched.wait(EngineReady)
    assert isinstance(ready, EngineReady)
    assert ready.welcome.protocol == protocol.PROTOCOL
    assert not ready.restarted
    devices = watched.devices()
    assert any(d.runs_kernels for d in devices.devices)
    for missing in devices.unavailable:
        assert missing.reason
        assert missing.remedy


def test_devices_are_asked_for_again_after_looking_for_them_failed(watched: Watched) -> None:
    watched.wait(EngineReady)
    engine, process = watched.engine, watched.engine._process
    assert process is not None
    engine._asked_devices = engine._wants_devices = True  # as while the engine looks
    failed = protocol.Failed(generation=0, kind="failed", what="looking for devices failed")
    engine._deliver(process, failed)
    assert watched.wait(protocol.Failed) == failed
    assert watched.devices().devices


def test_an_engine_whose_devices_never_answer_is_given_up(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a GPU is lost and its driver waits for it: a fresh engine would wait as well."""
    monkeypatch.setattr(deadline, "DEVICES_DEADLINE_S", 0.0)
    watched.engine.list_devices()
    lost = watched.wait(EngineLost)
    assert isinstance(lost, EngineLost)
    assert (lost.kind, lost.restarting) == ("hang", False)
    assert "looking for devices did not end within 0 s" in lost.reason
    monkeypatch.undo()
    watched.engine.start()
    assert watched.devices().devices


def test_a_run_that_an_engine_does_not_begin_is_asked_of_a_fresh_one(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where it opens its device meanwhile and the driver waits: the run waited without end."""
    chosen = config(watched.devices(), size={"N": 64})
    process = watched.engine._process
    assert process is not None
    monkeypatch.setattr(deadline, "DEVICES_DEADLINE_S", 0.1)
    monkeypatch.setattr(process, "send", lambda message: None)
    generation = watched.engine.run(chosen, MATMUL, RunOptions(seconds=0.1))
    lost = watched.wait(EngineLost)
    assert isinstance(lost, EngineLost)
    assert (lost.kind, lost.restarting, lost.generation) == ("hang", True, 0)
    assert "a GPU or its driver may hang" in lost.reason
    monkeypatch.undo()
    finished = watched.wait(protocol.Finished)
    assert isinstance(finished, protocol.Finished) and finished.generation == generation


def test_a_run_that_waits_behind_a_look_for_devices_has_a_deadline_too(watched: Watched) -> None:
    chosen = config(watched.devices(), size={"N": 64})
    watched.engine.list_devices()
    watched.engine.run(chosen, MATMUL, RunOptions(seconds=0.1))
    deadlines, due = watched.engine._deadlines, list[bool]()
    take = watched.engine._on_event

    def look(event: Event) -> None:
        if isinstance(event, protocol.Devices):
            due.append(deadlines.overdue_at is not None)
        take(event)

    watched.engine._on_event = look
    watched.wait(protocol.Finished)
    assert due == [True]


def test_a_look_for_devices_that_waits_for_a_run_has_its_time_afterwards(watched: Watched) -> None:
    watched.engine.run(config(watched.devices(), size={"N": 128}), MATMUL)
    watched.wait(protocol.Samples)
    deadlines = watched.engine._deadlines
    before = (deadlines.stage, deadlines.overdue_at)
    assert before[0] != "check"
    watched.engine.list_devices()
    assert (deadlines.stage, deadlines.overdue_at) == before
    handled: list[tuple[str, bool]] = []
    take = watched.engine._on_event

    def look(event: Event) -> None:
        if isinstance(event, protocol.Finished | protocol.Devices):
            handled.append((deadlines.stage, deadlines.overdue_at is not None))
        take(event)

    watched.engine._on_event = look
    watched.engine.cancel()
    watched.wait(protocol.Devices, more_than=1)
    assert handled == [("check", True), ("check", False)]


def test_a_run_is_prepared_sampled_and_finished(watched: Watched) -> None:
    chosen = config(watched.devices(), size={"N": 128})
    generation = watched.engine.run(chosen, MATMUL, RunOptions(seconds=0.3))
    finished = watched.wait(protocol.Finished)
    assert isinstance(finished, protocol.Finished)
    assert finished.generation == generation
    assert finished.stopped_by == "time"
    (prepared,) = watched.of(protocol.Prepared)
    assert isinstance(prepared, protocol.Prepared)
    assert prepared.verified
    assert prepared.config.grid == (8, 8, 1)
    assert prepared.flops == 2 * 128**3
    samples = watched.of(protocol.Samples)
    assert sum(len(s.batch.durations_s) for s in samples if isinstance(s, protocol.Samples)) >= 10
    order = [type(e) for e in watched.events]
    assert order.index(protocol.Prepared) < order.index(protocol.Samples)


def test_the_latest_run_wins(watched: Watched) -> None:
    devices = watched.devices()
    for block in ((1, 1), (16, 1), (8, 8), (32, 4), (64, 2)):
        latest = watched.engine.run(config(devices, size={"N": 128}, block=block), MATMUL)
    watched.wait(protocol.Samples)
    generations = {e.generation for e in watched.events if isinstance(e, protocol.Prepared)}
    assert generations == {latest}
    watched.engine.cancel()
    finished = watched.wait(protocol.Finished)
    assert isinstance(finished, protocol.Finished)
    assert finished.stopped_by == "user"


@pytest.mark.alone
def test_a_long_launch_runs_only_after_it_was_agreed_to(watched: Watched) -> None:
    chosen = config(watched.devices(), size={"N": 2048}, block=(1, 1))
    watched.engine.run(chosen, MATMUL)
    asked = watched.wait(protocol.NeedsConfirmation)
    assert isinstance(asked, protocol.NeedsConfirmation)
    assert asked.predicted_s > protocol.CONFIRM_ABOVE_S
    assert not watched.of(protocol.Samples)
    watched.engine.run(chosen, MATMUL, RunOptions(allow_long=True))
    watched.until(
        lambda: any(isinstance(e, protocol.Stage) and e.name == "verify" for e in watched.events)
    )
    started = time.monotonic()
    watched.engine.cancel()
    lost = watched.wait(EngineLost)
    assert isinstance(lost, EngineLost)
    assert time.monotonic() - started < 3.0
    assert lost.kind == "cancelled"
    assert lost.generation == watched.engine.generation
    watched.wait(EngineReady, more_than=1)


def test_a_run_agreed_to_after_all_starts_from_filled_inputs(watched: Watched) -> None:
    chosen = config(watched.devices(), size={"N": 1536}, block=(1, 1))
    watched.engine.run(chosen, MATMUL)
    watched.wait(protocol.NeedsConfirmation)
    quick = config(watched.devices(), size={"N": 1536}, block=(16, 16))
    # On a slow processor this one would have to be agreed to as well.
    watched.engine.run(quick, MATMUL, RunOptions(seconds=0.1, allow_long=True))
    watched.wait(protocol.Finished, timeout_s=120)
    assert all(e.verified for e in watched.of(protocol.Prepared))  # type: ignore[union-attr]


def test_a_run_that_replaces_a_long_launch_is_not_lost(watched: Watched) -> None:
    devices = watched.devices()
    watched.engine.run(
        config(devices, size={"N": 2048}, block=(1, 1)), MATMUL, RunOptions(allow_long=True)
    )
    watched.until(
        lambda: any(isinstance(e, protocol.Stage) and e.name == "verify" for e in watched.events)
    )
    generation = watched.engine.run(
        config(devices, size={"N": 64}), MATMUL, RunOptions(seconds=0.1)
    )
    finished = watched.wait(protocol.Finished)
    assert isinstance(finished, protocol.Finished)
    assert finished.generation == generation
    (lost,) = watched.of(EngineLost)
    assert isinstance(lost, EngineLost)
    assert lost.generation == 0


def test_a_run_cancelled_while_it_waits_does_not_come_back(watched: Watched) -> None:
    devices = watched.devices()
    watched.engine.run(
        config(devices, size={"N": 2048}, block=(1, 1)), MATMUL, RunOptions(allow_long=True)
    )
    watched.until(
        lambda: any(isinstance(e, protocol.Stage) and e.name == "verify" for e in watched.events)
    )
    generation = watched.engine.run(config(devices, size={"N": 64}), MATMUL)
    watched.engine.cancel()
    lost = watched.wait(EngineLost)
    assert isinstance(lost, EngineLost)
    assert lost.generation == generation
    seen = len(watched.of(protocol.Devices))
    watched.engine.list_devices()
    watched.wait(protocol.Devices, more_than=seen)  # whatever was asked before has begun by now
    of_run = [e for e in watched.events if getattr(e, "generation", 0) == generation]
    assert of_run == [lost]


def test_only_a_launch_is_ended_at_once_and_what_serves_the_next_run_is_waited_for() -> None:
    deadlines = Deadlines(1.0)
    grace_s = {}
    for stage in ("measure", "build", "inputs"):
        deadlines.begin(stage, None)
        replaced_s = deadlines.grace_s(cancelled=False)
        grace_s[stage] = (replaced_s, deadlines.grace_s(cancelled=True))
    assert grace_s == {"measure": (0.25, 0.25), "build": (15.0, 2.0), "inputs": (2.0, 2.0)}


def test_an_engine_that_waits_for_a_core_has_so_much_longer_to_stop() -> None:
    """Beside busy programs a launch of a millisecond may take half a second."""
    deadlines = Deadlines(1.0)
    deadlines.begin("measure", None)

    def has_s() -> float:
        due, since = deadlines.due(ready=True, cancelled=False), deadlines.stopping_since
        assert since is not None
        return due - since

    deadlines.stop()
    began = deadlines.stopping_since
    assert began is not None and has_s() == pytest.approx(0.05), "it is looked at"
    assert deadlines.is_kept_waiting({"1": 5.0, "2": 7.0})
    assert has_s() == pytest.approx(0.25)
    assert deadlines.is_kept_waiting({"1": 5.01, "2": 7.2, "3": 9.0})
    assert deadlines.stopping_since == pytest.approx(began + 0.2)
    assert not deadlines.is_kept_waiting({"1": 5.01, "2": 7.2}), "it has had its time"
    assert deadlines.is_kept_waiting({"1": 99.0})
    assert deadlines.stopping_since == pytest.approx(began + 2.0), "never more than so much in all"
    assert not deadlines.is_kept_waiting({"1": 999.0})
    deadlines.done()
    deadlines.stop()
    assert has_s() == pytest.approx(0.05), "the next one is looked at anew"
    assert deadlines.is_kept_waiting({}) and not deadlines.is_kept_waiting({})


def test_sigkill_during_a_run_costs_the_process_and_nothing_else(watched: Watched) -> None:
    chosen = config(watched.devices(), size={"N": 128})
    watched.engine.run(chosen, MATMUL)
    watched.wait(protocol.Samples)
    assert watched.engine.pid is not None
    os.kill(watched.engine.pid, signal.SIGKILL)
    lost = watched.wait(EngineLost)
    assert isinstance(lost, EngineLost)
    assert lost.kind == "crash"
    assert lost.outside
    assert "SIGKILL" in lost.reason
    ready = watched.wait(EngineReady, more_than=1)
    assert isinstance(ready, EngineReady)
    assert ready.restarted
    assert 0.0 < ready.handshake_s < 30.0  # tests/bench/engine_restart.py times it
    before = len(watched.of(protocol.Samples))
    watched.engine.run(chosen, MATMUL)
    watched.wait(protocol.Samples, more_than=before)


def test_a_kernel_that_never_ends_meets_its_deadline(on_one_core: Watched) -> None:
    watched = on_one_core
    devices = watched.devices()
    workload = folder(ENDLESS)
    watched.engine.run(config(devices, workload), workload)
    lost = watched.wait(EngineLost, timeout_s=40.0)
    assert isinstance(lost, EngineLost)
    assert lost.kind == "hang"
    assert not lost.outside
    assert "never finish" in lost.reason
    assert lost.may_be_long
    assert "--yes" in lost.remedy
    watched.wait(EngineReady, more_than=1)


def test_whoever_polls_has_a_turn_however_much_an_engine_tells(watched: Watched) -> None:
    """On a busy machine messages may come faster than they are handled, for minutes."""
    watched.devices()
    engine, process = watched.engine, watched.engine._process
    assert process is not None
    reading = protocol.Telemetry(device="opencl:0", reading=Reading(t_ns=0, source="a test"))
    enough = threading.Event()

    def tell() -> None:
        while not enough.is_set():
            engine._deliver(process, reading)

    teller = threading.Thread(target=tell)
    teller.start()
    try:
        for _ in range(3):
            began = time.monotonic()
            engine.poll(0.01)
            assert time.monotonic() - began < 5.0
        assert engine._inbox.qsize() <= client.MOST_WAITING + 1
    finally:
        enough.set()
        watched.until(lambda: not teller.is_alive())


@pytest.mark.parametrize(
    ("stage", "allow_long", "reason", "remedy"),
    [
        ("predict", False, "a part of one launch did not end within 10 s", "--yes"),
        ("predict", True, "a launch did not end within 10 s", "--deadline"),
        ("measure", False, "a launch did not end within 10 s", "--deadline"),
        ("build", False, "while the engine was at 'build'", "--deadline"),
        ("memory", False, "while the engine was at 'memory'", "--deadline"),
        ("accesses", False, "while the engine was at 'accesses'", "--deadline"),
        ("operators", False, "while the engine was at 'operators'", "--deadline"),
        ("check", False, "looking for devices did not end within 10 s", "--deadline"),
        ("upload", False, "while the engine was at 'upload'", ""),
    ],
)
def test_what_did_not_come_back_is_told_with_what_would_help(
    stage: str, allow_long: bool, reason: str, remedy: str
) -> None:
    deadlines = Deadlines(1.0)
    deadlines.begin(stage, 10.0)
    words, help_ = deadlines.hang(running=True, agreed=allow_long)
    assert reason in words
    assert remedy in help_ and bool(remedy) == bool(help_)
    assert ("kernel" in words) == (stage in ("predict", "measure"))


posix = pytest.mark.skipif(sys.platform == "win32", reason="SIGSTOP is POSIX's")


def stop(watched: Watched) -> psutil.Process:
    """Stop the engine of a run that samples, and return its process once it stands."""
    watched.engine.run(config(watched.devices(), size={"N": 128}), MATMUL)
    watched.wait(protocol.Samples)
    watched.until(lambda: stages(watched)[-1] == "measure")
    assert watched.engine.pid is not None
    process = psutil.Process(watched.engine.pid)
    process.suspend()
    watched.until(lambda: process.status() == psutil.STATUS_STOPPED)
    return process


def stages(watched: Watched) -> list[str]:
    return [event.name for event in watched.of(protocol.Stage) if isinstance(event, protocol.Stage)]


@posix
@pytest.mark.parametrize("deadline_s", [600.0, None])
def test_an_engine_that_is_suspended_is_told_soon_and_works_on_when_it_is_continued(
    watched: Watched, deadline_s: float | None
) -> None:
    process = stop(watched)
    watched.engine._deadlines.deadline_s = deadline_s  # as at a stage that may take long
    watched.engine._deadlines.overdue_at = (
        None if deadline_s is None else time.monotonic() + deadline_s
    )
    began = time.monotonic()
    watched.until(lambda: stages(watched)[-1] == "suspended", timeout_s=8.0)
    assert time.monotonic() - began < 6.0
    assert any("suspended from outside" in line for line in watched.log)
    before = len(watched.of(protocol.Samples))
    process.resume()
    watched.wait(protocol.Samples, more_than=before)
    told = stages(watched)
    assert told.count("suspended") == 1 and told[told.index("suspended") + 1] == "measure"
    assert not watched.of(EngineLost)


@posix
def test_a_suspended_engine_that_is_not_continued_is_replaced(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suspension, "PATIENCE_S", 1.0)
    stop(watched)
    watched.engine._deadlines.overdue_at = time.monotonic() + 600.0
    lost = watched.wait(EngineLost, timeout_s=8.0)
    assert isinstance(lost, EngineLost)
    assert (lost.kind, lost.outside) == ("hang", True)
    assert "suspended from outside (SIGSTOP)" in lost.reason and "kernel" not in lost.reason
    watched.wait(EngineReady, more_than=1)


@posix
def test_an_engine_suspended_at_its_deadline_is_no_kernel_that_never_ends(watched: Watched) -> None:
    process = stop(watched)
    watched.engine._deadlines.overdue_at = time.monotonic()
    watched.until(lambda: stages(watched)[-1] == "suspended")
    process.resume()
    watched.wait(protocol.Samples, more_than=len(watched.of(protocol.Samples)))
    assert not watched.of(EngineLost)


RUNS_A_WHILE = """
import sys, time
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load

workload = load()["matmul"]
with EngineSession() as session:
    request = RunRequest(workload="matmul", size={"N": 64}, device="cpu")
    config = complete(request, workload, session.devices())
    told = []

    def look(progress):
        due = session._engine._deadlines
        if due.overdue_at is not None:  # a deadline that passes while this program is suspended
            due.overdue_at = min(due.overdue_at, time.monotonic() + 3.0)
        if progress.samples and not told:
            told.append(True)
            print(session.pid, flush=True)

    record = session.measure(config, workload, RunOptions(seconds=6.5), on_progress=look)
    print(record.stopped_by, flush=True)
"""


@posix
def test_a_program_that_was_suspended_with_its_engine_does_not_lose_its_run() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", RUNS_A_WHILE], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as program:
        assert program.stdout is not None
        engine = psutil.Process(int(program.stdout.readline()))
        stood = (psutil.Process(program.pid), engine)
        for one in stood:
            one.suspend()
        with pytest.raises(subprocess.TimeoutExpired):  # longer than the deadline
            program.wait(5.0)
        for one in stood:
            one.resume()
        out, err = program.communicate(timeout=60)
    assert (program.returncode, out.decode().split()) == (0, ["time"]), err.decode()


def test_writing_far_out_of_bounds_ends_the_engine_at_most(watched: Watched) -> None:
    devices = watched.devices()
    workload = folder(OUT_OF_BOUNDS)
    watched.engine.run(config(devices, workload), workload, RunOptions(seconds=0.1))
    watched.until(lambda: bool(watched.of(EngineLost) or watched.of(protocol.Failed)))
    if sys.platform == "linux":
        (failed,) = watched.of(protocol.Failed)
        assert isinstance(failed, protocol.Failed)
        assert "outside array C: 399,99" in failed.what
        assert not watched.of(EngineLost)
    generation = watched.engine.run(
        config(devices, size={"N": 64}), MATMUL, RunOptions(seconds=0.1)
    )
    finished = watched.wait(protocol.Finished)
    assert isinstance(finished, protocol.Finished)
    assert finished.generation == generation


@pytest.mark.alone
def test_closing_in_the_middle_of_a_launch_leaves_no_process(watched: Watched) -> None:
    chosen = config(watched.devices(), size={"N": 2048}, block=(1, 1))
    watched.engine.run(chosen, MATMUL, RunOptions(allow_long=True))
    watched.until(
        lambda: any(isinstance(e, protocol.Stage) and e.name == "verify" for e in watched.events)
    )
    pid = watched.engine.pid
    assert pid is not None
    started = time.monotonic()
    watched.engine.close()
    assert time.monotonic() - started < 10.0
    assert not psutil.pid_exists(pid)


def test_no_orphan_when_the_parent_is_killed() -> None:
    script = (
        "import sys, time\n"
        "from gpuexplorer.engine.client import Engine, EngineOptions, EngineReady\n"
        "events = []\n"
        "engine = Engine(EngineOptions(), events.append)\n"
        "engine.start()\n"
        "while not any(isinstance(e, EngineReady) for e in events):\n"
        "    engine.poll(0.1)\n"
        "print(engine.pid, flush=True)\n"
        "while True:\n"
        "    engine.poll(1.0)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    engine = psutil.Process(pid)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    engine.wait(timeout=5.0)


def test_an_interpreter_that_cannot_start_is_said_once() -> None:
    watched = Watched(EngineOptions(python="/no/such/python"))
    lost = watched.wait(EngineLost)
    assert isinstance(lost, EngineLost)
    assert not lost.restarting
    assert "/no/such/python" in lost.reason
    watched.engine.close()


def test_an_engine_that_was_given_up_is_started_for_what_is_asked_of_it(tmp_path: Path) -> None:
    """It was waited for without end."""
    python = tmp_path / "python"
    watched = Watched(EngineOptions(python=str(python)))
    watched.until(lambda: any(isinstance(e, EngineLost) for e in watched.events))
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    config = msgspec.structs.replace(prepared().config, device="numpy:cpu")
    watched.engine.run(config, load()["matmul"], RunOptions(samples=1))
    watched.until(lambda: any(isinstance(e, EngineReady) for e in watched.events))
    watched.engine.close()


def test_an_interpreter_that_only_prints_is_tried_once(tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho 'this is not an engine'\n")
    script.chmod(0o755)
    watched = Watched(EngineOptions(python=str(script)))
    watched.until(
        lambda: any(isinstance(e, EngineLost) and not e.restarting for e in watched.events)
    )
    assert len(watched.of(EngineLost)) == 1
    assert any("this is not an engine" in line for line in watched.log)
    watched.engine.close()


def test_what_a_shell_prints_first_does_not_matter(tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text(f"#!/bin/sh\necho 'Welcome to this host'\nexec {sys.executable} \"$@\"\n")
    script.chmod(0o755)
    watched = Watched(EngineOptions(python=str(script)))
    watched.wait(EngineReady)
    assert "Welcome to this host" in watched.log
    watched.engine.close()


def test_a_library_that_prints_cannot_corrupt_the_stream() -> None:
    code = "import os; os.write(1, b'noise'); print('more noise', flush=True)"
    environment = {**os.environ, "PYTHONSTARTUP": ""}
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from gpuexplorer.engine.launcher import take_streams\n"
            "incoming, outgoing = take_streams()\n"
            f"{code}\n"
            "outgoing.write(b'frame')\n",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    out, err = process.communicate()
    assert out == b"frame"
    assert b"noise" in err


def test_another_protocol_version_is_refused_by_name(watched: Watched) -> None:
    welcome = protocol.Welcome(
        protocol=protocol.PROTOCOL + 1,
        version="99.0",
        pid=1,
        python="3.11",
        monotonic_ns=0,
        utc="",
        threads=1,
    )
    watched.wait(EngineReady)
    watched.engine._welcome(msgspec.structs.replace(welcome))
    lost = watched.of(EngineLost)[-1]
    assert isinstance(lost, EngineLost)
    assert "99.0" in lost.reason
    assert not lost.restarting
