"""What tests do with searches that are measured without the program that asked."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuexplorer.cli import main
from gpuexplorer.environments import detached
from gpuexplorer.environments.detached import Detached
from gpuexplorer.history.store import Query, Store
from gpuexplorer.search.detached import ANSWERS, PID, answer_files

PATIENCE_S = 120.0
SWEEP = (
    "sweep", "vector_add", "--variant", "numpy", "--size", "1024:16384:*2", "--device",
    "numpy:cpu", "--seconds", "2", "--samples", "1000000",
)  # fmt: skip
"""Long enough to be struck before its end."""
CONFIGURATIONS = 5


def until(condition: Callable[[], bool], words: Callable[[], object] = lambda: "") -> None:
    """Wait for something; ``words`` say what there is in its place when patience ends."""
    limit = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < limit, words()
        time.sleep(0.05)


def begun(*words: str, jobs: Path | None = None) -> Detached:
    """Begin a job, and suspend it when it has measured something, so that it is not done before.

    ``jobs`` is the folder in which the jobs of its machine are; None: of this one.
    """
    assert main([*words, "--detach"]) == 0
    (one,) = detached.list_detached()
    folder = (jobs or detached.folder_here()) / one.id
    until(lambda: (folder / ANSWERS).is_dir() and bool(answer_files(folder)))
    os.killpg(int((folder / PID).read_text()), signal.SIGSTOP)
    state = detached.state_of(one)
    assert (state.running, state.finished) == (True, False)
    return one


def stored() -> set[str]:
    """Return the ids of the runs in the history."""
    with Store.open_to_read() as store:
        return {run.id for run in store.find(Query())}


def collect_continue_and_collect(one: Detached, capsys: pytest.CaptureFixture[str]) -> None:
    """Take what an interrupted ``SWEEP`` has, have it continue, and take the rest."""
    done = detached.state_of(one).done
    assert 1 <= done < CONFIGURATIONS
    assert main(["jobs", "collect", one.id]) == 0
    before = stored()
    assert len(before) == done

    assert main(["jobs", "continue", one.id]) == 0
    assert not detached.state_of(one).rebooted
    assert main(["jobs", "follow", one.id[:5]]) == 0
    assert f"job {one.id} is done" in capsys.readouterr().err
    assert main(["jobs", "collect", one.id]) == 0
    after = stored()
    assert len(after) == CONFIGURATIONS, "each configuration once"
    assert before <= after
    assert not detached.list_detached()
