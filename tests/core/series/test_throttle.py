"""Batches at a low clock are marked, and only those."""

from __future__ import annotations

import numpy as np
import pytest

from gpuexplorer.core.series.throttle import throttled_batches, usual_clock_Hz
from tests.support.synthetic import rng

NAN = float("nan")


def test_a_batch_under_three_quarters_of_the_usual_clock_is_marked() -> None:
    clocks = np.array([1.5e9, 1.5e9, 1.1e9, 1.2e9, NAN, 1.5e9])
    held = throttled_batches(clocks, np.ones(6), during=True)
    assert held.tolist() == [False, False, True, False, False, False]


def test_a_run_that_is_throttled_most_of_the_time_is_seen_as_such() -> None:
    clocks = np.array([1.5e9] * 20 + [0.9e9] * 80)
    assert throttled_batches(clocks, np.ones(100), during=True).sum() == 80


def test_the_nominal_clock_tells_a_run_that_is_throttled_throughout() -> None:
    clocks = np.full(10, 1.0e9)
    assert not throttled_batches(clocks, np.ones(10), during=True).any()
    assert throttled_batches(clocks, np.ones(10), during=True, nominal_Hz=1.5e9).all()


def test_a_clock_read_beside_the_batch_needs_a_slower_batch() -> None:
    clocks = np.array([1.0e9, 1.0e9, 2.0e9, 2.0e9, 2.0e9])
    medians = np.array([1.0, 1.4, 1.0, 1.0, 1.0])
    assert throttled_batches(clocks, medians, during=True).tolist() == [True, True] + [False] * 3
    assert throttled_batches(clocks, medians, during=False).tolist() == [False, True] + [False] * 3


def test_without_a_clock_the_drivers_reasons_decide() -> None:
    slowed = np.array([False, True, True])
    clocks = np.array([NAN, NAN, 1.5e9])
    held = throttled_batches(clocks, np.ones(3), during=True, slowed=slowed)
    assert held.tolist() == [False, True, False]


@pytest.mark.parametrize("during", [True, False])
def test_a_clock_that_only_flickers_is_not_throttled(during: bool) -> None:
    source = rng(31)
    clocks = source.normal(1.5e9, 0.03e9, (300, 200))
    medians = source.normal(1.0, 0.05, (300, 200))
    found = [
        throttled_batches(c, m, during=during).any() for c, m in zip(clocks, medians, strict=True)
    ]
    assert np.mean(found) < 0.05


def test_two_clocks_are_too_few_to_call_one_usual() -> None:
    assert usual_clock_Hz(np.array([1e9, 2e9, NAN])) is None
    assert usual_clock_Hz(np.array([1e9, 2e9, 2e9])) == 2e9
