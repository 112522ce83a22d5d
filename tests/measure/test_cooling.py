"""A device whose clock is held down is given a rest: growing, bounded, and ended by a cancel."""

from __future__ import annotations

import time

import numpy as np
import pytest

from gpuexplorer.backends.base import Batch
from gpuexplorer.measure import recipe
from gpuexplorer.measure.recipe import run_job
from gpuexplorer.measure.settling import FIRST_PAUSE_S, MOST_S, Cooling, pause
from gpuexplorer.measure.stop import TimeUp
from tests.measure.test_recipe import Arithmetic, Diary, job, plan


def test_pauses_grow_while_the_clock_is_low_and_start_again_when_it_is_back() -> None:
    one = Cooling()
    assert [one.pause_s(1.5e9) for _ in range(20)] == [0] * 20
    assert one.pause_s(1.2e9) == 0  # 80 % is a clock as usual
    assert one.pause_s(1.0e9) == FIRST_PAUSE_S
    assert one.pause_s(1.0e9) > FIRST_PAUSE_S
    assert one.pause_s(1.5e9) == 0
    assert one.pause_s(1.0e9) == FIRST_PAUSE_S


def test_a_clock_that_is_not_known_makes_no_pause() -> None:
    assert Cooling().pause_s(None) == 0


def test_one_false_reading_does_not_make_every_other_clock_low() -> None:
    one = Cooling()
    clocks = [9e9, *[1.5e9] * 30]
    assert [one.pause_s(clock) for clock in clocks][-20:] == [0] * 20


def test_all_pauses_together_are_bounded() -> None:
    one = Cooling()
    for _ in range(100):
        one.pause_s(2e9)
    total = sum(one.pause_s(1e9) for _ in range(50))
    assert total == pytest.approx(MOST_S)
    assert one.pause_s(1e9) == 0


def test_a_device_at_its_power_limit_is_not_waited_for() -> None:
    one = Cooling()
    for _ in range(20):
        assert one.pause_s(2.04e9) == 0
    assert one.pause_s(1.9e9, ("power cap",)) == 0
    waited = [one.pause_s(1.1e9, ("power cap",) if i % 3 == 0 else ()) for i in range(200)]
    assert sum(waited) == 0
    assert one.pause_s(0.5e9, ("power cap", "temperature (driver)")) == FIRST_PAUSE_S


def test_heat_and_faults_are_waited_for() -> None:
    for reason in ("temperature (driver)", "hardware slowdown"):
        one = Cooling()
        for _ in range(20):
            one.pause_s(2.04e9)
        assert one.pause_s(1.1e9, (reason,)) == FIRST_PAUSE_S


def test_a_cancel_ends_a_pause() -> None:
    asked = iter([False, False, True])
    started = time.perf_counter()
    pause(60.0, lambda: next(asked))
    assert time.perf_counter() - started < 5


class Throttled(Arithmetic):
    """Its clock falls to half for two batches."""

    def launch(self, count: int) -> Batch:
        batch = super().launch(count)
        low = sum("launch" in entry for entry in self.diary) in (20, 21)
        return Batch(batch.start_ns, np.asarray(batch.seconds), clock_Hz=0.8e9 if low else 1.6e9)


@pytest.mark.parametrize(
    ("waits", "reasons", "pauses"),
    [(True, (), 2), (False, (), 0), (True, ("power cap",), 0), (True, ("power brake",), 2)],
)
def test_a_run_rests_where_it_may_and_keeps_every_sample(
    waits: bool, reasons: tuple[str, ...], pauses: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rested: list[float] = []
    monkeypatch.setattr(recipe, "pause", lambda seconds, cancelled: rested.append(seconds))
    sink = Diary()
    enough = 40
    run_job(
        job(
            Throttled(plan()),
            stop_rules=[TimeUp(1e9)],
            cancelled=lambda: len(sink.batches) >= enough,
            warm_up_s=0.0,
            wait_when_throttled=waits,
            clock_reasons=lambda: reasons,
        ),
        sink,
    )
    assert len(rested) == pauses
    clocks = [clock for batch in sink.batches for clock in batch.clocks_Hz]
    assert clocks.count(0.8e9) == 2
    assert FIRST_PAUSE_S in rested or not pauses
