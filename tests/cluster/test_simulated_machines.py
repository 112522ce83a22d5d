"""Machines of different hardware stay apart, a slow one is found out, and one that comes helps."""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("distributed")

from gpuexplorer.cluster import spreading
from gpuexplorer.cluster.agenda import Lane
from gpuexplorer.cluster.connection import Cluster
from gpuexplorer.cluster.library import load_distributed
from gpuexplorer.cluster.paces import Paces
from gpuexplorer.cluster.place import ClusterPlace
from gpuexplorer.cluster.spreading import Spreading
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import CannotRunHere, WorkFailed
from gpuexplorer.core.tuning import Budget
from gpuexplorer.engine.errors import EngineGone
from gpuexplorer.history.store import Query, Store
from gpuexplorer.search.measuring import Measuring
from gpuexplorer.search.space import Axis, Space
from gpuexplorer.search.space_sweep import SpaceSweep
from gpuexplorer.search.tune import Tuner, TuningOptions
from gpuexplorer.search.tune_keep import TuningKeeper, find_tuned
from gpuexplorer.search.tune_space import Ranges, TuningSpace, tuning_space
from gpuexplorer.workloads.loader import load
from tests.support import simulated_tasks
from tests.support.detached_jobs import until
from tests.support.problems import device
from tests.support.simulated_machines import landscape
from tests.support.simulated_tasks import LAUNCH_S, MACHINES, TIMES, Machine

MATMUL = load()["matmul"]
BLOCKS = (Axis("block.x", tuple(range(1, 21))), Axis("block.y", tuple(range(1, 11))))
POINTS = 200


def space(*devices: str) -> Space:
    base = RunRequest(workload="matmul", variant="naive", size={"": 64})
    return Space(base, (*((Axis("device", devices),) if devices else ()), *BLOCKS))


@pytest.fixture
def workers() -> Iterator[Any]:
    """Workers in this process; ``MACHINES`` says how many, and what each is like."""
    MACHINES.clear()
    TIMES.clear()
    library = load_distributed()
    with library.LocalCluster(
        n_workers=0, threads_per_worker=1, processes=False, resources={"GPU": 1},
        dashboard_address="127.0.0.1:0",
    ) as launched:  # fmt: skip
        yield launched


def simulated(launched: Any, **options: Any) -> Cluster:
    """Start a worker for each machine, and connect."""
    launched.scale(len(MACHINES))
    launched.wait_for_workers(len(MACHINES))
    place = ClusterPlace(scheduler=launched.scheduler_address)
    return Cluster(place, tasks=simulated_tasks, **options)


def test_what_a_throttled_worker_measured_is_dropped_and_measured_again_by_another(
    workers: Any, tmp_path: Path
) -> None:
    MACHINES[0], MACHINES[1] = Machine(), Machine(slower=lambda done: 1.0 if done < 30 else 1.4)
    said: list[str] = []
    store = Store.open(tmp_path / "history.sqlite")
    with simulated(workers, check_every_s=0.2, on_trouble=said.append) as cluster:
        sweep = SpaceSweep(space(), MATMUL, cluster.devices, Measuring(samples=5), store=store)
        document = sweep.run(cluster)
    assert MACHINES[1].done > 30
    assert [sentence for sentence in said if "machine 1" in sentence and "is slow" in sentence]
    assert len(document.measured) == POINTS
    assert {run.timing.median_s for run in document.measured} == {LAUNCH_S}
    rows = store.find(Query(group=sweep.group), limit=2 * POINTS)
    assert len({row.block_words for row in rows}) == len(rows) == POINTS
    assert {row.median_s for row in rows} == {LAUNCH_S}
    by_machine = [store.count(Query(machine=f"machine-{n}", person="ada")) for n in (0, 1)]
    assert sum(by_machine) == POINTS and min(by_machine) > 0
    store.close()


def test_what_a_worker_measured_last_is_proven_before_the_sweep_ends(workers: Any) -> None:
    MACHINES.update({0: Machine(), 1: Machine(slower=lambda done: 1.0 if done < 30 else 1.4)})
    with simulated(workers) as cluster:  # the next look would come in three minutes
        sweep = SpaceSweep(space(), MATMUL, cluster.devices, Measuring(samples=5))
        document = sweep.run(cluster)
    assert MACHINES[1].done > 30
    assert len(document.measured) == POINTS
    assert {run.timing.median_s for run in document.measured} == {LAUNCH_S}


def test_a_worker_that_is_slow_from_the_start_measures_nothing_that_counts(workers: Any) -> None:
    MACHINES.update({0: Machine(), 1: Machine(slower=lambda done: 1.3), 2: Machine()})
    said: list[str] = []
    with simulated(workers, on_trouble=said.append) as cluster:
        sweep = SpaceSweep(space(), MATMUL, cluster.devices, Measuring(samples=5))
        document = sweep.run(cluster)
    assert {run.timing.median_s for run in document.measured} == {LAUNCH_S}
    assert {run.device.hardware_id for run in document.measured} == {"GPU-Card A-0", "GPU-Card A-2"}
    assert len(said) == 1 and "machine 1" in said[0]


