"""Only one program makes or removes environments at a time; one that is killed lets go by that."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.exchange.files import write_error

FILE = ".lock"


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Hold a folder's lock; WorkFailed when another program has it, InputError if unwritable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / FILE, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise write_error(folder, error) from None
    try:
        if not _taken(descriptor):
            raise WorkFailed(
                "another GPU Explorer is making or removing an environment right now",
                remedy="wait until it is done, or stop it there",
            )
        yield
    finally:
        os.close(descriptor)  # which lets go of the lock


def _taken(descriptor: int) -> bool:
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
