"""Configurations take turns in one session, in an order that chance decides."""

from __future__ import annotations

from contextlib import suppress

import msgspec
import numpy as np
import pytest

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.engine.interleave import Interleaving, TurnContestant
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.workloads.loader import load
from tests.support.in_turns import compare_in_turns, take_turns
from tests.support.interrupter import Interrupter
from tests.support.prepared import prepared

WORKLOAD = load()["matmul"]


class Scripted(EngineSession):
    """A session whose runs take the time of their variant, on a machine that gets slower."""

    def __init__(self, times_s: dict[str, float]) -> None:
        self.times_s = times_s
        self.order: list[str] = []

    def measure(self, config: RunConfig, *_: object, **__: object) -> RunRecord:
        self.order.append(config.variant)
        drift = 1 + 0.02 * len(self.order)
        values = self.times_s[config.variant] * drift * np.array([1.0, 1.01, 0.99])
        record = RunRecord(msgspec.structs.replace(prepared(), config=config))
        record.add(SampleBatch(seconds=values.astype("<f8").tobytes(), counts=(3,), starts_ns=(1,)))
        record.end("time")
        return record


def contestant(variant: str) -> TurnContestant:
    return TurnContestant(msgspec.structs.replace(prepared().config, variant=variant), WORKLOAD)


def test_each_round_measures_everyone_once_in_an_order_of_its_own() -> None:
    session = Scripted({"a": 1.0, "b": 1.0, "c": 1.0})
    told: list[tuple[int, int]] = []
    turns = take_turns(
        session,
        [contestant(name) for name in "abc"],
        rounds=60,
        seed=3,
        on_round=lambda done, of: told.append((done, of)),
    )
    rounds = ["".join(session.order[at : at + 3]) for at in range(0, 180, 3)]
    assert {"".join(sorted(one)) for one in rounds} == {"abc"}
    assert len(set(rounds)) == 6  # every order there is
    assert 15 <= sum(one.index("a") < one.index("b") for one in rounds) <= 45
    assert told == [(number, 60) for number in range(1, 61)]
    assert [t.record.samples for t in turns] == [180, 180, 180]
    first = [1 + 0.02 * (at + 1) for at, name in enumerate(session.order) if name == "a"]
    assert turns[0].medians_s == pytest.approx(first)
    assert turns[0].result().timing.stopped_by == "turns"


def test_an_interrupt_at_any_moment_leaves_everyone_with_as_many_turns() -> None:
    def interleaving() -> Interleaving:
        return Interleaving([contestant(name) for name in "abc"])

    session = Scripted({"a": 1.0, "b": 1.0, "c": 1.0})
    with Interrupter() as whole:
        interleaving().round(session)
    rounds = set()
    for at in range(1, whole.lines, 3):
        turns = interleaving()
        with suppress(KeyboardInterrupt), Interrupter(at):
            turns.round(session)
        assert {len(turns.medians_s(index)) for index in range(3)} == {turns.rounds}
        rounds.add(turns.rounds)
    assert rounds == {0, 1}


def test_the_order_of_rounds_is_repeatable() -> None:
    orders = []
    for seed in (1, 1, 2):
        session = Scripted({"a": 1.0, "b": 1.0})
        take_turns(session, [contestant("a"), contestant("b")], rounds=30, seed=seed)
        orders.append(session.order)
    assert orders[0] == orders[1] != orders[2]


def test_a_round_that_fails_leaves_those_before_as_they_are() -> None:
    session = Scripted({"a": 1.0, "b": 1.0})
    turns = Interleaving([contestant("a"), contestant("b")], seed=1)
    turns.round(session)
    del session.times_s["b"]
    with pytest.raises(KeyError):
        turns.round(session)
    assert turns.rounds == 1
    assert [len(t.medians_s) for t in turns.turns()] == [1, 1]
    assert [t.record.samples for t in turns.turns()] == [3, 3]