def test_a_search_ends_though_the_only_worker_for_a_device_has_become_slow_for_good(
    workers: Any,
) -> None:
    MACHINES.update({0: Machine(slower=lambda done: 1.0 if done < 30 else 1.4)})
    MACHINES[1] = Machine(card="Card B")
    said: list[str] = []
    with simulated(workers, check_every_s=0.2, on_trouble=said.append) as cluster:
        both = space("cuda:0", "cuda:1")
        document = SpaceSweep(both, MATMUL, cluster.devices, Measuring(samples=5)).run(cluster)
        assert len(document.measured) == 2 * POINTS
        assert said[-1].startswith(
            "every worker with cuda:0 has become slow: the reference takes 1.40 ms, where 1.00 ms"
        )

        MACHINES[0].done = 0
        TIMES["Card A"] = landscape
        tuned = tuned_space(cluster.devices)
        options = TuningOptions(sampler="grid", budget=Budget())
        tuning = Tuner(cluster, MATMUL, tuned, options).run()
    assert tuning.best is not None
    assert tuning.best.key == min(tuned.legal.values(), key=landscape).key
    assert len([one for one in said if one.startswith("every worker with cuda:0")]) == 2


class _Nobody:
    """A search that has something left and gives it to nobody; all else of it is the agenda's."""

    records, proves, waiting, devices = False, False, 1, frozenset({"cuda:0"})

    def room(self, lanes: int) -> int:
        return 1

    def take(self, lane: Any) -> None:
        return None


def test_a_search_whose_workers_take_nothing_ends_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spreading, "LOOK_S", 0.01)
    monkeypatch.setattr(spreading, "POLL_S", 0.01)
    lane = Lane("a", "one", {"cuda:0": device("cuda:0")})
    cluster = SimpleNamespace(workers=[lane], lanes=1, look=lambda: ([], []))
    going = Spreading(cluster, _Nobody(), "", Measuring(), "", queue.SimpleQueue(), Paces([]), {})  # type: ignore[arg-type]
    with pytest.raises(WorkFailed, match="no worker of the cluster takes what is left"):
        list(itertools.islice(going.news(), 1000))


def test_other_hardware_is_not_used_unless_asked_for_and_each_run_says_what_measured_it(
    workers: Any,
) -> None:
    MACHINES.update({0: Machine(card="Card B"), 1: Machine(), 2: Machine()})
    with simulated(workers) as cluster:
        assert [one.name for one in cluster.devices] == ["Card A", "Card B"]
        assert cluster.words() == [
            "2 workers have cuda:0, Card A", "1 worker has cuda:1, Card B",
        ]  # fmt: skip
        one = SpaceSweep(space(), MATMUL, cluster.devices, Measuring(samples=5)).run(cluster)
        assert {run.device.name for run in one.measured} == {"Card A"}
        both = SpaceSweep(
            space("cuda:0", "cuda:1"), MATMUL, cluster.devices, Measuring(samples=5)
        ).run(cluster)
    assert len(both.measured) == 2 * POINTS
    for entry in both.runs:
        assert entry.run is not None
        card = {"cuda:0": "Card A", "cuda:1": "Card B"}[entry.values["device"]]
        assert (entry.run.device.name, entry.run.config.device) == (card, entry.values["device"])


def test_a_worker_that_comes_later_helps_and_one_that_breaks_is_left_out(workers: Any) -> None:
    MACHINES[0] = Machine(breaks_after=40)
    said: list[str] = []
    with simulated(workers, on_trouble=said.append) as cluster:
        sweep = SpaceSweep(space(), MATMUL, cluster.devices, Measuring(samples=5))
        MACHINES[1] = Machine()
        threading.Thread(target=lambda: workers.scale(2)).start()
        document = sweep.run(cluster)
    cards = {run.device.hardware_id for run in document.measured}
    assert cards == {"GPU-Card A-0", "GPU-Card A-1"}
    assert len(document.measured) == POINTS
    assert [sentence for sentence in said if "machine 0 cannot measure any more" in sentence]


def test_a_search_ends_when_nobody_is_left_for_its_device_and_a_later_one_is_not_disturbed(
    workers: Any,
) -> None:
    MACHINES.update({0: Machine(breaks_after=30), 1: Machine(card="Card B")})
    with simulated(workers) as cluster:
        cluster.alone_s = 0.5
        sweep = SpaceSweep(space("cuda:0", "cuda:1"), MATMUL, cluster.devices, Measuring(samples=5))
        with pytest.raises(EngineGone, match="no worker for what is left"):
            sweep.run(cluster)
        assert sweep.waiting == sum(cell.waiting for cell in sweep.cells) > 0
        measured = {cell.point.values["device"] for cell in sweep.cells if cell.result is not None}
        assert measured == {"cuda:0", "cuda:1"}
        again = SpaceSweep(space("cuda:1"), MATMUL, cluster.devices, Measuring(samples=5))
        assert len(again.run(cluster).measured) == POINTS


