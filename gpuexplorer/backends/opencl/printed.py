"""What a program's kernels have printed, fetched from its buffer."""

from __future__ import annotations

import numpy as np

from gpuexplorer.backends.opencl.device import OpenDevice
from gpuexplorer.backends.opencl.program import BuiltProgram
from gpuexplorer.compile.printing import MOST_WORDS, TAKE


def take_printed(device: OpenDevice, built: BuiltProgram) -> str:
    """Return what was printed since the last call, and forget it there."""
    if built.printed is None:
        return ""
    cl = device.cl
    words = np.zeros(1 + MOST_WORDS, np.uint64)
    buffer = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, words.nbytes)
    kernel = cl.Kernel(built.program, TAKE)
    kernel.set_arg(0, buffer)
    cl.enqueue_nd_range_kernel(device.queue, kernel, (1,), (1,))
    cl.enqueue_copy(device.queue, words, buffer)
    buffer.release()
    return built.printed.text(words.tolist())
