"""bf16 on the host, where NumPy has no such type: its values stand in float32, its bits in uint16.

A bf16 number is the upper half of a float32. Arrays keep to the values, so that all that computes
with them knows nothing of it; what goes to a device or comes from one is packed there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_NAN = np.uint16(0x7FFF)
"""What CUDA's conversion makes of any NaN."""
_POISON = np.uint16(0xFFFF)
"""A NaN with every bit set, which arithmetic does not give; it stays so as a float32."""


def packed(values: npt.NDArray[Any]) -> npt.NDArray[np.uint16]:
    """Return the bits of numbers rounded to bf16: to the nearest, ties to even."""
    wide = np.ascontiguousarray(values, dtype=np.float32)
    bits = wide.view(np.uint32)
    rounded = ((bits + np.uint32(0x7FFF) + ((bits >> 16) & np.uint32(1))) >> 16).astype(np.uint16)
    return np.where(np.isnan(wide), _NAN, rounded)


def unpacked(bits: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
    """Return the numbers of which these are the bits."""
    wide = bits.astype(np.uint32) << 16
    wide[bits == _POISON] = 0xFFFFFFFF
    return wide.view(np.float32)


def rounded(values: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Return numbers rounded to bf16, as float32."""
    return unpacked(packed(values))
