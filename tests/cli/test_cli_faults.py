"""Kernels that misbehave end in a sentence, and a user may stop whenever they like."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from gpuexplorer.cli import main
from gpuexplorer.cli.explore import explore
from gpuexplorer.core.compared import ComparisonResult
from gpuexplorer.core.errors import CannotRunHere, ExplorerError, WorkFailed, WrongResult
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sharing import shared_environment
from gpuexplorer.core.units import count
from gpuexplorer.engine.errors import EngineGone, EngineKilled
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.history.model import Query
from gpuexplorer.history.store import Store
from tests.support.cli import assert_one_sentence, cli_command, cli_environment, run_cli
from tests.support.kernels import (
    ENDLESS_BODY,
    FAR_OUT_OF_BOUNDS_BODY,
    OUT_OF_BOUNDS_BODY,
    STALE_SHARED_BODY,
    write_article,
    write_vector,
)
from tests.support.results import made_result


def test_the_articles_kernel_runs_unchanged(tmp_path: Path) -> None:
    folder = write_article(tmp_path)
    for size in ("96", "101"):
        done = run_cli(
            "run", "article", "--kernels", folder, "--size", size, "--seconds", "0.1", "--json",
            cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        result = msgspec.json.decode(done.stdout.encode(), type=RunResult)
        assert result.verified
        assert result.config.precision == "fp32"


def test_a_long_launch_is_announced_and_refused(tmp_path: Path) -> None:
    started = time.monotonic()
    done = run_cli(
        "run", "matmul", "--variant", "naive", "--size", "2048", "--block", "1x1",
        "--device", "cpu", cwd=tmp_path,
    )  # fmt: skip
    sentence = assert_one_sentence(done, 2)
    assert "one launch would take about" in sentence
    assert "--yes" in sentence
    assert time.monotonic() - started < 30


def test_an_endless_kernel_ends_by_its_deadline(tmp_path: Path) -> None:
    folder = write_vector(tmp_path, ENDLESS_BODY)
    started = time.monotonic()
    done = run_cli(
        "run", "vector", "--kernels", folder, "--seconds", "0.1", "--threads", "1", cwd=tmp_path
    )
    assert done.returncode == 1
    assert "may never finish" in done.stderr.splitlines()[-1]
    assert "agree to long launches with --yes" in done.stderr
    assert time.monotonic() - started < 45


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX's")
def test_a_run_whose_engine_is_killed_keeps_the_samples_it_has(tmp_path: Path) -> None:
    """A short run, of which nothing is written while it goes."""
    import pty

    store_path = tmp_path / "history.sqlite"
    watched, terminal = pty.openpty()
    with subprocess.Popen(
        cli_command("run", "matmul", "--size", "32", "--seconds", "5", "--json", "a.json"),
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=terminal, text=True,
        env=cli_environment(GPUEXPLORER_HISTORY_URL=str(store_path), TERM="xterm-256color"),
    ) as process:  # fmt: skip
        os.close(terminal)
        wait_for(watched, b"samples", limit_s=60)
        for child in psutil.Process(process.pid).children(recursive=True):
            child.kill()
        said = wait_for(watched, b" samples\r\n", limit_s=60).decode()
        out, _ = process.communicate(timeout=60)
    os.close(watched)
    assert process.returncode == 1, said
    assert "gpuexplorer: error: the engine was killed (SIGKILL) from outside" in said
    result = msgspec.json.decode((tmp_path / "a.json").read_bytes(), type=RunResult)
    assert result.timing.stopped_by == "crash" and result.timing.samples == len(result.samples_s)
    assert f"the run ended early, after {count(result.timing.samples)} samples" in said
    assert "its engine ended early" in out
    with Store.open_to_read(store_path) as store:
        (row,) = store.find(Query())
        kept = store.get(row.id)
    environment = shared_environment(kept.environment)
    assert msgspec.structs.replace(kept, environment=environment) == result


def test_a_kernel_that_writes_past_its_array_is_reported(tmp_path: Path) -> None:
    folder = write_vector(tmp_path, OUT_OF_BOUNDS_BODY)
    done = run_cli("run", "vector", "--kernels", folder, "--seconds", "0.1", cwd=tmp_path)
    assert "outside" in assert_one_sentence(done, 1)


def test_a_result_that_another_launch_left_is_not_verified(tmp_path: Path) -> None:
    folder = write_vector(tmp_path, STALE_SHARED_BODY)
    done = run_cli(
        "run", "vector", "--kernels", folder, "--size", "64", "--seconds", "0.1", "--threads", "1",
        cwd=tmp_path,
    )  # fmt: skip
    sentence = assert_one_sentence(done, 1)
    # In some orders of the blocks the first launches are wrong all alike.
    assert "changes from launch to launch" in sentence or "is wrong" in sentence


def test_a_kernel_that_writes_far_away_fails_in_a_sentence(tmp_path: Path) -> None:
    folder = write_vector(tmp_path, FAR_OUT_OF_BOUNDS_BODY)
    done = run_cli("run", "vector", "--kernels", folder, "--seconds", "0.1", cwd=tmp_path)
    sentence = assert_one_sentence(done, 1)
    assert "memory" in sentence or "outside" in sentence


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal's Ctrl-C is a POSIX signal here")
@pytest.mark.parametrize("terminal_type", ["xterm-256color", "dumb"])
def test_ctrl_c_keeps_what_was_measured(terminal_type: str, tmp_path: Path) -> None:
    import pty

    watched, terminal = pty.openpty()
    process = subprocess.Popen(
        cli_command("run", "matmul", "--size", "128", "--seconds", "60", "--json", "part.json"),
        cwd=tmp_path, env={**cli_environment(), "TERM": terminal_type}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=terminal, start_new_session=True,
    )  # fmt: skip
    os.close(terminal)
    try:
        said = wait_for(watched, b"samples", limit_s=60)
        children = psutil.Process(process.pid).children(recursive=True)
        assert children, said  # the engine
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does it
        out, _ = process.communicate(timeout=20)
    finally:
        process.kill()
        os.close(watched)
    assert process.returncode == 130
    assert b"verified" in out
    assert (b"\x1b" in said) == (terminal_type != "dumb"), said  # drawn, or plain lines
    result = msgspec.json.decode((tmp_path / "part.json").read_bytes(), type=RunResult)
    assert result.timing.stopped_by == "user"
    assert len(result.samples_s) > 0
    _, alive = psutil.wait_procs(children, timeout=5)
    assert not alive


def wait_for(descriptor: int, wanted: bytes, limit_s: float) -> bytes:
    """Read from a terminal until it shows ``wanted``."""
    seen = b""
    limit = time.monotonic() + limit_s
    while wanted not in seen:
        left = limit - time.monotonic()
        assert left > 0, seen
        if select.select([descriptor], [], [], left)[0]:
            seen += os.read(descriptor, 4096)
    return seen


IN_A_CALLBACK = """
import sys, weakref
from gpuexplorer import cli

