"""Who may run when several processes test side by side: a test that keeps time runs alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # not POSIX: tests run one by one there
    fcntl = None  # type: ignore[assignment]


class Turns:
    """A folder that processes share: many are there together, or one alone.

    Whoever comes waits at the gate until the one before is in. So one that waits to be alone is
    not overtaken, however many come after it.
    """

    def __init__(self, folder: Path) -> None:
        if fcntl is None:
            raise RuntimeError("tests cannot run side by side on this system; leave out -n")
        self.gate, self.room = folder / "gate", folder / "room"

    @contextmanager
    def together(self) -> Iterator[None]:
        """Be there with others, once nobody is there alone."""
        with self._entered(alone=False):
            yield

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Be there with nobody else."""
        with self._entered(alone=True):
            yield

    @contextmanager
    def _entered(self, *, alone: bool) -> Iterator[None]:
        with self.room.open("a") as room:
            with self.gate.open("a") as gate:
                fcntl.flock(gate, fcntl.LOCK_EX)
                fcntl.flock(room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
                fcntl.flock(gate, fcntl.LOCK_UN)
            try:
                yield
            finally:  # at once, even if a process that this one forked has the file open, too
                fcntl.flock(room, fcntl.LOCK_UN)
