"""A sweep on a real cluster over TLS: every point once, whatever dies meanwhile."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("distributed")

import gpuexplorer
from gpuexplorer.backends.cpu import cpu_hardware_id
from gpuexplorer.cluster.connection import Cluster
from gpuexplorer.cluster.place import ClusterPlace
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.hardware_id import without_machine
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.sweep import read_sweep
from gpuexplorer.core.tuning import Tuning
from gpuexplorer.engine.errors import EngineGone
from gpuexplorer.history.model import Row
from gpuexplorer.history.store import Query, Store
from gpuexplorer.search.measuring import Measuring
from gpuexplorer.search.space import Axis, Space
from gpuexplorer.search.space_sweep import SpaceSweep
from gpuexplorer.search.sweep import News, SweepStep
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.workload import Workload
from tests.support import counted_tasks
from tests.support.cli import run_cli
from tests.support.clusters import cluster_up

MATMUL = load()["matmul"]
SPACE = Space(
    RunRequest(workload="matmul", variant="naive", size={"": 16}, device="cpu"),
    (Axis("block.x", tuple(range(1, 26))), Axis("block.y", tuple(range(1, 21)))),
)
POINTS = 500
NEVER = 1000.0
"""Two workers on two busy cores disturb each other: here nobody is slow."""


class Watched(Cluster):
    """Notes which configurations were its references."""

    def __init__(self, place: ClusterPlace) -> None:
        super().__init__(place, slower_by=NEVER, tasks=counted_tasks)
        self.references: set[str] = set()

    def spread(
        self, configs: Sequence[RunConfig], workload: Workload, options: RunOptions
    ) -> Generator[News | None]:
        """Spread as ever."""
        self.references.add(str(configs[0].block))
        return super().spread(configs, workload, options)

    def kill_a_worker(self) -> None:
        """Kill one as the system does when memory is short."""
        pids = self.client.run(os.getpid)
        os.kill(sorted(pids.values())[0], signal.SIGKILL)


def sweep_on(
    cluster: Cluster, store: Store, on_step: Callable[[SweepStep], None], *, resume: bool = False
) -> SpaceSweep:
    return SpaceSweep(
        SPACE, MATMUL, cluster.devices, Measuring(samples=3), store=store, resume=resume,
        on_step=on_step,
    )  # fmt: skip


def test_workers_and_scheduler_die_and_nothing_is_measured_again_once_it_is_stored(
    tmp_path: Path,
) -> None:
    measured = tmp_path / "measured.txt"
    stored: dict[str, float] = {}
    kills = {60, 150, 240}
    references: set[str] = set()
    store = Store.open(tmp_path / "history.sqlite")
    environment = {counted_tasks.VARIABLE: str(measured)}
    with (
        cluster_up(tmp_path / "one", "--local", "2", **environment) as up,
        cluster_up(tmp_path / "two", "--local", "2", **environment) as second,
    ):
        up.wait_for("2 workers")
        with Watched(up.place) as cluster:

            def strike(step: SweepStep) -> None:
                if not step.ended:
                    return
                assert step.cell.result is not None, step.cell.skipped
                stored.setdefault(str(step.cell.result.config.block), time.time())
                if step.done in kills:
                    kills.remove(step.done)
                    cluster.kill_a_worker()
                if step.done == 330:
                    up.end(signal.SIGKILL)

            sweep = sweep_on(cluster, store, strike)
            with pytest.raises(EngineGone, match=r"scheduler at tls://.* is gone; .*--resume"):
                sweep.run(cluster)
            references |= cluster.references
            assert not kills
            assert sweep.waiting <= POINTS - 330
        second.wait_for("2 workers")
        with Watched(second.place) as cluster:
            again = sweep_on(cluster, store, strike, resume=True)
            assert again.resumed == POINTS - sweep.waiting
            document = again.run(cluster)
            references |= cluster.references
    assert len(document.measured) == POINTS
    keys = Counter(row.block_words for row in _rows(store, again.group))
    assert len(keys) == POINTS and set(keys.values()) == {1}
    store.close()
    late = {
        block
        for began, block in counted_tasks.written(measured)
        if block in stored and began > stored[block]
    }
    assert late <= references, "measured again although it was stored"


def test_terminal_and_api_measure_on_a_cluster_as_they_do_here(tmp_path: Path) -> None:
    folder, document = tmp_path / "cluster", tmp_path / "sweep.json"
    with cluster_up(folder, "--local", "1") as up:
        up.wait_for("1 worker")
        done = run_cli(
            "sweep", "matmul", "--variant", "naive", "--size", "16", "--device", "cpu",
            "--block-x", "1:4", "--block-y", "1:3", "--samples", "3", "--no-history",
            "--cluster", folder, "--slower-by", "99%", "--json", document, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "1 worker has opencl:0, " in done.stderr
        assert len(read_sweep(document.read_bytes()).measured) == 12
        made = gpuexplorer.sweep(
            "matmul", {"block.x": [1, 2, 4]}, size=16, variant="naive", device="cpu", samples=3,
            cluster=folder, slower_by=0.99,
        )  # fmt: skip
        tuned = run_cli(
            "tune", "matmul", "--variant", "naive", "--size", "16", "--device", "cpu",
            "--block-x", "1,4", "--block-y", "1,4", "--no-history", "--sampler", "grid",
            "--cluster", folder, "--slower-by", "99%", "--json", tmp_path / "tuning.json",
            cwd=tmp_path,
        )  # fmt: skip
        assert tuned.returncode == 0, tuned.stderr
        tuning = msgspec.json.decode((tmp_path / "tuning.json").read_bytes(), type=Tuning)
        again = gpuexplorer.tune(
            "matmul", block_x=[1, 4], block_y=[1, 4], size=16, variant="naive", device="cpu",
            sampler="grid", seconds=None, cluster=folder, slower_by=0.99,
        )  # fmt: skip
        check_samples_come_live(up.place)
        with Cluster(up.place) as cluster:
            kinds = {one.hardware_id for one in cluster.devices}
            assert kinds == {without_machine(cpu_hardware_id())}, "a kind, and not one machine's"
    assert {run.device.hardware_id for run in made.measured} == {cpu_hardware_id()}
    assert [run.config.block for run in made.measured] == [(1, 16, 1), (2, 16, 1), (4, 16, 1)]
    for one in (tuning, again):
        assert len({e.config.block for e in one.evaluations}) == 4
        assert one.chosen is not None and len(one.cards) == 1


def test_a_worker_that_does_not_answer_keeps_no_search_from_the_others(tmp_path: Path) -> None:
    """A workload was brought to all of them at a time, which waited for every one."""
    with cluster_up(tmp_path / "cluster", "--local", "2") as up:
        up.wait_for("2 workers")
        with Cluster(up.place, slower_by=NEVER) as cluster:
            _, other = cluster.workers
            pid = cluster.client.run(os.getpid)[other.address]
            device = next(one.id for one in cluster.devices if one.runs_kernels)
            request = RunRequest(workload="matmul", variant="naive", size={"": 16}, device=device)
            config = complete(request, MATMUL, cluster.devices)
            cluster.most = 1
            os.kill(pid, signal.SIGSTOP)
            try:
                news = list(cluster.spread([config], MATMUL, Measuring(samples=3)))
            finally:
                os.kill(pid, signal.SIGCONT)
    assert len([one for one in news if one is not None and one.result is not None]) == 1


def check_samples_come_live(place: ClusterPlace) -> None:
    """What a run samples is told while it goes on, and only to whoever wants to know."""
    told: list[int] = []
    with Cluster(place) as cluster:
        (lane,), (device,) = cluster.workers, [d.id for d in cluster.devices if d.runs_kernels]
        request = RunRequest(workload="matmul", variant="naive", size={"": 16}, device=device)
        config = complete(request, MATMUL, cluster.devices)
        assert cluster.tell_every_s is None
        cluster.on_live = lambda: told.append(lane.now.samples if lane.now is not None else 0)
        list(cluster.spread([config], MATMUL, RunOptions(seconds=1.5)))
        assert lane.now is None
    assert told and min(told) > 0


def _rows(store: Store, group: str | None) -> list[Row]:
    assert group is not None
    found: list[Row] = []
    while rows := store.find(Query(group=group), offset=len(found), limit=200):
        found += rows
    return found
