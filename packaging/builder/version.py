"""The product's version and its date, from the one place of each."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from builder.errors import BuildError

SOURCE = "gpuexplorer/__init__.py"
EPOCH_VARIABLE = "SOURCE_DATE_EPOCH"


def read_version(root: Path) -> str:
    """Return the version in ``gpuexplorer/__init__.py``; BuildError when it has none."""
    path = root / SOURCE
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BuildError(
            f"{path} cannot be read ({error.strerror}); give the checkout's folder with --root"
        ) from None
    found = re.search(r'^__version__ = "([0-9][0-9A-Za-z.+]*)"$', text, re.MULTILINE)
    if found is None:
        raise BuildError(f'{path} has no line __version__ = "..."; add it')
    return found[1]


def numbers(version: str, count: int) -> str:
    """Return a version as this many numbers, for systems that know no other: 1.2rc1 is 1.2.0."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    given = found[0].split(".") if found else []
    return ".".join([*given, *["0"] * count][:count])


def read_epoch(root: Path) -> int:
    """Return the seconds since 1970 that every date in a package is set to.

    SOURCE_DATE_EPOCH, else the last commit's time, else that of the file with the version.
    """
    named = os.environ.get(EPOCH_VARIABLE)
    if named is not None:
        if not named.isdecimal():
            raise BuildError(f"{EPOCH_VARIABLE} is '{named}'; give whole seconds since 1970")
        return int(named)
    try:
        answer = subprocess.run(
            ["git", "-C", str(root), "log", "-1", "--format=%ct"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        committed = answer.stdout.strip()
    except OSError:
        committed = ""
    return int(committed) if committed.isdecimal() else int((root / SOURCE).stat().st_mtime)
