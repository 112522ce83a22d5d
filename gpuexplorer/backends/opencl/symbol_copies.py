"""Variables outside of functions, filled as ``cudaMemcpyToSymbol`` fills them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuexplorer.backends.opencl.device import OpenDevice
from gpuexplorer.backends.opencl.program import BuiltProgram
from gpuexplorer.compile.rewriter import filling


def fill_symbols(
    device: OpenDevice,
    built: BuiltProgram,
    symbols: Mapping[str, str | npt.NDArray[np.generic]],
    buffers: Mapping[str, Any],
) -> None:
    """Queue filling a program's variables, from buffers by their names or with numbers."""
    cl, flags = device.cl, device.cl.mem_flags
    for name, value in symbols.items():
        if name not in built.filling:
            built.filling[name] = cl.Kernel(built.program, filling(name))
        if isinstance(value, str):
            buffer = buffers[value]
        else:
            flag = flags.READ_ONLY | flags.COPY_HOST_PTR
            buffer = cl.Buffer(device.context, flag, hostbuf=value)
        kernel = built.filling[name]
        kernel.set_arg(0, buffer)
        cl.enqueue_nd_range_kernel(device.queue, kernel, (buffer.size,), None)
