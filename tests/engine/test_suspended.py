"""An engine that is suspended is told, waited for and in the end replaced."""

from __future__ import annotations

import subprocess
import sys
import time

import psutil
import pytest

from gpuexplorer.engine import protocol, suspension
from gpuexplorer.engine.client import EngineLost, EngineReady
from tests.support.watched import MATMUL, Watched, config

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
