"""Batches at a low clock are marked, and only those."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from gpuexplorer.core.series.throttle import throttled_batches, usual_clock_Hz
from tests.support.synthetic import rng

NAN = float("nan")


def marks(
    clocks: npt.NDArray[np.float64],
    medians: npt.NDArray[np.float64] | None = None,
    *,
    during: bool = True,
    limited: list[bool] | None = None,
    faulty: list[bool] | None = None,
    highest_Hz: float | None = None,
) -> npt.NDArray[np.bool_]:
    none = [False] * len(clocks)
    return throttled_batches(
        clocks,
        np.ones(len(clocks)) if medians is None else medians,
        counted=np.full(len(clocks), during) & np.isfinite(clocks),
        limited=np.array(limited or none),
        faulty=np.array(faulty or none),
        highest_Hz=highest_Hz,
    )


def test_a_batch_under_three_quarters_of_the_usual_clock_is_marked() -> None:
    clocks = np.array([1.5e9, 1.5e9, 1.1e9, 1.2e9, NAN, 1.5e9])
    assert marks(clocks).tolist() == [False, False, True, False, False, False]


def test_a_run_that_is_throttled_most_of_the_time_is_seen_as_such() -> None:
    assert marks(np.array([1.5e9] * 20 + [0.9e9] * 80)).sum() == 80


def test_a_steady_clock_is_no_throttling_whatever_limits_it() -> None:
    clocks = np.full(10, 1.1e9)
    assert not marks(clocks, highest_Hz=2.04e9).any()
    assert not marks(clocks, highest_Hz=2.04e9, limited=[True] * 10).any()


def test_hardware_that_protects_itself_is_held_against_the_highest_clock() -> None:
    clocks = np.full(10, 1.0e9)
    assert marks(clocks, highest_Hz=1.5e9, faulty=[True] * 10).all()
    assert not marks(clocks, highest_Hz=1.2e9, faulty=[True] * 10).any()
    assert marks(clocks, highest_Hz=1.5e9, faulty=[True] * 6 + [False] * 4).sum() == 6


def test_a_fault_seen_now_and_then_marks_only_where_the_clock_fell() -> None:
    faulty = [True] * 2 + [False] * 8
    assert not marks(np.full(10, 1.1e9), highest_Hz=2.04e9, faulty=faulty).any()
    fell = np.array([0.6e9] * 2 + [1.1e9] * 8)
    assert marks(fell, highest_Hz=2.04e9, faulty=faulty).tolist() == faulty


def test_a_power_cap_that_sets_in_leaves_true_figures() -> None:
    clocks = np.array([2.0e9] * 20 + [1.1e9] * 80)
    assert not marks(clocks, highest_Hz=2.04e9, limited=[False] * 20 + [True] * 80).any()
    slowed = np.array([2.0e9] * 20 + [1.1e9] * 70 + [0.6e9] * 10)
    found = marks(slowed, limited=[False] * 20 + [True] * 70 + [False] * 10)
    assert found.tolist() == [False] * 90 + [True] * 10


def test_a_clock_read_beside_the_batch_needs_a_slower_batch() -> None:
    clocks = np.array([1.0e9, 1.0e9, 2.0e9, 2.0e9, 2.0e9])
    medians = np.array([1.0, 1.4, 1.0, 1.0, 1.0])
    assert marks(clocks, medians).tolist() == [True, True, False, False, False]
    assert marks(clocks, medians, during=False).tolist() == [False, True, False, False, False]


def test_a_reason_alone_marks_nothing() -> None:
    clocks = np.array([NAN, NAN, 1.5e9])
    assert not marks(clocks, faulty=[True, True, True], highest_Hz=1.6e9).any()


def test_clocks_counted_and_read_beside_are_judged_each_in_its_way() -> None:
    clocks = np.array([2.0e9] * 6 + [1.0e9] * 3)
    medians = np.array([1.0] * 6 + [1.0, 1.0, 1.4])
    counted = np.array([True] * 7 + [False] * 2)
    none = np.zeros(9, dtype=np.bool_)
    found = throttled_batches(clocks, medians, counted=counted, limited=none, faulty=none)
    assert found.tolist() == [False] * 6 + [True, False, True]


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
