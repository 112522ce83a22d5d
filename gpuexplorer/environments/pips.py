"""Which pip does the work: the one that is shipped, one that is fetched, or the Python's own."""

from __future__ import annotations

import re
import sys
import tempfile
import threading
from pathlib import Path

from gpuexplorer.core.errors import CannotRunHere, ExplorerError
from gpuexplorer.core.frozen import is_frozen
from gpuexplorer.environments.children import module_in, run, surroundings
from gpuexplorer.environments.hashes import sha256_of
from gpuexplorer.environments.locked import engines_data
from gpuexplorer.environments.pythons import FoundPython, look_at

OLDEST_PIP = (23, 0)
"""It resolves without installing, and writes a report."""
WITHOUT_DOWNLOADS = (25, 0)
"""From here on it resolves with the wheels' metadata alone, where an older one fetches them all."""
PIN = "pip.txt"
"""Beside the lock files: the version to fetch, and its hash, as pip reads them."""
KEPT = ".pip"
FETCH_S = 60.0


def shipped_pip() -> Path | None:
    """Return the wheel of pip that this program brings along; None where it brings none."""
    return max(engines_data().glob("pip-*.whl"), key=_version_of, default=None)


def pip_for(
    python: FoundPython, folder: Path, *, online: bool, cancel: threading.Event | None = None
) -> Path:
    """Return the pip, a wheel or the folder it stands in, that installs with a Python.

    ``online``: a newer one may be fetched, into ``folder``, where there is only an old one. Raises
    CannotRunHere when there is none, and Cancelled.
    """
    found = shipped_pip() or _kept(folder)
    if found is not None:
        return found
    known = {_numbers(version): Path(place) for version, place in python.pips}
    if not known and not is_frozen():
        own = look_at(sys.executable, cancel=cancel)
        known = {_numbers(version): Path(place) for version, place in own.pips}
    newest = max(known, default=())
    if newest < OLDEST_PIP:
        raise CannotRunHere(
            f"{python.path} has no pip, or one that is too old",
            remedy="install it (apt install python3-pip, or python -m ensurepip), or choose "
            "another Python",
        )
    if online and newest < WITHOUT_DOWNLOADS:
        return _fetched(python, known[newest], folder, cancel) or known[newest]
    return known[newest]


def fast(pip: Path) -> bool:
    """Whether a pip resolves with the wheels' metadata alone."""
    return pip.suffix == ".whl" and _version_of(pip) >= WITHOUT_DOWNLOADS


def _kept(folder: Path) -> Path | None:
    """Return the wheel that was fetched before, if it still is what its hash says."""
    pinned = _pin()
    if pinned is None:
        return None
    version, sha256 = pinned
    wheel = folder / KEPT / f"pip-{version}-py3-none-any.whl"
    try:
        return wheel if sha256_of(wheel) == sha256 else None
    except OSError:
        return None


def _fetched(
    python: FoundPython, pip: Path, folder: Path, cancel: threading.Event | None
) -> Path | None:
    """Fetch the pinned pip with an older one; None when that is not possible."""
    if _pin() is None:
        return None
    command = module_in(
        Path(python.path), "pip", "download", "--quiet", "--no-deps", "--require-hashes",
        "--requirement", str(engines_data() / PIN), "--dest", str(folder / KEPT), pip=pip,
    )  # fmt: skip
    try:
        with tempfile.TemporaryDirectory() as scratch:
            environment = surroundings(Path(python.path), {"TMPDIR": scratch})
            run(command, environment, cancel, timeout_s=FETCH_S)
    except (ExplorerError, TimeoutError, OSError):
        return None
    return _kept(folder)


def _pin() -> tuple[str, str] | None:
    """Return the version and the hash of the pip to fetch."""
    try:
        text = (engines_data() / PIN).read_text(encoding="utf-8")
    except OSError:
        return None
    told = re.search(r"^pip==(\S+)\s+--hash=sha256:([0-9a-f]{64})", text, re.MULTILINE)
    return (told[1], told[2]) if told else None


def _version_of(wheel: Path) -> tuple[int, ...]:
    return _numbers(wheel.name.split("-")[1]) if wheel.name.count("-") >= 2 else ()


def _numbers(version: str) -> tuple[int, ...]:
    told = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, told[0].split("."))) if told else ()
