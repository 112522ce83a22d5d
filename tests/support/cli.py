"""The command line as a real process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.support import forks
from tests.support.forks import cli_environment as cli_environment

TIMEOUT_S = 480.0


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
    if forks.FORKS and before is None and not forks.starts_anew(changes):
        words = [str(word) for word in arguments]
        return _run_fork(words, cwd, cli_environment(**changes), (stdout, stderr))
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


def _run_fork(
    arguments: list[str],
    folder: Path,
    environment: dict[str, str],
    streams: tuple[int | None, int | None],
) -> subprocess.CompletedProcess[str]:
    with (
        open(os.devnull) as nothing,
        tempfile.TemporaryFile("w+", encoding="utf-8") as out,
        tempfile.TemporaryFile("w+", encoding="utf-8") as err,
    ):
        written = [
            file.fileno() if given is None else given
            for file, given in zip((out, err), streams, strict=True)
        ]
        process = forks.Fork(
            forks.server("command line"), arguments, environment, (nothing.fileno(), *written),
            folder=folder, engines=forks.server("engine"),
        )  # fmt: skip
        try:
            code = process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(arguments, code, out.read(), err.read())


def assert_one_sentence(done: subprocess.CompletedProcess[str], exit_code: int) -> str:
    """Assert that a command failed as it should, and return the sentence it said."""
    assert done.returncode == exit_code, (done.returncode, done.stdout, done.stderr)
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("gpuexplorer: error: "), lines[0]
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    return lines[0].removeprefix("gpuexplorer: error: ")
