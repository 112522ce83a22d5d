"""Round values for the ticks of a logarithmic axis."""

from __future__ import annotations

import math

NICE = (1, 2, 2.5, 5, 10)


def round_values(low: float, high: float, most: int) -> list[float]:
    """Return at most ``most`` round values from ``low`` to ``high``, above 0, for a log axis.

    Below a factor of 3 they are evenly apart, above it they are 1, 2 and 5 times powers of ten, or
    these powers alone.
    """
    if not high > low:
        return [low]
    if high / low > 3:
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for parts in ((1, 2, 5), (1,)):
            found = [p * 10.0**d for d in decades for p in parts if low <= p * 10.0**d <= high]
            if len(found) <= most:
                return found
        return found[:: -(-len(found) // most)]
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(n * power for n in NICE if n * power >= raw)
    first = math.ceil(low / step - 1e-9)
    count = math.floor(high / step + 1e-9) - first + 1
    return [float(f"{(first + i) * step:.12g}") for i in range(count)]
