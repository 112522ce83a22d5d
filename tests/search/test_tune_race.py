"""Clear losers are given up, and what was judged on a disturbed machine is judged again."""

from __future__ import annotations

import numpy as np
import pytest

from gpuexplorer.search.tune_race import (
    CLEARLY,
    DOUBTFUL,
    LOOK_EVERY,
    LOOK_EVERY_S,
    MOST_DOUBTS,
    STEADY,
    Watch,
    clear_loser,
    doubtful,
    first_look_s,
)

BEST_S = 1e-3


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def samples(*times: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(times) * BEST_S


def due(watch: Watch) -> bool:
    return watch.due


def test_the_fastest_launch_decides_who_loses() -> None:
    assert clear_loser(samples(1.3, 1.25, 1.5), BEST_S)
    assert not clear_loser(samples(9.0, 9.0, 1.1), BEST_S), "a busy machine makes launches slower"
    assert not clear_loser(samples(CLEARLY), BEST_S)
    assert not clear_loser(samples(100.0), None), "the first has nobody to lose against"


def test_a_first_look_is_short_beside_a_fast_best() -> None:
    assert first_look_s(None, 2.0) == 2.0
    assert first_look_s(0.01, 2.0) == pytest.approx(0.12)
    assert first_look_s(10.0, 2.0) == 2.0
    assert first_look_s(1e-7, 2.0) > 1e-3


def test_the_best_is_due_after_some_configurations_or_some_time() -> None:
    clock = Clock()
    watch = Watch(clock)
    clock.now = 100.0
    assert not due(watch), "there is no best yet"
    watch.leads(BEST_S)
    assert not due(watch), "nothing was judged since"
    watch.judged((0,))
    assert due(watch), "it is long ago"
    watch.look(samples(1.0))
    watch.judged((1,))
    assert not due(watch)
    clock.now += LOOK_EVERY_S
    assert due(watch)
    watch.look(samples(1.0))
    for number in range(LOOK_EVERY):
        assert not due(watch)
        watch.judged((number,))
    assert due(watch)


def disturbed(watch: Watch, *places: int) -> list[tuple[int, ...]]:
    for number in places:
        watch.judged((number,))
    return watch.look(samples(STEADY * 1.5, STEADY * 1.6))


def test_what_was_judged_since_the_machine_became_slow_is_judged_again() -> None:
    watch = Watch(Clock())
    watch.leads(BEST_S)
    watch.judged((1,))
    assert watch.look(samples(1.05, 1.3)) == [], "one launch as before: the machine is steady"
    assert disturbed(watch, 2, 3) == [(2,), (3,)]
    assert watch.best_s == BEST_S, "one slow look may be a spike"


def test_nobody_is_judged_again_for_ever() -> None:
    watch = Watch(Clock())
    watch.leads(BEST_S)
    assert disturbed(watch, 2, 3) == [(2,), (3,)]
    watch.look(samples(1.0))
    for _ in range(MOST_DOUBTS - 1):
        assert disturbed(watch, 2, 3, 3) == [(2,), (3,)]
        watch.look(samples(1.0))
    assert disturbed(watch, 2, 3, 4) == [(4,)]


def test_load_may_make_a_loser_of_what_is_near() -> None:
    assert doubtful(samples(2.0, 3.0), BEST_S)
    assert not doubtful(samples(DOUBTFUL * 1.1, 9.0), BEST_S)


def test_slow_twice_in_a_row_is_what_the_machine_does_now() -> None:
    watch = Watch(Clock())
    watch.leads(BEST_S)
    disturbed(watch, 1)
    disturbed(watch, 2)
    assert watch.best_s == pytest.approx(1.55 * STEADY * BEST_S)
    assert watch.look(samples(STEADY * 1.5)) == []


def test_a_machine_that_becomes_faster_is_followed() -> None:
    watch = Watch(Clock())
    watch.leads(BEST_S)
    assert watch.look(samples(0.8, 0.9, 0.85)) == []
    assert watch.best_s == pytest.approx(0.85 * BEST_S)
