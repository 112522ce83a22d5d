"""Long series turned from arrays to lists, to JSON and back, a chunk at a time.

Such a conversion holds the interpreter from beginning to end: of a million samples for 100 ms, in
which no other thread runs, the window's own included. And a list of a million numbers is a million
objects: it takes five times the memory of the array, and leaves it in pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
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


def as_array(values: Sequence[float] | Floats) -> Floats:
    """Return a list as an array, the same values bit for bit."""
    if isinstance(values, np.ndarray):
        return values
    made: Floats = np.empty(len(values), np.float64)
    for start in range(0, len(values), CHUNK):
        made[start : start + CHUNK] = values[start : start + CHUNK]
    return made


def encode(value: object) -> bytes:
    """Return a document as JSON; arrays of float64 in it become the same as lists of their values.

    Raises TypeError for what is neither plain, nor a struct, nor such an array.
    """
    return msgspec.json.encode(value, enc_hook=_array_json)


def compact(value: object) -> str:
    """Return what ``encode`` does as text, for one line of a document."""
    return encode(value).decode()


def _array_json(value: Any) -> msgspec.Raw:
    if not isinstance(value, np.ndarray) or value.dtype != np.float64 or value.ndim != 1:
        raise TypeError(f"a document cannot hold {type(value).__name__}")
    parts = (
        msgspec.json.encode(value[start : start + CHUNK].tolist())[1:-1]
        for start in range(0, len(value), CHUNK)
    )
    return msgspec.Raw(b"[" + b",".join(parts) + b"]")
