"""The median's interval holds the true median as often as it says, correlated or not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.core.intervals import (
    clock_step_s,
    first_correlation,
    group_count,
    group_medians,
    half_widths,
    median_interval,
    t_975,
)
from tests.support.synthetic import autoregression, rng

RUNS = 2000


@given(st.lists(st.floats(1e-9, 1e3), min_size=10, max_size=200))
def test_interval_holds_the_median_and_lies_within_the_samples(values: list[float]) -> None:
    series = np.array(values)
    interval = median_interval(series)
    assert interval is not None
    assert series.min() <= interval[0] <= np.median(series) <= interval[1] <= series.max()


@pytest.mark.parametrize(
    ("degrees", "quantile"),
    [(1, 12.706), (9, 2.262), (19, 2.093), (29.5, 2.0435), (30, 2.042), (40, 2.021), (120, 1.980)],
)
def test_student_t_matches_the_published_table(degrees: float, quantile: float) -> None:
    assert t_975(degrees) == pytest.approx(quantile, abs=6e-4)


def test_less_than_one_degree_of_freedom_is_refused() -> None:
    with pytest.raises(ValueError, match="start at 1"):
        t_975(0.5)


@pytest.mark.parametrize("shape", ["normal", "lognormal", "spikes"])
@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("samples", [30, 60, 99, 100, 200, 600])
def test_the_interval_covers_the_true_median_as_often_as_it_says(
    samples: int, correlation: float, shape: str
) -> None:
    series, truth = autoregression(rng(7), RUNS, samples, correlation, shape)
    half = half_widths(series)
    assert half is not None
    covered = float(np.mean(np.abs(np.median(series, axis=1) - truth) <= half))
    assert 0.93 <= covered <= 0.97


def test_strong_correlation_costs_little_of_the_promise() -> None:
    series, truth = autoregression(rng(8), RUNS, 200, 0.9, "normal")
    half = half_widths(series)
    assert half is not None
    assert np.mean(np.abs(np.median(series, axis=1) - truth) <= half) >= 0.92


def test_equal_samples_have_an_interval_of_no_width() -> None:
    assert median_interval(np.full(50, 2.0)) == (2.0, 2.0)


@pytest.mark.parametrize(
    ("samples", "groups"), [(0, 0), (9, 0), (10, 5), (18, 6), (30, 10), (99, 10), (100, 20)]
)
def test_how_many_groups_a_series_makes(samples: int, groups: int) -> None:
    assert group_count(samples) == groups


def test_groups_follow_each_other_in_time() -> None:
    assert group_medians(np.arange(9.0), 3).tolist() == [1.0, 4.0, 7.0]


def test_correlation_is_found_and_a_constant_has_none() -> None:
    series, _ = autoregression(rng(9), 200, 400, 0.6, "normal")
    assert np.mean(first_correlation(series)) == pytest.approx(0.6, abs=0.02)
    assert first_correlation(np.ones((1, 20))).tolist() == [0.0]


def test_a_coarse_clock_tells_a_median_no_better_than_half_a_step() -> None:
    """CUDA events come in steps of half a microsecond, however many there are."""
    random = np.random.default_rng(1)
    true_s = 20.22e-6
    samples_s = np.round(random.normal(true_s, 0.05e-6, 5000) / 0.5e-6) * 0.5e-6
    assert median_interval(samples_s) == pytest.approx((20e-6, 20e-6))  # where no step is known
    low_s, high_s = median_interval(samples_s, 0.5e-6) or (0.0, 0.0)
    assert low_s <= true_s <= high_s and high_s - low_s == pytest.approx(0.5e-6, rel=0.1)
    alike_s = np.full(100, 20e-6)
    assert median_interval(alike_s, 0.5e-6) == pytest.approx((19.75e-6, 20.25e-6))


def test_a_clock_that_is_finer_than_it_says_costs_what_it_is() -> None:
    random = np.random.default_rng(2)
    fine_s = np.round(random.normal(20e-6, 0.05e-6, 5000) / 0.032e-6) * 0.032e-6
    assert clock_step_s(fine_s, 0.5e-6) == pytest.approx(0.032e-6)
    assert clock_step_s(random.normal(20e-6, 0.05e-6, 5000), 0.5e-6) == 0.0
