"""Live figures rest on the latest samples, without those at a clock that was held down."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from gpuexplorer.core.sample import Reading, SampleBatch
from gpuexplorer.gui.model import tally
from gpuexplorer.gui.model.tally import Tally
from tests.support.synthetic import rng


def batch(values: np.ndarray, clock_Hz: float | None = None) -> SampleBatch:
    return SampleBatch(
        seconds=values.astype("<f8").tobytes(),
        counts=(len(values),),
        starts_ns=(0,),
        clocks_Hz=(clock_Hz,),
    )


def test_figures_and_oddities_of_what_came() -> None:
    one = Tally()
    series = rng(1).normal(1e-3, 1e-5, 1000)
    series[500] = 5e-3
    for part in np.split(series, 10):
        one.extend(batch(part))
    summary = one.summary()
    assert summary.samples == 1000
    assert summary.median_s == np.median(series)
    assert summary.outliers == 1
    assert summary.outlier_above_s is not None
    assert 1e-3 < summary.outlier_above_s < 5e-3


def test_throttled_samples_are_not_in_the_figures() -> None:
    one = Tally()
    one.extend(batch(np.full(10, 2.0)))  # no clock yet: nothing is known of these
    for clock_Hz, time_s in ((1.5e9, 1.0), (1.5e9, 1.0), (0.9e9, 1.6), (1.5e9, 1.0)):
        one.extend(batch(np.full(100, time_s), clock_Hz))
    summary = one.summary()
    assert summary.marked_throttled == 100
    assert summary.samples == 310
    assert summary.median_s == 1.0
    assert "clock was held down" in summary.warnings[0]


@pytest.mark.parametrize(
    ("reasons", "marked"),
    [((), 100), (("power cap",), 0), (("power cap", "temperature (driver)"), 100)],
)
def test_the_devices_own_limit_marks_nothing(reasons: tuple[str, ...], marked: int) -> None:
    one = Tally(highest_Hz=2.04e9)
    for number, (clock_Hz, time_s) in enumerate(((2e9, 1.0), (2e9, 1.0), (2e9, 1.0), (1.1e9, 1.6))):
        start_ns = number * 10**7
        held = reasons if clock_Hz < 1.5e9 else ()
        beside = Reading(t_ns=start_ns - 10**6, source="nvml", throttle_reasons=held)
        made = batch(np.full(100, time_s), clock_Hz)
        one.extend(msgspec.structs.replace(made, starts_ns=(start_ns,)), [beside])
    assert one.summary().marked_throttled == marked


def test_a_fault_is_held_against_the_highest_clock() -> None:
    one = Tally(highest_Hz=2.04e9)
    beside = Reading(t_ns=0, source="nvml", throttle_reasons=("power brake",))
    one.extend(batch(np.full(100, 1.0), 1.0e9), [beside])
    assert one.summary().marked_throttled == 100


def test_the_oldest_samples_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "SAMPLES", 100)
    one = Tally()
    for number in range(30):
        one.extend(batch(np.full(10, 1.0 + number), 1e9 if number % 2 else None))
    assert len(one) <= 200
    assert one.summary().samples == 100
    assert one.summary().median_s == pytest.approx(25.5)


def test_no_samples_have_no_figures() -> None:
    with pytest.raises(ValueError, match="no samples"):
        Tally().summary()
