"""Kernel arguments laid out once, so that a launch costs one call."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence

import numpy as np

_SLOT_B = 16


class PackedArguments:
    """Arguments of one kernel in host memory, with the table of pointers the driver reads."""

    def __init__(self, arguments: Sequence[str | np.generic], pointers: Mapping[str, int]) -> None:
        """Pack arrays by name and typed scalars; ``pointers`` are device addresses by name."""
        self._values = ctypes.create_string_buffer(_SLOT_B * max(1, len(arguments)))
        self._table = (ctypes.c_void_p * max(1, len(arguments)))()
        base = ctypes.addressof(self._values)
        for index, argument in enumerate(arguments):
            value = np.uint64(pointers[argument]) if isinstance(argument, str) else argument
            data = value.tobytes()
            offset = index * _SLOT_B
            ctypes.memmove(base + offset, data, len(data))
            self._table[index] = base + offset
        self.address = ctypes.addressof(self._table)
        """Where the table is, for ``cuLaunchKernel``."""
