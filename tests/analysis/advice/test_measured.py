"""Advice against the hardware: on the CPU device, what is suggested is really faster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gpuexplorer.analysis.advice.advice import Advice
from gpuexplorer.analysis.advice.choose import advise
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.engine.situation import situation_of
from gpuexplorer.workloads.change import changed
from gpuexplorer.workloads.choose import complete
from tests.support.situations import shipped

ROUNDS, MOST_ROUNDS, SECONDS = 3, 20, 0.15


@pytest.fixture(scope="module")
def session() -> Iterator[EngineSession]:
    """Return an engine on which kernels run through Intel's runtime."""
    with EngineSession() as opened:
        devices = [d for d in opened.devices() if d.id == "opencl:0"]
        if not devices or "Intel" not in devices[0].driver:
            pytest.skip("the CPU device here is not Intel's runtime")
        yield opened


def advised(
    session: EngineSession, request: RunRequest, seconds: float = SECONDS
) -> tuple[float, tuple[Advice, ...], RunRequest | None]:
    """Measure a request; return its least time, what is said, and the request it leads to."""
    workload = shipped()[request.workload]
    devices = session.devices()
    config = complete(request, workload, devices)
    record = session.measure(config, workload, RunOptions(seconds=seconds, allow_long=True))
    result = record.result()
    said = advise(situation_of(record, result, workload, devices))
    change = said[0].change if said else None
    better = changed(result.config, change, workload) if change is not None else None
    return result.timing.min_s, said, better


def gain(session: EngineSession, rule: str, expected: float, **request: Any) -> float:
    """Return by what factor following the first advice, which is ``rule``'s, made a run faster.

    Both are measured in turns, and the quietest of each counts: a neighbour only ever slows. Beside
    one that leaves no quiet turn there are more of them, as long as it is not the ``expected``.
    """
    present = RunRequest(device="opencl:0", **request)
    before_s, said, better = advised(session, present)
    assert [a.rule for a in said][:1] == [rule], said
    assert better is not None
    after_s = float("inf")
    for turn in range(MOST_ROUNDS):
        if turn >= ROUNDS and before_s / after_s >= expected:
            break
        after_s = min(after_s, advised(session, better, SECONDS)[0])
        before_s = min(before_s, advised(session, present, SECONDS)[0])
    return before_s / after_s


@pytest.mark.parametrize("block", [(1, 256), pytest.param((8, 8), marks=pytest.mark.long)])
def test_rows_that_fill_vectors_make_the_textbook_product_at_least_3_times_as_fast(
    session: EngineSession, block: tuple[int, int]
) -> None:
    found = gain(
        session, "short-rows", 3, workload="matmul", variant="naive", size={"N": 256}, block=block
    )
    assert found >= 3


def test_the_variant_with_row_and_column_the_right_way_round_is_faster(
    session: EngineSession,
) -> None:
    found = gain(
        session,
        "orientation",
        1.4,
        workload="matmul",
        variant="uncoalesced",
        size={"N": 512},
        block=(16, 16),
    )
    assert found >= 1.4


def test_larger_blocks_save_the_time_of_starting_them(session: EngineSession) -> None:
    found = gain(
        session,
        "tiny-blocks",
        1.2,
        workload="vector_add",
        variant="direct",
        size={"N": 2**18},  # in the caches: the memory is everybody's
        block=(16,),
    )
    assert found >= 1.2


@pytest.mark.long
def test_tiles_in_shared_memory_help_where_the_arrays_leave_the_caches(
    session: EngineSession,
) -> None:
    found = gain(
        session, "reuse", 1.4, workload="matmul", variant="naive", size={"N": 1024}, block=(16, 16)
    )
    assert found >= 1.4


@pytest.mark.long
def test_a_tile_helps_where_writes_go_in_strides(session: EngineSession) -> None:
    found = gain(
        session, "strides", 1.4, workload="transpose", variant="naive", size={"N": 2048},
        block=(16, 16),
    )  # fmt: skip
    assert found >= 1.4


def test_a_good_configuration_is_left_alone(session: EngineSession) -> None:
    request = RunRequest(
        workload="matmul", variant="naive", size={"N": 512}, block=(16, 16), device="opencl:0"
    )
    _, said, _ = advised(session, request)
    assert all(advice.kind == "place" for advice in said)
