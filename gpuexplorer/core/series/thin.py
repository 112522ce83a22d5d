"""Fewer samples of a long series, spread evenly over it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def thinned(samples_s: Floats, most: int) -> Floats:
    """Return every k-th sample, so that there are ``most`` at the most; a view, in order."""
    return samples_s[:: -(-len(samples_s) // most)] if len(samples_s) > most else samples_s
