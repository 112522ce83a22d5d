"""A sweep in the store: stored once, gone on with, and only with one that asked for the same."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import gpuexplorer.history.keeping
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import (
    ExplorerError,
    InputError,
    MemoryTaken,
    OutOfMemory,
    WorkFailed,
    WrongResult,
)
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sweep import Why, read_sweep, sweep_json
from gpuexplorer.engine.errors import EngineKilled
from gpuexplorer.history.store import Query, Store
from gpuexplorer.report.whole import sweep_of
from gpuexplorer.search import keeping
from gpuexplorer.search.measuring import Measuring
from gpuexplorer.search.space import Axis, Space
from gpuexplorer.search.space_sweep import SpaceSweep
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.workload import Workload
from tests.search.engine import MadeEngine
from tests.support.problems import device
from tests.support.results import made_config

MATMUL = load()["matmul"]
DEVICES = DeviceList(devices=(device("opencl:0", threads=1),))
SPACE = Space(
    RunRequest(workload="matmul", device="cpu"),
    (Axis("block.x", (1, 2, 4, 8, 16, 32)), Axis("block.y", (1, 2, 4))),
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "history.sqlite") as opened:
        yield opened


def made_sweep(store: Store | None, **options: Any) -> SpaceSweep:
    chosen = {"space": SPACE, "workload": MATMUL, "devices": DEVICES, "measuring": Measuring(5)}
    return SpaceSweep(**{**chosen, **options}, store=store)


def broken_after(count: int) -> MadeEngine:
    """Return an engine whose program is interrupted in the middle."""
    calls = 0

    def launch_s(config: RunConfig) -> float:
        nonlocal calls
        calls += 1
        if calls > count:
            raise KeyboardInterrupt
        return 1e-3

    return MadeEngine(launch_s)


def test_what_was_finished_is_not_measured_again(store: Store) -> None:
    first, engine = made_sweep(store), broken_after(7)
    with pytest.raises(KeyboardInterrupt):
        first.run(engine)
    assert store.count(Query(group=first.group)) == 7
    assert not store.groups("sweep")[0].finished

    second, rest = made_sweep(store, resume=True), MadeEngine()
    assert (second.continues, second.resumed, second.waiting) == (True, 7, 11)
    document = second.run(rest)
    measured = {c.key for c in engine.asked[:7]}
    assert not measured & {c.key for c in rest.asked}
    assert len(rest.asked) == 11
    assert second.group == first.group == document.id
    assert len(document.measured) == 18
    rows = store.find(Query(), limit=100)
    keys = [store.get(row.id).config.key for row in rows]
    assert len(keys) == len(set(keys)) == 18
    assert store.groups("sweep")[0].finished

    third = made_sweep(store, resume=True)
    assert third.waiting == 0
    assert third.run(MadeEngine()).measured == document.measured


def test_what_the_store_did_not_take_is_taken_over_and_not_measured_again(store: Store) -> None:
    first, engine = made_sweep(None), broken_after(7)
    with pytest.raises(KeyboardInterrupt):
        first.run(engine)
    second, rest = made_sweep(store, resume=True), MadeEngine()
    assert not second.continues
    second.take_over(first.cells)
    assert (second.resumed, second.waiting) == (7, 11)
    second.run(rest)
    assert len(rest.asked) == 11
    assert not {c.key for c in engine.asked[:7]} & {c.key for c in rest.asked}
    assert store.count(Query(group=second.group)) == 18
    assert store.groups("sweep")[0].finished


@pytest.mark.parametrize("count", [4, 100])
def test_a_sweep_in_the_history_is_what_it_was_however_far_it_came(
    store: Store, count: int
) -> None:
    axes = (
        Axis("variant", ("naive", "tiled")),
        Axis("tunable.TILE", (8, 16)),
        Axis("block", ((64, 64, 1), (8, 8, 1), (16, 16, 1), (16, 8, 1))),
    )
    sweep = made_sweep(store, space=Space(SPACE.base, axes))
    try:
        sweep.run(broken_after(count))
    except KeyboardInterrupt:
        assert sweep.waiting
    (group,) = store.groups("sweep")
    assert store.count(Query(group=group.id)) == min(count, 9)
    runs = [store.get(row.id) for row in store.find(Query(group=group.id), limit=100)]
    found = sweep_of([group.document], runs)
    assert found is not None
    before = sweep.document().outcomes
    assert (found.points, list(found.axes)) == (16, ["variant", "tunable.TILE", "block"])
    assert [one.id if isinstance(one, RunResult) else one for one in found.outcomes.outcomes] == [
        one.id if isinstance(one, RunResult) else one for one in before.outcomes
    ]
    at = {str(one.values): one.config for one in found.runs if one.skipped is not None}
    assert at[str({"variant": "tiled", "tunable.TILE": 16, "block": [64, 64, 1]})] == made_config(
        variant="tiled", size=runs[0].config.size, device="opencl:0", block=(64, 64, 1), grid=None,
        tunables={"TILE": 16}, threads=1,
    )  # fmt: skip


def test_a_group_without_the_reasons_of_what_cannot_run_is_continued_and_has_them_then(
    store: Store,
) -> None:
    first = made_sweep(store)
    with pytest.raises(KeyboardInterrupt):
        first.run(broken_after(3))
    (group,) = store.groups("sweep")
    older = {k: v for k, v in group.document.items() if k not in ("points", "order", "cannot")}
    assert older != group.document
    store.change_group(group.id, document=older)
    made_sweep(store, resume=True).run(MadeEngine())
    (group,) = store.groups("sweep")
    assert (group.document["points"], group.document["cannot"]) == (18, {})


def test_skipped_configurations_are_remembered_with_their_reason(store: Store) -> None:
    def launch_s(config: RunConfig) -> float:
        if config.block == (4, 2, 1):
            raise WorkFailed("the engine died (SIGSEGV)")
        return 1e-3

    made_sweep(store).run(MadeEngine(launch_s))
    again, engine = made_sweep(store, resume=True), MadeEngine()
    again.run(engine)
    assert engine.asked == []
    skipped = [c.skipped for c in again.cells if c.point.values == {"block.x": 4, "block.y": 2}]
    assert skipped == ["the engine died (SIGSEGV)"]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (EngineKilled("the engine was killed (SIGKILL), by hand"), "lost"),
        (OutOfMemory("cuda:0 ran out of memory"), "short"),
        (MemoryTaken("this size needs 2 GB of memory, and cuda:0 now has free 1 GB"), "short"),
    ],
)
def test_what_says_nothing_of_a_configuration_is_not_done_and_a_later_try_measures_it(
    store: Store, error: ExplorerError, kind: Why
) -> None:
    def launch_s(config: RunConfig) -> float:
        if config.block == (4, 2, 1):
            raise error
        if config.block == (8, 1, 1):
            raise WrongResult("the result is wrong")
        return 1e-3

    first = made_sweep(store)
    document = first.run(MadeEngine(launch_s))
    assert (first.unfinished, first.count("wrong"), first.waiting) == (1, 1, 0)
    why = {entry.why: entry.skipped for entry in document.runs if entry.skipped is not None}
    assert why[kind] == error.what
    assert read_sweep(sweep_json(document)) == document
    assert not store.groups("sweep")[0].finished

    again, engine = made_sweep(store, resume=True), MadeEngine()
    assert (again.unfinished, again.count("wrong"), again.waiting) == (0, 1, 1)
    again.run(engine)
    assert [config.block for config in engine.asked] == [(4, 2, 1)]
    assert again.group == first.group
    assert store.groups("sweep")[0].finished


@pytest.mark.parametrize(
    "other",
    [
        {"space": Space(SPACE.base, (SPACE.axes[0], Axis("block.y", (1, 2))))},
        {"space": Space(RunRequest(workload="matmul", device="cpu", seed=2), SPACE.axes)},
        {"measuring": Measuring(6)},
        {"devices": DeviceList(devices=(device("opencl:0", threads=1, driver="2"),))},
        {"devices": DeviceList(devices=(device("opencl:0", threads=1, hardware_id="cpu:B"),))},
    ],
)
def test_another_sweep_is_not_gone_on_with(store: Store, other: dict[str, Any]) -> None:
    made_sweep(store).run(MadeEngine())
    fresh = made_sweep(store, resume=True, **other)
    assert not fresh.continues
    assert fresh.waiting == sum(c.point.config is not None for c in fresh.cells)


def test_an_edited_kernel_is_another_sweep(store: Store) -> None:
    made_sweep(store).run(MadeEngine())
    source = MATMUL.source
    files = {name: text + "\n// edited\n" for name, text in source.files.items()}
    edited = Workload(type(source)(manifest=source.manifest, files=files, origin=source.origin))
    assert not made_sweep(store, resume=True, workload=edited).continues


def test_without_resume_a_new_sweep_begins(store: Store) -> None:
    made_sweep(store).run(MadeEngine())
    engine = MadeEngine()
    made_sweep(store).run(engine)
    assert len(engine.asked) == 18
    assert len(store.groups("sweep")) == 2
    assert store.count() == 36


def test_a_store_that_fails_is_said_once_and_nothing_is_lost(store: Store, tmp_path: Path) -> None:
    said: list[ExplorerError] = []
    made_sweep(store).run(MadeEngine())
    with Store.open(tmp_path / "history.sqlite", read_only=True) as read_only:
        one = made_sweep(read_only, on_trouble=said.append)
        document = one.run(MadeEngine())
    assert len(document.measured) == 18
    assert len(said) == 1


def test_what_came_before_a_long_configuration_is_stored_meanwhile(store: Store) -> None:
    calls = 0

    def launch_s(config: RunConfig) -> float:
        nonlocal calls
        calls += 1
        if calls == 3:
            _wait_for(lambda: store.count() == 2)
        return 1e-3

    made_sweep(store).run(MadeEngine(launch_s))
    assert store.count() == 18


def _wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < until
        threading.Event().wait(0.02)


def test_a_store_that_comes_back_gets_what_it_missed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[ExplorerError] = []
    add_group, refused = store.add_group, 0

    def refuses_twice(*arguments: Any, **options: Any) -> str:
        nonlocal refused
        refused += 1
        if refused <= 2:
            raise WorkFailed("the history is locked")
        return add_group(*arguments, **options)

    monkeypatch.setattr(keeping, "TOGETHER_S", 0.0)
    monkeypatch.setattr(gpuexplorer.history.keeping, "TRY_AGAIN_S", 0.0)
    monkeypatch.setattr(store, "add_group", refuses_twice)
    made_sweep(store, on_trouble=said.append).run(MadeEngine())
    assert store.count() == 18
    assert [error.what for error in said] == ["the history is locked"]


def test_a_space_of_which_nothing_can_run_is_an_error() -> None:
    nothing = Space(RunRequest(workload="matmul"), (Axis("block.x", (2048, 4096)),))
    with pytest.raises(InputError, match="none of the 2 configurations can run: block 2048×16"):
        made_sweep(None, space=nothing)


def test_a_run_that_cannot_be_read_costs_itself_and_is_measured_again(
    store: Store, tmp_path: Path
) -> None:
    first = made_sweep(store)
    first.run(MadeEngine())
    rows = store.find(Query(group=first.group), limit=100)
    lost = store.get(rows[3].id).config
    with closing(sqlite3.connect(tmp_path / "history.sqlite")) as connection, connection:
        connection.execute(
            "UPDATE gpuexplorer_documents SET data = x'00' WHERE run = "
            "(SELECT seq FROM gpuexplorer_runs WHERE id = ?)",
            (rows[3].id,),
        )
        connection.execute("UPDATE gpuexplorer_runs SET median_s = 'x' WHERE id = ?", (rows[5].id,))
    again, engine = made_sweep(store, resume=True), MadeEngine()
    assert (again.continues, again.resumed, again.waiting, again.unreadable) == (True, 17, 1, 1)
    document = again.run(engine)
    assert engine.asked == [lost]
    assert len(document.measured) == 18


def test_a_damaged_sweep_is_no_obstacle_to_another(store: Store, tmp_path: Path) -> None:
    first = made_sweep(store)
    first.run(MadeEngine())
    damaged = store.begin_group("sweep", {"axes": {}})
    with closing(sqlite3.connect(tmp_path / "history.sqlite")) as connection, connection:
        connection.execute(
            "UPDATE gpuexplorer_groups SET document = x'00' WHERE id = ?", (damaged,)
        )
    again = made_sweep(store, resume=True)
    assert again.continues and again.waiting == 0
