"""One device in use, with what is made once for all of its runs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from gpuexplorer.backends.caches import FLUSH_STEP_B, CacheInfo, Flush, cpu_flush, flush_of
from gpuexplorer.backends.opencl.device import OpenDevice
from gpuexplorer.backends.opencl.surroundings import can_fence
from gpuexplorer.core.errors import CannotRunHere, WorkFailed
from gpuexplorer.core.units import quantity

_GROUP = 64
_VECTOR_B = 16
_LOADS = FLUSH_STEP_B // _GROUP // _VECTOR_B
# The sum is never the number it is compared with, for all elements are equal and there is an even
# number of them; but the compiler cannot know, and so has to read.
_SOURCE = """
__kernel void gpuexplorer_flush(__global const uint4 *data, __global uint *never)
{
    size_t first = get_group_id(0) * (size_t)(GROUP * LOADS) + get_local_id(0);
    uint4 all = 0;
    for (uint i = 0; i < LOADS; i++) all ^= data[first + (size_t)i * GROUP];
    uint sum = all.x ^ all.y ^ all.z ^ all.w;
    if (sum == 1) never[0] = sum;
}
"""


class CacheFlush:
    """A kernel that reads twice the last-level cache.

    The kernel runs where the launches run: on a CPU by the same threads, so that their own small
    caches are emptied, too. It reads and never writes: lines that were only read leave the cache
    silently, while those written would have to be written back at the next launch's cost.
    """

    def __init__(self, device: OpenDevice) -> None:
        """Remember the device; nothing is built or allocated yet."""
        self._device = device
        self._kernel: Any = None
        self._buffers: list[Any] = []

    @cached_property
    def pass_(self) -> Flush:
        """How much is read; CannotRunHere when the device does not say how large its cache is."""
        info = self._device.info
        if info.kind == "cpu":
            return cpu_flush()
        nbytes = int(self._device.device.global_mem_cache_size)
        if not nbytes:
            raise CannotRunHere(
                f"{info.id} does not say how large its cache is, so it cannot be emptied",
                remedy="use --cache hot",
            )
        cache = CacheInfo(nbytes, None, 1, "OpenCL")
        return flush_of(cache, info.limits.max_allocation_B)

    def queue(self) -> None:
        """Queue one pass."""
        if not self._buffers:
            self._prepare()
        items = self.pass_.nbytes // FLUSH_STEP_B * _GROUP
        cl, queue = self._device.cl, self._device.queue
        cl.enqueue_nd_range_kernel(queue, self._kernel, (items,), (_GROUP,))

    def release(self) -> None:
        """Give the memory back; a later pass takes it again."""
        for buffer in self._buffers:
            buffer.release()
        self._buffers.clear()

    def _prepare(self) -> None:
        cl, device, nbytes = self._device.cl, self._device, self.pass_.nbytes
        flags = cl.mem_flags.READ_WRITE
        try:
            if self._kernel is None:
                self._kernel = self._build()
            for size in (nbytes, 4):
                self._buffers.append(cl.Buffer(device.context, flags, size))
                # Written once: memory never written is one page of zeros, read again and again.
                cl.enqueue_fill_buffer(device.queue, self._buffers[-1], np.uint32(3), 0, size)
            device.queue.finish()
        except (cl.Error, RuntimeError) as error:
            self.release()
            raise WorkFailed(
                f"{device.info.id} cannot empty its cache with {quantity(nbytes, 'B')} ({error})",
                remedy="use --cache hot",
            ) from None
        for index, buffer in enumerate(self._buffers):
            self._kernel.set_arg(index, buffer)

    def _build(self) -> Any:
        cl, device = self._device.cl, self._device
        defines = f"#define GROUP {_GROUP}\n#define LOADS {_LOADS}\n"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the compiler's remarks on a good build
            program = cl.Program(device.context, defines + _SOURCE).build(cache_dir=False)
        return cl.Kernel(program, "gpuexplorer_flush")


@dataclass
class OpenclSession(OpenDevice):
    """An open device, and the programs built for it."""

    programs: dict[tuple[object, ...], Any] = field(default_factory=dict)
    flush: CacheFlush = field(init=False)
    """What empties the device's cache before a cold launch."""
    fences_arrays: bool = field(init=False)
    """Whether arrays lie between fences that no kernel may touch."""

    def __post_init__(self) -> None:
        """Attach what belongs to this session."""
        self.flush = CacheFlush(self)
        self.fences_arrays = can_fence(self)
