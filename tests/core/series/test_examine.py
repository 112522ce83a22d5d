"""A series is examined as a whole: figures, marks and sentences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from gpuexplorer.core.series.examine import examine
from tests.support.synthetic import Floats, autoregression, drifting, rng, two_modes


def test_a_quiet_series_has_nothing_odd() -> None:
    found = examine(rng(41).normal(1e-3, 1e-5, 500))
    assert found.warnings == ()
    assert found.marked_throttled == 0
    assert found.outliers == 0
    assert found.samples == 500


def test_throttled_samples_are_marked_and_not_in_the_figures() -> None:
    series = rng(42).normal(1.0, 0.01, 400)
    throttled = np.zeros(400, dtype=bool)
    throttled[100:200] = True
    series[throttled] *= 2
    found = examine(series, throttled=throttled)
    assert found.marked_throttled == 100
    assert not found.mostly_throttled
    assert found.median_s == pytest.approx(1.0, rel=0.01)
    assert found.p95_s < 1.1
    assert found.warnings == (
        "the clock was held down during 25 % of the samples; they are marked and not in the "
        "figures",
    )


def test_a_throttled_majority_stays_in_the_figures_and_is_said() -> None:
    series = rng(43).normal(1.0, 0.01, 100)
    found = examine(series, throttled=np.arange(100) >= 30)
    assert found.samples == 100
    assert found.mostly_throttled
    assert "70 %" in found.warnings[0]
    assert "throttled device" in found.warnings[0]


def test_a_drift_is_a_sentence_with_its_figure() -> None:
    series = drifting(rng(44).normal(1.0, 0.005, 1000), 0.1)
    (said,) = examine(series).warnings
    assert said == "the times drift: the last fifth is 7.8 % slower than the first"


def test_two_modes_are_a_sentence_and_the_slower_one_is_no_outlier() -> None:
    source = rng(45)
    series = two_modes(source, source.normal(1e-3, 1e-5, 2000), 1.0, 0.2)
    series[::500] = 20e-3
    found = examine(series)
    assert found.outliers == 4
    assert found.outlier_above_s is not None
    assert found.outlier_above_s > 2e-3
    (said,) = found.warnings
    assert said.startswith("the times have two modes: 79 % of the samples take about 1.00 ms")
    assert said.endswith("21 % about 2.00 ms")


def test_many_outliers_and_noise_are_said() -> None:
    source = rng(46)
    series = source.normal(1.0, 0.01, 1000)
    series[source.random(1000) < 0.05] *= 3
    assert any("are outliers" in said for said in examine(series).warnings)
    noisy, _ = autoregression(rng(47), 1, 60, 0.6, "lognormal")
    assert any("noisy" in said for said in examine(noisy[0]).warnings)


def test_clean_series_seldom_get_a_warning() -> None:
    for correlation in (0.0, 0.6):
        series, _ = autoregression(rng(48), 300, 1000, correlation, "normal")
        assert np.mean([bool(examine(one).warnings) for one in series]) < 0.05


@settings(deadline=None)
@given(
    arrays.arrays(np.float64, st.integers(1, 150), elements=st.floats(0, 1e3)),
    st.floats(0, 1e-3),
    st.integers(0, 2),
)
def test_any_series_can_be_examined(series: Floats, resolution_s: float, every: int) -> None:
    throttled = np.arange(len(series)) % 3 < every
    found = examine(series, resolution_s=resolution_s, throttled=throttled)
    assert found.marked_throttled == throttled.sum()
    assert 0 <= found.outliers <= found.samples <= len(series)
    assert found.min_s <= found.median_s
    assert all("nan" not in said for said in found.warnings)
