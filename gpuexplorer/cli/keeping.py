"""Measured runs go into the history, long ones while they go."""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gpuexplorer.cli.messages import say
from gpuexplorer.core.closing import Closing
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sample_block import Samples, packed, unpacked
from gpuexplorer.history.place import shown

if TYPE_CHECKING:
    from gpuexplorer.engine.record import RunRecord
    from gpuexplorer.history.keeping import Keeping
    from gpuexplorer.history.store import Store

LONG_S = 6.0
"""A run that goes on for longer is written while it goes; a shorter one is not disturbed."""
CHUNK_S = 1.0
"""Time between two chunks."""


def keep(results: Sequence[RunResult], options: argparse.Namespace) -> None:
    """Store runs unless ``--no-history`` was given; raises what the store raises."""
    if options.no_history:
        return
    from gpuexplorer.history.store import Store

    with Store.open() as store:
        store.add_all(results)


@contextmanager
def history_of(
    options: argparse.Namespace, on_trouble: Callable[[ExplorerError], None]
) -> Iterator[Store | None]:
    """Open what keeps a result while it is measured, for ``history.keeping``.

    None with ``--no-history``, and where it cannot be opened, which ``on_trouble`` is told.
    """
    store: Store | None = None
    if not options.no_history:
        from gpuexplorer.history.store import Store

        try:
            store = Store.open()
        except ExplorerError as error:
            on_trouble(error)
    try:
        yield store
    finally:
        if store is not None:
            store.close()


def warn_not_kept(error: ExplorerError) -> None:
    """Say that what is measured is not in the history; measuring goes on."""
    say(f"gpuexplorer: warning: the runs are not kept in the history: {error}")


def say_kept(keeping: Keeping | None, page: str, options: argparse.Namespace) -> None:
    """Say how runs that were all kept together are named, and how a ``page`` is made of them."""
    if keeping is not None and keeping.finished and keeping.group is not None:
        say_recovered(keeping.recovered)
        group = keeping.group[:8]
        command = in_history(["report", group, page], options)
        say(f"kept as {group}; to make a page of it: {command}")


def say_recovered(recovered: bool) -> None:
    """Take back what was said of a history that refused, once it has ``recovered``."""
    if recovered:
        say("gpuexplorer: the history could be written at the end, and has all of it")


def in_history(words: Sequence[str], options: argparse.Namespace) -> str:
    """Return a command that works on the history which this one was given, without a password."""
    named = ["--history", shown(options.history)] if options.history is not None else []
    return shlex.join(["gpuexplorer", *words, *named])


class LiveKeeping(Closing):
    """Writes a long run's samples in chunks while it goes, so that they outlive this program.

    What fails here fails again when the run is kept as a whole, and is said then. Where a run was
    prepared again, to be timed in another way, what it had sampled is a run that is over, and what
    follows another.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self._off = bool(options.no_history)
        self._store: Store | None = None
        self._due = time.monotonic() + LONG_S
        self._last: Samples | None = None
        self._begun: RunRecord | None = None
        """That of which the history has a part."""

    def close(self) -> None:
        """End what it holds."""
        if self._store is not None:
            self._store.close()

    @property
    def has_begun(self) -> bool:
        """Whether the history has a part of the run already."""
        return self._begun is not None

    def take(self, record: RunRecord | None) -> None:
        """Write what a run has sampled since the last time, if that is due."""
        if self._off or record is None:
            return
        anew = self._begun not in (None, record)
        if time.monotonic() < self._due and not anew:
            return
        self._due = time.monotonic() + CHUNK_S
        try:
            self._write(record)
        except ExplorerError:
            self._off = True

    def _write(self, record: RunRecord) -> None:
        new: list[Samples] = []
        for batch in reversed(record.batches):
            if batch is self._last:
                break
            new.append(batch)
        if not new:
            return
        if self._store is None:
            from gpuexplorer.history.store import Store

            self._store = Store.open()
        if self._begun is not record:
            if self._begun is not None:
                self._store.finish(self._begun.result(listed=False))
            self._begun = None
            self._store.begin(record)
            self._begun = record
        self._store.append(record.id, unpacked(packed(new[::-1])))
        self._last = new[0]
