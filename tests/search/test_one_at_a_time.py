"""Two programs do not measure one sweep at once; what one leaves, the next goes on with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.history.holder import Holder, holder_of
from gpuexplorer.history.store import Query, Store
from gpuexplorer.search import keeping
from gpuexplorer.search.keeping import SweepHeld
from gpuexplorer.search.measuring import Measuring
from gpuexplorer.search.space import Axis, Space
from gpuexplorer.search.space_sweep import SpaceSweep
from gpuexplorer.workloads.loader import load
from tests.search.engine import MadeEngine
from tests.support.problems import device

DEVICES = DeviceList(devices=(device("opencl:0", threads=1),))
SPACE = Space(RunRequest(workload="matmul", device="cpu"), (Axis("block.x", (1, 2, 4, 8)),))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "history.sqlite") as opened:
        yield opened


def made_sweep(store: Store, **options: Any) -> SpaceSweep:
    return SpaceSweep(SPACE, load()["matmul"], DEVICES, Measuring(5), store=store, **options)


def ended_early(store: Store, after: int) -> SpaceSweep:
    """Return a sweep that was stopped after so many configurations."""
    left = [after]

    def launch_s(config: RunConfig) -> float:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return 1e-3

    made = made_sweep(store)
    with pytest.raises(KeyboardInterrupt):
        made.run(MadeEngine(launch_s))
    return made


def test_a_sweep_that_is_being_measured_is_not_resumed_by_another(store: Store) -> None:
    caught: list[SweepHeld] = []

    def launch_s(config: RunConfig) -> float:
        if not caught:
            with pytest.raises(SweepHeld, match=r"measured by process \d+ on .+, since") as held:
                made_sweep(store, resume=True).run(MadeEngine())
            caught.append(held.value)
        return 1e-3

    one = made_sweep(store)
    one.run(MadeEngine(launch_s))
    assert "begin a new sweep" in caught[0].remedy
    assert store.count(Query(group=one.group)) == 4
    (group,) = store.groups("sweep")
    assert group.finished and holder_of(group.document) is None


def test_a_new_sweep_of_the_same_is_nobodys(store: Store) -> None:
    first = made_sweep(store)
    first.begin()
    second = made_sweep(store)
    second.run(MadeEngine())
    assert second.group != first.group and not second.waiting


def test_what_was_done_since_it_was_looked_at_is_not_measured_again(store: Store) -> None:
    def fails_at_4(config: RunConfig) -> float:
        if config.block is not None and config.block[0] == 4:
            raise WorkFailed("it hangs")
        return 1e-3

    ended_early(store, 1)
    late = made_sweep(store, resume=True)
    assert (late.resumed, late.waiting) == (1, 3)
    between = made_sweep(store, resume=True)
    between.run(MadeEngine(fails_at_4))
    engine = MadeEngine()
    document = late.run(engine)
    assert engine.asked == [] and late.waiting == 0
    assert (late.resumed, late.sweep.done) == (4, 4)
    assert {run.id for run in document.measured} == {run.id for run in between.document().measured}


def test_who_lost_the_sweep_to_another_leaves_it_to_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a laptop that slept for longer than one waits for a sign of it."""
    monkeypatch.setattr(keeping, "SIGN_EVERY_S", 0.0)
    other = msgspec.structs.replace(Holder.here(), host="another-machine")

    def launch_s(config: RunConfig) -> float:
        (group,) = store.groups("sweep")
        if holder_of(group.document) != other:
            store.change_group(group.id, document={**group.document, "holder": other})
        return 1e-3

    one = made_sweep(store)
    one.run(MadeEngine(launch_s))
    (group,) = store.groups("sweep")
    assert holder_of(group.document) == other
    assert store.count(Query(group=one.group)) == 4
