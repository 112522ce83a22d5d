"""A sweep that goes on without the program that asked for it, on this machine, over its restart."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest

from gpuexplorer.cli import main
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.deadline import BUILD_DEADLINE_VARIABLE, said_deadline_s
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import CannotRunHere, WorkFailed
from gpuexplorer.core.locks import FileLock
from gpuexplorer.core.shared_device import WHEN_SHARED_VARIABLE
from gpuexplorer.engine.interpreters import Interpreter
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.environments import detached, far_side
from gpuexplorer.environments.detached import Detached
from gpuexplorer.history.store import Query, Store
from gpuexplorer.search.detached import TuneWork, Work, encode
from gpuexplorer.search.detached import main as job_of
from gpuexplorer.search.tune import TuningOptions
from gpuexplorer.search.tune_space import Ranges
from gpuexplorer.workloads.loader import load
from tests.support.detached_jobs import SWEEP, begun, collect_continue_and_collect, until
from tests.support.results import made_config

pytestmark = pytest.mark.skipif(os.name != "posix", reason="nothing is detached on Windows")


@pytest.fixture(autouse=True)
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUEXPLORER_HISTORY_URL", str(tmp_path / "history.db"))


def power_cut(one: Detached) -> None:
    """Kill all that belongs to a job at once, and have its machine be one that was started anew."""
    os.killpg(int((one.folder / "pid").read_text()), signal.SIGKILL)
    until(lambda: not far_side.running(str(one.folder)))
    (one.folder / "boot").write_text("the start before\n")


def test_a_password_of_a_teams_store_is_shown_nowhere_and_kept_for_its_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(detached, "_ask", lambda *asked: {})  # no job needs to run for this
    words = ["sweep", "vector_add", "--variant", "numpy", "--size", "1024,2048", "--device"]
    url = "postgresql://ada:s3cret@server/team?password=s3cret"
    assert main([*words, "numpy:cpu", "--detach", "--history", url]) == 0
    (one,) = detached.list_detached()
    assert url in one.arguments, "collecting it takes the whole URL"
    assert stat.S_IMODE((one.folder / detached.ABOUT).stat().st_mode) == 0o600
    assert stat.S_IMODE(one.folder.stat().st_mode) == 0o700
    state = {"running": True, "answers": 0, "stopped": False, "said": "", "finished": False}
    monkeypatch.setattr(detached, "_ask", lambda *asked: {**state, "rebooted": False})
    assert main(["jobs"]) == main(["jobs", "--json", "-"]) == 0
    said = capsys.readouterr()
    assert "ada:***@server" in said.out + one.title
    assert "s3cret" not in said.out + said.err + one.title


def test_a_job_has_the_deadline_and_waits_as_its_command_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On another machine it had the deadline of every engine there."""
    monkeypatch.setattr(detached, "_ask", lambda *asked: {})  # no job needs to run for this
    for name in (BUILD_DEADLINE_VARIABLE, WHEN_SHARED_VARIABLE):
        monkeypatch.setenv(name, "")  # taken back afterwards
    assert main([*SWEEP, "--detach", "--deadline", "7", "--when-shared", "wait"]) == 0
    (one,) = detached.list_detached()
    work = detached.work_of(one)
    assert (work.deadline_s, work.when_shared) == (7.0, "wait")


def test_a_job_that_ended_with_its_machine_says_so_and_goes_on_from_what_it_stored(
    capsys: pytest.CaptureFixture[str],
) -> None:
    one = begun(*SWEEP)
    assert one.where == "here"
    power_cut(one)
    state = detached.state_of(one)
    assert (state.rebooted, state.running, state.stopped) == (True, False, False)
    capsys.readouterr()
    assert main(["jobs"]) == 0
    shown = capsys.readouterr()
    assert "ended with its machine" in " ".join(shown.out.split())
    assert "this machine was started anew while" in shown.err
    assert f"with: gpuexplorer jobs continue {one.id}" in shown.err
    collect_continue_and_collect(one, capsys)


