"""A worker that is slower than those like it, or than it was, is found, and a moment's load not."""

from __future__ import annotations

from gpuexplorer.cluster.agenda import Lane
from gpuexplorer.cluster.paces import EVERY_S, LOOKS, REST_S, Paces
from tests.cluster.test_agenda import config, lane

CONFIGS = [config(4, x) for x in range(1, 9)]


class Clock:
    """Stands still."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def looks(known: Paces, one: Lane, seconds: float, times: int = LOOKS) -> bool:
    """Look so often, and return whether that has found the worker slow."""
    for number in range(times):
        assert known.due(one) is not None
        slow = known.took(one, seconds, seconds)
        assert not slow or number == LOOKS - 1
    return slow


def test_every_worker_measures_the_reference_first_and_again_after_some_minutes() -> None:
    clock = Clock()
    known, one = Paces(CONFIGS, clock=clock), lane("a", "one")
    assert known.due(one) == CONFIGS[0]
    known.took(one, 1.0, 1.0)
    assert known.due(one) is None
    clock.now += EVERY_S
    assert known.due(one) == CONFIGS[0]


def test_of_two_workers_the_slower_one_is_found_and_what_it_measured_is_known() -> None:
    known, fast, slow = Paces(CONFIGS), lane("a", "one"), lane("b", "two")
    assert not known.took(slow, 1.3, 1.3)
    known.measured(slow, 5)
    known.took(fast, 1.0, 1.0)
    assert looks(known, slow, 1.3), "it was first alone, and is looked at again"
    assert known.pace(slow).slow and not known.pace(fast).slow
    assert known.pace(slow).unproven == [5]


def test_a_worker_that_becomes_slower_than_it_was_is_found_and_may_recover() -> None:
    clock = Clock()
    known, one = Paces(CONFIGS, clock=clock), lane("a", "one")
    known.took(one, 1.0, 1.0)
    known.measured(one, 3)
    clock.now += EVERY_S
    assert looks(known, one, 1.2)
    assert known.due(one) is None
    clock.now += REST_S
    assert known.due(one) is not None
    known.took(one, 1.02, 1.02)
    assert not known.pace(one).slow
    assert known.pace(one).unproven == []


def test_a_moments_load_makes_nobody_slow() -> None:
    clock = Clock()
    known, one = Paces(CONFIGS, clock=clock), lane("a", "one")
    known.took(one, 1.0, 1.0)
    clock.now += EVERY_S
    assert not looks(known, one, 1.5, LOOKS - 1)
    assert not known.took(one, 1.0, 1.0)
    assert known.due(one) is None


def test_workers_of_other_hardware_are_not_held_against_each_other() -> None:
    configs = [*CONFIGS, config(4, 1, "cuda:1")]
    known = Paces(configs)
    one, other = lane("a", "one"), lane("b", "two", "cuda:1")
    known.took(one, 1.0, 1.0)
    assert not known.took(other, 9.0, 9.0)
    assert known.due(other) is None


def test_a_reference_that_cannot_be_measured_gives_way_to_the_next() -> None:
    known, one = Paces(CONFIGS[:2]), lane("a", "one")
    known.failed(CONFIGS[0])
    assert known.due(one) == CONFIGS[1]
    known.failed(CONFIGS[1])
    assert known.due(one) is None, "then workers measure without a reference"


def test_where_all_workers_are_slow_they_rest_once_and_then_their_pace_is_usual() -> None:
    clock = Clock()
    known, one, two = Paces(CONFIGS, clock=clock), lane("a", "one"), lane("b", "two")
    for worker in (one, two):
        known.took(worker, 1.0, 1.0)
    clock.now += EVERY_S
    assert looks(known, one, 2.1) and not known.accepted(one), "the other may be good"
    assert looks(known, two, 2.0) and not known.accepted(two), "they rest"
    assert known.due(one) is None and known.due(two) is None
    clock.now += REST_S
    assert known.took(one, 2.1, 2.1) and known.accepted(one)
    assert known.usual_s(one) == 2.0
    for worker, seconds in ((one, 2.1), (two, 2.0)):
        assert known.due(worker) is not None and not known.took(worker, seconds, seconds)
        known.measured(worker, 7)
    known.took(one, 1.0, 1.0)
    assert not known.took(one, 2.1, 2.1), "that it was fast for a moment makes it slow no more"
    clock.now += EVERY_S
    assert looks(known, one, 3.0) and not known.accepted(one)
    assert known.pace(two).due <= clock.now and not known.pace(two).slow


def test_workers_that_cool_down_in_each_rest_without_anything_that_holds_rest_no_more() -> None:
    clock = Clock()
    known, one = Paces(CONFIGS, clock=clock), lane("a", "one")
    known.took(one, 1.0, 1.0)
    clock.now += EVERY_S
    assert looks(known, one, 1.2) and not known.accepted(one)
    clock.now += REST_S
    assert not known.took(one, 1.0, 1.0), "cool again"
    known.measured(one, 4)
    clock.now += EVERY_S
    assert looks(known, one, 1.2) and known.accepted(one), "as hot as before, and nothing held"
    assert not known.took(one, 1.2, 1.2)


def test_only_workers_with_the_same_reference_are_held_against_each_other() -> None:
    known = Paces([*CONFIGS, config(4, 1, "opencl:0")])
    both, host = lane("a", "one", "cuda:0", "opencl:0"), lane("b", "two", "opencl:0")
    known.took(both, 1.0, 1.0)
    assert not known.took(host, 9.0, 9.0)


def test_a_slow_worker_whose_reference_cannot_be_measured_any_more_goes_on() -> None:
    clock = Clock()
    known, one = Paces(CONFIGS[:1], clock=clock), lane("a", "one")
    known.took(one, 1.0, 1.0)
    clock.now += EVERY_S
    assert looks(known, one, 2.0)
    known.failed(CONFIGS[0])
    assert not known.pace(one).slow and known.due(one) is None


def test_a_launch_whose_time_scatters_makes_nobody_slow() -> None:
    clock = Clock()
    known, one = Paces(CONFIGS, clock=clock), lane("a", "one")
    known.took(one, 1.0, 1.5)
    clock.now += EVERY_S
    assert not known.took(one, 1.6, 2.0)
    assert known.pace(one).looks == 0
