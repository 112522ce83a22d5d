"""bf16 on the host, where NumPy has no such type: its values stand in float32, its bits in uint16.

A bf16 number is the upper half of a float32. Arrays keep to the values, so that all that computes
with them knows nothing of it; what goes to a device or comes from one is packed there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

TYPE_NAMES = ("nv_bfloat16", "__nv_bfloat16")
"""What CUDA calls the type."""
_NAN = np.uint16(0x7FFF)
"""What CUDA's conversion makes of any NaN."""
_CHUNK = 1 << 20
"""Numbers at a time: what is computed on the way is not to need more room than the arrays."""
_POISON = np.uint16(0xFFFF)
"""A NaN with every bit set, which arithmetic does not give; it stays so as a float32."""


def packed(values: npt.NDArray[Any]) -> npt.NDArray[np.uint16]:
    """Return the bits of numbers rounded to bf16: to the nearest, ties to even."""
    wide = np.ascontiguousarray(values, dtype=np.float32).reshape(-1)
    found = np.empty(wide.shape, np.uint16)
    for start in range(0, len(wide), _CHUNK):
        part = wide[start : start + _CHUNK]
        bits = part.view(np.uint32)
        even = (bits >> 16) & np.uint32(1)
        upper = ((bits + np.uint32(0x7FFF) + even) >> 16).astype(np.uint16)
        found[start : start + _CHUNK] = np.where(np.isnan(part), _NAN, upper)
    return found.reshape(np.shape(values))


def unpacked(bits: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
    """Return the numbers of which these are the bits."""
    wide = bits.astype(np.uint32)
    wide <<= 16
    wide[bits == _POISON] = 0xFFFFFFFF
    return wide.view(np.float32)


def rounded(values: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Return numbers rounded to bf16, as float32."""
    return unpacked(packed(values))
