"""A file that one process has at a time; a process that ends lets go of it by that."""

from __future__ import annotations

import os
import time
from pathlib import Path

from gpuexplorer.core.closing import Closing

TRY_EVERY_S = 0.02


class FileLock(Closing):
    """A lock on a file, which is made where there is none, with its folder.

    Another who has it may let go of it within ``wait_s``. Where a file system knows no locks,
    everybody gets it. Raises OSError for what cannot be made.
    """

    def __init__(self, path: Path, *, wait_s: float = 0.0) -> None:
        until = time.monotonic() + wait_s
        path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor: int | None = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        self.taken = _take(self._descriptor)
        """Whether this process has it; otherwise another has."""
        while not self.taken and time.monotonic() < until:
            time.sleep(TRY_EVERY_S)
            self.taken = _take(self._descriptor)

    def close(self) -> None:
        """Let go of it."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def _take(descriptor: int) -> bool:
    """Take the lock and return whether it was free."""
    if os.name == "nt":
        import msvcrt

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks: better unguarded than not at all
    return True
