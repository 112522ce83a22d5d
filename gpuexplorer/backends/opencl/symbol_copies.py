"""Variables outside of functions, copied to and from as CUDA's host functions do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuexplorer.backends.opencl.device import OpenDevice
from gpuexplorer.backends.opencl.program import BuiltProgram
from gpuexplorer.compile.rewriter import filling, reading

Values = Mapping[str, str | npt.NDArray[np.generic]]
"""What belongs to each variable: an array by its name, or a number."""


def fill_symbols(
    device: OpenDevice, built: BuiltProgram, symbols: Values, buffers: Mapping[str, Any]
) -> None:
    """Queue filling a program's variables, from buffers by their names or with numbers."""
    flags = device.cl.mem_flags
    for name, value in symbols.items():
        if isinstance(value, str):
            buffer = buffers[value]
        else:
            flag = flags.READ_ONLY | flags.COPY_HOST_PTR
            buffer = device.cl.Buffer(device.context, flag, hostbuf=value)
        _copy(device, built, filling(name), buffer)


def read_symbols(
    device: OpenDevice, built: BuiltProgram, names: Iterable[str], buffers: Mapping[str, Any]
) -> None:
    """Queue copying a program's variables to the buffers of their names."""
    for name in names:
        _copy(device, built, reading(name), buffers[name])


def _copy(device: OpenDevice, built: BuiltProgram, kernel: str, buffer: Any) -> None:
    if kernel not in built.copying:
        built.copying[kernel] = device.cl.Kernel(built.program, kernel)
    made = built.copying[kernel]
    made.set_arg(0, buffer)
    device.cl.enqueue_nd_range_kernel(device.queue, made, (buffer.size,), None)
