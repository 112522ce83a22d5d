"""What a program's kernels have printed, and which assertion failed, fetched from its memory."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpuexplorer.backends.opencl.device import OpenDevice
from gpuexplorer.backends.opencl.program import BuiltProgram
from gpuexplorer.compile import assertions
from gpuexplorer.compile.assertions import Assertion
from gpuexplorer.compile.printing import MOST_WORDS, TAKE


def take_printed(device: OpenDevice, built: BuiltProgram) -> str:
    """Return what was printed since the last call, and forget it there."""
    if built.printed is None:
        return ""
    return built.printed.text(_taken(device, built, TAKE, 1 + MOST_WORDS, np.uint64))


def take_failed(device: OpenDevice, built: BuiltProgram) -> Assertion | None:
    """Return the assertion that failed first since the last call, and forget it there."""
    if not built.asserted:
        return None
    (number,) = _taken(device, built, assertions.TAKE, 1, np.uint32)
    return built.asserted[number - 1] if number else None


def _taken(
    device: OpenDevice, built: BuiltProgram, name: str, count: int, dtype: npt.DTypeLike
) -> list[int]:
    """Return what a kernel of ours hands out."""
    cl = device.cl
    words = np.zeros(count, dtype)
    buffer = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, words.nbytes)
    kernel = cl.Kernel(built.program, name)
    kernel.set_arg(0, buffer)
    cl.enqueue_nd_range_kernel(device.queue, kernel, (1,), (1,))
    cl.enqueue_copy(device.queue, words, buffer)
    buffer.release()
    return [int(word) for word in words]
