"""The leaders take turns; clear losers and failures leave; the simplest of equals is preferred."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpuexplorer.core.comparison import FEWEST_PAIRS, Comparison
from gpuexplorer.core.config import Block, RunConfig
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.engine.errors import EngineGone
from gpuexplorer.search.tune_final import MOST_ROUNDS, run_final
from gpuexplorer.search.tune_naming import changed, prefer
from gpuexplorer.workloads.loader import load
from tests.support.prepared import prepared
from tests.support.simulated import SimulatedMachine

WORKLOAD = load()["matmul"]


def config(x: int, y: int = 1, **tunables: int) -> RunConfig:
    return msgspec.structs.replace(prepared().config, block=(x, y, 1), tunables=tunables)


START = config(16, 16, TILE=16, UNROLL=1)


def final(machine: SimulatedMachine, *configs: RunConfig, **options: Any) -> Any:
    chosen = {"seconds": 1e9, "clock": machine.clock, **options}
    return run_final(machine, WORKLOAD, configs, **chosen)


def by_x(**times_s: float) -> Any:
    def launch_s(config: RunConfig) -> float:
        assert config.block is not None
        return times_s[f"x{config.block[0]}"]

    return launch_s


def test_the_fastest_comes_first_and_the_slow_leave_early() -> None:
    machine = SimulatedMachine(by_x(x1=1.3e-3, x2=1.0e-3, x4=1.001e-3), noise=0.01)
    runners = final(machine, config(1), config(2), config(4))
    assert runners[-1].config == config(1)
    assert runners[-1].out and len(runners[-1].medians_s) < MOST_ROUNDS
    assert [len(r.medians_s) for r in runners[:2]] == [MOST_ROUNDS, MOST_ROUNDS]
    found = runners[-1].against(runners[0])
    assert found is not None and found.verdict == "slower"
    assert found.ratio == pytest.approx(1.3, rel=0.03)
    other = runners[1].against(runners[0])
    assert other is not None and other.verdict != "slower"


def test_it_ends_with_the_time_but_not_before_there_are_intervals() -> None:
    machine = SimulatedMachine(lambda config: 1e-3)
    told: list[tuple[int, int]] = []
    runners = final(
        machine, config(1), config(2), seconds=0.0, on_round=lambda *at: told.append(at)
    )
    assert [len(r.medians_s) for r in runners] == [FEWEST_PAIRS, FEWEST_PAIRS]
    assert told == [(n + 1, MOST_ROUNDS) for n in range(FEWEST_PAIRS)]
    assert runners[1].against(runners[0]) is not None


def test_one_alone_is_measured_as_often_as_needed_for_an_interval() -> None:
    machine = SimulatedMachine(lambda config: 1e-3)
    (runner,) = final(machine, config(1))
    assert len(runner.medians_s) == FEWEST_PAIRS


def test_a_failing_leader_leaves_and_the_others_go_on() -> None:
    calls = {"n": 0}

    def fails(asked: RunConfig) -> WorkFailed | None:
        calls["n"] += 1
        return WorkFailed("it hangs now") if asked == config(2) and calls["n"] > 6 else None

    machine = SimulatedMachine(lambda config: 1e-3, fails=fails)
    runners = final(machine, config(1), config(2), config(4))
    assert runners[-1].config == config(2)
    assert str(runners[-1].failed) == "it hangs now"
    assert [len(r.medians_s) for r in runners[:2]] == [MOST_ROUNDS, MOST_ROUNDS]


def test_an_engine_that_is_gone_ends_it() -> None:
    machine = SimulatedMachine(lambda config: 1e-3, fails=lambda config: EngineGone("no engine"))
    with pytest.raises(EngineGone):
        final(machine, config(1))


def test_load_that_hits_one_turn_does_not_decide() -> None:
    machine = SimulatedMachine(
        by_x(x1=1e-3, x2=1.1e-3),
        noise=0.02,
        load=lambda now: 5.0 if int(now / 0.05) % 9 == 0 else 1.0,
    )
    runners = final(machine, config(1), config(2))
    assert runners[0].config == config(1)


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
    assert why == "it is the fastest, and a simpler one may be over 2 % slower"
    assert prefer([(best, None)], START) == (best, "it is the fastest")


def test_what_is_not_simpler_is_not_preferred() -> None:
    best, other = config(128, 4, TILE=32, UNROLL=1), config(64, 8, TILE=32, UNROLL=1)
    chosen, why = prefer([(best, None), (other, compared(0.999, 1.003))], START)
    assert (chosen, why) == (best, "it is the fastest, and none of its equals is simpler")


def test_the_knobs_that_differ_from_the_start() -> None:
    block: Block = (16, 16, 1)
    assert START.block == block
    assert changed(START, START) == []
    assert changed(config(16, 16, TILE=8, UNROLL=1), START) == ["TILE"]
    assert changed(config(8, 8, TILE=8, UNROLL=2), START) == ["block", "TILE", "UNROLL"]