def test_a_tuning_goes_on_without_the_program_and_from_where_it_was_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["tune", "vector_add", "--device", "cpu", "--sampler", "grid", "--block-x", "1:64"]
    one = begun(*words, "--size", "65536")
    power_cut(one)
    assert main(["jobs", "collect", one.id]) == 2
    assert "has not named anything yet" in capsys.readouterr().err
    looks = {path: path.stat().st_mtime_ns for path in (one.folder / "looks").iterdir()}
    answers = {path: path.stat().st_mtime_ns for path in (one.folder / "answers").iterdir()}
    main(["jobs"])
    assert f"stored with: gpuexplorer jobs continue {one.id}" in capsys.readouterr().err
    assert main(["jobs", "continue", one.id]) == 0
    assert main(["jobs", "follow", one.id]) == 0
    assert looks and looks.items() <= {
        (path, path.stat().st_mtime_ns) for path in (one.folder / "looks").iterdir()
    }, "what was measured is kept"
    assert answers.items() <= {
        (path, path.stat().st_mtime_ns) for path in (one.folder / "answers").iterdir()
    }
    history = os.environ["GPUEXPLORER_HISTORY_URL"]
    (tmp_path / "no.db").write_bytes(b"no history" * 1000)
    monkeypatch.setenv("GPUEXPLORER_HISTORY_URL", str(tmp_path / "no.db"))
    main(["jobs", "collect", one.id])
    assert f"job {one.id} is kept, as it was not collected whole" in capsys.readouterr().err
    assert [found.id for found in detached.list_detached()] == [one.id]
    monkeypatch.setenv("GPUEXPLORER_HISTORY_URL", history)
    assert main(["jobs", "collect", one.id]) == 0
    shown = capsys.readouterr()
    assert "Tried 64 of 64 configurations" in " ".join(shown.out.split())
    assert "kept; run it with: gpuexplorer run vector_add" in shown.err
    with Store.open_to_read() as store:
        assert store.find(Query())
        (group,) = store.groups()
    assert group.kind == "tuning"
    assert not detached.list_detached()


def test_a_sampler_that_is_not_there_is_one_sentence_where_the_job_would_begin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request = RunRequest(workload="matmul", device="cpu")
    tuning = TuneWork(
        request=request, ranges=Ranges({}, {}), options=TuningOptions(sampler="cmaes")
    )
    work = Work(source=load()["matmul"].source, devices=DeviceList(), tuning=tuning)
    (tmp_path / "work").write_bytes(encode(work))
    assert job_of([str(tmp_path)]) == 3
    assert "'cmaes' needs the package cmaes, which is not" in capsys.readouterr().err
    assert not (tmp_path / "pid").exists(), "whoever starts it waits for that, or for its end"


