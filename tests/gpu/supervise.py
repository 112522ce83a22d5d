"""Programs with a time limit: past it the whole family of processes is ended, on every system."""

from __future__ import annotations

import codecs
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

POLL_S = 0.05
GONE_S = 10.0
"""A process that was ended is waited for as long as this; one in the driver's hands may stay."""


@dataclass(frozen=True)
class Ended:
    """How a program ended; ``code`` is None when it had to be ended."""

    code: int | None
    seconds: float

    @property
    def in_time(self) -> bool:
        """Whether it ended by itself."""
        return self.code is not None


class Tail:
    """What is new in a text file that somebody else writes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_B = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def new(self) -> str:
        """Return what was written since the last call; nothing while there is no file."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._read_B)
                data = file.read()
        except OSError:
            return ""
        self._read_B += len(data)
        return self._decoder.decode(data)


class Child:
    """A program that writes standard output and errors into ``log``, and whose end can be forced.

    A file, not a pipe: what it has started may outlive it and would keep a pipe open.
    """

    def __init__(
        self, command: Sequence[str], log: Path, *, cwd: Path, environment: Mapping[str, str]
    ) -> None:
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env=dict(environment),
                process_group=0 if os.name == "posix" else None,
            )

    def wait(self, timeout_s: float) -> int | None:
        """Return the exit code, or None when it still runs after ``timeout_s``."""
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def end(self) -> None:
        """End the program and everything it has started, in whatever groups and sessions."""
        family = _stopped_family(self._process.pid)
        if os.name == "posix" and self._process.poll() is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        for member in family:
            with suppress(psutil.Error):
                member.kill()
        self.wait(GONE_S)
        psutil.wait_procs(family, GONE_S)


def _stopped_family(pid: int) -> list[psutil.Process]:
    """Return a process and its descendants, each stopped so that it starts no further one."""
    found: list[psutil.Process] = []
    try:
        fresh = [psutil.Process(pid)]
        while fresh:
            for member in fresh:
                with suppress(psutil.Error):
                    member.suspend()
            found += fresh
            fresh = [one for one in found[0].children(recursive=True) if one not in found]
    except psutil.NoSuchProcess:
        pass
    return found


def run(
    command: Sequence[str],
    log: Path,
    *,
    limit_s: float,
    cwd: Path,
    environment: Mapping[str, str],
    follow: Callable[[str], object] = lambda text: None,
) -> Ended:
    """Run a program to its end or its time limit; ``follow`` is given its output as it comes."""
    began, tail = time.monotonic(), Tail(log)
    child = Child(command, log, cwd=cwd, environment=environment)
    code: int | None = None
    try:
        while code is None and time.monotonic() - began < limit_s:
            code = child.wait(POLL_S)
            follow(tail.new())
    finally:
        if code is None:
            child.end()
    follow(tail.new())
    return Ended(code, time.monotonic() - began)
