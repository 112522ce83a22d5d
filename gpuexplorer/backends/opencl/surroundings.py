"""What lies around an array, so that a kernel's access outside it is noticed.

On the CPU such an access corrupts the heap or passes silently. Where the device computes in the
process's own memory, an array lies between fences that nothing may touch, neither reads nor writes
(``fences``); elsewhere it is the middle of a larger allocation whose ends hold a pattern, which
shows writes up to ``MAX_MARGIN_B`` away.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuexplorer.backends.opencl import faults
from gpuexplorer.backends.opencl.device import OpenDevice
from gpuexplorer.backends.opencl.fences import PATTERN, FencedMemory, Stray, margin_B
from gpuexplorer.workloads.plan import ArrayPlan

_TRIED_B = 4096


class Fenced:
    """An array in host memory between fences."""

    def __init__(self, device: OpenDevice, array: ArrayPlan) -> None:
        """Allocate; MemoryError or the driver's error where that cannot be."""
        self._memory = FencedMemory(array.name, array.nbytes, array.itemsize_B)
        flags = device.cl.mem_flags
        try:
            self.buffer: Any = device.cl.Buffer(
                device.context, flags.READ_WRITE | flags.USE_HOST_PTR, hostbuf=self._memory.values
            )
        except device.cl.Error:
            self._memory.free()
            raise

    def arm(self) -> None:
        """Begin to note what strays outside."""
        self._memory.close()

    def disarm(self) -> None:
        """Let launches be fast again."""
        self._memory.open()

    def stray(self) -> Stray | None:
        """Return what strayed outside since ``arm``."""
        return self._memory.stray()

    def holds(self, byte: int) -> bool:
        """Return whether every byte in the host's memory is ``byte``."""
        return bool((self._memory.values == byte).all())

    def free(self) -> None:
        """Give everything back."""
        self.buffer.release()
        self._memory.free()


class Patterned:
    """An array in the device's memory between two guards that hold a pattern."""

    def __init__(self, device: OpenDevice, array: ArrayPlan) -> None:
        """Allocate; the driver's error where that cannot be."""
        self._cl, self._queue = device.cl, device.queue
        self._nbytes, self._guard_B = array.nbytes, margin_B(array.nbytes)
        flags = device.cl.mem_flags.READ_WRITE
        self._whole = device.cl.Buffer(device.context, flags, self._nbytes + 2 * self._guard_B)
        self.buffer: Any = self._whole.get_sub_region(self._guard_B, self._nbytes, flags)

    def arm(self) -> None:
        """Queue writing the pattern."""
        for offset in (0, self._guard_B + self._nbytes):
            pattern = np.uint8(PATTERN)
            self._cl.enqueue_fill_buffer(self._queue, self._whole, pattern, offset, self._guard_B)

    def disarm(self) -> None:
        """Do nothing: the pattern costs no time."""

    def stray(self) -> Stray | None:
        """Return a write that shows in the pattern."""
        for place, offset in (("before", 0), ("behind", self._guard_B + self._nbytes)):
            seen = np.empty(self._guard_B, np.uint8)
            self._cl.enqueue_copy(self._queue, seen, self._whole, src_offset=offset)
            wrong = np.flatnonzero(seen != PATTERN)
            if len(wrong):
                near = self._guard_B - 1 - wrong[-1] if place == "before" else wrong[0]
                return Stray("wrote", place, int(near))
        return None

    def free(self) -> None:
        """Give everything back."""
        self.buffer.release()
        self._whole.release()


def can_fence(device: OpenDevice) -> bool:
    """Return whether the device works in memory of this process, and bad accesses are told."""
    if device.info.kind != "cpu" or not faults.can_watch():
        return False
    array = ArrayPlan(
        name="tried", shape=(_TRIED_B,), type="int", role="out", fill="zeros", itemsize_B=1
    )
    try:
        tried = Fenced(device, array)
    except (device.cl.Error, MemoryError):
        return False
    value = np.uint8(PATTERN)
    device.cl.enqueue_fill_buffer(device.queue, tried.buffer, value, 0, _TRIED_B)
    device.queue.finish()
    shared = tried.holds(PATTERN)
    tried.free()
    return shared
