"""SHA-256 of files, and the list of them that may stand beside wheels."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable
from pathlib import Path

from gpuexplorer.core.errors import InputError, WorkFailed
from gpuexplorer.environments.progress import check
from gpuexplorer.exchange.files import read_error

SUMS = "SHA256SUMS"
CHUNK_B = 1 << 20


def sha256_of(
    path: Path,
    cancel: threading.Event | None = None,
    on_bytes: Callable[[int], None] = lambda count: None,
) -> str:
    """Return a file's SHA-256 in hexadecimal; ``on_bytes`` is told how many more were read.

    Raises OSError, and Cancelled.
    """
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while data := stream.read(CHUNK_B):
            check(cancel)
            digest.update(data)
            on_bytes(len(data))
    return digest.hexdigest()


def read_sums(folder: Path) -> dict[str, str]:
    """Return the hashes by file name that a folder's SHA256SUMS has; none where there is no such.

    Raises InputError when it cannot be read.
    """
    path = folder / SUMS
    if not path.exists():
        return {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise read_error(path, error) from None
    except UnicodeDecodeError:
        raise InputError(
            f"{path} is not UTF-8 text", remedy="make it with: sha256sum *.whl > SHA256SUMS"
        ) from None
    found = {}
    for line in lines:
        told = re.fullmatch(r"([0-9A-Fa-f]{64})[ \t]+[*]?(.+?)\s*", line)
        if told is not None:
            found[told[2].removeprefix("./")] = told[1].lower()
    return found


def check_file(path: Path, wanted: str, by: str, cancel: threading.Event | None = None) -> None:
    """Raise WorkFailed when a file is not what its hash says; Cancelled; InputError: unreadable.

    ``by``: whose word the hash is, as ``Package.vouched_by`` has it.
    """
    try:
        found = sha256_of(path, cancel)
    except OSError as error:
        raise read_error(path, error) from None
    if found != wanted:
        raise mismatch(path.name, wanted, found, by)


def mismatch(file: str, wanted: str, found: str, by: str) -> WorkFailed:
    """Return what is said of a file that is not what its hash says."""
    whose = {"lock": "this program's lock file says", "index": "the index says"}
    return WorkFailed(
        f"{file} is refused: it is not what {whose.get(by, f'{by} says')} "
        f"(its SHA-256 begins {found[:12]}, not {wanted[:12]})",
        remedy="somebody or something has changed it: get it anew from a source you trust",
    )
