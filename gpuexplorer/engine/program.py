"""This program as another machine has it: which of its files, and the folder they stand in there.

The folder is named after what is in it, so that an engine there is always of the very version that
asks, and programs of several versions do not disturb each other.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import gpuexplorer
from gpuexplorer.core.bootstrap import PACKAGE
from gpuexplorer.engine.machine import HOME

PROGRAMS = f"{HOME}/program"
LEFT_OUT = {"gui", "__pycache__", "_data"}
"""Folders of the package that no engine needs."""


@cache
def program_files() -> dict[str, bytes]:
    """Return the files that an engine consists of, by their paths below the program's folder."""
    package = Path(PACKAGE)
    found = {}
    for path in sorted(package.rglob("*.py")):
        inside = path.relative_to(package)
        if not LEFT_OUT & set(inside.parts):
            found[f"gpuexplorer/{inside.as_posix()}"] = path.read_bytes()
    return found


@cache
def program_name() -> str:
    """Return this program's version, and the beginning of its files' digest."""
    digest = hashlib.sha256()
    for name, data in program_files().items():
        digest.update(f"{name}\0{len(data)}\0".encode())
        digest.update(data)
    return f"{gpuexplorer.__version__}-{digest.hexdigest()[:12]}"


def program_folder() -> str:
    """Return where this version stands on another machine."""
    return f"{PROGRAMS}/{program_name()}"


def far_bootstrap() -> str:
    """Return where ``core/bootstrap.py`` of this version stands there."""
    return f"{program_folder()}/gpuexplorer/core/bootstrap.py"
