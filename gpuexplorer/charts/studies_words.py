"""What the charts of studies have in common: their words."""

from __future__ import annotations

from collections.abc import Collection

from gpuexplorer.charts.caption import Caption
from gpuexplorer.charts.words import known_words
from gpuexplorer.core.comparison import Comparison
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.studies import Measured

TOO_FEW = "too few rounds"
"""Where a ratio will stand."""
CANNOT_BE_TRUE = "cannot be true"
"""Instead of a ratio of two times, one of which the program knows to be wrong."""


def subject(config: RunConfig, *, without: Collection[str] = ()) -> str:
    """Return what a study is about in words, without some fields."""
    return Caption([config], without).words


def effect_words(effect: Comparison | None, *both: Measured | None) -> str:
    """Return what a ratio of times says with its interval, such as ``1.83× faster (1.80–1.86)``.

    ``both`` are the two it is of; they say why there is none.
    """
    if effect is None:
        suspect = any(one is not None and one.suspect for one in both)
        return CANNOT_BE_TRUE if suspect else TOO_FEW
    if effect.verdict == "same":
        return f"does nothing ({effect.interval})"
    return effect.words


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


def size_words(size: float) -> str:
    """Return a size between those that were measured, with three digits."""
    return f"{float(f'{size:.3g}'):.0f}" if size >= 100 else f"{size:.3g}"
