"""Series of launch times with a known truth."""

from __future__ import annotations

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
