"""The simplest of equals is preferred, where that costs next to nothing, and it says why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from gpuexplorer.core.comparison import Comparison
from gpuexplorer.core.config import Block, RunConfig
from gpuexplorer.core.result import RunResult
from gpuexplorer.search.tune_naming import Finished, changed, named_of, prefer
from tests.support.prepared import prepared
from tests.support.results import made_result


def config(x: int, y: int = 1, **tunables: int) -> RunConfig:
    return msgspec.structs.replace(prepared().config, block=(x, y, 1), tunables=tunables)


START = config(16, 16, TILE=16, UNROLL=1)


def compared(ratio: float, high: float, verdict: Any = "can't tell") -> Comparison:
    return Comparison(
        ratio=ratio, ci95_low=2 * ratio - high, ci95_high=high, pairs=24, verdict=verdict
    )


def test_the_simplest_of_equals_is_preferred_and_it_says_why() -> None:
    best = config(128, 4, TILE=32, UNROLL=4)
    keeps_unroll = config(128, 4, TILE=32, UNROLL=1)
    tied = [(best, None), (keeps_unroll, compared(1.003, 1.009))]
    chosen, why = prefer(tied, START)
    assert chosen == keeps_unroll
    assert why == (
        "it is at most 0.9 % slower than the fastest, if at all, and simpler: it keeps UNROLL = 1"
    )
    chosen, why = prefer([*tied, (START, compared(1.004, 1.01))], START)
    assert chosen == START
    assert why.endswith("simpler: it is what one gets without tuning")


def test_simpler_is_not_preferred_where_it_may_cost_more() -> None:
    best = config(128, 4, TILE=32, UNROLL=1)
    chosen, why = prefer([(best, None), (START, compared(1.01, 1.05))], START)
    assert chosen == best
    assert why == "it is the fastest, and a simpler one may be over 1 % slower"
    assert prefer([(best, None)], START) == (best, "it is the fastest")


def test_what_is_not_simpler_is_not_preferred() -> None:
    best, other = config(128, 4, TILE=32, UNROLL=1), config(64, 8, TILE=32, UNROLL=1)
    chosen, why = prefer([(best, None), (other, compared(0.999, 1.003))], START)
    assert (chosen, why) == (best, "it is the fastest, and none of its equals is simpler")


@pytest.mark.parametrize(
    ("reasons", "said"),
    [
        ((None, None), None),
        (("nobody knows", "nobody knows"), "Not verified: nobody knows."),
        ((None, "nobody knows"), "1 of 2 is not verified, or not all of its outputs."),
    ],
)
def test_what_was_not_verified_is_said_of_the_final(
    reasons: Sequence[str | None], said: str | None
) -> None:
    runs = [
        Finished(number, result if why is None else unverified(result, why))
        for number, why in enumerate(reasons)
        for result in [made_result()]
    ]
    named = named_of(runs, lambda *_: compared(1.003, 1.009), runs[0].result.config)
    assert named["not_verified"] == said


def unverified(result: RunResult, why: str) -> RunResult:
    return msgspec.structs.replace(result, verification=None, not_verified=why)


def test_the_knobs_that_differ_from_the_start() -> None:
    block: Block = (16, 16, 1)
    assert START.block == block
    assert changed(START, START) == []
    assert changed(config(16, 16, TILE=8, UNROLL=1), START) == ["TILE"]
    assert changed(config(8, 8, TILE=8, UNROLL=2), START) == ["block", "TILE", "UNROLL"]
