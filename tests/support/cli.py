"""The command line as a real process."""

from __future__ import annotations

import atexit
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

import gpuexplorer
from tests.support import cli_server

TIMEOUT_S = 480.0
_FORKS = sys.platform == "linux"
_STARTS_ANEW = ("PYTHON", "LANG", "LC_", "LD_")
"""How variables begin that change how Python starts, or what it imports from where."""


def cli_environment(**changes: str) -> dict[str, str]:
    """Return an environment without a display, in which this checkout is imported."""
    displays = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    environment = {k: v for k, v in os.environ.items() if k not in displays}
    root = str(Path(gpuexplorer.__file__).resolve().parents[1])
    path = environment.get("PYTHONPATH")
    environment["PYTHONPATH"] = os.pathsep.join([root, path] if path else [root])
    return environment | changes


def cli_command(*arguments: str | Path) -> list[str]:
    """Return the command that runs the command line."""
    return [sys.executable, "-m", "gpuexplorer", *map(str, arguments)]


def run_cli(
    *arguments: str | Path,
    cwd: Path,
    environment: Mapping[str, str] | None = None,
    before: Callable[[], None] | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end; ``before`` runs in the child before it starts (POSIX).

    What it says is returned, or goes to the descriptors ``stdout`` and ``stderr``. Where it may
    be, the process is a fork of one that has imported the command line already.
    """
    changes = environment or {}
    if _FORKS and before is None and not any(name.startswith(_STARTS_ANEW) for name in changes):
        return _server().run(
            [str(word) for word in arguments], cwd, cli_environment(**changes), (stdout, stderr)
        )
    return subprocess.run(
        cli_command(*arguments),
        cwd=cwd,
        env=cli_environment(**changes),
        stdout=subprocess.PIPE if stdout is None else stdout,
        stderr=subprocess.PIPE if stderr is None else stderr,
        text=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=False,
        preexec_fn=before,
    )


class _Server:
    """The process that has imported the command line, and forks for each command."""

    def __init__(self) -> None:
        self._link, its = socket.socketpair()
        self._link.settimeout(TIMEOUT_S)
        with its:
            self._process = subprocess.Popen(
                [sys.executable, cli_server.__file__, str(its.fileno())],
                env=cli_environment(OPENBLAS_NUM_THREADS="1"),  # no thread that a fork would lack
                pass_fds=[its.fileno()], stdin=subprocess.DEVNULL,
            )  # fmt: skip
        atexit.register(self._end)

    def run(
        self,
        arguments: list[str],
        folder: Path,
        environment: dict[str, str],
        streams: tuple[int | None, int | None],
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        asked = {"arguments": arguments, "folder": str(folder), "environment": environment}
        with (
            open(os.devnull) as nothing,
            tempfile.TemporaryFile("w+", encoding="utf-8") as out,
            tempfile.TemporaryFile("w+", encoding="utf-8") as err,
        ):
            written = [
                file.fileno() if given is None else given
                for file, given in zip((out, err), streams, strict=True)
            ]
            cli_server.send(self._link, asked, (nothing.fileno(), *written))
            pid, _ = cli_server.receive(self._link)
            try:
                code, _ = cli_server.receive(self._link)
            except TimeoutError:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                code, _ = cli_server.receive(self._link)
                raise subprocess.TimeoutExpired(arguments, TIMEOUT_S) from None
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(arguments, code, out.read(), err.read())

    def _end(self) -> None:
        self._link.close()
        self._process.wait(10.0)


_server = cache(_Server)


def assert_one_sentence(done: subprocess.CompletedProcess[str], exit_code: int) -> str:
    """Assert that a command failed as it should, and return the sentence it said."""
    assert done.returncode == exit_code, (done.returncode, done.stdout, done.stderr)
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("gpuexplorer: error: "), lines[0]
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    return lines[0].removeprefix("gpuexplorer: error: ")
