"""The Pythons that an environment can be made with: found where they usually stand, and asked."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from gpuexplorer.core.bootstrap import OLDEST_PYTHON
from gpuexplorer.core.cuda_choice import NEWEST_PYTHON
from gpuexplorer.core.errors import CannotRunHere, ExplorerError
from gpuexplorer.core.frozen import clean_environment, is_frozen
from gpuexplorer.core.interrupts import at_once
from gpuexplorer.engine.candidates import find_candidates
from gpuexplorer.engine.interpreters import interpreter_at
from gpuexplorer.environments.children import run, surroundings
from gpuexplorer.environments.progress import Cancelled, check

ANSWER_S = 20.0
"""How long a Python may take to say what it is: the first start of one on a slow disk."""
AT_ONCE = 4
"""Pythons that are asked at the same time."""
_ASK = """
import json, os, sys
said = {"version": list(sys.version_info[:3]), "bits": sys.maxsize.bit_length() + 1,
        "base": getattr(sys, "_base_executable", "") or sys.executable, "lacks": [],
        "implementation": sys.implementation.name}
for name in ("ssl", "zlib", "ctypes"):
    try:
        __import__(name)
    except ImportError:
        said["lacks"].append(name)
print("GPUEXPLORER " + json.dumps(said))
"""
_INSTALL = (
    "install Python 3.11 or newer: from python.org on Windows and macOS, with the package manager "
    "on Linux (apt install python3)"
)


class FoundPython(msgspec.Struct, frozen=True, kw_only=True):
    """An interpreter, and whether an environment can be made with it."""

    path: str
    kind: str
    """``own`` (the Python that runs this program), ``system``, ``pyenv``, ``conda``, ``uv``,
    ``homebrew``, ``framework``, ``python.org`` or ``path``."""
    version: str | None = None
    """Such as ``3.12.4``; None where it did not say."""
    problem: str | None = None
    """Why no environment can be made with it, in one sentence; None when one can."""

    @property
    def ok(self) -> bool:
        """Whether an environment can be made with it."""
        return self.problem is None

    @property
    def numbers(self) -> tuple[int, ...]:
        """Its version as numbers; empty where it did not say."""
        return tuple(map(int, self.version.split("."))) if self.version else ()


def find_pythons(cancel: threading.Event | None = None) -> list[FoundPython]:
    """Return the Pythons of this machine, the best first, those that cannot be used last.

    Each is started for a moment and asked; one that stands in several places is named once. Raises
    Cancelled.
    """
    places: dict[Path, tuple[str, Path]] = {}
    for kind, path in _places():
        if path.exists():
            places.setdefault(_real(path), (kind, path))
    asked = at_once(lambda place: _ask(place[1], place[0], cancel), places.values(), AT_ONCE)
    check(cancel)
    found: dict[Path, FoundPython] = {}
    for one in asked:
        found.setdefault(_real(Path(one.path)), one)
    return sorted(found.values(), key=_worth)


def look_at(word: str, kind: str = "path", cancel: threading.Event | None = None) -> FoundPython:
    """Ask one interpreter, given by its path, its environment's folder or its command.

    Of an environment's Python the one below it is meant. Raises InputError where there is none, and
    Cancelled.
    """
    found = _ask(interpreter_at(word), kind, cancel)
    check(cancel)
    return found


def best_python(found: list[FoundPython], newest: tuple[int, int] = NEWEST_PYTHON) -> FoundPython:
    """Return the first that can be used, up to ``newest`` if there is one.

    CannotRunHere with the remedy when none can be used.
    """
    able = [one for one in found if one.ok]
    for one in (*(one for one in able if one.numbers[:2] <= newest), *able):
        return one
    raise CannotRunHere(
        f"no Python here can make an environment: {found[0].problem}"
        if found
        else "no Python here can make an environment",
        remedy=_INSTALL,
    )


# ---- where they stand


def _places() -> Iterator[tuple[str, Path]]:
    """Yield Pythons of this machine; environments are left out, whose own may go with them."""
    if not is_frozen():
        yield "own", Path(getattr(sys, "_base_executable", "") or sys.executable)
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if folder and not _is_stub(folder):
            for name in _names_in(folder):
                yield _kind_of(folder), Path(folder) / name
    if os.name == "nt":
        yield from _from_launcher()
    for one in find_candidates():
        if one.kind != "environment" and not _is_stub(str(Path(one.path).parent)):
            yield one.kind, Path(one.path)
    for kind, folder in (
        ("homebrew", "/opt/homebrew/bin"),
        ("homebrew", "/home/linuxbrew/.linuxbrew/bin"),
    ):
        for name in _names_in(folder):
            yield kind, Path(folder) / name
    for version in sorted(Path("/Library/Frameworks/Python.framework/Versions").glob("3.*")):
        yield "framework", version / "bin" / f"python{version.name}"


def _names_in(folder: str) -> list[str]:
    """Return the names of Pythons in a folder, newest first."""
    if os.name == "nt":
        return ["python.exe"]
    try:
        names = [n for n in os.listdir(folder) if re.fullmatch(r"python3(\.\d+)?", n)]
    except OSError:
        return []
    return sorted(names, key=lambda n: tuple(map(int, n[6:].split("."))), reverse=True)


def _is_stub(folder: str) -> bool:
    """Whether what is called Python there only opens a shop or an installer's window."""
    if sys.platform == "darwin":
        return folder.rstrip("/") == "/usr/bin"
    return os.name == "nt" and "windowsapps" in folder.lower()


