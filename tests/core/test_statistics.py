"""The summary of a series says what the series was made to say."""

from __future__ import annotations

import numpy as np
import pytest

from gpuexplorer.core.statistics import summarize


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
