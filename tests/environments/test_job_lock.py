"""Who looks whether a job is measured is not taken for who measures it."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from pathlib import Path
from typing import IO

import pytest

pytest.importorskip("fcntl")

import fcntl

from gpuexplorer.core.locks import FileLock
from gpuexplorer.environments import far_side
from gpuexplorer.search.detached import LOCK, PID


def test_two_who_look_at_a_job_at_once_find_no_process_and_end_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[tuple[int, signal.Signals]] = []
    monkeypatch.setattr(os, "killpg", lambda *what: ended.append(what))
    monkeypatch.setattr(far_side, "START_S", 0.2)
    (tmp_path / PID).write_text("4000000")  # another process's by now
    with FileLock(tmp_path / LOCK) as held:
        assert held.taken and far_side.running(str(tmp_path))
    real = fcntl.flock
    beside: list[bool] = []

    def look_twice(stream: IO[bytes], how: int) -> None:
        real(stream, how)
        if not beside:  # while the first has it
            beside.append(True)
            beside[0] = far_side.running(str(tmp_path))
            far_side.stop(str(tmp_path))

    monkeypatch.setattr(fcntl, "flock", look_twice)
    assert not far_side.running(str(tmp_path))
    assert beside == [False] and not ended


def test_a_job_on_a_file_system_without_locks_is_seen_and_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever looked at it was told of a fault, and ended or collected nothing."""

    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    folder = str(tmp_path)
    (tmp_path / LOCK).touch()
    assert not far_side.running(folder), "it has not said yet that it runs"
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as job:
        (tmp_path / PID).write_text(str(job.pid))
        assert far_side.running(folder)
        (tmp_path / "boot").write_text("the start before")
        assert not far_side.running(folder), "the number is another's by now"
        (tmp_path / "boot").unlink()
        monkeypatch.setattr(far_side, "ended", lambda folder: job.wait(60) is not None)
        far_side.stop(folder)
        assert job.returncode == -signal.SIGTERM
    assert not far_side.running(folder)