def _kind_of(folder: str) -> str:
    lowered = folder.replace("\\", "/").lower()
    words = {"pyenv": "pyenv", "conda": "conda", "brew": "homebrew", "framework": "framework"}
    kind = next((kind for word, kind in words.items() if word in lowered), None)
    return kind or ("system" if lowered.startswith(("/usr", "/bin")) else "path")


def _from_launcher() -> Iterator[tuple[str, Path]]:
    """Yield what the py launcher of python.org knows."""
    launcher = shutil.which("py")
    if launcher is None:
        return
    try:
        done = run([launcher, "--list-paths"], clean_environment(os.environ), timeout_s=ANSWER_S)
    except (ExplorerError, TimeoutError):
        return
    for line in done.lines:
        told = re.search(r"\S:\\.*\.exe", line, re.IGNORECASE)
        if told is not None:
            yield "python.org", Path(told[0])


def _real(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path


# ---- asking one


def _ask(path: Path, kind: str, cancel: threading.Event | None) -> FoundPython:
    """Ask one Python what it is; whatever goes wrong is its problem."""
    unknown = FoundPython(path=str(path), kind=kind)
    try:
        done = run([str(path), "-I", "-c", _ASK], surroundings(path), cancel, timeout_s=ANSWER_S)
    except Cancelled:
        return msgspec.structs.replace(unknown, problem="it was not asked to the end")
    except ExplorerError as error:
        return msgspec.structs.replace(unknown, problem=error.what)
    except TimeoutError:
        problem = f"{path} did not answer within {ANSWER_S:.0f} s"
        return msgspec.structs.replace(unknown, problem=problem)
    told = [line[12:] for line in done.lines if line.startswith("GPUEXPLORER ")]
    if not told:
        last = done.lines[-1].strip() if done.lines else f"it ended with status {done.returncode}"
        return msgspec.structs.replace(unknown, problem=f"{path} is no Python 3: {last[:200]}")
    said = json.loads(told[-1])
    base = Path(said["base"])  # of an environment's Python, the one below it
    return FoundPython(
        path=str(base if said["base"] and base.exists() else path),
        kind=kind,
        version=".".join(map(str, said["version"])),
        problem=_problem(path, said),
    )


def _problem(path: Path, said: dict[str, Any]) -> str | None:
    """Return why a Python that answered cannot be used."""
    version = tuple(said["version"])
    oldest = ".".join(map(str, OLDEST_PYTHON))
    if version[:2] < OLDEST_PYTHON:
        running = ".".join(map(str, version))
        return f"{path} is Python {running}, and an engine needs {oldest} or newer"
    if said["implementation"] != "cpython":
        return f"{path} is {said['implementation']}, for which there are no such wheels"
    if said["bits"] != 64:
        return f"{path} is a {said['bits']}-bit Python, for which there are no such wheels"
    lacks = said["lacks"]
    if lacks:
        return f"{path} lacks {', '.join(map(str, lacks))} of the standard library"
    return None


def _worth(one: FoundPython) -> tuple[bool, bool, bool, list[int]]:
    """Return what orders Pythons: usable, not too new, not conda's, then the newest."""
    numbers = one.numbers
    return (
        not one.ok,
        numbers[:2] > NEWEST_PYTHON,
        one.kind == "conda",
        [-n for n in numbers],
    )
