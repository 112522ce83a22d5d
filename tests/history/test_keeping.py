"""A result is kept while it is measured: a group that grows, is whole at any moment, and ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpuexplorer.core.errors import ExplorerError, WorkFailed
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.history import keeping as module
from gpuexplorer.history.keeping import Keeping, Run
from gpuexplorer.history.store import Query, Store
from tests.support.history import made_batch, made_record, numbered_run
from tests.support.interrupter import Interrupter


def no_trouble(error: ExplorerError) -> None:
    raise AssertionError(str(error))


def samples_of(store: Store, group: str | None) -> dict[str, list[float]]:
    rows = store.find(Query(group=group))
    return {row.id: store.get(row.id).samples_s for row in rows}


def test_a_run_that_went_on_takes_the_place_of_what_was_stored(store: Store) -> None:
    keeping = Keeping("comparison", store, no_trouble, every_s=0.0)
    one, other = made_record([1.0, 2.0]), numbered_run(1)
    keeping.take({"rounds": 1}, [one, other])
    assert keeping.group is not None
    store.star(one.id)
    (group,) = store.groups()
    assert (group.id, group.kind, group.document) == (keeping.group, "comparison", {"rounds": 1})
    assert not group.finished
    assert samples_of(store, group.id) == {one.id: [1.0, 2.0], other.id: other.samples_s}
    one.add(made_batch([3.0]))
    keeping.take({"rounds": 2}, [one, other])
    assert samples_of(store, group.id) == {one.id: [1.0, 2.0, 3.0], other.id: other.samples_s}
    one.end("turns")
    keeping.end({"rounds": 3}, [one, other])
    (group,) = store.groups()
    assert (group.document, group.finished, group.runs) == ({"rounds": 3}, True, 2)
    assert store.get(one.id) == one.result()
    assert store.row(one.id).starred
    assert keeping.finished


def test_nothing_is_made_before_a_write_is_due(store: Store) -> None:
    keeping = Keeping("comparison", store, no_trouble, every_s=1e6)
    made: list[int] = []

    def so_far() -> tuple[dict[str, int], list[Run]]:
        made.append(len(made))
        return {"made": len(made)}, [numbered_run(len(made))]

    for _ in range(5):
        keeping.offer(so_far)
    assert len(made) == 1
    keeping.take(runs=[numbered_run(2)])  # waits for the next write
    assert store.count() == 1
    keeping.end({"made": 2}, [numbered_run(3)])
    assert store.count() == 3
    assert store.groups()[0].document == {"made": 2}


def test_what_nothing_follows_is_written_a_little_later(store: Store) -> None:
    keeping = Keeping("block map", store, no_trouble, every_s=0.05)
    for number in range(3):  # in one go, then a pause
        keeping.take({"cells": number}, [numbered_run(number)])
    limit = time.monotonic() + 60
    while store.count() < 3 or store.groups()[0].document != {"cells": 2}:
        assert time.monotonic() < limit
        threading.Event().wait(0.01)
    assert not store.groups()[0].finished
    keeping.end({"cells": 3})


def test_what_was_left_may_be_gone_on_with(store: Store) -> None:
    keeping = Keeping("block map", store, no_trouble, every_s=0.0)
    keeping.end({"best": None}, [numbered_run(1)], finished=False)
    assert [group.finished for group in store.groups()] == [False]
    keeping.take(runs=[numbered_run(2)])
    assert [group.finished for group in store.groups()] == [False]
    keeping.end({"best": 2})
    (group,) = store.groups()
    assert (group.finished, group.runs, group.document) == (True, 2, {"best": 2})


def test_a_store_that_refuses_is_told_once_and_gets_everything_in_the_end(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TRY_AGAIN_S", 0.0)
    true_add, tries, told = store.add_group, [0], list[ExplorerError]()

    def refuse_two(*arguments: Any, **options: Any) -> str:
        tries[0] += 1
        if tries[0] <= 2:
            raise WorkFailed("the disk is full")
        return true_add(*arguments, **options)

    monkeypatch.setattr(store, "add_group", refuse_two)
    keeping = Keeping("tuning", store, told.append, every_s=0.0)
    for number in range(2):
        keeping.take({"asked": 1}, [numbered_run(number)])
    assert keeping.group is None
    keeping.end({"found": 1}, [numbered_run(2)])
    assert [str(error) for error in told] == ["the disk is full"]
    assert keeping.finished and keeping.trouble is None
    assert samples_of(store, keeping.group).keys() == {numbered_run(n).id for n in range(3)}


def test_runs_that_a_store_refuses_to_the_end_are_handed_over(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any, **options: Any) -> str:
        raise WorkFailed("the disk is full")

    monkeypatch.setattr(store, "add_group", refuse)
    left: list[tuple[str, str | None]] = []

    def take(run: Run, *, group: str | None) -> None:
        left.append((run.id, group))

    keeping = Keeping("block map", store, rescue=take, every_s=0.0)
    keeping.take({}, [numbered_run(1)])
    assert left == []
    keeping.end({}, [numbered_run(2)])
    assert [run_id for run_id, _ in left] == [numbered_run(1).id, numbered_run(2).id]
    assert not keeping.finished
    assert keeping._late is not None  # writes the document later; here the store is closed by then
    keeping._late.cancel()


def test_a_document_that_was_refused_at_the_end_is_written_later_with_what_it_comes_to(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TRY_AGAIN_S", 0.01)
    true_add, tries = store.add_group, [0]
    written, handed, found = threading.Event(), list[str](), list[int]()

    def refuse_twice(*arguments: Any, **options: Any) -> str:
        tries[0] += 1
        if tries[0] <= 2:
            raise WorkFailed("the history is locked")
        made = true_add(*arguments, **options)
        written.set()
        return made

    monkeypatch.setattr(store, "add_group", refuse_twice)
    keeping = Keeping("tuning", store, rescue=lambda run, group: handed.append(run.id))
    keeping.end({"found": 1}, [numbered_run(1)], also=lambda _: found.append(1))
    assert handed == [numbered_run(1).id] and not found
    assert written.wait(30)
    until = time.monotonic() + 30
    while not found and time.monotonic() < until:
        threading.Event().wait(0.01)
    assert found == [1] and keeping.finished
    (group,) = store.groups("tuning")
    assert group.document == {"found": 1}


def test_what_a_store_refuses_while_nobody_hears_of_it_is_handed_over(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A window that closes calls nothing back any more."""

    def refuse(*arguments: Any, **options: Any) -> str:
        raise WorkFailed("the history is locked")

    monkeypatch.setattr(store, "add_group", refuse)
    slow, left = Slow(store), list[str]()
    keeping = Keeping("comparison", slow, rescue=lambda run, group: left.append(run.id))
    keeping.end({}, [numbered_run(1)])
    ((work, _),) = slow.jobs
    store.do(work)
    assert left == [numbered_run(1).id]


