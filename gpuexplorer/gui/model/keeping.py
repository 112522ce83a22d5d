"""What the store does not hold yet of this window's runs, and how it gets there.

A run is entered once it has been going for a while, its samples follow in chunks, and its document
when it has ended. Whatever cannot be written stays here and is tried again; when the window closes
first, it goes into files beside the store, which the next window takes in.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from gpuexplorer.core.chunked import encode
from gpuexplorer.core.errors import ExplorerError, InputError, WorkFailed
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.core.sample_block import packed, unpacked
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.exchange import atomic_file
from gpuexplorer.history.errors import StoreFailed
from gpuexplorer.history.store import Store

CHUNK_S = 1.0
"""Time between two chunks of a run that goes on; a shorter run is written once, as a whole."""
RESCUE_FOLDER = "history-unsaved"
_GROUP = "group"
"""The group of a run, in its file there; those of earlier versions have none."""


class InHand(msgspec.Struct):
    """One run, as far as the store does not hold it."""

    run: RunRecord | RunResult
    group: str | None
    due_s: float
    """When something of it is to be written next (monotonic)."""
    batches: list[SampleBatch] = msgspec.field(default_factory=list)
    """Samples that were not written yet."""
    begun: bool = False
    over: bool = False
    """Whether it has ended, and ``run`` is all of it."""

    def json(self) -> bytes:
        """Return its document with all that the history keeps, and its group beside it.

        The file stays on this machine, so that what a file for others leaves out is in it.
        """
        run = self.run.result(listed=False) if isinstance(self.run, RunRecord) else self.run
        fields = msgspec.json.decode(encode(run), type=dict[str, msgspec.Raw])
        return encode(fields | {_GROUP: self.group})


class Keeper:
    """Runs on their way to the store: taken in by the main thread, written by the store's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: dict[str, InHand] = {}
        self._held: set[str] = set()

    # ---- from the main thread

    def go_on(self, record: RunRecord, batches: Iterable[SampleBatch], now_s: float) -> None:
        """Take in what a run sampled; its first chunk is due after ``CHUNK_S``."""
        with self._lock:
            run = self._runs.setdefault(record.id, InHand(record, None, now_s + CHUNK_S))
            run.batches.extend(batches)

    def end(self, run: RunRecord | RunResult, now_s: float, group: str | None = None) -> None:
        """Take in a run that has ended; it is due at once."""
        whole = run.snapshot() if isinstance(run, RunRecord) else run
        with self._lock:
            known = self._runs.get(run.id)
            self._runs[run.id] = InHand(
                whole, group, now_s, begun=known is not None and known.begun, over=True
            )

    # ---- from either

    @property
    def held(self) -> frozenset[str]:
        """The runs that the store holds, if only in part."""
        with self._lock:
            return frozenset(self._held)

    def kept(self, run_id: str) -> bool:
        """Return whether the store holds all of a run that has ended."""
        with self._lock:
            return run_id in self._held and run_id not in self._runs

    @property
    def waiting(self) -> int:
        """How many runs have ended and are not stored."""
        with self._lock:
            return sum(run.over for run in self._runs.values())

    def due_s(self) -> float | None:
        """Return when something is to be written next; None for nothing."""
        with self._lock:
            return min((run.due_s for run in self._runs.values()), default=None)

    # ---- from the store's thread

    def write(self, store: Store, now_s: float, only: Sequence[str] | None = None) -> None:
        """Write what is due, or all there is of the runs ``only``.

        Raises an ExplorerError when one could not be written: at once where the store refused,
        which it would do again, else after the others were tried. What failed stays in hand.
        """
        with self._lock:
            due = [
                (run_id, run)
                for run_id, run in self._runs.items()
                if (run.due_s <= now_s if only is None else run_id in only)
            ]
        failed = None
        for run_id, run in due:
            try:
                self._write(store, run_id, run, now_s)
            except StoreFailed:
                raise
            except ExplorerError as error:
                failed = failed or error
            except Exception as error:  # noqa: BLE001 - one run that fails must not stop the others
                failed = failed or WorkFailed(f"a run cannot be stored: {error!r}")
        if failed is not None:
            raise failed

    def _write(self, store: Store, run_id: str, run: InHand, now_s: float) -> None:
        if run.over:
            store.add(run.run, group=run.group)
            with self._lock:
                self._held.add(run_id)
                if self._runs.get(run_id) is run:
                    del self._runs[run_id]
            return
        with self._lock:
            batches, run.batches = run.batches, []
            run.due_s = now_s + CHUNK_S
        if not batches:
            return
        try:
            if not run.begun and isinstance(run.run, RunRecord):
                store.begin(run.run, group=run.group)
                with self._lock:
                    run.begun = True
                    self._held.add(run_id)
            store.append(run_id, unpacked(packed(batches)))
        except InputError:  # its file was taken away meanwhile; at its end it is stored as a whole
            return
        except BaseException:
            with self._lock:
                run.batches[:0] = batches
            raise

    def put_off(self, until_s: float) -> None:
        """Try nothing before ``until_s``."""
        with self._lock:
            for run in self._runs.values():
                run.due_s = max(run.due_s, until_s)

    # ---- when the window closes

    def end_all(self, now_s: float) -> None:
        """Take every run as ended: no message about them will come any more."""
        with self._lock:
            going = [run.run for run in self._runs.values() if not run.over]
        for run in going:
            if isinstance(run, RunRecord) and run.samples:
                self.end(run, now_s)

    def rescue(self, folder: Path) -> int:
        """Write every run that is not stored into a file of its own; return how many.

        Raises the first ExplorerError after all was tried.
        """
        with self._lock:
            left = dict(self._runs)
        failed: ExplorerError | None = None
        for run_id, run in left.items():
            try:
                with suppress(OSError):  # what is wrong with the folder, the file's error says
                    folder.mkdir(parents=True, exist_ok=True)
                with atomic_file(folder / f"{run_id}.json") as stream:
                    stream.write(run.json())
            except ExplorerError as error:
                failed = failed or error
        if failed is not None:
            raise failed
        return len(left)


def take_in(store: Store, folder: Path) -> int:
    """Store the runs that an earlier window left in files, and remove these; return how many.

    A file that is not a run's document is left where it is.
    """
    taken = 0
    for path in sorted(folder.glob("*.json")):
        try:
            fields = msgspec.json.decode(path.read_bytes(), type=dict[str, msgspec.Raw])
            group = msgspec.json.decode(fields.pop(_GROUP, b"null"), type=str | None)
            store.add_all([msgspec.json.encode(fields)], group=_known(store, group))
            path.unlink()
        except (InputError, OSError, msgspec.MsgspecError, UnicodeDecodeError):
            continue
        taken += 1
    return taken


def _known(store: Store, group: str | None) -> str | None:
    """Return a group that the store has; None for one of another store, or that was deleted."""
    try:
        return store.group(group).id if group is not None else None
    except InputError:
        return None