class Thing: pass

def interrupt(reference):
    raise KeyboardInterrupt

def command(arguments, collecting):
    thing = Thing()
    reference = weakref.ref(thing, interrupt)
    del thing
    for _ in range(10_000_000): pass
    return 0

cli._run = command
sys.exit(cli.main([]))
"""


def test_an_interrupt_that_python_cannot_raise_where_it_comes_is_not_lost() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IN_A_CALLBACK],
        env=cli_environment(), capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (130, "")


AFTER_THE_END = """
import os, signal, sys
from gpuexplorer.cli import main
from gpuexplorer.cli.explore import explore
sys.argv = ["gpuexplorer", "--version"]
code = main()
os.kill(os.getpid(), signal.SIGINT)
sys.exit(code)
"""


def test_an_interrupt_after_the_end_changes_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", AFTER_THE_END],
        env=cli_environment(), capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


TOLD_TO_END = """
import os, signal, sys
from gpuexplorer.cli import keeping, main

number = getattr(signal, sys.argv.pop())
signal.signal(number, signal.SIG_DFL)  # what ``nohup`` begins ignores SIGHUP

def take(self, record):
    if record is not None and record.samples > 10: os.kill(os.getpid(), number)

keeping.LiveKeeping.take = take
sys.exit(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_run_that_the_system_ends_is_kept_and_written(tmp_path: Path, name: str) -> None:
    words = ["run", "matmul", "--device", "cpu", "--size", "64", "--seconds", "600"]
    history = tmp_path / "history.sqlite"
    done = subprocess.run(
        [sys.executable, "-c", TOLD_TO_END, *words, "--json", "a.json", name],
        env=cli_environment(GPUEXPLORER_HISTORY_URL=str(history)), cwd=tmp_path,
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 128 + getattr(signal, name), done.stderr
    samples = json.loads((tmp_path / "a.json").read_bytes())["timing"]["samples"]
    assert samples > 10
    assert f"stopped after {count(samples)} samples" in done.stderr
    with Store.open_to_read(history) as store:
        assert store.count(Query()) == 1


def test_what_is_measured_is_delivered_before_its_engine_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two presses of Ctrl-C within a moment: the second came while the engine was ended."""
    close = EngineSession.close

    def interrupted(self: EngineSession) -> None:
        close(self)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setenv("GPUEXPLORER_HISTORY_URL", str(tmp_path / "history.sqlite"))
    monkeypatch.setattr(EngineSession, "close", interrupted)
    run = tmp_path / "run.json"
    small = ["--device", "cpu", "--size", "64"]
    assert main(["run", "matmul", *small, "--seconds", "0.1", "--json", str(run)]) == 130
    compared = tmp_path / "compared.json"
    two = ["compare", "16x16", "16x16,seed=1", "--workload", "matmul", *small, "--rounds", "2"]
    assert main([*two, "--json", str(compared)]) == 130
    assert json.loads(run.read_bytes())["verification"]["ok"]
    assert len(json.loads(compared.read_bytes())["contestants"]) == 2
    with Store.open_to_read(tmp_path / "history.sqlite") as store:
        assert store.count(Query()) == 3


def test_a_comparison_that_an_error_ends_is_written_as_far_as_it_went(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measure, turns = EngineSession.measure, itertools.count()

    def fails(self: EngineSession, *how: Any, **told: Any) -> RunRecord:
        if next(turns) == 5:
            raise WorkFailed("the engine died")
        return measure(self, *how, **told)

    monkeypatch.setattr(EngineSession, "measure", fails)
    made = tmp_path / "compared.json"
    two = ["compare", "16x16", "16x16,seed=1", "--workload", "matmul", "--device", "cpu"]
    assert main([*two, "--size", "64", "--rounds", "8", "--no-history", "--json", str(made)]) == 1
    contestants = json.loads(made.read_bytes())["contestants"]
    assert [len(one["turns_s"]) for one in contestants] == [2, 2]
    assert "the engine died" in capsys.readouterr().err


OLD = msgspec.structs.replace(
    made_result(size={"N": 64}, grid=(4, 4, 1), threads=1), id="000001" + "0" * 26
)
STORED = ("compare", "000001", "16x16", "8x8", "--stored", "--device", "cpu", "--size", "64")


@pytest.mark.parametrize("by", [KeyboardInterrupt(), WorkFailed("the engine died")])
def test_configurations_beside_stored_runs_are_kept_as_far_as_they_were_measured(
    by: BaseException,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The second one ends early, with samples of its own."""
    measure, turns = EngineSession.measure, itertools.count()

    def fails(self: EngineSession, *how: Any, **told: Any) -> RunRecord:
        record = measure(self, *how, **told)
        if next(turns):
            raise by
        return record

    history, made = tmp_path / "history.sqlite", tmp_path / "compared.json"
    with Store.open(history) as store:
        store.add(OLD)
    monkeypatch.setenv("GPUEXPLORER_HISTORY_URL", str(history))
    monkeypatch.setattr(EngineSession, "measure", fails)
    code = main([*STORED, "--seconds", "0.4", "--json", str(made)])
    assert code == (130 if isinstance(by, KeyboardInterrupt) else 1)
    result = msgspec.json.decode(made.read_bytes(), type=ComparisonResult)
    ids = [one.run.id for one in result.contestants]
    assert ids[0] == OLD.id and len(set(ids)) == 3
    with Store.open_to_read(history) as store:
        assert {row.id for row in store.find(Query())} == set(ids)
        (group,) = store.groups("comparison")
        assert group.finished and store.group(group.id).document is not None
    told = capsys.readouterr()
    assert "16×16" in told.out and "8×8" in told.out
    if isinstance(by, KeyboardInterrupt):
        assert "stopped with 1 of 2 configurations done" in told.err
    else:
        assert "the engine died" in told.err


@pytest.mark.parametrize("times", [1, 2])
def test_a_configuration_beside_stored_runs_that_is_lost_with_its_engine_is_measured_once_more(
    times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first engine that was killed ended the comparison."""
    measure, turns = EngineSession.measure, itertools.count()

    def killed(self: EngineSession, *how: Any, **told: Any) -> RunRecord:
        record = measure(self, *how, **told)
        if next(turns) in range(1, 1 + times):
            raise EngineKilled("the engine was killed", remedy="run it again")
        return record

    history, made = tmp_path / "history.sqlite", tmp_path / "compared.json"
    with Store.open(history) as store:
        store.add(OLD)
    monkeypatch.setenv("GPUEXPLORER_HISTORY_URL", str(history))
    monkeypatch.setattr(EngineSession, "measure", killed)
    assert main([*STORED, "--seconds", "0.4", "--json", str(made)]) == (0 if times == 1 else 1)
    assert ("the engine was killed" in capsys.readouterr().err) == (times == 2)
    assert next(turns) == 3
    result = msgspec.json.decode(made.read_bytes(), type=ComparisonResult)
    assert len({one.run.id for one in result.contestants}) == 3


def test_an_interrupt_before_the_first_sample_beside_stored_runs_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(self: EngineSession, *how: Any, **told: Any) -> RunRecord:
        raise KeyboardInterrupt

    history = tmp_path / "history.sqlite"
    with Store.open(history) as store:
        store.add(OLD)
    monkeypatch.setenv("GPUEXPLORER_HISTORY_URL", str(history))
    monkeypatch.setattr(EngineSession, "measure", interrupted)
    assert main([*STORED]) == 130
    assert "stopped before the first sample" in capsys.readouterr().err
    with Store.open_to_read(history) as store:
        assert store.count(Query()) == 1 and not store.groups("comparison")


def test_a_wrong_result_beside_stored_runs_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measure, turns = EngineSession.measure, itertools.count()

    def wrong(self: EngineSession, *how: Any, **told: Any) -> RunRecord:
        record = measure(self, *how, **told)
        if next(turns):
            raise WrongResult("the result is wrong")
        return record

    history, made = tmp_path / "history.sqlite", tmp_path / "compared.json"
    with Store.open(history) as store:
        store.add(OLD)
    monkeypatch.setenv("GPUEXPLORER_HISTORY_URL", str(history))
    monkeypatch.setattr(EngineSession, "measure", wrong)
    assert main([*STORED, "--seconds", "0.4", "--json", str(made)]) == 1
    result = msgspec.json.decode(made.read_bytes(), type=ComparisonResult)
    assert len(result.contestants) == 2
    assert "the result is wrong" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (WrongResult("the result is wrong"), 1),
        (EngineKilled("the engine was killed"), 1),
        (EngineGone("the engine cannot be started"), 1),
        (CannotRunHere("the library is not here"), 0),
    ],
)
def test_an_exploration_in_which_work_failed_ends_with_1(
    error: ExplorerError,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    measure, turns = EngineSession.measure, itertools.count()

    def fails(self: EngineSession, *how: Any, **told: Any) -> RunRecord:
        if next(turns):
            raise error
        return measure(self, *how, **told)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gpuexplorer.cli.explore.SECONDS_EACH", 0.05)
    monkeypatch.setattr("gpuexplorer.cli.explore.BLOCKS", ((16, 16), (8, 8)))
    monkeypatch.setattr(EngineSession, "measure", fails)
    options = argparse.Namespace(kernels=[], python=None, verbose=False)
    assert explore(options) == code
    told = capsys.readouterr()
    assert f"skipped: {error}" in told.out
    assert ("gave a wrong result" in told.err) == isinstance(error, WrongResult)
    (made,) = tmp_path.glob("gpuexplorer-results/*/exploration.json")
    runs = json.loads(made.read_bytes())["runs"]
    assert {run["skipped"] for run in runs[1:]} == {str(error)}
