"""Where Pythons usually stand on a machine: environments, pyenv, conda, the system's own.

Nothing is started here; whether one of them can be an engine is ``checking``'s to find out.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from gpuexplorer.engine.interpreters import is_own, python_in
from gpuexplorer.engine.surroundings import is_conda, is_venv

_SYSTEM = re.compile(r"python3(\.\d+)?")
MOST = 200
"""Interpreters that are listed at the most, and folders looked through of each place."""


class FoundInterpreter(msgspec.Struct, frozen=True, kw_only=True):
    """An interpreter that was found, what it belongs to, and its version where a file says it."""

    path: str
    kind: str
    """``environment``, ``conda``, ``pyenv``, ``uv`` or ``system``."""
    python: str | None = None


def find_candidates(folder: Path | None = None) -> list[FoundInterpreter]:
    """Return the interpreters around ``folder`` (None: the present one) and in the usual places.

    This program's own is left out. An environment that stands in two places is named once.
    """
    found: dict[str, FoundInterpreter] = {}
    for kind, path in _everything(folder or Path.cwd()):
        absolute = Path(os.path.abspath(path))
        if len(found) < MOST and str(absolute) not in found and not is_own(absolute):
            found[str(absolute)] = FoundInterpreter(
                path=str(absolute), kind=kind, python=_version_of(absolute)
            )
    return list(found.values())


def _everything(folder: Path) -> Iterator[tuple[str, Path]]:
    beside = Path(__file__).resolve().parents[2]
    checkout = [beside] if (beside / "pyproject.toml").is_file() else []
    for environment in _environments([folder, *folder.parents[:2], *checkout]):
        yield "environment", environment
    for root in _environment_homes():
        for environment in _environments([root]):
            yield "environment", environment
    for prefix in _conda_prefixes():
        python = python_in(prefix)
        if python is not None:
            yield "conda", python
    for kind, versions in (("pyenv", _pyenv()), ("uv", _uv())):
        for place in _folders(versions):
            python = python_in(place)
            if python is not None:
                yield kind, python
    for python in _system():
        yield "system", python


def _folders(folder: Path) -> list[Path]:
    """Return the folders in a folder, by name; none where it cannot be read."""
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir())[:MOST]
    except OSError:
        return []


def _environments(places: Iterable[Path]) -> Iterator[Path]:
    """Yield the Pythons of the virtual environments in some folders."""
    for place in places:
        for folder in _folders(place):
            python = python_in(folder) if is_venv(folder) or is_conda(folder) else None
            if python is not None:
                yield python


def _environment_homes() -> list[Path]:
    named = os.environ.get("WORKON_HOME")
    homes = [Path.home() / name for name in (".virtualenvs", ".venvs", "venvs", "envs")]
    return [Path(named), *homes] if named else homes


def _conda_prefixes() -> Iterator[Path]:
    """Yield conda's environments: those it lists itself, and those of the usual roots."""
    try:
        lines = (Path.home() / ".conda" / "environments.txt").read_text("utf-8").splitlines()
    except (OSError, ValueError):
        lines = []
    yield from (Path(line.strip()) for line in lines[:MOST] if line.strip())
    roots = [Path.home() / name for name in ("miniconda3", "anaconda3", "miniforge3", "mambaforge")]
    roots += [Path("/opt/conda"), Path.home() / "micromamba", Path.home() / ".micromamba"]
    executable = os.environ.get("CONDA_EXE")
    if executable:
        roots.insert(0, Path(executable).parent.parent)
    for root in roots:
        if is_conda(root):
            yield root
        yield from (folder for folder in _folders(root / "envs") if is_conda(folder))


def _pyenv() -> Path:
    return Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"


def _uv() -> Path:
    named = os.environ.get("UV_PYTHON_INSTALL_DIR")
    return Path(named) if named else Path.home() / ".local" / "share" / "uv" / "python"


def _system() -> Iterator[Path]:
    """Yield the system's interpreters, each once although links give it several names."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        for folder in _folders(Path(local) / "Programs" / "Python") if local else ():
            yield folder / "python.exe"
        return
    seen = set()
    for folder in ("/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"):
        try:
            names = sorted(n for n in os.listdir(folder) if _SYSTEM.fullmatch(n))
        except OSError:
            continue
        for name in names:
            path = Path(folder) / name
            if path.resolve() not in seen:
                seen.add(path.resolve())
                yield path


def _version_of(python: Path) -> str | None:
    """Return the version that an environment's file or an interpreter's name tells."""
    config = python.parent.parent / "pyvenv.cfg"
    try:
        text = config.read_text("utf-8")
    except (OSError, ValueError):
        text = ""
    told = re.search(r"^version(?:_info)?\s*=\s*(\d+\.\d+(?:\.\d+)?)", text, re.MULTILINE)
    if told is None:
        told = re.search(r"(?:python|cpython-|versions/)(\d+\.\d+(?:\.\d+)?)", str(python))
    return told[1] if told else None
