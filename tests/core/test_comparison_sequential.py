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
    assert interval_so_far(ones, 2 * ones) is None


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
