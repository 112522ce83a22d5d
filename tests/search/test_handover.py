"""What is handed over is stored in order; beside the next launch on a GPU, before it on a CPU."""

from __future__ import annotations

import threading

import msgspec
import numpy as np
import pytest

from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.search.handover import Handover
from tests.support.prepared import prepared

SAMPLES = SampleBatch(seconds=np.full(3, 1e-3).tobytes(), counts=(3,), starts_ns=(0,))


def record(kind: str) -> RunRecord:
    device = msgspec.structs.replace(prepared().device, kind=kind)
    made = RunRecord(msgspec.structs.replace(prepared(), device=device))
    made.add(SAMPLES)
    return made


def test_on_a_cpu_it_is_done_before_the_next_launch() -> None:
    seen: list[threading.Thread] = []
    handover = Handover(lambda result: seen.append(threading.current_thread()))
    handover.put(record("cpu"))
    assert seen == [threading.current_thread()]
    handover.close()


def test_on_a_gpu_the_next_launch_does_not_wait_and_nothing_is_lost() -> None:
    goes_on, taken = threading.Event(), list[RunResult]()

    def take(result: RunResult) -> None:
        assert goes_on.wait(10)
        taken.append(result)

    handover = Handover(take)
    records = [record("gpu") for _ in range(5)]
    for one in records:
        handover.put(one)
        one.add(SAMPLES)  # what comes later is not in the document
    assert not taken
    goes_on.set()
    handover.close()
    assert [r.id for r in taken] == [r.id for r in records]
    assert {r.timing.samples for r in taken} == {3}


def test_what_goes_wrong_beside_a_launch_is_raised() -> None:
    def take(result: RunResult) -> None:
        raise WorkFailed("the disk is full")

    handover = Handover(take)
    handover.put(record("gpu"))
    with pytest.raises(WorkFailed, match="the disk is full"):
        handover.close()
    handover.close()
