"""The client keeps an engine alive, whatever ends its process, and nothing outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest

from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.sample import Reading
from gpuexplorer.engine import client, protocol
from gpuexplorer.engine.client import EngineLost, EngineReady
from gpuexplorer.workloads.workload import Workload, WorkloadSource
from tests.support.watched import MATMUL, Watched, config


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
