"""The summary of a series says what the series was made to say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.core.statistics import median_interval, summarize, t_975


def test_known_series() -> None:
    summary = summarize(np.arange(1.0, 102.0))
    assert summary.median_s == 51
    assert summary.min_s == 1
    assert summary.p05_s == 6
    assert summary.p95_s == 96
    assert summary.samples == 101


def test_too_few_samples_have_no_interval() -> None:
    summary = summarize(np.ones(9))
    assert summary.ci95_low_s is None
    assert summary.relative_error is None


def test_no_samples_is_refused() -> None:
    with pytest.raises(ValueError, match="no samples"):
        summarize(np.empty(0))


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


def series(rng: np.random.Generator, samples: int, correlation: float) -> np.ndarray:
    """Return a stationary first-order autoregression with median 1."""
    noise = rng.standard_normal(samples)
    values = np.empty(samples)
    values[0] = noise[0]
    for i in range(1, samples):
        values[i] = correlation * values[i - 1] + np.sqrt(1 - correlation**2) * noise[i]
    return 1 + 0.05 * values


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("samples", [60, 200])
def test_the_interval_covers_the_true_median_as_often_as_it_says(
    samples: int, correlation: float
) -> None:
    rng = np.random.Generator(np.random.SFC64(7))
    runs = 1000
    covered = 0
    for _ in range(runs):
        interval = median_interval(series(rng, samples, correlation))
        assert interval is not None
        covered += interval[0] <= 1.0 <= interval[1]
    assert 0.925 <= covered / runs <= 0.98


def test_equal_samples_have_an_interval_of_no_width() -> None:
    assert median_interval(np.full(50, 2.0)) == (2.0, 2.0)
