"""On a real GPU: equal configurations are equal, a run ends by its noise, clocks are counted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine.interleave import TurnContestant
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.workload import Workload
from tests.support.in_turns import compare_in_turns

COMPARISONS = 20
FEWEST = 16
"""An interval of 95 % holds less often than this in 0.3 % of the cases."""


@pytest.fixture(scope="module")
def session() -> Iterator[EngineSession]:
    with EngineSession() as made:
        yield made


def contestant(
    session: EngineSession, gpu: DeviceInfo, workload: Workload, variant: str, n: int
) -> TurnContestant:
    request = RunRequest(workload=workload.name, variant=variant, size={"N": n}, device=gpu.id)
    return TurnContestant(complete(request, workload, session.devices()), workload)


@pytest.mark.parametrize("size", [64, 1024])
def test_a_configuration_is_as_fast_as_itself(
    session: EngineSession, gpu: DeviceInfo, workloads: dict[str, Workload], size: int
) -> None:
    same = contestant(session, gpu, workloads["matmul"], "naive", size)
    held = 0
    for _ in range(COMPARISONS):
        comparison, _, _ = compare_in_turns(session, same, same, rounds=8, turn_s=0.02)
        assert comparison is not None
        held += comparison.ci95_low <= 1 <= comparison.ci95_high
    assert held >= FEWEST


def test_the_tiled_kernel_is_told_from_the_uncoalesced_one(
    session: EngineSession, gpu: DeviceInfo, workloads: dict[str, Workload]
) -> None:
    uncoalesced, tiled = (
        contestant(session, gpu, workloads["matmul"], variant, 2048)
        for variant in ("uncoalesced", "tiled")
    )
    comparison, _, _ = compare_in_turns(session, uncoalesced, tiled, rounds=8, turn_s=0.02)
    assert comparison is not None
    assert comparison.verdict == "faster"


def test_a_run_ends_by_its_noise_and_few_of_its_batches_are_throttled(
    session: EngineSession, gpu: DeviceInfo, workloads: dict[str, Workload]
) -> None:
    one = contestant(session, gpu, workloads["matmul"], "naive", 1024)
    result = session.measure(
        one.config, one.workload, RunOptions(seconds=10.0, max_noise=0.01)
    ).result()
    assert result.timing.stopped_by == "noise"
    assert result.timing.converged
    assert result.timing.marked_throttled < 0.5 * result.timing.samples
