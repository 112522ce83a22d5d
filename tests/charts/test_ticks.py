"""Ticks of logarithmic axes: round, two at least, and words that tell them apart."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.charts.ticks import LEAST_DECADES, log_ticks, tick_words


@given(
    low=st.floats(-11.0, 15.0),
    decades=st.floats(LEAST_DECADES, 20.0),
    most=st.integers(0, 20),
    unit=st.sampled_from(["", "s", "FLOP/s"]),
)
def test_there_are_two_at_least_inside_and_their_words_differ(
    low: float, decades: float, most: int, unit: str
) -> None:
    begin, end = 10.0**low, 10.0 ** (low + decades)
    found = log_ticks(begin, end, most)
    assert 2 <= len(found) <= max(2, most)
    assert found == sorted(found)
    assert begin * (1 - 1e-8) <= found[0] and found[-1] <= end * (1 + 1e-8)
    words = tick_words(found, unit)
    assert len(set(words)) == len(found)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.9, 1.1, [0.9, 0.95, 1.0, 1.05, 1.1]),
        (0.97, 1.04, [0.98, 1.0, 1.02, 1.04]),
        (0.5, 3.0, [0.5, 1.0, 2.0]),
        (0.09, 30.0, [0.1, 1.0, 10.0]),
        (0.9, 12.0, [1.0, 2.0, 5.0, 10.0]),
        (10.2, 980.0, [20.0, 50.0, 100.0, 200.0, 500.0]),
        (10.2, 4900.0, [100.0, 1000.0]),
        (1.1, 90.0, [2.0, 5.0, 10.0, 20.0, 50.0]),
        (11.0, 2000.0, [100.0, 1000.0]),
        (0.11, 90.0, [1.0, 10.0]),
        (2.0, 2.0, [2.0]),
        (9.1e-13, 1.1e-12, [9.5e-13, 1e-12, 1.05e-12, 1.1e-12]),
    ],
)
def test_ticks_are_round(low: float, high: float, expected: list[float]) -> None:
    assert log_ticks(low, high, 5) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("values", "unit", "words"),
    [
        ([1e9, 1e10, 1e11], "FLOP/s", ["1 GFLOP/s", "10 GFLOP/s", "100 GFLOP/s"]),
        ([2e-3, 2.5e-3], "s", ["2.0 ms", "2.5 ms"]),
        ([250e-6], "s", ["250 µs"]),
        ([0.01, 1000.0], "", ["0.01", "1000"]),
        ([10.0 ** math.log10(3e7)], "B/s", ["30 MB/s"]),
    ],
)
def test_words_have_the_digits_that_they_need(
    values: list[float], unit: str, words: list[str]
) -> None:
    assert tick_words(values, unit) == words
