"""Stops are told from silence by the clock and by the system's word, seldom asked for."""

from __future__ import annotations

import pytest

from gpuexplorer.engine import suspension
from gpuexplorer.engine.suspension import SuspensionWatch


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


class Process:
    def __init__(self) -> None:
        self.suspended = False
        self.asked = 0

    def is_suspended(self) -> bool:
        self.asked += 1
        return self.suspended


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(suspension, "time", made)
    return made


def test_the_system_is_asked_after_some_silence_and_once_a_second_at_most(clock: Clock) -> None:
    watch, process = SuspensionWatch(), Process()
    for _ in range(40):
        clock.now += 0.25
        watch.look(process)
    assert process.asked == 9  # from the second to the tenth second of silence
    watch.heard()
    clock.now += 1.5
    assert not watch.look(process)
    assert process.asked == 9


def test_a_stop_and_its_end_are_told_once_each(clock: Clock) -> None:
    watch, process = SuspensionWatch(), Process()
    process.suspended = True
    clock.now += 2.5
    assert watch.look(process)
    assert watch.due == clock.now + suspension.PATIENCE_S
    clock.now += 1.5
    assert not watch.look(process)
    process.suspended = False
    clock.now += 1.5
    assert watch.look(process)
    assert watch.due is None


def test_what_comes_of_a_suspended_engine_says_that_it_works_on(clock: Clock) -> None:
    watch, process = SuspensionWatch(), Process()
    process.suspended = True
    watch.look(process, at_once=True)
    assert watch.heard() and not watch.heard()
    assert watch.due is None


def test_time_in_which_this_program_stood_still_counts_for_nothing(clock: Clock) -> None:
    watch, process = SuspensionWatch(), Process()
    process.suspended = True
    watch.look(process, at_once=True)
    clock.now += 1.0
    assert watch.away_s() == 0.0
    due = watch.due
    assert due is not None
    clock.now += 3600.0
    assert watch.away_s() == 3600.0
    assert watch.due == due + 3600.0
    assert watch.away_s() == 0.0
