"""Programs that are started in other Pythons: no terminal appears, and none outlives this one."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from gpuexplorer.core.bootstrap import PACKAGE
from gpuexplorer.core.errors import CannotRunHere
from gpuexplorer.engine.surroundings import environment_for
from gpuexplorer.environments.progress import Cancelled

WATCHED = os.path.join(PACKAGE, "environments", "watched.py")
POLL_S = 0.1
GRACE_S = 2.0
KEPT_LINES = 400
NO_WINDOW = getattr(subprocess, "CREATE_NO_WINDOW", 0)


class Done(msgspec.Struct, frozen=True):
    """How a program ended, and the last lines that it printed."""

    returncode: int
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """Everything that it printed, as far as it was kept."""
        return "\n".join(self.lines)


def watched(python: Path, command: Sequence[str]) -> list[str]:
    """Return a command that ends when this program does, by way of a Python."""
    return [str(python), "-I", WATCHED, *command]


def surroundings(python: Path) -> dict[str, str]:
    """Return the environment of a child in another Python."""
    return {**environment_for(python), "PYTHONUTF8": "1"}


def run(
    command: list[str],
    environment: Mapping[str, str],
    cancel: threading.Event | None = None,
    on_tick: Callable[[], None] = lambda: None,
    timeout_s: float | None = None,
) -> Done:
    """Run a program to its end; ``on_tick`` is called some times a second meanwhile.

    Raises Cancelled, CannotRunHere when it cannot be started, TimeoutError after ``timeout_s``.
    """
    ours, theirs = os.pipe()  # the end of its input tells it that this program has ended
    try:
        process = subprocess.Popen(
            command,
            stdin=ours,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            text=True,
            encoding="utf-8",
            errors="replace",
            creationflags=NO_WINDOW,
            process_group=0 if os.name == "posix" else None,
        )
    except (OSError, ValueError) as error:
        os.close(theirs)
        reason = getattr(error, "strerror", None) or str(error)
        raise CannotRunHere(
            f"{command[0]} cannot be started: {reason}", remedy="choose another Python"
        ) from None
    finally:
        os.close(ours)
    try:
        text = _follow(process, cancel, on_tick, timeout_s)
        return Done(process.returncode, tuple(text.splitlines()[-KEPT_LINES:]))
    finally:
        os.close(theirs)
        _end(process)


def _follow(
    process: subprocess.Popen[str],
    cancel: threading.Event | None,
    on_tick: Callable[[], None],
    timeout_s: float | None,
) -> str:
    """Return what a program printed, once it has ended."""
    until = None if timeout_s is None else time.monotonic() + timeout_s
    while True:
        try:
            return process.communicate(timeout=POLL_S)[0]
        except subprocess.TimeoutExpired:
            on_tick()
        if cancel is not None and cancel.is_set():
            raise Cancelled
        if until is not None and time.monotonic() > until:
            raise TimeoutError


def _end(process: subprocess.Popen[str]) -> None:
    """Let go of a program: the end of its input ends it, and if that does not, it is killed."""
    try:
        process.communicate(timeout=GRACE_S)
    except subprocess.TimeoutExpired:
        if os.name == "posix":
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        with suppress(subprocess.TimeoutExpired):  # who holds its output may live on
            process.communicate(timeout=GRACE_S)
