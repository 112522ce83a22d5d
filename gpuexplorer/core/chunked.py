"""Long series turned from arrays to lists and back, a chunk at a time.

Such a conversion holds the interpreter from beginning to end: of a million samples for 100 ms, in
which no other thread runs, the window's own included.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

CHUNK = 16_384
"""Values converted at once: about a millisecond."""

Floats = npt.NDArray[np.float64]


def as_list(values: Floats) -> list[float]:
    """Return an array as a list, the same values bit for bit."""
    made: list[float] = []
    for start in range(0, len(values), CHUNK):
        made += values[start : start + CHUNK].tolist()
    return made


def as_array(values: Sequence[float]) -> Floats:
    """Return a list as an array, the same values bit for bit."""
    made: Floats = np.empty(len(values), np.float64)
    for start in range(0, len(values), CHUNK):
        made[start : start + CHUNK] = values[start : start + CHUNK]
    return made
