"""The summary of a series says what the series was made to say."""

from __future__ import annotations

import numpy as np
import pytest

from gpuexplorer.core.statistics import SHORT, middle, percentiles, summarize


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


@pytest.mark.parametrize("count", [1, 2, 3, 7, 64, 513])
def test_the_middle_of_a_few_samples_is_their_median_to_the_last_bit(count: int) -> None:
    for seed in range(20):
        samples_s = np.random.default_rng(seed).lognormal(-7, 1, count)
        assert middle(samples_s) == float(np.median(samples_s))


@pytest.mark.parametrize("count", [1, 2, 3, 7, 30, 64, 101, SHORT, SHORT + 1])
def test_percentiles_are_those_of_numpy_to_the_last_bit(count: int) -> None:
    for seed in range(40):
        samples_s = np.random.default_rng(seed).lognormal(-7, 1, count)
        wanted = (5, 25, 50, 75, 95)
        assert percentiles(samples_s, wanted) == np.percentile(samples_s, wanted).tolist()
