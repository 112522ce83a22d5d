"""Runs that are going: their samples are kept as they come, and after their program is gone."""

from __future__ import annotations

import struct
import subprocess
import sys
import time

import numpy as np
import pytest

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.history import processes
from gpuexplorer.history.errors import StoreDamaged
from gpuexplorer.history.model import INTERRUPTED
from gpuexplorer.history.sql import live
from gpuexplorer.history.store import Query, Store
from tests.history.conftest import made_run
from tests.support.prepared import prepared


def batch(values: list[float], start_ns: int = 0) -> SampleBatch:
    return SampleBatch(
        seconds=np.array(values, "<f8").tobytes(),
        counts=(len(values) // 2, len(values) - len(values) // 2),
        starts_ns=(start_ns, start_ns + 1_000_000),
    )


def test_a_run_grows_and_is_finished(store: Store) -> None:
    record = RunRecord(prepared())
    store.begin(record)
    (row,) = store.find()
    assert (row.id, row.running, row.median_s, row.samples) == (record.id, True, None, 0)
    with pytest.raises(InputError, match="no samples yet"):
        store.get(record.id)
    for start in range(3):
        said = batch([1e-3 * (1 + i + 8 * start) for i in range(8)], start * 10**9)
        record.add(said)
        store.append(record.id, said)
    so_far = store.get(record.id)
    assert so_far.samples_s == record.samples_s().tolist()
    assert so_far.batches == record.result().batches
    assert so_far.timing.stopped_by == "running"
    assert store.find()[0].samples == 24
    with pytest.raises(InputError, match="not finished"):
        store.json(record.id)
    record.end("time")
    store.finish(record.result())
    assert store.get(record.id) == record.result()
    (row,) = store.find()
    assert (row.running, row.stopped_by, row.samples) == (False, "time", 24)
    with pytest.raises(InputError, match="finished"):
        store.append(record.id, batch([1.0, 2.0]))
    assert store.get(record.id) == record.result()


def test_the_finished_document_decides_what_the_samples_are(store: Store) -> None:
    record = RunRecord(prepared())
    store.begin(record)
    store.append(record.id, np.arange(1.0, 9.0))
    record.add(batch([5.0, 6.0, 7.0, 8.0]))
    record.end("time")
    store.finish(record.result())
    assert store.get(record.id).samples_s == [5.0, 6.0, 7.0, 8.0]


def test_what_is_said_of_a_run_while_it_goes_stays(store: Store) -> None:
    record = RunRecord(prepared())
    group = store.begin_group("sweep", {})
    store.begin(record, group=group)
    store.tag(record.id, "early")
    store.star(record.id)
    assert store.delete(record.id).runs == 0  # it is going
    assert store.finished_keys(group) == set()
    record.add(batch([1.0, 2.0]))
    store.finish(record.result())
    row = store.row(record.id)
    assert (row.tags, row.starred, row.group) == (("early",), True, group)
    assert store.count(Query(text="early")) == 1
    assert store.finished_keys(group) == {prepared().config.key}


def test_of_bare_numbers_no_times_are_made_up(store: Store) -> None:
    record = RunRecord(prepared())
    store.begin(record)
    store.append(record.id, np.array([1.0, 2.0]))
    store.append(record.id, np.array([3.0]))
    assert store.get(record.id).samples_s == [1.0, 2.0, 3.0]
    assert store.get(record.id).batches == []


def test_a_run_that_was_never_begun_is_finished_all_the_same(store: Store) -> None:
    store.finish(made_run(1))
    assert store.get(made_run(1).id) == made_run(1)


def test_samples_for_a_run_that_is_not_there_are_refused(store: Store) -> None:
    with pytest.raises(InputError, match="no run"):
        store.append("nobody", np.ones(3))


def left_behind(store_url: str, monkeypatch: pytest.MonkeyPatch, *batches: SampleBatch) -> str:
    """Leave a run in a store as a process that is gone would."""
    gone = " ".join(["999999999", *processes.this_process().split(" ")[1:]])
    with monkeypatch.context() as patch:
        patch.setattr(live, "this_process", lambda: gone)
        with Store.open(store_url) as store:
            record = RunRecord(prepared())
            store.begin(record)
            for said in batches:
                store.append(record.id, said)
    return record.id


def test_a_run_whose_program_is_gone_is_finished_with_what_it_had(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = [1e-3 * (1 + i) for i in range(10)]
    run_id = left_behind(store_url, monkeypatch, batch(values[:4]), batch(values[4:], 10**9))
    with Store.open(store_url) as store:
        result = store.get(run_id)
        (row,) = store.find()
    assert struct.pack("<10d", *result.samples_s) == struct.pack("<10d", *values)
    assert result.timing.stopped_by == row.stopped_by == INTERRUPTED
    assert result.config == prepared().config
    assert (row.running, row.median_s) == (False, result.timing.median_s)


def test_a_run_whose_program_was_gone_before_its_first_sample_leaves_nothing(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_behind(store_url, monkeypatch)
    with Store.open(store_url) as store:
        assert store.count() == 0


def test_a_run_of_a_program_that_still_goes_is_left_alone(store_url: str) -> None:
    with Store.open(store_url) as first:
        record = RunRecord(prepared())
        first.begin(record)
        first.append(record.id, batch([1.0, 2.0]))
        with Store.open(store_url) as second:
            assert second.find()[0].running
        first.append(record.id, batch([3.0, 4.0]))
        assert first.get(record.id).samples_s == [1.0, 2.0, 3.0, 4.0]


def test_a_run_on_another_machine_is_left_alone(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("socket.gethostname", lambda: "elsewhere")
        run_id = left_behind(store_url, monkeypatch, batch([1.0, 2.0]))
    with Store.open(store_url) as store:
        assert store.row(run_id).running


def test_a_run_that_was_wrongly_taken_for_interrupted_gets_its_end(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(live, "is_running", lambda process: False)
        with Store.open(store_url) as store:
            record = RunRecord(prepared())
            store.begin(record)
            record.add(batch([1.0, 2.0]))
            store.append(record.id, batch([1.0, 2.0]))
            with Store.open(store_url) as other:
                assert other.row(record.id).stopped_by == INTERRUPTED
            record.add(batch([3.0, 4.0]))
            with pytest.raises(InputError, match="finished"):
                store.append(record.id, batch([3.0, 4.0]))
            record.end("time")
            store.finish(record.result())
            assert store.get(record.id) == record.result()
            store.finish(made_run(1, id=record.id))  # now it is what it is
            assert store.get(record.id) == record.result()


def test_a_process_is_told_from_others_before_it_after_it_and_in_other_containers() -> None:
    number, boot, view, started = processes.this_process().split(" ")
    assert processes.is_running(f"{number} {boot} {view} {started}")
    assert not processes.is_running(f"{number} {boot} {view} 1")
    assert not processes.is_running(f"999999999 {boot} {view} {started}")
    assert not processes.is_running(f"{number} another-boot {view} {started}")
    assert processes.is_running(f"999999999 {boot} another-container {started}")
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    while processes.started(child.pid) is not None:  # ended, and not yet waited for
        time.sleep(0.01)
    child.wait()


def test_what_cannot_be_finished_keeps_nobody_from_the_rest(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as a run of another version, whose engine said other things of it."""
    with monkeypatch.context() as patch:
        patch.setattr(live, "encode_prepared", lambda prepared: b'{"type": "Newer"}')
        run_id = left_behind(store_url, monkeypatch, batch([1.0, 2.0]))
    other = left_behind(store_url, monkeypatch, batch([3.0, 4.0]))
    with Store.open(store_url) as store:
        assert store.row(run_id).running
        with pytest.raises(StoreDamaged):
            store.get(run_id)
        assert store.get(other).samples_s == [3.0, 4.0]
