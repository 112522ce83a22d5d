"""Series of launch times with a known truth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SPIKED = 0.02
"""Share of samples that a spike makes longer, by up to four times."""
_SHIFT = 0.02558  # of a normal distribution: its quantile 0.5 / (1 - SPIKED), in deviations


def rng(seed: int) -> np.random.Generator:
    """Return a generator with a fixed seed."""
    return np.random.Generator(np.random.SFC64(seed))


def autoregression(
    source: np.random.Generator, runs: int, samples: int, correlation: float, shape: str
) -> tuple[Floats, float]:
    """Return stationary first-order autoregressions, shape (runs, samples), and their true median.

    ``shape``: ``normal`` (deviation 5 %), ``lognormal`` (30 %, skewed), or ``spikes`` (lognormal of
    5 % in which every fiftieth sample takes one to four times as long).
    """
    values = source.standard_normal((runs, samples))
    for i in range(1, samples):
        values[:, i] *= np.sqrt(1 - correlation**2)
        values[:, i] += correlation * values[:, i - 1]
    if shape == "normal":
        return 1 + 0.05 * values, 1.0
    if shape == "lognormal":
        return np.exp(0.3 * values), 1.0
    spiked = source.random((runs, samples)) < SPIKED
    longer = np.where(spiked, 1 + 3 * source.random((runs, samples)), 1.0)
    return np.exp(0.05 * values) * longer, float(np.exp(0.05 * _SHIFT))


def drifting(series: Floats, change: float) -> Floats:
    """Return the series with a linear rise from 1 to ``1 + change`` over its last axis."""
    return series * np.linspace(1, 1 + change, series.shape[-1])


def two_modes(source: np.random.Generator, series: Floats, apart: float, share: float) -> Floats:
    """Return the series with ``share`` of its samples, at random, longer by ``apart``."""
    return np.where(source.random(series.shape) < share, series * (1 + apart), series)


DISTURBANCES = ("correlation", "bursts", "drift", "clocks")


def machine(
    source: np.random.Generator,
    runs: int,
    launches: int,
    disturbances: Sequence[str] = DISTURBANCES,
) -> Floats:
    """Return what a machine makes of launches of length 1, in a row; shape (runs, launches).

    Always: 1 % of independent noise, and every fiftieth launch up to four times as long.
    ``correlation``: a lognormal autoregression of 5 % with 0.9 between neighbours. ``bursts``:
    others take part of the machine for 50 launches at a time (geometric), every 400; times grow by
    20 % to 200 %. ``drift``: up to 20 % slower or faster over the whole, in a straight line.
    ``clocks``: two states, one 8 % slower, that last 100 launches each (geometric).
    """
    shape = (runs, launches)
    times = np.exp(0.01 * source.standard_normal(shape))
    spiked = source.random(shape) < SPIKED
    times *= np.where(spiked, 1 + 3 * source.random(shape), 1.0)
    if "correlation" in disturbances:
        series, _ = autoregression(source, runs, launches, 0.9, "normal")
        times *= np.exp(series - 1)
    if "bursts" in disturbances:
        sizes = 0.2 + 1.8 * source.random(shape)
        on, size = np.zeros(runs, dtype=bool), np.zeros(runs)
        for i in range(launches):
            chance = source.random(runs)
            begins = ~on & (chance < 1 / 400)
            size = np.where(begins, sizes[:, i], size)
            on = begins | (on & (chance >= 1 / 50))
            times[:, i] *= np.where(on, 1 + size, 1.0)
    if "drift" in disturbances:
        change = source.uniform(-0.2, 0.2, (runs, 1))
        times *= 1 + change * np.linspace(0, 1, launches)
    if "clocks" in disturbances:
        slow = source.random(runs) < 0.5
        for i in range(launches):
            slow ^= source.random(runs) < 1 / 100
            times[:, i] *= np.where(slow, 1.08, 1.0)
    return times
