"""Ticks of a logarithmic axis, and what stands at them; on screen and in files."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gpuexplorer.core.units import quantity

LEAST_DECADES = 0.01
"""No axis shows less: its ticks would need more digits than there is room for."""
MOST_DECADES = 300.0
DIGITS = 10
"""That values are told apart by."""
_NICE = (10.0, 5.0, 2.5, 2.0, 1.0)
_ROUNDING = 1e-12


def log_ticks(low: float, high: float, most: int = 8) -> list[float]:
    """Return two to ``most`` round values from ``low`` to ``high``, which are above 0.

    Powers of ten, or some of 1, 2 and 5 times these; where there are no two of them, as below a
    factor of 3, values evenly apart. ``most`` below 2 counts as 2. Without a range it is ``low``
    alone.
    """
    if not high > low:
        return [low]
    most = max(most, 2)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    decades = _inside(low, high, (1,), first, last)
    if len(decades) > 2:
        return decades[:: -(-len(decades) // most)]
    if high / low > 3:
        finer = _inside(low, high, (1, 2, 5), first, last)
        if len(finer) > most and len(decades) == 2:
            return decades
        if len(finer) >= 2:
            return finer[:: -(-len(finer) // most)]
    return _evenly(low, high, most)


def _inside(low: float, high: float, parts: Sequence[int], first: int, last: int) -> list[float]:
    """Return these times powers of ten, as far as they lie in the range."""
    found = [p * 10.0**d for d in range(first, last + 1) for p in parts]
    return [v for v in found if low * (1 - _ROUNDING) <= v <= high * (1 + _ROUNDING)]


def _evenly(low: float, high: float, most: int) -> list[float]:
    """Return two to ``most`` round values that are as far apart from each other."""
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    steps = [nice * power for nice in _NICE]
    enough = [step for step in steps if step >= raw * (1 - _ROUNDING)]
    for step in [enough[-1], *(s for s in steps if s < enough[-1])]:
        begin = math.ceil(low / step - _ROUNDING)
        number = math.floor(high / step + _ROUNDING) - begin + 1
        if number >= 2:
            found = [float(f"{(begin + i) * step:.{DIGITS}g}") for i in range(number)]
            return found[:: -(-number // most)]
    return [low, high]


def tick_words(values: Sequence[float], unit: str) -> list[str]:
    """Return what stands at ticks: as many digits as tell each of them exactly, and no more."""
    exact = [float(f"{value:.{DIGITS}g}") for value in values]
    if not unit:
        return [f"{value:.{DIGITS}g}" for value in exact]
    digits = 1
    while digits < DIGITS and any(float(f"{value:.{digits}g}") != value for value in exact):
        digits += 1
    return [quantity(value, unit, digits) for value in exact]
