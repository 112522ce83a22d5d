"""A tuning in the store: its runs, its document, and what was found, for whoever asks later."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError, WorkFailed
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.tuning import Budget, Tuning
from gpuexplorer.history import keeping
from gpuexplorer.history.errors import StoreFull
from gpuexplorer.history.store import Query, Store
from gpuexplorer.search.tune import Tuner, TuningOptions
from gpuexplorer.search.tune_keep import (
    TuningKeeper,
    entries_of,
    find_tuned,
    not_tuned,
    other_conditions,
    with_tuned,
)
from gpuexplorer.search.tune_space import Ranges, tuning_space
from gpuexplorer.workloads.loader import load
from tests.support.prepared import prepared
from tests.support.problems import device
from tests.support.simulated import SimulatedMachine

MATMUL = load()["matmul"]
CPU = device(threads=1, hardware_id=prepared().device.hardware_id)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "history.sqlite") as opened:
        yield opened


def tuned(keeper: TuningKeeper | None = None) -> tuple[Tuning, list[RunResult]]:
    """Tune a simulated machine on which wide blocks are fast, and keep it."""
    request = RunRequest(workload="matmul", variant="naive", size={"N": 64})
    ranges = Ranges({"block.x": (4, 16, 64), "block.y": (1, 16)}, {})
    space = tuning_space(request, MATMUL, DeviceList(devices=(CPU,)), ranges)
    machine = SimulatedMachine(lambda config: 1e-2 / (config.block or (1,))[0])
    made = Tuner(machine, MATMUL, space, TuningOptions(budget=Budget()), clock=machine.clock)
    results: list[RunResult] = []

    def keep(result: RunResult) -> None:
        results.append(result)
        if keeper is not None:
            keeper.keep(result)

    made.on_result = keep
    if keeper is not None:
        keeper.begin(made.so_far())
    tuning = made.run()
    if keeper is not None:
        assert keeper.finish(tuning)
    return tuning, results


def no_trouble(error: ExplorerError) -> None:
    raise AssertionError(str(error))


def asked(**changes: object) -> RunConfig:
    config = msgspec.structs.replace(
        prepared().config, size={"N": 64}, block=(16, 16, 1), grid=None
    )
    return msgspec.structs.replace(config, **changes)


def test_every_run_and_the_document_are_kept(store: Store) -> None:
    tuning, results = tuned(TuningKeeper(store, no_trouble))
    (group,) = store.groups("tuning")
    assert group.finished
    assert msgspec.convert(group.document, Tuning) == tuning
    kept = {row.id for row in store.find(Query(group=group.id), limit=1000)}
    assert kept == {result.id for result in results}


def test_what_was_found_is_used_for_the_same_problem(store: Store) -> None:
    tuning, _ = tuned(TuningKeeper(store, no_trouble))
    entry = find_tuned(store, asked(), MATMUL, CPU)
    assert entry is not None
    assert entry.config == tuning.chosen
    assert entry.config.block is not None and entry.config.block[0] == 64
    assert with_tuned(asked(), entry).block == entry.config.block
    assert entry.run_id in {f.run for f in tuning.finalists}
    assert {c.key for c in entry.ties} == {
        f.config.key for f in tuning.tied if f.config != tuning.chosen
    }


@pytest.mark.parametrize(
    "changes", [{"size": {"N": 65}}, {"precision": "fp64"}, {"variant": "tiled"}]
)
def test_nothing_is_found_for_another_problem(store: Store, changes: dict[str, object]) -> None:
    tuned(TuningKeeper(store, no_trouble))
    assert find_tuned(store, asked(**changes), MATMUL, CPU) is None


def test_nothing_is_found_on_other_hardware_or_for_other_sources(store: Store) -> None:
    tuned(TuningKeeper(store, no_trouble))
    assert find_tuned(store, asked(), MATMUL, device(hardware_id="GPU-2")) is None
    source = MATMUL.source
    edited = type(MATMUL)(
        msgspec.structs.replace(source, files={n: t + "\n" for n, t in source.files.items()})
    )
    assert find_tuned(store, asked(), edited, CPU) is None


def test_the_error_says_the_command_that_tunes() -> None:
    error = not_tuned(asked(), CPU, "gpuexplorer tune matmul")
    assert "nothing is tuned for matmul/naive with N=64 in fp32" in str(error)
    assert error.remedy == "tune it first: gpuexplorer tune matmul"
    assert error.exit_code == 2


def test_other_conditions_are_told_apart(store: Store) -> None:
    tuned(TuningKeeper(store, no_trouble))
    entry = find_tuned(store, asked(), MATMUL, CPU)
    assert entry is not None
    assert other_conditions(asked(), entry) == []
    assert other_conditions(asked(threads=4, cache="cold"), entry) == [
        "1 CPU threads, not 4",
        "hot caches, not cold",
    ]


def test_a_tuning_that_named_nothing_is_no_entry() -> None:
    tuning, _ = tuned()
    assert len(entries_of(tuning)) == 1
    assert entries_of(msgspec.structs.replace(tuning, chosen=None)) == []


def test_a_store_that_fails_is_told_once_and_loses_no_measurement(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise WorkFailed("the disk is full")

    troubles: list[ExplorerError] = []
    keeper = TuningKeeper(store, troubles.append)
    for name in ("add_group", "save_tuned"):
        monkeypatch.setattr(Store, name, fail)
    tuning, results = tuned()
    keeper.begin(tuning)
    for result in results:
        keeper.keep(result)
    assert not keeper.finish(tuning)
    assert [str(e) for e in troubles] == ["the disk is full"]


def test_what_a_store_refuses_for_a_while_is_kept_in_the_end(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    true_add, told = store.add_group, list[ExplorerError]()

    def refuse_two(*arguments: Any, **options: Any) -> str:
        tries.append(len(tries))
        if len(tries) <= 2:
            raise StoreFull("the disk is full")
        return true_add(*arguments, **options)

    tries: list[int] = []
    monkeypatch.setattr(store, "add_group", refuse_two)
    monkeypatch.setattr(keeping, "TRY_AGAIN_S", 0.0)
    _, results = tuned(TuningKeeper(store, told.append))
    assert len(told) == 1
    (group,) = store.groups("tuning")
    kept = {row.id for row in store.find(Query(group=group.id), limit=1000)}
    assert kept == {result.id for result in results}
