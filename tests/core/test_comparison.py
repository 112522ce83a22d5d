"""The ratio of two interleaved series, its interval and what it says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gpuexplorer.core.comparison import (
    Comparison,
    Verdict,
    _averages_cut,
    ratio_interval,
    verdict_of,
)
from tests.support.synthetic import Floats, rng

RUNS = 2000


def compared(a: Floats, b: Floats) -> Comparison:
    found = ratio_interval(a, b)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("pairs", "cut"), [(6, 0), (7, 2), (8, 3), (10, 8), (12, 13), (16, 29), (20, 52), (25, 89)]
)
def test_the_cut_is_the_published_critical_value(pairs: int, cut: int) -> None:
    assert _averages_cut(pairs) == cut  # Wilcoxon's signed ranks, two-sided 5 %


def test_many_pairs_follow_on_from_the_exact_ones() -> None:
    cuts = [_averages_cut(pairs) for pairs in range(55, 66)]
    assert (np.abs(np.diff(cuts, n=2)) <= 2).all()


def noise(source: np.random.Generator, kind: str, pairs: int) -> Floats:
    quiet = 0.02 * source.standard_normal(pairs)
    if kind == "bursts":
        return quiet + np.where(source.random(pairs) < 0.1, source.random(pairs), 0.0)
    if kind == "heavy":
        return 0.01 * np.clip(source.standard_cauchy(pairs), -1e3, 1e3)
    return quiet


@pytest.mark.parametrize("kind", ["normal", "bursts", "heavy"])
@pytest.mark.parametrize("pairs", [6, 8, 12, 20])
def test_of_two_that_are_equal_the_interval_holds_1_as_often_as_it_says(
    pairs: int, kind: str
) -> None:
    source = rng(61)
    held = 0
    for _ in range(RUNS):
        machine = np.cumsum(0.05 * source.standard_normal(pairs))  # drifts for both alike
        found = compared(
            np.exp(machine + noise(source, kind, pairs)),
            np.exp(machine + noise(source, kind, pairs)),
        )
        held += found.ci95_low <= 1 <= found.ci95_high
    assert 0.935 <= held / RUNS <= 0.975


def test_a_difference_is_found_through_a_drift_that_is_larger() -> None:
    source = rng(62)
    machine = np.linspace(0, 0.5, 20)
    right, ratios = 0, []
    for _ in range(300):
        a = np.exp(machine + noise(source, "bursts", 20))
        found = compared(a, np.exp(machine + math.log(1.2) + noise(source, "bursts", 20)))
        right += found.verdict == "slower"
        ratios.append(found.ratio)
    assert right > 270
    assert np.median(ratios) == pytest.approx(1.2, rel=0.02)


def test_the_other_way_round_is_the_inverse() -> None:
    source = rng(63)
    a, b = np.exp(noise(source, "normal", 15)), 0.9 * np.exp(noise(source, "normal", 15))
    there, back = compared(a, b), compared(b, a)
    assert there.ratio == pytest.approx(1 / back.ratio)
    assert there.ci95_low == pytest.approx(1 / back.ci95_high)
    assert (there.verdict, back.verdict) == ("faster", "slower")


@pytest.mark.parametrize(
    ("ratio", "low", "high", "verdict"),
    [
        (1.0, 0.998, 1.003, "same"),
        (1.002, 1.001, 1.004, "same"),  # a difference, but one that does not matter
        (1.05, 1.01, 1.09, "slower"),
        (0.95, 0.91, 0.99, "faster"),
        (1.01, 0.98, 1.04, "can't tell"),
        (1.004, 1.001, 1.008, "can't tell"),
    ],
)
def test_what_an_interval_says(ratio: float, low: float, high: float, verdict: Verdict) -> None:
    assert verdict_of(ratio, low, high) == verdict


def test_too_few_pairs_and_impossible_ones() -> None:
    assert ratio_interval(np.ones(5), np.ones(5)) is None
    with pytest.raises(ValueError, match="number of turns"):
        ratio_interval(np.ones(7), np.ones(8))
    with pytest.raises(ValueError, match="above 0"):
        ratio_interval(np.zeros(7), np.ones(7))