class HeldDown(EngineSession):
    """A session in whose runs the clock is held down for the last ``held`` of ten batches."""

    def __init__(self, held: int) -> None:
        self.held = held

    def measure(self, config: RunConfig, *_: object, **__: object) -> RunRecord:
        record = RunRecord(msgspec.structs.replace(prepared(), config=config))
        for number in range(10):
            slow = number >= 10 - self.held
            times_s = np.full(5, 2e-3 if slow else 1e-3) + 1e-6 * number
            record.add(
                SampleBatch(
                    seconds=times_s.astype("<f8").tobytes(),
                    counts=(5,),
                    starts_ns=(number * 10**7,),
                    clocks_Hz=(0.9e9 if slow else 1.8e9,),
                )
            )
        record.end("time")
        return record


@pytest.mark.parametrize("held", [0, 3, 8, 10])
def test_a_turns_median_is_of_the_samples_that_its_figures_are_of(held: int) -> None:
    session = HeldDown(held)
    turns = Interleaving([contestant("a")])
    turns.round(session)
    (one,) = turns.turns()
    timing = one.result().timing
    assert timing.marked_throttled == (0 if held == 10 else 5 * held)
    assert one.medians_s.tolist() == [timing.median_s]


def test_a_machine_that_gets_slower_favours_nobody() -> None:
    session = Scripted({"a": 1.0, "b": 1.0})
    comparison, first, second = compare_in_turns(session, contestant("a"), contestant("b"), seed=1)
    assert comparison is not None
    assert comparison.ci95_low < 1 < comparison.ci95_high
    assert comparison.ratio == pytest.approx(1.0, abs=0.02)
    assert first.config.variant == "a"
    assert second.timing.samples == 36


def test_a_slower_one_is_found() -> None:
    session = Scripted({"a": 1.0, "b": 1.3})
    comparison, _, _ = compare_in_turns(session, contestant("a"), contestant("b"), seed=1)
    assert comparison is not None
    assert comparison.verdict == "slower"
    assert comparison.ratio == pytest.approx(1.3, rel=0.02)  # a turn of the drift is 2 %


def test_few_rounds_make_no_comparison() -> None:
    comparison, first, _ = compare_in_turns(
        Scripted({"a": 1.0, "b": 1.0}), contestant("a"), contestant("b"), rounds=2
    )
    assert comparison is None
    assert first.timing.samples == 6


def test_on_the_cpu_device_two_equal_ones_are_measured_in_turns() -> None:
    from gpuexplorer.core.config import RunRequest
    from gpuexplorer.workloads.choose import complete

    with EngineSession() as session:
        request = RunRequest(workload="matmul", size={"": 64}, device="cpu")
        one = TurnContestant(complete(request, WORKLOAD, session.devices()), WORKLOAD)
        comparison, first, second = compare_in_turns(session, one, one, rounds=6, turn_s=0.01)
    assert comparison is not None
    assert comparison.pairs == 6
    assert 0.2 < comparison.ratio < 5
    assert first.timing.stopped_by == second.timing.stopped_by == "turns"
    assert first.timing.samples >= 6


def test_turns_that_are_timed_in_two_ways_say_so() -> None:
    """CUPTI's records stop coming in one turn."""

    def turn(method: str, resolution_s: float) -> RunRecord:
        record = HeldDown(0).measure(contestant("a").config)
        record.prepared = msgspec.structs.replace(
            record.prepared, method=method, resolution_s=resolution_s
        )
        return record

    whole = turn("CUPTI records; caches warm", 1e-9)
    for method, resolution_s in (
        ("events; caches warm", 5e-7),
        ("CUPTI records; caches warm", 1e-9),
    ):
        whole.extend(turn(method, resolution_s))
    timing = whole.result().timing
    assert timing.method == "CUPTI records; caches warm; in other turns: events; caches warm"
    assert timing.resolution_s == 5e-7
