"""Processes that begin with their imports: forks of one that has imported (``fork_server.py``).

A process of the tests has one such server for the command line and one for engines. Whatever has
to do with the start of Python itself is started anew.
"""

from __future__ import annotations

import atexit
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import cast

import gpuexplorer
from gpuexplorer.core.bootstrap import FILE
from gpuexplorer.core.frozen import ENGINE
from gpuexplorer.engine import process
from tests.support import fork_server

FORKS = sys.platform == "linux"
_STARTS_ANEW = ("PYTHON", "LANG", "LC_", "LD_")
"""How variables begin that change how Python starts, or what it imports from where."""
SERVERS: set[int] = set()
"""The numbers of the servers of this process."""
begin_anew = process.begin


class Fork:
    """A process that a server has forked, as ``subprocess.Popen`` shows one of its own."""

    def __init__(
        self,
        server: str,
        arguments: list[str],
        environment: Mapping[str, str],
        streams: tuple[int, ...],
        *,
        folder: Path,
        engines: str | None = None,
        group: bool = False,
    ) -> None:
        """``engines``: the server of its engines; ``group``: whether it gets one of its own."""
        self._waiting = threading.Lock()
        self.returncode: int | None = None
        self._link = socket.socket(socket.AF_UNIX)
        self._link.connect(server)
        asked = {
            "arguments": arguments, "environment": dict(environment), "folder": str(folder),
            "engines": engines, "group": group,
        }  # fmt: skip
        fork_server.send(self._link, asked, streams)
        self.pid: int = self._told()

    def _told(self) -> int:
        told, _ = fork_server.receive(self._link)
        assert isinstance(told, int), "the process that forks has ended"
        return told

    def poll(self) -> int | None:
        """Return the exit status, None of a process that runs."""
        with self._waiting:
            return self._status(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status once there is one; raises as Popen's does when it takes longer."""
        with self._waiting:
            status = self._status(timeout)
        if status is None:
            raise subprocess.TimeoutExpired("a fork", timeout or 0.0)
        return status

    def _status(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._link], [], [], timeout)[0]:
            self.returncode = self._told()
            self._link.close()
        return self.returncode

    def kill(self) -> None:
        """End it at once."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


class ForkedEngine(Fork):
    """An engine, with its ends of the pipes."""

    def __init__(self, server: str, launch: process.EngineStart) -> None:
        theirs, ours = zip(os.pipe(), os.pipe()[::-1], os.pipe()[::-1], strict=True)
        try:
            super().__init__(
                server, launch.command[4:], launch.environment, theirs, folder=Path.cwd(),
                group=True,
            )  # fmt: skip
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        self.stdin = os.fdopen(ours[0], "wb")
        self.stdout, self.stderr = (os.fdopen(one, "rb") for one in ours[1:])


@cache
def server(kind: str) -> str:
    """Return the address of the server of a kind, which ends with this process."""
    folder = tempfile.mkdtemp(prefix="gpuexplorer-forks-")
    address = f"{folder}/{kind}"
    with socket.socket(socket.AF_UNIX) as asking:
        asking.bind(address)
        asking.listen()
        running = subprocess.Popen(
            [sys.executable, fork_server.__file__, kind, str(asking.fileno())],
            env=cli_environment(OPENBLAS_NUM_THREADS="1"),  # no thread that a fork would lack
            pass_fds=[asking.fileno()], stdin=subprocess.PIPE,
        )  # fmt: skip

    SERVERS.add(running.pid)

    def end() -> None:
        running.communicate(timeout=10.0)
        shutil.rmtree(folder)

    atexit.register(end)
    return address


def cli_environment(**changes: str) -> dict[str, str]:
    """Return an environment without a display, in which this checkout is imported."""
    displays = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    environment = {k: v for k, v in os.environ.items() if k not in displays}
    root = str(Path(gpuexplorer.__file__).resolve().parents[1])
    path = environment.get("PYTHONPATH")
    environment["PYTHONPATH"] = os.pathsep.join([root, path] if path else [root])
    return environment | changes


def starts_anew(environment: Mapping[str, str]) -> bool:
    """Return whether one of these variables changes how Python starts."""
    return any(name.startswith(_STARTS_ANEW) for name in environment)


def _of_the_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {k: v for k, v in environment.items() if k.startswith(_STARTS_ANEW)}


_HERE = _of_the_start(os.environ)
"""With what this process, or the one that it is a fork of, has started."""


def fork_engines(address: Callable[[], str]) -> None:
    """From now on have the engines of this process forked, by the server at an address."""

    def begin(launch: process.EngineStart) -> subprocess.Popen[bytes]:
        ours = launch.command[:4] == [sys.executable, FILE, "--framed", ENGINE]
        if not ours or _of_the_start(launch.environment) != _HERE:
            return begin_anew(launch)
        return cast(subprocess.Popen[bytes], ForkedEngine(address(), launch))

    process.begin = begin
