"""Programs that are started in other Pythons: no terminal appears, and none outlives this one."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from gpuexplorer.core.bootstrap import PACKAGE
from gpuexplorer.core.errors import CannotRunHere
from gpuexplorer.engine.surroundings import environment_for
from gpuexplorer.environments.cancelled import Cancelled

WATCHED = os.path.join(PACKAGE, "environments", "watched.py")
POLL_S = 0.1
GRACE_S = 2.0
KEPT_LINES = 400
NO_WINDOW = getattr(subprocess, "CREATE_NO_WINDOW", 0)
_PIP_VARIABLES = {
    "PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_INPUT": "1", "PIP_ROOT_USER_ACTION": "ignore",
}  # fmt: skip
"""What a user's own settings of pip must not change here; where it looks for wheels they may."""
_PIP_DROPPED = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_PYTHON", "PIP_REPORT", "PIP_LOG")


@dataclass(frozen=True)
class Done:
    """How a program ended, and the last lines that it printed."""

    returncode: int
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """Everything that it printed, as far as it was kept."""
        return "\n".join(self.lines)


def module_in(python: Path, module: str, *arguments: str, pip: Path | None = None) -> list[str]:
    """Return the command that runs a module in a Python; it ends when this program does."""
    taken = ["--pip", str(pip)] if pip is not None else []
    return [str(python), "-I", WATCHED, *taken, module, *arguments]


def surroundings(python: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a child in another Python."""
    environment = environment_for(python)
    for name in _PIP_DROPPED:
        environment.pop(name, None)
    return {**environment, **_PIP_VARIABLES, "PYTHONUTF8": "1", **(more or {})}


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
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
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
        reason = getattr(error, "strerror", None) or str(error)
        raise CannotRunHere(
            f"{command[0]} cannot be started: {reason}", remedy="choose another Python"
        ) from None
    assert process.stdout is not None
    said: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    reader = threading.Thread(target=_read, args=(process.stdout, said), daemon=True)
    reader.start()
    try:
        lines = _follow(said, cancel, on_tick, timeout_s)
        return Done(process.wait(), tuple(lines))
    finally:
        _end(process)
        reader.join(GRACE_S)
        if not reader.is_alive():  # something that it started may still hold its output
            process.stdout.close()


def _follow(
    said: queue.SimpleQueue[str | None],
    cancel: threading.Event | None,
    on_tick: Callable[[], None],
    timeout_s: float | None,
) -> deque[str]:
    """Return the last lines, once there are no more."""
    lines: deque[str] = deque(maxlen=KEPT_LINES)
    until = None if timeout_s is None else time.monotonic() + timeout_s
    while True:
        if cancel is not None and cancel.is_set():
            raise Cancelled
        if until is not None and time.monotonic() > until:
            raise TimeoutError
        try:
            line = said.get(timeout=POLL_S)
        except queue.Empty:
            on_tick()
            continue
        if line is None:
            return lines
        lines.append(line.rstrip())


def _read(stream: IO[str], said: queue.SimpleQueue[str | None]) -> None:
    with suppress(OSError, ValueError):
        for line in stream:
            said.put(line)
    said.put(None)


def _end(process: subprocess.Popen[str]) -> None:
    """Let go of a program: the end of its input ends it, and if that does not, it is killed."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    try:
        process.wait(GRACE_S if process.poll() is None else 0)
    except subprocess.TimeoutExpired:
        if os.name == "posix":
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()
