"""Batches at a low clock are marked, and only those."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from gpuexplorer.core.series.throttle import slows, throttled_batches, usual_clock_Hz
from tests.support.synthetic import rng

NAN = float("nan")


def marks(
    clocks: npt.NDArray[np.float64],
    medians: npt.NDArray[np.float64] | None = None,
    *,
    during: bool = True,
    slowed: list[bool] | None = None,
    nominal_Hz: float | None = None,
) -> npt.NDArray[np.bool_]:
    return throttled_batches(
        clocks,
        np.ones(len(clocks)) if medians is None else medians,
        during=during,
        slowed=np.array(slowed or [False] * len(clocks)),
        nominal_Hz=nominal_Hz,
    )


def test_a_batch_under_three_quarters_of_the_usual_clock_is_marked() -> None:
    clocks = np.array([1.5e9, 1.5e9, 1.1e9, 1.2e9, NAN, 1.5e9])
    assert marks(clocks).tolist() == [False, False, True, False, False, False]


def test_a_run_that_is_throttled_most_of_the_time_is_seen_as_such() -> None:
    assert marks(np.array([1.5e9] * 20 + [0.9e9] * 80)).sum() == 80


def test_a_low_clock_throughout_is_throttled_only_where_the_driver_says_why() -> None:
    clocks = np.full(10, 1.0e9)
    assert not marks(clocks, nominal_Hz=1.5e9).any()
    assert marks(clocks, nominal_Hz=1.5e9, slowed=[True] * 10).all()
    assert not marks(clocks, nominal_Hz=1.2e9, slowed=[True] * 10).any()


def test_a_clock_that_somebody_chose_is_not_a_slowing_down() -> None:
    assert slows(("power cap", "application clocks"))
    assert not slows(("application clocks",))
    assert not slows(())
    assert not slows(None)


def test_a_clock_read_beside_the_batch_needs_a_slower_batch() -> None:
    clocks = np.array([1.0e9, 1.0e9, 2.0e9, 2.0e9, 2.0e9])
    medians = np.array([1.0, 1.4, 1.0, 1.0, 1.0])
    assert marks(clocks, medians).tolist() == [True, True, False, False, False]
    assert marks(clocks, medians, during=False).tolist() == [False, True, False, False, False]


def test_without_a_clock_the_drivers_reasons_decide() -> None:
    clocks = np.array([NAN, NAN, 1.5e9])
    assert marks(clocks, slowed=[False, True, True]).tolist() == [False, True, False]


@pytest.mark.parametrize("during", [True, False])
def test_a_clock_that_only_flickers_is_not_throttled(during: bool) -> None:
    source = rng(31)
    clocks = source.normal(1.5e9, 0.03e9, (300, 200))
    medians = source.normal(1.0, 0.05, (300, 200))
    found = [marks(c, m, during=during).any() for c, m in zip(clocks, medians, strict=True)]
    assert np.mean(found) < 0.05


def test_two_clocks_are_too_few_to_call_one_usual() -> None:
    assert usual_clock_Hz(np.array([1e9, 2e9, NAN])) is None
    assert usual_clock_Hz(np.array([1e9, 2e9, 2e9])) == 2e9