class Slow:
    """A thread that owns the store and does what it was asked only when it is told to."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.jobs: list[tuple[Callable[[Store], object], Callable[[object], None] | None]] = []

    def do(
        self, work: Callable[[Store], object], then: Callable[[object], None] | None = None
    ) -> None:
        self.jobs.append((work, then))

    def catch_up(self) -> None:
        jobs, self.jobs = self.jobs, []
        for work, then in jobs:
            self.store.do(work, then)


def test_a_slow_store_gets_the_latest_and_is_asked_once_at_a_time(store: Store) -> None:
    slow = Slow(store)
    keeping = Keeping("comparison", slow, no_trouble, every_s=0.0)
    record: RunRecord = made_record([1.0])
    for number in range(4):
        keeping.take({"rounds": number}, [record])
        record.add(made_batch([2.0 + number]))
    assert len(slow.jobs) == 1
    slow.catch_up()
    assert store.groups()[0].document == {"rounds": 3}
    assert samples_of(store, keeping.group) == {record.id: [1.0, 2.0, 3.0, 4.0]}
    keeping.end({"rounds": 4}, [record])
    record.add(made_batch([9.0]))  # belongs to what comes later
    slow.catch_up()
    assert samples_of(store, keeping.group) == {record.id: [1.0, 2.0, 3.0, 4.0, 5.0]}


def test_without_a_store_nothing_is_made() -> None:
    def so_far() -> tuple[object, list[Run]]:
        raise AssertionError("nothing is kept")

    keeping = Keeping("comparison", None)
    keeping.offer(so_far)
    keeping.take({}, [numbered_run(1)])
    keeping.end({})
    assert keeping.group is None and not keeping.finished


def test_what_is_kept_when_an_interrupt_comes_at_any_moment_is_kept(tmp_path: Path) -> None:
    with Store.open(tmp_path / "history.sqlite", busy_s=0.1) as store:
        keeping = Keeping("sweep", store, no_trouble, every_s=0.0)
        runs = [numbered_run(number) for number in range(40)]
        for run in runs[:3]:
            with Interrupter() as whole:
                keeping.take({}, [run])
        interrupted = 0
        for number in range(3, 40):
            try:
                with Interrupter(whole.lines * number // 42):
                    keeping.take({}, [runs[number]])
            except KeyboardInterrupt:
                interrupted += 1
                keeping.end({}, [])  # while Python unwinds, as in a job that is ended so
            assert store.count(Query()) == number + 1
        assert interrupted > 30
