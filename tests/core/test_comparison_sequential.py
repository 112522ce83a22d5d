"""Looking after every pair: the risk is kept exactly, on any machine, and power remains."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest

from gpuexplorer.core.comparison import (
    ERROR,
    FEWEST_LOOKED_AT,
    Comparison,
    disagreeing,
    interval_so_far,
)
from tests.support.synthetic import DISTURBANCES, Floats, machine, rng

RUNS = 200
LAUNCHES = 20
"""In a turn."""
ROUNDS = 64


def risk_spent(pairs: int) -> float:
    """Return the chance that equal things are told apart at any look up to so many pairs."""
    alive, spent = np.array([1.0]), 0.0  # by how many were on one side: chance of no word so far
    for n in range(1, pairs + 1):
        alive = np.convolve(alive, (0.5, 0.5))
        ones = np.arange(n + 1)
        most = disagreeing(n)
        told = np.minimum(ones, n - ones) <= (-1 if most is None else most)
        spent += float(alive[told].sum())
        alive[told] = 0.0
    return spent


def test_the_risk_of_all_looks_is_what_every_walk_of_signs_says() -> None:
    told = 0
    for signs in product((0, 1), repeat=14):  # every walk there is
        ones = np.cumsum(signs)
        looks = [disagreeing(n) for n in range(1, 15)]
        told += any(
            most is not None and min(int(ones[n]), n + 1 - int(ones[n])) <= most
            for n, most in enumerate(looks)
        )
    assert risk_spent(14) == pytest.approx(told / 2**14, rel=1e-9)


def test_the_risk_never_exceeds_what_is_promised() -> None:
    spent = [risk_spent(n) for n in (8, 20, 50, 120, 300, 1000)]
    assert spent == sorted(spent)
    assert spent[0] > 0.0 and spent[-1] <= ERROR
    assert spent[-1] > 0.9 * ERROR  # and not much less: that would cost power
    assert risk_spent(24) <= ERROR / 2


def test_so_few_pairs_exclude_nothing() -> None:
    assert [disagreeing(n) for n in (0, 1, FEWEST_LOOKED_AT - 1)] == [None] * 3
    assert disagreeing(FEWEST_LOOKED_AT) == 0
    ones = np.ones(FEWEST_LOOKED_AT - 1)
    assert interval_so_far(ones, 1.3 * ones) is None
    assert interval_so_far(ones[:0], ones[:0]) is None


def test_more_pairs_allow_more_to_disagree_but_never_half() -> None:
    allowed = [disagreeing(n) or 0 for n in range(8, 600)]
    assert all(after - before in (0, 1) for before, after in pairwise(allowed))
    assert all(most < n / 2 for n, most in enumerate(allowed, start=8))


def test_the_interval_lies_between_the_pairs_that_may_disagree() -> None:
    ratios = np.array([0.98, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 1.07, 1.08, 1.09, 1.10, 1.11])
    found = interval_so_far(np.ones(12), ratios)
    assert found is not None
    assert disagreeing(12) == 1
    assert (found.ci95_low, found.ci95_high) == pytest.approx((1.01, 1.10))
    assert found.verdict == "slower"
    back = interval_so_far(ratios, np.ones(12))
    assert back is not None
    assert back.ratio == pytest.approx(1 / found.ratio)
    assert back.verdict == "faster"


@pytest.mark.parametrize("pairs", range(1, FEWEST_LOOKED_AT))
def test_few_pairs_tell_what_lies_far_apart_in_all_of_them(pairs: int) -> None:
    least = 10 ** (1 / pairs)
    ones, ratios = np.ones(pairs), np.full(pairs, 1.01 * least)
    ratios[0] *= 1.5
    found, back = interval_so_far(ones, ratios), interval_so_far(ratios, ones)
    assert found is not None and back is not None
    assert (found.verdict, back.verdict, found.pairs) == ("slower", "faster", pairs)
    assert found.ci95_low == pytest.approx(ratios.min() / math.sqrt(least))
    assert found.ci95_high == pytest.approx(ratios.max() * math.sqrt(least))
    assert back.ci95_low == pytest.approx(1 / found.ci95_high)
    ratios[-1] = 0.99 * least  # one that lies less far apart
    assert interval_so_far(ones, ratios) is None
    ratios[-1] = 1 / (1.01 * least)
    assert pairs == 1 or interval_so_far(ones, ratios) is None  # one that disagrees


def test_few_pairs_of_a_coarse_clock_are_told_apart_no_better_than_its_steps() -> None:
    """Of 1.24 and 1.26 µs a clock of half a microsecond shows 1.0 and 1.5 in every turn."""
    clock_s = 0.5e-6
    ones, others = np.full(7, 1.0e-6), np.full(7, 1.5e-6)
    found = interval_so_far(ones, others, clocks_s=(clock_s, clock_s))
    assert found is not None and found.verdict == "can't tell"
    assert found.ci95_low < 1.26 / 1.24
    found = interval_so_far(ones, 10 * others, clocks_s=(clock_s, clock_s))
    assert found is not None and found.verdict == "slower"


@pytest.mark.parametrize("launches", [1, 3, LAUNCHES])
def test_few_pairs_of_equal_things_are_as_seldom_called_far_apart(launches: int) -> None:
    """Even with one launch a turn, where a burst or a spike is the whole turn."""
    runs, source = 1000, rng(75)
    times = machine(source, runs, 2 * (FEWEST_LOOKED_AT - 1) * launches)
    medians = np.median(times.reshape(runs, -1, 2, launches), axis=-1)
    told = sum(
        interval_so_far(one[:pairs, 0], one[:pairs, 1]) is not None
        for one in medians
        for pairs in range(1, FEWEST_LOOKED_AT)
    )
    assert told <= 0.001 * runs


def test_the_interval_of_few_pairs_holds_the_true_ratio() -> None:
    runs, source, held, told = 400, rng(76), 0, 0
    times = machine(source, runs, 2 * (FEWEST_LOOKED_AT - 1))
    for one in times.reshape(runs, -1, 2):
        for pairs, true in ((1, 13.0), (2, 4.0), (4, 2.0)):
            found = interval_so_far(one[:pairs, 0], true * one[:pairs, 1])
            if found is not None:
                told += 1
                held += found.ci95_low <= true <= found.ci95_high
    assert told >= 0.75 * 3 * runs
    assert held >= 0.97 * told


def turns(kind: str, seed: int, slower: float) -> tuple[Floats, Floats]:
    """Return the medians of turns of A and of B, which is slower by so much, in random order."""
    source = rng(seed)
    which = DISTURBANCES if kind == "all" else (kind,)
    times = machine(source, RUNS, 2 * ROUNDS * LAUNCHES, which)
    medians = np.median(times.reshape(RUNS, ROUNDS, 2, LAUNCHES), axis=-1)
    first = source.random((RUNS, ROUNDS)) < 0.5
    a = np.where(first, medians[..., 0], medians[..., 1])
    return a, (1 + slower) * np.where(first, medians[..., 1], medians[..., 0])


def stopped(a: Floats, b: Floats) -> Comparison:
    """Look after every pair, and stop at a clear verdict or at the end."""
    found = None
    for pairs in range(FEWEST_LOOKED_AT, len(a) + 1):
        found = interval_so_far(a[:pairs], b[:pairs])
        if found is not None and found.verdict != "can't tell":
            break
    assert found is not None
    return found


@pytest.mark.parametrize("kind", [*DISTURBANCES, "all"])
def test_a_configuration_against_itself_is_seldom_called_different(kind: str) -> None:
    found = [stopped(a, b) for a, b in zip(*turns(kind, 71, 0.0), strict=True)]
    assert sum(one.verdict in ("faster", "slower") for one in found) <= 0.05 * RUNS


@pytest.mark.parametrize("kind", [*DISTURBANCES, "all"])
def test_five_percent_slower_is_called_slower(kind: str) -> None:
    found = [stopped(a, b) for a, b in zip(*turns(kind, 72, 0.05), strict=True)]
    assert sum(one.verdict == "slower" for one in found) >= 0.9 * RUNS
    assert np.median([one.ratio for one in found]) == pytest.approx(1.05, abs=0.015)


def test_the_true_ratio_is_in_the_interval_at_which_one_stopped() -> None:
    held = 0
    for kind, seed in (("all", 73), ("correlation", 74)):
        for a, b in zip(*turns(kind, seed, 0.05), strict=True):
            one = stopped(a, b)
            held += one.ci95_low <= 1.05 <= one.ci95_high
    assert held >= 0.95 * 2 * RUNS


def test_equal_clocks_readings_are_the_same() -> None:
    """A coarse clock makes many turns equal to the last digit."""
    a = np.ones(20)
    b = a.copy()
    b[[3, 8]] = 1.5
    found = interval_so_far(a, b)
    assert found is not None
    assert (found.ci95_low, found.ci95_high, found.verdict) == (1.0, 1.0, "same")
    assert math.isclose(found.ratio, 1.0)
