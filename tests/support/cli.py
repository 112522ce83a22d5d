"""The command line as a real process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import gpuexplorer

TIMEOUT_S = 480.0


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
) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end; ``before`` runs in the child before it starts (POSIX)."""
    return subprocess.run(
        cli_command(*arguments),
        cwd=cwd,
        env=cli_environment(**(environment or {})),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=False,
        preexec_fn=before,
    )


def assert_one_sentence(done: subprocess.CompletedProcess[str], exit_code: int) -> str:
    """Assert that a command failed as it should, and return the sentence it said."""
    assert done.returncode == exit_code, (done.returncode, done.stdout, done.stderr)
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("gpuexplorer: error: "), lines[0]
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    return lines[0].removeprefix("gpuexplorer: error: ")
