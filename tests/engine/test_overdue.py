"""A thread that does not come back in time is told of once, with the line of the file it is in."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gpuexplorer.engine.overdue import Overdue

ORIGIN = "somewhere/model.py"
WAITS = "def forward(go):\n    go.wait(30)\n"


class Told:
    def __init__(self) -> None:
        self.words: list[tuple[str, float, str]] = []
        self.came = threading.Event()

    def __call__(self, stage: str, allowed_s: float, place: str) -> None:
        self.words.append((stage, allowed_s, place))
        self.came.set()


@contextmanager
def watching(told: Told) -> Iterator[Overdue]:
    watch = Overdue(ORIGIN, told)
    try:
        yield watch
    finally:
        watch.close()


def test_the_line_of_the_file_is_named() -> None:
    names: dict[str, object] = {}
    exec(compile(WAITS, ORIGIN, "exec"), names)
    told, forward = Told(), names["forward"]
    assert callable(forward)
    with watching(told) as watch:
        watch.stage("verify", 0.05)
        forward(told.came)  # comes back once it was told of
    assert told.words == [("verify", 0.05, f"{ORIGIN}:2 (in function forward)")]


def test_outside_the_file_no_line_is_named() -> None:
    told = Told()
    with watching(told) as watch:
        watch.stage("build", 0.01)
        assert told.came.wait(30)
    assert told.words == [("build", 0.01, "")]


def test_a_stage_without_a_limit_and_a_closed_watch_tell_nothing() -> None:
    told = Told()
    with watching(told) as watch:
        watch.stage("build", 0.05)
        watch.stage("inputs", None)
        assert not told.came.wait(0.2)
        watch.stage("measure", 60.0)
        watch.alive()
    assert not told.words
    assert not any(t.name == "overdue" for t in threading.enumerate())


STANDS_STILL = """
import os, signal, threading
from gpuexplorer.engine.overdue import Overdue

told = threading.Event()
watch = Overdue("model.py", lambda *words: told.set())
watch.stage("measure", 3.0)
os.kill(os.getpid(), signal.SIGSTOP)
print("told" if told.wait(0.5) else "quiet")
watch.close()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGSTOP is POSIX's")
def test_time_for_which_the_process_was_stopped_does_not_count() -> None:
    with subprocess.Popen([sys.executable, "-c", STANDS_STILL], stdout=subprocess.PIPE) as child:
        _, status = os.waitpid(child.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        with pytest.raises(subprocess.TimeoutExpired):  # longer than the deadline
            child.wait(4.0)
        child.send_signal(signal.SIGCONT)
        out, _ = child.communicate(timeout=30)
    assert out == b"quiet\n"
