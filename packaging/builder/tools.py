"""Programs that builders run: found, run, and named in a sentence when they are missing."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from builder.errors import BuildError, CannotBuildHere

PLATFORMS = {"linux": "Linux", "windows": "Windows", "macos": "macOS"}
"""Words among a target's needs that name a system, not a program."""
HOW_TO_GET: dict[str, str] = {
    "appimagetool": "put it from github.com/AppImage/appimagetool/releases on PATH",
    "makensis": "apt-get install nsis; for Windows from nsis.sourceforge.io, and put on PATH",
    "xcrun": "xcode-select --install on a Mac",
    "xz": "apt-get install xz-utils",
    "PyInstaller": "make setup-package installs it",
    "objdump": "apt-get install binutils",
    "strip": "apt-get install binutils",
    "hatchling": "make setup-package installs it",
}
"""What to do about a missing program or Python module; apt-get install NAME where none is named."""
MODULES = frozenset({"PyInstaller", "hatchling"})
"""Needs that are modules of the Python that builds."""
LAST_LINES = 40


def this_platform() -> str:
    """Return this system's word in ``PLATFORMS``."""
    return {"win32": "windows", "darwin": "macos"}.get(sys.platform, "linux")


def lacking(need: str) -> str | None:
    """Return in words what is missing of a need and how to get it; None when it is there."""
    if need in PLATFORMS:
        return None if need == this_platform() else f"it is built on {PLATFORMS[need]}"
    if need in MODULES:
        import importlib.util

        present = importlib.util.find_spec(need) is not None
    else:
        present = shutil.which(need) is not None
    return None if present else f"{need} is missing ({HOW_TO_GET.get(need, _by_apt(need))})"


def _by_apt(name: str) -> str:
    return f"apt-get install {name}" if this_platform() == "linux" else "install it"


def find(program: str) -> str:
    """Return a program's path; CannotBuildHere with how to get it when it is missing."""
    path = shutil.which(program)
    if path is None:
        raise CannotBuildHere(f"{lacking(program)}")
    return path


def run(
    command: Sequence[str | os.PathLike[str]],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    log: Path | None = None,
    timeout_s: float = 3600,
) -> str:
    """Run a program and return what it printed; BuildError with its last words when it fails.

    ``env`` is added to this process's; ``log`` receives everything that was printed.
    """
    words = [os.fspath(word) for word in command]
    try:
        done = subprocess.run(
            words,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout_s,
            check=False,
        )
    except OSError as error:
        raise BuildError(f"{words[0]} cannot be started: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise BuildError(f"'{shlex.join(words)}' took longer than {timeout_s:.0f} s") from None
    said = done.stdout.decode(errors="replace")
    if log is not None:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a", encoding="utf-8") as file:
            file.write(f"$ {shlex.join(words)}\n{said}")
    if done.returncode != 0:
        last = "\n".join(said.splitlines()[-LAST_LINES:])
        where = f"; the whole log is {log}" if log is not None else ""
        raise BuildError(
            f"'{shlex.join(words)}' ended with status {done.returncode}{where}\n{last}"
        )
    return said
