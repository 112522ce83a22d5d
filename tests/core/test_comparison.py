"""The ratio of two interleaved series, its interval and what it says."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from gpuexplorer.core.comparison import (
    Comparison,
    _interval_place,
    interval_so_far,
    ratio_interval,
)
from gpuexplorer.core.verdict import Verdict, verdict_of
from tests.support.synthetic import Floats, rng

RUNS = 2000


def compared(a: Floats, b: Floats) -> Comparison:
    found = ratio_interval(a, b)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("pairs", "rank", "more", "less"),
    # what the interval from this value on holds, and from the next one, by the binomial table
    [
        (6, 0, 0.96875, 0.78125),
        (8, 0, 0.9921875, 0.9296875),
        (12, 2, 0.9614258, 0.8540039),
        (20, 5, 0.9586105, 0.8846817),
        (100, 39, 0.9647998, 0.9431120),
    ],
)
def test_the_interval_ends_between_two_ordered_pairs(
    pairs: int, rank: int, more: float, less: float
) -> None:
    step = (more - 0.95) / (more - less)
    depth = rank + 1
    inward = (pairs - depth) * step / (depth + (pairs - 2 * depth) * step)
    found_rank, found_inward = _interval_place(pairs)
    assert found_rank == rank
    assert found_inward == pytest.approx(inward, rel=1e-4)
    assert 0 <= found_inward <= 1


def test_thousands_of_pairs_are_no_trouble() -> None:
    rank, _ = _interval_place(5000)
    assert rank == pytest.approx(2500 - 1.96 * 5000**0.5 / 2, abs=1.5)


def noise(source: np.random.Generator, kind: str, pairs: int) -> Floats:
    quiet = 0.02 * source.standard_normal(pairs)
    if kind in ("bursts", "often"):
        hit = source.random(pairs) < (0.1 if kind == "bursts" else 0.3)
        return quiet + np.where(hit, source.random(pairs), 0.0)
    if kind == "heavy":
        return 0.01 * np.clip(source.standard_cauchy(pairs), -1e3, 1e3)
    return quiet


@pytest.mark.parametrize("kind", ["normal", "bursts", "often", "heavy"])
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
    assert 0.93 <= held / RUNS <= 0.97


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


def test_bursts_in_every_tenth_turn_hardly_widen_the_interval() -> None:
    def width(kind: str) -> float:
        source = rng(64)
        found = [
            compared(np.exp(noise(source, kind, 12)), np.exp(noise(source, kind, 12)))
            for _ in range(300)
        ]
        return float(np.median([one.ci95_high - one.ci95_low for one in found]))

    assert width("bursts") < 1.6 * width("normal")


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


@pytest.mark.parametrize("compare", [ratio_interval, interval_so_far])
def test_turns_of_a_coarse_clock_are_told_apart_no_better_than_its_steps(
    compare: Callable[..., Comparison | None],
) -> None:
    """Of 20.22 and 20.28 µs with events of half a microsecond nothing can be told."""
    random, clock_s = rng(3), 0.5e-6

    def turns(true_s: float) -> Floats:
        samples_s = random.normal(true_s, 0.03e-6, (24, 5))
        medians_s: Floats = np.median(np.round(samples_s / clock_s) * clock_s, axis=1)
        return medians_s

    pair = turns(20.22e-6), turns(20.28e-6)
    fine = compare(*pair)
    assert fine is not None and fine.verdict == "slower", "as it was called with the clock unknown"
    found = compare(*pair, clocks_s=(clock_s, clock_s))
    assert found is not None and found.ci95_low <= 20.28 / 20.22 <= found.ci95_high
    assert found.verdict == "can't tell"
    apart = compare(turns(20e-6), turns(30e-6), clocks_s=(clock_s, clock_s))
    assert apart is not None and apart.verdict == "slower"
