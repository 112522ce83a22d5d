"""A sweep in the store: each run as soon as it is done, and what an earlier try had finished.

A sweep is a group of the store. Its document says what was asked for; when the same is asked for
again, on the same devices and of the same kernels, the group is gone on with.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError, WorkFailed
from gpuexplorer.core.interrupts import interrupts_held
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sweep import SWEEP_SCHEMA, Why
from gpuexplorer.history.errors import StoreDamaged
from gpuexplorer.history.holder import (
    FIELD,
    SIGN_EVERY_S,
    SILENT_S,
    Holder,
    without_holder,
)
from gpuexplorer.history.keeping import Keeping
from gpuexplorer.history.store import Group, Query, Store
from gpuexplorer.search.measuring import Measuring
from gpuexplorer.search.outcome import SweepCell
from gpuexplorer.search.space import Space
from gpuexplorer.workloads.workload import Workload

KIND = "sweep"
DONE = ("skipped", "why", "points", "order", "cannot")
"""What a sweep's document holds beside what was asked for: by the keys of the configurations that
were tried and have no figure the reasons, and of what kind they are; and a ``span_document``."""
TOGETHER_S = 0.2
"""Runs that end within so short a time are written together, for a transaction takes as long as a
short run. A program that is killed loses no more than twice that, and a later try repeats it."""
SKIPS_EVERY_S = 1.0
"""Between two writes of the reasons of skipped configurations, which are written all at once."""
PAGE = 500


def request_document(
    space: Space,
    workload: Workload,
    measuring: Measuring,
    cells: Sequence[SweepCell],
    on: DeviceList,
) -> dict[str, Any]:
    """Return what a sweep was asked for, in plain values: equal documents are the same sweep."""
    document = {
        "schema": SWEEP_SCHEMA,
        "base": space.base,
        "axes": {axis.name: axis.values for axis in space.axes},
        "measuring": measuring.document(),
        "workload_sha256": workload.sha256,
        "devices": devices_used(cells, on),
    }
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(document, order="sorted"))
    return plain


def span_document(space: Space, cells: Iterable[SweepCell]) -> dict[str, Any]:
    """Return what is known of a sweep before it runs: its size, and what of it cannot run.

    What cannot run has no key: it is told by its number, in row-major order of the axes as
    ``order`` names them, under its reason.
    """
    cannot: dict[str, list[int]] = {}
    for cell in cells:
        if cell.point.config is None:
            cannot.setdefault(cell.skipped or "", []).append(cell.point.number)
    return {"points": space.count, "order": list(space.by_name), "cannot": cannot}


def devices_used(cells: Sequence[SweepCell], on: DeviceList) -> dict[str, tuple[Any, ...]]:
    """Return hardware, driver and CPU threads of the devices that the cells are measured on.

    Where these are equal what was measured before still counts.
    """
    used = {cell.point.config.device for cell in cells if cell.point.config is not None}
    return {d.id: (d.hardware_id, d.driver, d.threads) for d in on if d.id in used}


class SweepHeld(WorkFailed):
    """Another program measures the same sweep."""

    kind = "held"

    def __init__(self, holder: Holder) -> None:
        remedy = "wait until it has ended or stop it, or begin a new sweep instead of this one"
        if not holder.can_be_looked_at:
            minutes = SILENT_S / 60
            remedy = (
                "wait until it has ended or stop it, or begin a new sweep instead of this one (if "
                f"that machine is gone, it counts as ended {minutes:.0f} minutes later)"
            )
        super().__init__(f"this sweep is being measured by {holder.words}", remedy=remedy)
        self.holder = holder


class SweepKeeper:
    """Keeps one sweep's runs in a group of a store; a ``Keeper`` of ``search.sweep``.

    The group says which program works on it, so that no two measure the same.

    Between two configurations runs are written by the thread that measures, so that nothing is
    disturbed; only behind one that takes long another thread writes what came before it.
    ``history.keeping`` says what comes of a store that fails.
    """

    def __init__(
        self,
        store: Store,
        group: Group,
        span: Mapping[str, Any],
        on_trouble: Callable[[ExplorerError], None],
    ) -> None:
        self._store, self._span = store, span
        self._keeping = Keeping(KIND, store, on_trouble, group=group.id, every_s=TOGETHER_S)
        self.group_id = group.id
        self._document: dict[str, Any] = without_holder(group.document)
        self._holder: Holder | None = None
        """Who works on it: this program, unless another took it over."""
        self._is_ours = False
        self._sign_due = 0.0
        self._signing = threading.Lock()
        self._signs: threading.Thread | None = None
        self._closed = threading.Event()
        self._skipped: dict[str, str] = dict(self._document.get("skipped", {}))
        self._why: dict[str, Why] = dict(self._document.get("why", {}))
        self._new_skips, self._skips_due = False, 0.0
        self.unreadable: set[str] = set()
        """Ids of runs that an earlier try stored and that cannot be read: they are repeated."""

    @classmethod
    def begin(
        cls,
        store: Store,
        document: Mapping[str, Any],
        span: Mapping[str, Any],
        on_trouble: Callable[[ExplorerError], None],
    ) -> SweepKeeper:
        """Enter a new sweep; raises what the store raises."""
        group = store.begin_group(KIND, {**document, **span})
        keeper = cls(store, store.group(group), span, on_trouble)
        keeper.take_up()
        return keeper

    @classmethod
    def find(
        cls,
        store: Store,
        document: Mapping[str, Any],
        span: Mapping[str, Any],
        on_trouble: Callable[[ExplorerError], None],
        into: str | None = None,
    ) -> SweepKeeper | None:
        """Return the latest sweep that asked for the same, or the one with the id ``into``.

        None when there is none.
        """
        for group in store.groups(KIND):
            if isinstance(group.document, dict) and into in (None, group.id):
                found = without_holder(group.document).items()
                asked = {name: value for name, value in found if name not in DONE}
                if asked == document:
                    return cls(store, group, span, on_trouble)
        return None

    def take_up(self) -> None:
        """Make the sweep this program's, as it is now; SweepHeld when another measures it."""
        asked = self._hold(Holder.here())
        if self._holder is not None and not self._is_ours:
            raise SweepHeld(self._holder)
        if asked:
            self._try(self._read_again)
        self._signs = threading.Thread(target=self._give_signs, name="sweep sign", daemon=True)
        self._signs.start()

    def _hold(self, holder: Holder) -> bool:
        """Ask for the sweep and note who has it; False when the store could not be asked."""
        self._sign_due = time.monotonic() + SIGN_EVERY_S
        others: list[Holder | None] = []
        asked = self._try(lambda: others.append(self._store.hold_group(self.group_id, holder)))
        for other in others:
            self._is_ours = other is None
            self._holder = other or holder
        return asked

    def _read_again(self) -> None:
        """Take over what the program before noted since this one looked."""
        self._document = without_holder(self._store.group(self.group_id).document)
        self._skipped = dict(self._document.get("skipped", {}))
        self._why = dict(self._document.get("why", {}))

    def fill(self, cells: Sequence[SweepCell]) -> list[SweepCell]:
        """Return the cells with what was finished before; raises what the store raises."""
        finished = {r.config.key: r for r in self._stored()}
        filled = []
        for cell in cells:
            key = cell.point.config.key if cell.point.config is not None else None
            if key is not None and key in finished:
                cell = cell.measured(finished[key])
            elif key is not None and key in self._skipped:
                cell = cell.skip(self._skipped[key], self._why.get(key, "failed"))
            filled.append(cell)
        return filled

    def has_done(self, cells: Sequence[SweepCell]) -> bool:
        """Whether any cell that waits was finished by now; raises what the store raises."""
        keys = {c.point.config.key for c in cells if c.waiting and c.point.config is not None}
        done = self._store.finished_keys(self.group_id) | self._skipped.keys()
        return bool(keys & done)

    @property
    def has_stored(self) -> bool:
        """Whether the store has taken anything of what was done since."""
        return self._keeping.has_written

    @property
    def recovered(self) -> bool:
        """Whether the store has taken at the end all that it refused."""
        return self._keeping.recovered

    def keep(self, result: RunResult) -> None:
        """Store a finished run, at once or with those that follow at once."""
        if time.monotonic() >= self._sign_due:
            self._give_sign()
        self._keeping.take(self._new_document(), [result])

    def skip(self, config: RunConfig, reason: str, why: Why) -> None:
        """Note that a configuration cannot be measured, and why."""
        self._skipped[config.key], self._why[config.key] = reason, why
        self._new_skips = True
        self._keeping.take(self._new_document())

    def drop(self, result: RunResult) -> None:
        """Take a run out of the store, whose figures do not hold."""
        self._keeping.drop(result.id)

    @interrupts_held()
    def close(self, *, finished: bool) -> None:
        """Write what is left; ``finished`` says that no configuration waits any more."""
        self._closed.set()
        if self._signs is not None:
            self._signs.join()
        if self._is_ours:
            self._holder = None
        self._keeping.end(self._document_now(), finished=finished)

    def _stored(self) -> list[RunResult]:
        query = Query(group=self.group_id)
        found: list[RunResult] = []
        seen = 0
        while rows := self._store.find(query, offset=seen, limit=PAGE, descending=False):
            seen += len(rows)
            ids = [row.id for row in rows]
            for run_id, run in zip(ids, self._store.get_all(ids), strict=True):
                if isinstance(run, StoreDamaged):
                    self.unreadable.add(run_id)
                else:
                    found.append(run)
        return found

    def _new_document(self) -> dict[str, Any] | None:
        """Return the document now and then as long as reasons come; None where none is due."""
        if not self._new_skips or time.monotonic() < self._skips_due:
            return None
        self._new_skips, self._skips_due = False, time.monotonic() + SKIPS_EVERY_S
        return self._document_now()

    def _document_now(self) -> dict[str, Any]:
        document = {**self._document, **self._span}
        if self._skipped:
            document["skipped"], document["why"] = dict(self._skipped), dict(self._why)
        if self._holder is not None:
            document[FIELD] = self._holder
        return document

    def _give_signs(self) -> None:
        """Say so even while a configuration takes long."""
        while not self._closed.wait(SIGN_EVERY_S):
            self._give_sign()

    def _give_sign(self) -> None:
        """Say that this program is still there."""
        with self._signing:
            self._sign_due = time.monotonic() + SIGN_EVERY_S
            if self._is_ours and self._holder is not None:
                self._hold(self._holder.seen())

    def _try(self, work: Callable[[], object]) -> bool:
        """Do something with the store, and return whether it was possible."""
        try:
            work()
        except ExplorerError as error:
            self._keeping.tell(error)
            return False
        return True