def test_a_fault_that_ends_a_job_is_one_sentence_and_its_number_stays_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was a traceback."""

    def fails(*_: object) -> EngineSession:
        assert (tmp_path / "pid").read_text() == str(os.getpgrp())
        assert said_deadline_s() == 7.0
        raise CannotRunHere("no engine starts", remedy="see 'gpuexplorer doctor'", detail="why\n")

    monkeypatch.setenv(BUILD_DEADLINE_VARIABLE, "9")  # this program's; the job has its own
    monkeypatch.setattr("gpuexplorer.search.detached._session", fails)
    source, configs = load()["matmul"].source, [made_config()]
    work = Work(source=source, devices=DeviceList(), configs=configs, deadline_s=7.0)
    (tmp_path / "work").write_bytes(encode(work))
    assert job_of([str(tmp_path)]) == CannotRunHere.exit_code
    assert capsys.readouterr().err == "why\nno engine starts; see 'gpuexplorer doctor'\n"
    assert not (tmp_path / "pid").exists(), "the number is another's by and by"


def test_a_job_of_another_version_is_one_sentence_where_it_would_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "work").write_bytes(msgspec.msgpack.encode({"version": "9.0", "source": 1}))
    assert job_of([str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        "another version of GPU Explorer began it, and alone can read it\n"
    )
    assert not (tmp_path / "pid").exists(), "whoever starts it waits for that, or for its end"


def test_a_job_that_has_just_begun_again_is_ended_and_no_stranger_for_it(tmp_path: Path) -> None:
    """The number of its process before stood there until it wrote its own."""
    (tmp_path / "work").write_bytes(b"not yet")
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as stranger:
        (tmp_path / "pid").write_text(str(stranger.pid))
        assert job_of([str(tmp_path)]) == 1
        assert not (tmp_path / "pid").exists()
        with FileLock(tmp_path / "lock"):  # the job's, which is about to write its number
            ending = threading.Thread(target=far_side.stop, args=(str(tmp_path),))
            ending.start()
            until(lambda: (tmp_path / "stop").exists())
            with subprocess.Popen(["sleep", "600"], start_new_session=True) as job:
                (tmp_path / "pid").write_text(str(job.pid))
                assert job.wait(60) == -signal.SIGTERM
        ending.join(60)
        assert not ending.is_alive() and stranger.poll() is None
        stranger.kill()


def test_a_job_of_which_nobody_knows_whether_it_began_stays_in_the_list(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A link lost in the moment of its start left a job there that nothing here knew of."""
    asked: list[str] = []

    def link(about: Detached, wanted: dict[str, object], cancel: object = None) -> dict[str, bool]:
        asked.append(str(wanted["action"]))
        if "start" in asked:
            raise WorkFailed("the link to gpubox is lost")
        return {}

    machine = Interpreter.of("ssh://me@gpubox/usr/bin/python3", "gpu")
    monkeypatch.setattr(detached, "_ask", link)
    monkeypatch.setattr(detached, "find_interpreter", lambda word: machine)
    work = Work(source=load()["vector_add"].source, devices=DeviceList())
    with pytest.raises(WorkFailed, match="on gpubox is not known: the link to"):
        detached.begin("a sweep", work, ["sweep"], "gpu")
    assert asked == ["write", "start", "stop"]
    assert len(detached.list_detached()) == 1


def test_a_search_is_either_detached_or_spread(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tune", "vector_add", "--detach", "--cluster", "tls://nowhere:1"]
    assert main(words) == 2
    assert "leave --detach out, or --cluster" in capsys.readouterr().err


def test_a_dry_run_begins_no_job(capsys: pytest.CaptureFixture[str]) -> None:
    """It measured everything, and each attempt to collect that was a dry run again."""
    assert main([*SWEEP, "--dry-run", "--detach"]) == 0
    assert "5 to measure" in capsys.readouterr().err
    assert not detached.list_detached()


def test_a_sweep_of_which_nothing_is_left_begins_no_job_and_shows_what_it_has(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """An empty job began, which was done at once and could not be collected."""
    words = ["sweep", "vector_add", "--variant", "numpy", "--size", "1024,2048", "--device"]
    words += ["numpy:cpu", "--samples", "5", "--resume"]
    assert main(words) == 0
    capsys.readouterr()
    assert main([*words, "--detach"]) == 0
    shown = capsys.readouterr()
    assert "0 to measure" in shown.err
    assert "Vector add: the fastest of each size, of 2" in shown.out
    assert not detached.list_detached()


def test_a_job_whose_python_is_a_wrapper_script_is_ended(tmp_path: Path) -> None:
    """Its number was not that of its group, which was not found; to begin took half a minute."""
    wrapper = tmp_path / "python"
    wrapper.write_text(f'#!/bin/sh\n{sys.executable} "$@"\nexit $?\n')
    wrapper.chmod(0o755)
    began = time.monotonic()
    one = begun(*SWEEP, "--engine", str(wrapper))
    assert time.monotonic() - began < far_side.START_S
    detached.end(one)
    state = detached.state_of(one)
    assert (state.running, state.stopped) == (False, True)
