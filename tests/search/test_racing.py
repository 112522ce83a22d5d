"""The race names the best on a disturbed machine, and spends its samples where it matters."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuexplorer.core.comparison import FEWEST_PAIRS
from gpuexplorer.search.leaders import ROUNDS
from gpuexplorer.search.looking import judged
from gpuexplorer.search.racing import FINALISTS, MOST_DOUBTS, Race
from gpuexplorer.search.runner import Floats, Look
from tests.engine.test_interleave import HeldDown, contestant
from tests.support.racecourse import Machine


def course(seed: int, count: int = 80, near: int = 10) -> list[float]:
    """Return true times: one best, some close behind, a long slow tail, in no order."""
    chance = np.random.default_rng(seed)
    behind = np.concatenate(
        [[0.0], np.abs(chance.normal(0, 0.03, near)), chance.gamma(2, 1.0, count - near - 1)]
    )
    return [float(t) for t in chance.permutation(8e-3 * np.exp(behind))]


def race(times: list[float], machine: Machine, seed: int = 0) -> tuple[Race, list[Look]]:
    heats = [range(0, len(times), 4), [n for n in range(len(times)) if n % 4]]
    made = Race([list(h) for h in heats], seed=seed)
    looks = []
    while (look := made.next()) is not None:
        looks.append(look)
        taken = machine.look(
            times[look.number], look.samples, look.seconds, slower_than_s=look.slower_than_s
        )
        made.took(look, taken)
        assert len(looks) < 5000
    return made, looks


@pytest.mark.parametrize("seed", range(12))
def test_the_best_is_found_on_a_machine_with_bursts_of_load(seed: int) -> None:
    times = course(seed)
    made, _ = race(times, Machine(100 + seed), seed)
    assert made.done and made.best is not None
    assert times[made.best] <= 1.03 * min(times)
    assert made.best in made.ties


@pytest.mark.parametrize("seed", range(6))
def test_the_best_of_the_search_is_the_one_that_typically_takes_least(seed: int) -> None:
    """Times come in steps, so that some are alike: of these the first counts."""
    chance = np.random.default_rng(seed)
    made = Race([list(range(60))], seed=seed)
    while (look := made.next()) is not None and made.phase != "turns":
        if chance.random() < 0.1:
            assert not made.failed(look, passing=True) or made.runners[look.number].withdrawn
        else:
            made.took(look, np.round(chance.lognormal(-5, 0.5, look.samples), 3) + 1e-3)
        typical_s = {
            n: r.typical_s for n, r in made.runners.items() if r.fastest_s and not r.withdrawn
        }
        assert made.best == min(typical_s, key=lambda n: typical_s[n], default=None)


def test_nobody_is_dropped_for_anothers_luck() -> None:
    """Machines with fast spells now and then: whoever meets them must not drop the rest."""
    times = [10e-3] * 12 + [9.7e-3] + [60e-3] * 12
    kept = 0
    for seed in range(20):
        chance = np.random.default_rng(seed)
        made = Race([list(range(25))], seed=seed)
        while (look := made.next()) is not None:
            lucky = 0.75 if chance.random() < 0.15 else 1.0
            made.took(look, np.full(look.samples, lucky * times[look.number]))
        kept += 12 in made.ties
        assert len(made.leaders.members) >= 3
    assert kept >= 15


def test_losers_get_few_samples_and_contenders_many() -> None:
    times = course(3)
    made, looks = race(times, Machine(3, bursts=False))
    best_s = min(times)
    slow = [made.runners[n].samples for n, t in enumerate(times) if t > 2.5 * best_s]
    fast = [made.runners[n].samples for n, t in enumerate(times) if t < 1.005 * best_s]
    assert slow and max(slow) <= 3
    assert sum(s == 3 for s in slow) < len(slow)  # the slowest are cut short
    assert min(fast) >= 30
    taken_s = sum(r.samples * times[n] for n, r in made.runners.items())
    assert taken_s < 0.3 * 30 * sum(times)
    assert any(look.phase == "check" for look in looks)


def test_every_configuration_is_looked_at_and_coarse_ones_come_first() -> None:
    times = course(4)
    _, looks = race(times, Machine(4, bursts=False))
    first = [look.number for look in looks if look.phase == "survey"]
    assert set(first) == set(range(len(times)))
    coarse = {n for n in first if n % 4 == 0}
    assert set(first[: len(coarse)]) == coarse
    assert first[: len(coarse)] != sorted(coarse), "slow blocks stand together: chance decides"


def test_promising_ones_of_a_group_come_before_the_others() -> None:
    times = [8e-3, 9e-3, 80e-3, 85e-3, 9e-3, 70e-3, 75e-3, 9.5e-3]
    made = Race([[0, 2], [1, 3, 4, 5, 6, 7]], expect=lambda n: times[n], seed=1)
    machine, order = Machine(1, bursts=False), []
    while (look := made.next()) is not None:
        if look.phase == "survey":
            order.append(look.number)
        made.took(look, machine.look(times[look.number], look.samples, look.seconds))
    assert set(order[:2]) == {0, 2}
    assert set(order[2:5]) == {1, 4, 7}
    assert set(order[5:]) == {3, 5, 6}


def test_what_was_seen_while_the_machine_was_slow_is_not_believed() -> None:
    """A spell of load over the look at the true best would drop it for good."""
    times = [10e-3] * 4 + [7e-3] + [30e-3] * 20
    made = Race([[0, 1, 2, 3], [4, *range(5, 25)]], seed=2)
    looks_at_best = 0
    while (look := made.next()) is not None:
        spell = 3.0 if look.phase != "turns" and 5 <= made.looks <= 14 else 1.0
        looks_at_best += look.number == 4
        made.took(look, np.full(look.samples, spell * times[look.number]))
    assert made.best == 4
    assert looks_at_best > 2


def test_who_is_slow_among_fast_neighbours_is_looked_at_again() -> None:
    """Load met the best alone, and no check of another one noticed."""
    times = [8e-3] * 6 + [7e-3] + [8e-3] * 6 + [50e-3] * 8
    made = Race([list(range(21))], expect=lambda n: 8e-3 if n < 13 else 50e-3, seed=4)
    looks = 0
    while (look := made.next()) is not None:
        looks += look.number == 6
        load = 4.0 if look.number == 6 and looks == 1 else 1.0
        made.took(look, np.full(look.samples, load * times[look.number]))
    assert made.best == 6


def test_a_machine_that_stays_slower_ends_the_race_all_the_same() -> None:
    times = course(5, 30, 4)
    made = Race([list(range(30))], seed=5)
    while (look := made.next()) is not None:
        slower = 1.0 if made.looks < 20 else 1.5
        made.took(look, np.full(look.samples, slower * times[look.number]))
        assert made.looks < 2000
    assert made.best is not None and times[made.best] <= 1.03 * min(times)


def test_equal_ones_tie_and_a_slower_one_does_not() -> None:
    times = [8e-3, 8e-3, 8e-3, 8.4e-3, 20e-3]
    made, _ = race(times, Machine(7, bursts=False), 7)
    assert {0, 1, 2} <= made.ties and not {3, 4} & made.ties
    against = made.leaders.against_best()
    others = [against[n] for n in (0, 1, 2) if n in against]
    assert all(c.ci95_low < 1.005 and c.ci95_high > 0.995 for c in others)
    assert against[3].verdict == "slower" and against[3].pairs >= FEWEST_PAIRS


def test_more_equal_ones_than_take_turns_are_not_called_slower() -> None:
    count = FINALISTS + 8
    made, _ = race([5e-3] * count, Machine(8, bursts=False), 8)
    assert len(made.leaders.members) == FINALISTS and len(made.crowd) > 0
    assert made.crowd <= made.ties


def test_a_favourite_that_took_turns_is_judged_by_them_alone() -> None:
    times = [1 + n / 1000 for n in range(30)]
    times[25] = 1.04
    made = Race([list(range(30))], favourite=25, seed=1)
    while (look := made.next()) is not None:
        made.took(look, np.full(look.samples, times[look.number]))
    assert made.leaders.against_best()[25].verdict == "slower"
    assert 25 not in made.ties
    assert made.crowd == set(range(FINALISTS, 30)) - {25}


def test_what_cannot_be_measured_is_withdrawn() -> None:
    made = Race([[0, 1, 2]], seed=1)
    while (look := made.next()) is not None:
        if look.number == 1:
            made.withdraw(1)
        else:
            made.took(look, np.full(look.samples, (1 + look.number) * 1e-3))
    assert made.best == 0 and made.ties == {0}
    nothing = Race([[0, 1]], seed=1)
    while (look := nothing.next()) is not None:
        nothing.withdraw(look.number)
    assert nothing.done and nothing.best is None and nothing.ties == frozenset()
    assert Race([]).next() is None


def test_what_fails_for_no_fault_of_its_own_is_tried_once_more() -> None:
    made = Race([[0, 1, 2]], seed=1)
    failures = {1: 0, 2: 0}
    while (look := made.next()) is not None:
        if look.number in failures and failures[look.number] < look.number:
            failures[look.number] += 1
            withdrawn = made.failed(look, passing=True)
            assert withdrawn == (failures[look.number] == 2)
        else:
            made.took(look, np.full(look.samples, (3 - look.number) * 1e-3))
    assert failures == {1: 1, 2: 2}
    assert made.runners[2].withdrawn and made.best == 1


def test_what_fails_by_itself_is_not_tried_again() -> None:
    made = Race([[0, 1]], seed=1)
    looks = 0
    while (look := made.next()) is not None:
        looks += look.number == 1
        if look.number == 1:
            assert made.failed(look, passing=False)
        else:
            made.took(look, np.full(look.samples, 1e-3))
    assert looks == 1 and made.best == 0


def test_what_is_proposed_one_by_one_is_raced_like_the_rest() -> None:
    times, told = course(6, 40, 4), list[int]()
    machine = Machine(6, bursts=False)

    def propose() -> int | None:
        told.append(len(told) + 1)
        return told[-1] if told[-1] < len(times) else None

    made = Race([[0]], propose=propose, seed=6)
    while (look := made.next()) is not None:
        made.took(look, machine.look(times[look.number], look.samples, look.seconds))
    assert set(made.runners) == set(range(len(times)))
    assert made.best is not None and times[made.best] <= 1.03 * min(times)


def test_load_does_not_explain_what_is_slower_by_far() -> None:
    """The machine is slow at every other check: a block 20 times behind is not looked at again."""
    times = [1e-3 * (1 + 0.01 * n) for n in range(30)] + [20e-3] * 30
    made, looks, checks = Race([list(range(60))], seed=2), dict.fromkeys(range(60), 0), 0
    while (look := made.next()) is not None:
        checks += look.phase == "check"
        looks[look.number] += look.phase != "check"
        load = 1.5 if look.phase == "check" and checks % 2 else 1.0
        made.took(look, np.full(look.samples, load * times[look.number]))
    assert made.disturbances > 0 and any(made.runners[n].doubts for n in range(30))
    assert {looks[n] for n in range(30, 60)} == {1}


def test_nobody_is_doubted_for_ever() -> None:
    """Whenever the best is measured again, the machine is slow: what was seen is not believed."""
    made = Race([list(range(30))], seed=2)
    while (look := made.next()) is not None:
        slow = 1.5 if look.phase == "check" else 1.0
        made.took(look, np.full(look.samples, slow * 1e-3 * (1 + look.number)))
        assert made.looks < 1000
    assert made.disturbances > 0
    assert max(r.doubts for r in made.runners.values()) <= MOST_DOUBTS
    assert made.best == 0


def test_without_racing_all_first_looks_are_alike() -> None:
    times = course(7, 30, 4)
    made, survey = Race([list(range(30))], racing=False, samples=9, seed=1), list[Look]()
    while (look := made.next()) is not None:
        survey += [look] if look.phase != "turns" else []
        made.took(look, np.full(look.samples, times[look.number]))
    assert sorted(look.number for look in survey) == list(range(30))
    assert {look.samples for look in survey} == {9}
    assert all(look.slower_than_s is None for look in survey)
    assert made.best is not None and times[made.best] == min(times)


def test_short_launches_get_more_samples_in_a_look() -> None:
    made = Race([[0, 1]], seed=1)
    seen = []
    while (look := made.next()) is not None:
        seen.append(look.samples)
        made.took(look, np.full(look.samples, 1e-5))
    assert seen[0] == 3 and max(seen) == 100


def test_what_an_earlier_race_saw_needs_no_first_look() -> None:
    times = course(9, 20, 3)
    earlier, _ = race(times, Machine(9, bursts=False))
    known = {n: r for n, r in earlier.runners.items() if n != 0}
    for runner in known.values():
        runner.turns_s, runner.out = {}, False
    later = Race([list(range(20))], known=known, seed=2)
    survey = []
    machine = Machine(10, bursts=False)
    while (look := later.next()) is not None:
        if look.phase == "survey":
            survey.append(look.number)
        later.took(look, machine.look(times[look.number], look.samples, look.seconds))
    assert survey == [0]
    assert later.best is not None and times[later.best] <= 1.03 * min(times)


def test_the_estimate_of_what_is_left_falls_to_nothing() -> None:
    times = course(11, 40, 5)
    made = Race([list(range(40))], seed=11)
    machine, left = Machine(11, bursts=False), []
    while (look := made.next()) is not None:
        left.append(made.looks_left())
        made.took(look, machine.look(times[look.number], look.samples, look.seconds))
    total = made.looks
    assert made.looks_left() == 0
    assert 0.4 * total < left[0] < 3 * total
    assert max(left[len(left) // 2 :]) < left[0]
    assert min(left) >= 1


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.just(0.0) | st.floats(1e-6, 1e-1), min_size=1, max_size=30),
    st.integers(0, 2**31),
    st.sets(st.integers(0, 29)),
)
def test_a_quiet_race_always_ends_with_the_best_that_can_run(
    times: list[float], seed: int, broken: set[int]
) -> None:
    made = Race([list(range(len(times)))], seed=seed)
    while (look := made.next()) is not None:
        assert look.samples >= 1 and look.seconds > 0
        assert look.round <= 2 * ROUNDS
        if look.number in broken:
            made.withdraw(look.number)
        else:
            made.took(look, np.full(look.samples, times[look.number]))
        assert made.looks < 3000
    able = [t for n, t in enumerate(times) if n not in broken]
    if able:
        assert made.best is not None and times[made.best] == min(able)
    else:
        assert made.best is None


@pytest.mark.parametrize(("held", "told"), [(3, 35), (8, 50)])
def test_a_look_is_judged_by_the_samples_that_its_figures_are_of(held: int, told: int) -> None:
    record = HeldDown(held).measure(contestant("a").config)
    taken: list[Floats] = []
    race = SimpleNamespace(took=lambda _, samples_s, clock_s: taken.append(samples_s))
    look = SimpleNamespace(number=0, gave_up=lambda _: False)
    judged(cast(Race, race), cast(Look, look), record)
    assert [len(samples_s) for samples_s in taken] == [told]
