"""Space on the disk: how much there is, how much things take, and what is said when it runs out."""

from __future__ import annotations

import errno
import os
import re
import shutil
from pathlib import Path

from gpuexplorer.core.errors import ExplorerError, WorkFailed
from gpuexplorer.core.units import quantity

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FULL_WORDS = re.compile(
    r"No space left on device|\(os error (28|122|27|112)\)|not enough space on the disk"
    r"|Disk quota exceeded|File too large",
    re.IGNORECASE,
)
_LEAST_MISSING_B = 1_000_000
"""The least that is said to be missing: the last write that failed was of about a megabyte."""


def free_B(folder: Path) -> int:
    """Return the free space where a folder is or would be made, in bytes."""
    for place in (folder, *folder.parents):
        try:
            return shutil.disk_usage(place).free
        except OSError:
            continue
    return 0


def size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder; links count nothing."""
    total = 0
    for root, _, files in os.walk(folder):
        for name in files:
            try:
                total += os.lstat(os.path.join(root, name)).st_size
            except OSError:
                continue
    return total


def is_full(error: OSError) -> bool:
    """Whether a write failed because nothing more goes on the disk."""
    return error.errno in _FULL


def says_full(text: str) -> bool:
    """Whether a program's output says that the disk is full."""
    return _FULL_WORDS.search(text) is not None


def no_space(folder: Path, needs_B: int, *, kept: bool = True) -> ExplorerError:
    """Return what is said when ``needs_B`` more bytes would have been needed than there are.

    ``kept``: what was downloaded by now is still there.
    """
    missing = max(_LEAST_MISSING_B, needs_B - free_B(folder))
    return WorkFailed(
        f"the disk with {folder} is full: about {quantity(missing, 'B')} are missing",
        remedy="free so much and start again; what is downloaded is kept"
        if kept
        else "free so much and start again",
    )
