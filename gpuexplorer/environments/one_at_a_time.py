"""Only one program makes or removes environments at a time; one that is killed lets go by that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.core.locks import FileLock
from gpuexplorer.exchange.files import write_error

FILE = ".lock"


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Hold a folder's lock; WorkFailed when another program has it, InputError if unwritable."""
    try:
        lock = FileLock(folder / FILE)
    except OSError as error:
        raise write_error(folder, error) from None
    with lock:
        if not lock.taken:
            raise WorkFailed(
                "another GPU Explorer is making or removing an environment right now",
                remedy="wait until it is done, or stop it there",
            )
        yield
