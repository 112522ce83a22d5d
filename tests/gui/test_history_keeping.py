"""Runs on their way to the store: chunks each second, and nothing lost when it refuses."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.core.sample_block import packed, unpacked
from gpuexplorer.exchange.document import write_json
from gpuexplorer.gui.model.keeping import CHUNK_S, Keeper, take_in
from gpuexplorer.history.errors import StoreFull
from gpuexplorer.history.store import Store
from tests.support.history import made_batch, made_record, numbered_run

LONG = 200_000


class Refusing:
    """A store that is full until it is told otherwise."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.full = True

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            if self.full:
                raise StoreFull("the disk is full")
            return getattr(self._store, name)(*args, **options)

        return call


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.open(tmp_path / "history.sqlite") as opened:
        yield opened


def test_a_long_run_is_stored_without_a_list_of_its_samples(store: Store) -> None:
    keeper, record = Keeper(), made_record()
    for number in range(20):
        record.add(made_batch([1e-3 + 1e-9 * i for i in range(LONG // 20)], number * 10**9))
    keeper.end(record, 0.0)
    tracemalloc.start()
    try:
        keeper.write(store, 0.0)
        _, most_B = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most_B < 50 * LONG  # with such a list it takes 70 bytes a sample
    assert store.get(record.id) == record.result()


def test_a_run_is_entered_after_a_second_and_grows(store: Store) -> None:
    keeper, record = Keeper(), made_record()
    batches = [made_batch([1e-3, 2e-3]), made_batch([3e-3], 10**9)]
    for batch in batches:
        record.add(batch)
        keeper.go_on(record, [batch], 0.0)
    keeper.write(store, CHUNK_S / 2)
    assert store.count() == 0
    keeper.write(store, CHUNK_S)
    (row,) = store.find()
    assert row.running and row.samples == 3 and row.median_s is None
    assert keeper.held == {record.id}
    later = made_batch([4e-3], 2 * 10**9)
    record.add(later)
    keeper.go_on(record, [later], CHUNK_S)
    keeper.write(store, 2 * CHUNK_S)
    assert store.get(record.id).samples_s == [1e-3, 2e-3, 3e-3, 4e-3]
    record.end("user")
    keeper.end(record, 3 * CHUNK_S)
    keeper.write(store, 3 * CHUNK_S)
    (row,) = store.find()
    assert not row.running and row.stopped_by == "user" and row.samples == 4
    assert row.median_s == pytest.approx(2.5e-3)
    assert keeper.due_s() is None


def test_a_short_run_is_written_once_as_a_whole(store: Store) -> None:
    keeper, record = Keeper(), made_record([1e-3] * 5)
    keeper.go_on(record, [made_batch([1e-3] * 5)], 0.0)
    record.end("user")
    keeper.end(record, 0.1)
    before = store.generation()
    keeper.write(store, 0.1)
    assert store.generation() == before + 1
    assert store.get(record.id).timing.stopped_by == "user"


def test_what_is_added_after_the_end_is_not_in_the_document(store: Store) -> None:
    keeper, record = Keeper(), made_record([1e-3] * 5)
    keeper.end(record, 0.0)
    record.add(made_batch([9.0]))
    keeper.write(store, 0.0)
    assert store.get(record.id).samples_s == [1e-3] * 5


def test_nothing_is_lost_while_the_store_refuses(store: Store) -> None:
    refusing = Refusing(store)
    keeper, record = Keeper(), made_record()
    samples: list[float] = []
    for second in range(1, 4):
        batch = made_batch([second * 1e-3] * 3, second * 10**9)
        samples += [second * 1e-3] * 3
        record.add(batch)
        keeper.go_on(record, [batch], float(second))
        with pytest.raises(StoreFull):
            keeper.write(refusing, second + CHUNK_S)  # type: ignore[arg-type]
    other = numbered_run(1)
    keeper.end(other, 5.0)
    with pytest.raises(StoreFull):
        keeper.write(refusing, 5.0)  # type: ignore[arg-type]
    assert keeper.waiting == 1
    keeper.put_off(9.0)
    keeper.write(refusing, 8.0)  # type: ignore[arg-type]
    refusing.full = False
    keeper.write(refusing, 9.0)  # type: ignore[arg-type]
    assert keeper.waiting == 0
    assert store.get(other.id) == other
    assert store.get(record.id).samples_s == samples


def test_a_run_that_cannot_be_stored_does_not_stop_the_others(store: Store) -> None:
    keeper = Keeper()
    empty, whole = made_record(), numbered_run(3)
    keeper.end(empty, 0.0)  # has no samples, and so no document
    keeper.end(whole, 0.0)
    with pytest.raises(ExplorerError):
        keeper.write(store, 0.0)
    assert [row.id for row in store.find()] == [whole.id]


def test_a_store_whose_file_was_replaced_gets_the_whole_run(tmp_path: Path) -> None:
    keeper, record = Keeper(), made_record([1e-3] * 3)
    keeper.go_on(record, [made_batch([1e-3] * 3)], 0.0)
    with Store.open(tmp_path / "first.sqlite") as first:
        keeper.write(first, CHUNK_S)
    with Store.open(tmp_path / "second.sqlite") as second:
        more = made_batch([2e-3] * 3, 10**9)
        record.add(more)
        keeper.go_on(record, [more], CHUNK_S)
        keeper.write(second, 2 * CHUNK_S)
        keeper.end(record, 3 * CHUNK_S)
        keeper.write(second, 3 * CHUNK_S)
        assert second.get(record.id).samples_s == [1e-3] * 3 + [2e-3] * 3


def test_runs_that_no_store_takes_are_found_again_by_the_next_window(tmp_path: Path) -> None:
    keeper, record = Keeper(), made_record([1e-3, 3e-3])
    keeper.go_on(record, [], 0.0)
    keeper.end(numbered_run(5), 0.0)
    keeper.end_all(0.0)
    folder = tmp_path / "unsaved"
    assert keeper.rescue(folder) == 2
    (folder / "broken.json").write_text("{")
    with Store.open(tmp_path / "history.sqlite") as store:
        assert take_in(store, folder) == 2
        assert store.get(record.id).samples_s == [1e-3, 3e-3]
        assert store.get(numbered_run(5).id) == numbered_run(5)
    assert [path.name for path in folder.iterdir()] == ["broken.json"]


def test_runs_found_again_have_all_that_the_history_keeps_and_their_group(tmp_path: Path) -> None:
    run = numbered_run(5)
    whose = msgspec.structs.replace(
        run.environment, kernels="/home/ada/kernels", engine="/home/ada/env/bin/python",
        machine="bench", person="ada",
    )  # fmt: skip
    run = msgspec.structs.replace(run, environment=whose)
    earlier, elsewhere = numbered_run(6), numbered_run(7)
    keeper, folder = Keeper(), tmp_path / "unsaved"
    with Store.open(tmp_path / "history.sqlite") as store:
        group = store.begin_group("sweep", {})
        keeper.end(run, 0.0, group=group)
        keeper.end(elsewhere, 0.0, group="of another store")
        keeper.rescue(folder)
        write_json(earlier, folder / f"{earlier.id}.json")
        assert take_in(store, folder) == 3
        assert store.get(run.id) == run
        assert store.row(run.id).group == group
        assert store.get(earlier.id) == earlier and store.row(earlier.id).group is None
        assert store.get(elsewhere.id) == elsewhere and store.row(elsewhere.id).group is None
        assert b'"group"' not in store.json(run.id)


def test_messages_of_samples_are_joined_in_order() -> None:
    plain = made_batch([1.0, 2.0])
    repeated = SampleBatch(
        seconds=np.array([3.0], "<f8").tobytes(), counts=(1,), starts_ns=(7,), launches=(5,),
        clocks_Hz=(2e9,), phases_s=((1, 2, 3, 4, 5),),
    )  # fmt: skip
    # As an earlier version stored it, and now.
    for kept in (repeated, unpacked(packed([plain, repeated]))):
        assert msgspec.json.decode(msgspec.json.encode(kept), type=SampleBatch) == kept
    both = unpacked(packed([plain, repeated]))
    assert both.durations_s.tolist() == [1.0, 2.0, 3.0]
    assert list(both.counts) == [2, 1]
    assert list(both.starts_ns) == [0, 7]
    assert list(both.launches) == [1, 5]
    assert list(both.clocks_Hz) == [None, 2e9]
    assert both.phases.tolist() == [[1, 2, 3, 4, 5]]
    assert packed([both, both]).phases.tolist() == 2 * [[1, 2, 3, 4, 5]]
    assert not unpacked(packed([plain, plain])).launches
