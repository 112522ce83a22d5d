"""The leaders take turns; clear losers and failures leave; only turns decide who is the best."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from gpuexplorer.core.comparison import FEWEST_LOOKED_AT, FEWEST_PAIRS
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import ExplorerError, WorkFailed
from gpuexplorer.engine.errors import EngineGone
from gpuexplorer.search.leaders import ROUNDS, Leaders
from gpuexplorer.search.looking import take
from gpuexplorer.search.racing import FAVOURITE_WITHIN, Race
from gpuexplorer.search.runner import Look, Runner
from gpuexplorer.workloads.loader import load
from tests.support.prepared import prepared
from tests.support.simulated import SimulatedMachine

WORKLOAD = load()["matmul"]


def final(times_s: list[float], fails: Any = lambda turn, number: None, **how: Any) -> Race:
    """Return the race of some that all go to the turns; ``fails`` is told the turns so far."""
    turns: list[int] = []
    now: list[int] = []

    def launch_s(config: RunConfig) -> float:
        return times_s[now[-1]]

    def failing(config: RunConfig) -> ExplorerError | None:
        return fails(len(turns), now[-1]) if turns else None

    machine = SimulatedMachine(
        launch_s, fails=failing, noise=how.pop("noise", 0.0), load=how.pop("load", lambda now: 1.0),
        clock_s=how.pop("clock_s", 0.0),
    )  # fmt: skip
    race = Race([list(range(len(times_s)))], racing=False, seed=1, **how)
    while (look := race.next()) is not None:
        now.append(look.number)
        if look.phase == "turns":
            turns.append(look.number)
        take(race, look, partial(machine.measure, prepared().config, WORKLOAD))
        assert len(turns) < 2000
    return race


def turns_of(race: Race) -> list[int]:
    return [len(race.runners[n].turns_s) for n in sorted(race.runners)]


def test_the_fastest_comes_first_and_the_slow_leave_early() -> None:
    race = final([1.1e-3, 1.0e-3, 1.001e-3], noise=0.01)
    slow, best, near = turns_of(race)
    assert race.leaders.ranked()[-1] == 0 and race.runners[0].out
    assert slow < best == near >= ROUNDS
    against = race.leaders.compared(1, 0)
    assert against is not None and against.verdict == "slower"
    assert against.ratio == pytest.approx(1.1, rel=0.03)
    other = race.leaders.compared(race.leaders.ranked()[0], race.leaders.ranked()[1])
    assert other is not None and other.verdict != "slower"


def test_it_ends_with_the_time_but_not_before_there_are_intervals() -> None:
    race = final([1e-3, 1e-3], time_is_up=lambda: True)
    assert turns_of(race) == [FEWEST_LOOKED_AT, FEWEST_LOOKED_AT]
    assert race.leaders.compared(0, 1) is not None


def test_one_alone_is_measured_as_often_as_needed_for_an_interval() -> None:
    assert turns_of(final([1e-3])) == [FEWEST_PAIRS]


def test_a_leader_that_fails_again_leaves_and_the_others_go_on() -> None:
    def fails(turn: int, number: int) -> WorkFailed | None:
        return WorkFailed("it hangs now") if number == 1 and turn > 6 else None

    race = final([1e-3, 1e-3, 1e-3], fails)
    first, failing, last = turns_of(race)
    assert race.runners[1].withdrawn and race.best in (0, 2)
    assert first == last >= ROUNDS > failing


def test_an_engine_that_is_gone_ends_it() -> None:
    with pytest.raises(EngineGone):
        final([1e-3], lambda turn, number: EngineGone("no engine"))


def test_load_that_hits_one_turn_does_not_decide() -> None:
    race = final(
        [1e-3, 1.1e-3], noise=0.02, load=lambda now: 5.0 if int(now / 0.05) % 9 == 0 else 1.0
    )
    assert race.best == 0


def test_one_step_of_a_coarse_clock_makes_nobody_slower() -> None:
    """They take 10.2 and 10.3 µs, which the clock shows as 10.0 and 10.5 in every turn."""
    race = final([10.2e-6, 10.3e-6], clock_s=0.5e-6)
    assert all(runner.present for runner in race.runners.values())
    found = race.leaders.compared(0, 1)
    assert found is not None and found.verdict == "can't tell"
    assert found.ratio == pytest.approx(1.05)
    assert found.ci95_low < 1.01 < found.ci95_high
    race = final([10.2e-6, 12.3e-6], clock_s=0.5e-6)
    assert race.runners[1].out


@pytest.mark.parametrize("seed", [5, 27, 35, 39, 40, 73])
def test_nobody_was_faster_than_the_best_in_most_of_the_turns_that_both_took(seed: int) -> None:
    """On a machine that is faster by far now and then, where two leave early."""
    chance = np.random.default_rng(seed)
    times_s = [1.0e-3, 1.1e-3, 1.57e-3, 1.69e-3, 1.1e-3, 1.3e-3]
    turns = [24, 24, 24, 24, 8, 13]
    runners = {n: Runner(out=many < 24) for n, many in enumerate(turns)}
    leaders = Leaders(runners, chance)
    leaders.members, leaders.round = list(runners), 24
    for turn in range(1, 25):
        for number, runner in runners.items():
            if turn <= turns[number]:
                fast = 0.6 if chance.random() < 0.3 else 1.0
                noise = 1 + 0.02 * abs(chance.normal())
                runner.turns_s[turn] = times_s[number] * fast * noise
    best = leaders.best
    assert best is not None and leaders.ranked()[0] == best
    for other in {0, 1, 2, 3} - {best}:
        found = leaders.compared(best, other)
        assert found is not None and found.ratio >= 1


@pytest.mark.parametrize(("times", "takes_turns"), [(0.9, True), (1.1, False)])
def test_the_favourite_takes_turns_unless_it_is_slower_by_far(
    times: float, takes_turns: bool
) -> None:
    race = final([1e-3, 1e-3, 1e-3, 1e-3 * times * FAVOURITE_WITHIN], favourite=3)
    assert (3 in race.leaders.members) == takes_turns
    assert race.best != 3 and (turns_of(race)[3] > 0) == takes_turns


def test_without_turns_the_race_ends_with_the_first_looks() -> None:
    race = final([1e-3, 2e-3], turns=False)
    assert race.done and race.best == 0 and race.leaders.ranked() == []
    assert race.looks == 2


def test_the_search_can_be_ended_and_the_leaders_decide() -> None:
    race = Race([[0, 1], list(range(2, 50))], seed=3)
    phases = set()
    while (look := race.next()) is not None:
        phases.add(look.phase)
        race.took(look, np.full(look.samples, 1e-3 * (1 + look.number)))
        if race.looks == 2:
            race.end_search()
    assert phases == {"survey", "turns"}
    assert race.best == 0 and race.done
    assert all(not race.runners[n].samples for n in range(2, 50))


def test_who_left_early_is_compared_as_one_who_was_looked_at_after_every_round() -> None:
    """Its interval is wider than that of as many turns whose number stood fixed beforehand."""
    race = final([1e-3, 1.05e-3], noise=0.01)
    left, kept = race.leaders.compared(0, 1), race.runners[0].turns_s
    assert race.runners[1].out and left is not None
    assert left.pairs == len(race.runners[1].turns_s) < len(kept) + 1
    assert left.ci95_low > 1.02


@pytest.mark.parametrize("rounds", [FEWEST_LOOKED_AT, ROUNDS])
def test_equals_of_the_luckiest_of_many_are_seldom_called_slower(rounds: int) -> None:
    """Of 17 equal ones the best was lucky, and 2.5 % of the others may be called slower.

    Also where the time is up and there are as few rounds as it ends with.
    """
    chance = np.random.default_rng(3)
    slower = 0
    for _ in range(40):
        runners = {n: Runner() for n in range(17)}
        leaders = Leaders(runners, chance)
        leaders.members, leaders.round = list(runners), rounds
        for turn in range(1, rounds + 1):
            for runner in runners.values():
                runner.turns_s[turn] = 1e-3 * (1 + 0.02 * abs(chance.normal()))
        against = leaders.against_best().values()
        assert len(against) == 16
        slower += sum(found.ci95_low > 1 for found in against)
    assert slower / (40 * 16) <= 0.025


def test_a_look_says_whether_it_was_given_up() -> None:
    look = Look(0, "survey", 7, 1.0, slower_than_s=1e-3)
    assert look.gave_up(np.array([1.3e-3, 1.25e-3, 1.5e-3]))
    assert not look.gave_up(np.array([9e-3, 9e-3, 0.9e-3])), "a busy machine makes launches slower"
    assert not Look(0, "survey", 7, 1.0).gave_up(np.array([1.0])), "the first has nobody to lose to"
