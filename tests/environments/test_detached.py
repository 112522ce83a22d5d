"""A sweep that goes on without the program that asked for it, on this machine, over its restart."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuexplorer.cli import main
from gpuexplorer.environments import detached, far_side
from gpuexplorer.environments.detached import Detached
from gpuexplorer.history.store import Query, Store

pytestmark = pytest.mark.skipif(os.name != "posix", reason="nothing is detached on Windows")
PATIENCE_S = 120.0


@pytest.fixture(autouse=True)
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUEXPLORER_HISTORY_URL", str(tmp_path / "history.db"))


def until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.05)


def begun(*words: str) -> Detached:
    """Begin a job and wait until it has stored something."""
    assert main([*words, "--detach"]) == 0
    (one,) = detached.list_detached()
    assert one.where == "here"
    answers = one.folder / "answers"
    until(lambda: answers.is_dir() and any(path.name.isdigit() for path in answers.iterdir()))
    return one


def power_cut(one: Detached) -> None:
    """Kill all that belongs to a job at once, and have its machine be one that was started anew."""
    os.killpg(int((one.folder / "pid").read_text()), signal.SIGKILL)
    until(lambda: not far_side.running(str(one.folder)))
    (one.folder / "boot").write_text("the start before\n")


def test_a_job_that_ended_with_its_machine_says_so_and_goes_on_from_what_it_stored(
    capsys: pytest.CaptureFixture[str],
) -> None:
    one = begun(
        "sweep", "vector_add", "--variant", "numpy", "--size", "1024:16384:*2", "--device",
        "numpy:cpu", "--seconds", "2", "--samples", "1000000",
    )  # fmt: skip
    power_cut(one)
    state = detached.state_of(one)
    assert (state.rebooted, state.running, state.stopped) == (True, False, False)
    assert 1 <= state.done < 5
    capsys.readouterr()
    assert main(["jobs"]) == 0
    shown = capsys.readouterr()
    assert "ended with its machine" in " ".join(shown.out.split())
    assert "this machine was started anew while" in shown.err
    assert f"with: gpuexplorer jobs continue {one.id}" in shown.err
    assert main(["jobs", "collect", one.id]) == 0
    with Store.open_to_read() as store:
        before = {run.id for run in store.find(Query())}
    assert len(before) == state.done

    assert main(["jobs", "continue", one.id]) == 0
    assert not detached.state_of(one).rebooted
    assert main(["jobs", "follow", one.id[:5]]) == 0
    assert f"job {one.id} is done" in capsys.readouterr().err
    assert main(["jobs", "collect", one.id]) == 0
    with Store.open_to_read() as store:
        after = {run.id for run in store.find(Query())}
    assert len(after) == 5, "each configuration once"
    assert before <= after
    assert not detached.list_detached()


def test_a_tuning_goes_on_without_the_program_and_begins_anew_after_a_restart(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["tune", "vector_add", "--device", "cpu", "--sampler", "grid", "--block-x", "1:64"]
    one = begun(*words, "--size", "65536")
    power_cut(one)
    assert main(["jobs", "collect", one.id]) == 2
    assert "has not named anything yet" in capsys.readouterr().err
    main(["jobs"])
    assert f"begins anew with: gpuexplorer jobs continue {one.id}" in capsys.readouterr().err
    assert main(["jobs", "continue", one.id]) == 0
    assert main(["jobs", "follow", one.id]) == 0
    assert main(["jobs", "collect", one.id]) == 0
    shown = capsys.readouterr()
    assert "Tried 64 of 64 configurations" in " ".join(shown.out.split())
    assert "kept; run it with: gpuexplorer run vector_add" in shown.err
    with Store.open_to_read() as store:
        assert store.find(Query())
        (group,) = store.groups()
    assert group.kind == "tuning"
    assert not detached.list_detached()


def test_a_search_is_either_detached_or_spread(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tune", "vector_add", "--detach", "--cluster", "tls://nowhere:1"]
    assert main(words) == 2
    assert "leave --detach out, or --cluster" in capsys.readouterr().err