def test_the_scheduler_keeps_few_results_and_none_of_who_has_left(workers: Any) -> None:
    """It kept the last hundred of every search, for good."""
    MACHINES.update({0: Machine(), 1: Machine()})

    def kept() -> int:
        events = looking.get_events()
        return sum(isinstance(one, bytes) for topic in events.values() for _, one in topic)

    with workers.get_client() as looking:
        with simulated(workers) as cluster:
            for _ in range(2):
                sweep = SpaceSweep(space(), MATMUL, cluster.devices, Measuring(samples=5))
                assert len(sweep.run(cluster).measured) == POINTS
            assert 0 < kept() <= 100
        until(lambda: not kept(), kept)


def test_workers_without_the_resource_are_told(workers: Any) -> None:
    MACHINES[0] = Machine()
    workers.new_spec["options"]["resources"] = {}
    with pytest.raises(CannotRunHere, match="see that each has the resource GPU=1"):
        simulated(workers, describe_s=1.0)


def test_a_worker_of_another_version_is_not_used_and_told_what_to_install(workers: Any) -> None:
    MACHINES.update({0: Machine(), 1: Machine(version="0.0.1")})
    said: list[str] = []
    with simulated(workers, on_trouble=said.append) as cluster:
        assert cluster.lanes == 1
    assert len(said) == 1 and "machine 1 has GPU Explorer 0.0.1 and is not used" in said[0]


def tuned_space(devices: DeviceList) -> TuningSpace:
    powers = (1, 2, 4, 8, 16, 32)
    ranges = Ranges({"block.x": powers, "block.y": powers}, {"TILE": (4, 8, 16, 32)})
    request = RunRequest(workload="matmul", variant="tiled", size={"": 64})
    return tuning_space(request, MATMUL, devices, ranges)


def test_a_tuning_is_raced_on_one_kind_of_hardware_and_kept_for_each_of_its_cards(
    workers: Any, tmp_path: Path
) -> None:
    MACHINES.update({0: Machine(), 1: Machine(card="Card B"), 2: Machine()})
    TIMES.update({"Card A": landscape, "Card B": lambda config: 1e-6})
    options = TuningOptions(sampler="grid", budget=Budget())
    with simulated(workers) as cluster, Store.open(tmp_path / "history.sqlite") as store:
        space = tuned_space(cluster.devices)
        keeper = TuningKeeper(store, lambda error: pytest.fail(str(error)))
        tuning = keeper.run(Tuner(cluster, MATMUL, space, options))
        assert tuning.best is not None and tuning.device is not None
        assert tuning.best.key == min(space.legal.values(), key=landscape).key
        assert tuning.cards == ("GPU-Card A-0", "GPU-Card A-2")
        assert tuning.device.name == "Card A"
        assert MACHINES[1].done == 0
        for card in tuning.cards:
            own = device("cuda:0", kind="gpu", name="Card A", hardware_id=card)
            entry = find_tuned(store, tuning.best, MATMUL, own)
            assert entry is not None and entry.config == tuning.chosen
        rows = store.find(Query(), limit=500)
        final = [row for row in rows if row.id in {f.run for f in tuning.finalists}]
        assert len(final) == len(tuning.finalists)


def test_a_throttled_worker_misleads_no_race(workers: Any) -> None:
    MACHINES.update({0: Machine(), 1: Machine(slower=lambda done: 1.0 if done < 20 else 1.5)})
    TIMES["Card A"] = landscape
    said: list[str] = []
    options = TuningOptions(sampler="grid", budget=Budget())
    with simulated(workers, check_every_s=0.1, on_trouble=said.append) as cluster:
        space = tuned_space(cluster.devices)
        tuning = Tuner(cluster, MATMUL, space, options).run()
    assert tuning.best is not None
    assert tuning.best.key == min(space.legal.values(), key=landscape).key
    assert [sentence for sentence in said if "machine 1" in sentence and "is slow" in sentence]
    fastest_s = {e.config.key: e.min_s for e in tuning.evaluations}  # the last word on each
    right = [key for key, s in fastest_s.items() if s == landscape(_config(space, key))]
    assert len(right) == len(space.legal)


def test_a_worker_that_breaks_in_a_tuning_leaves_its_looks_to_the_others(workers: Any) -> None:
    MACHINES.update({0: Machine(), 1: Machine(breaks_after=25), 2: Machine(breaks_after=120)})
    TIMES["Card A"] = landscape
    options = TuningOptions(sampler="grid", budget=Budget())
    with simulated(workers) as cluster:
        space = tuned_space(cluster.devices)
        tuning = Tuner(cluster, MATMUL, space, options).run()
    assert tuning.count("failed") == 0
    assert tuning.best is not None
    assert tuning.best.key == min(space.legal.values(), key=landscape).key


def _config(space: TuningSpace, key: str) -> RunConfig:
    return next(config for config in space.legal.values() if config.key == key)
