"""What the charts of studies have in common: their words."""

from __future__ import annotations

from collections.abc import Collection

from gpuexplorer.charts.caption import Caption
from gpuexplorer.charts.words import known_words
from gpuexplorer.core.comparison import Comparison
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.studies import Measured, Speedup
from gpuexplorer.core.units import speed, speed_interval

TOO_FEW = "too few rounds"
"""Where a ratio will stand."""


def subject(config: RunConfig, *, without: Collection[str] = ()) -> str:
    """Return what a study is about in words, without some fields."""
    return Caption([config], without).words


def effect_words(effect: Comparison | None) -> str:
    """Return what a ratio of times says with its interval, such as ``1.83× faster (1.80–1.86)``."""
    if effect is None:
        return TOO_FEW
    interval = speed_interval(effect.ratio, effect.ci95_low, effect.ci95_high)
    if effect.verdict == "same":
        return f"does nothing ({interval})"
    if effect.verdict == "can't tell":
        return f"can't tell ({interval})"
    return factor_words(effect)


def factor_words(effect: Comparison) -> str:
    """Return a ratio of times as a factor with its interval: ``1.83× faster (1.80–1.86)``."""
    return speed(effect.ratio, effect.ci95_low, effect.ci95_high)


def time_words(measured: Measured | None) -> str:
    """Return a time and how well it is known, such as ``412 µs ± 0.3 %``."""
    if measured is None:
        return "–"
    return known_words(measured.time_s, measured.ci95_low_s, measured.ci95_high_s)


def error_words(error: float | None) -> str:
    """Return a relative error, such as ``3.1e-04``; ``0`` for none at all."""
    if error is None:
        return "–"
    return f"{error:.1e}" if error else "0"


def speedup_words(found: Speedup | None) -> str:
    """Return a speed-up with its interval, such as ``5.10× faster (4.92–5.31)``."""
    if found is None or not found.factor:
        return "–"
    if not found.ci95_low or not found.ci95_high:
        return speed(1 / found.factor)
    return speed(1 / found.factor, 1 / found.ci95_high, 1 / found.ci95_low)


def size_words(size: float) -> str:
    """Return a size between those that were measured, with three digits."""
    return f"{float(f'{size:.3g}'):.0f}" if size >= 100 else f"{size:.3g}"
