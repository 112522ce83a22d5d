"""Drift, two modes and outliers are found where they are, and seldom where they are not."""

from __future__ import annotations

import time

import numpy as np
import pytest

from gpuexplorer.core.series.drift import find_drift
from gpuexplorer.core.series.modes import find_modes
from gpuexplorer.core.series.outliers import outlier_above_s
from tests.support.synthetic import autoregression, drifting, rng, two_modes

RUNS = 300

clean = pytest.mark.parametrize(
    ("samples", "correlation", "shape"),
    [
        (samples, correlation, shape)
        for samples in (30, 100, 1000)
        for correlation in (0.0, 0.3, 0.6)
        for shape in ("normal", "lognormal", "spikes")
    ],
)


@clean
def test_a_steady_series_neither_drifts_nor_has_two_modes(
    samples: int, correlation: float, shape: str
) -> None:
    series, _ = autoregression(rng(11), RUNS, samples, correlation, shape)
    assert np.mean([find_drift(one) is not None for one in series]) < 0.05
    assert np.mean([find_modes(one) is not None for one in series]) < 0.05


@pytest.mark.parametrize(
    ("samples", "change", "power"),
    [(30, 0.4, 0.85), (100, 0.2, 0.95), (400, 0.1, 0.95), (400, -0.1, 0.95), (2000, 0.05, 0.95)],
)
@pytest.mark.parametrize("correlation", [0.0, 0.3])
def test_a_drift_is_found_with_its_direction(
    samples: int, change: float, power: float, correlation: float
) -> None:
    series, _ = autoregression(rng(12), RUNS, samples, correlation, "normal")
    found = [find_drift(one) for one in drifting(series, change)]
    told = [one.change for one in found if one is not None]
    assert len(told) / RUNS >= power
    assert np.median(told) == pytest.approx(0.8 * change, abs=0.02 + 0.2 * abs(change))


def test_a_drift_under_one_percent_is_not_worth_a_word() -> None:
    series, _ = autoregression(rng(13), 20, 2000, 0.0, "normal")
    quiet = 1 + (series - 1) / 100
    assert all(find_drift(one) is None for one in drifting(quiet, 0.008))
    assert all(find_drift(one) is not None for one in drifting(quiet, 0.02))


@pytest.mark.parametrize(
    ("samples", "apart", "share", "power"),
    [(100, 0.5, 0.5, 0.95), (400, 0.3, 0.5, 0.95), (400, 0.4, 0.2, 0.95), (2000, 0.3, 0.3, 0.95)],
)
def test_two_modes_are_found_with_their_centres_and_shares(
    samples: int, apart: float, share: float, power: float
) -> None:
    series, _ = autoregression(rng(14), RUNS, samples, 0.3, "normal")
    found = [find_modes(one) for one in two_modes(rng(15), series, apart, share)]
    told = [one for one in found if one is not None]
    assert len(told) / RUNS >= power
    assert np.median([one.lower_s for one in told]) == pytest.approx(1, rel=0.03)
    assert np.median([one.upper_s for one in told]) == pytest.approx(1 + apart, rel=0.03)
    assert np.median([one.upper_share for one in told]) == pytest.approx(share, abs=0.05)


def test_the_steps_of_a_coarse_clock_are_not_modes() -> None:
    source = rng(16)
    for _ in range(50):
        step = 0.5e-6
        series = np.round(source.normal(5e-6, 0.4e-6, 1000) / step) * step
        assert find_modes(series, resolution_s=step) is None


def test_two_modes_under_heavy_tails() -> None:
    series, _ = autoregression(rng(17), RUNS, 1000, 0.3, "spikes")
    found = [find_modes(one) for one in two_modes(rng(18), series, 0.4, 0.4)]
    assert np.mean([one is not None for one in found]) > 0.95


def test_spikes_are_outliers_and_the_rest_is_not() -> None:
    source = rng(19)
    series = source.normal(1.0, 0.02, 2000)
    series[100:2000:100] = 1.5
    above_s = outlier_above_s(series)
    assert above_s is not None
    assert (series > above_s).sum() == 19


@pytest.mark.parametrize("shape", ["normal", "lognormal"])
def test_a_clean_series_has_hardly_an_outlier(shape: str) -> None:
    series, _ = autoregression(rng(20), RUNS, 400, 0.3, shape)
    fences = np.array([outlier_above_s(one) for one in series])
    assert np.mean((series > fences[:, None]).any(axis=1)) < 0.05


def test_outliers_of_a_perfectly_quiet_series_lie_at_least_a_percent_above() -> None:
    assert outlier_above_s(np.full(100, 2.0)) == pytest.approx(2.02)
    assert outlier_above_s(np.full(100, 2.0), resolution_s=0.5) == 3.0


def test_short_series_and_zeros_say_nothing() -> None:
    assert find_drift(np.arange(1.0, 20.0)) is None
    assert find_modes(np.ones(10)) is None
    assert find_modes(np.zeros(100)) is None
    assert outlier_above_s(np.ones(9)) is None
    assert outlier_above_s(np.zeros(100)) is None
    assert find_drift(np.zeros(100)) is None


def test_millions_of_samples_are_examined_in_a_moment() -> None:
    series = rng(21).normal(1.0, 0.02, 4_000_000)
    started = time.process_time()
    assert find_drift(series) is None
    assert find_modes(series) is None
    assert outlier_above_s(series) is not None
    assert time.process_time() - started < 1.0
