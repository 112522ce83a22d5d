"""A kernel that holds a stream shut until the host has queued everything behind it.

Launches that are queued before the first of them runs follow one another without the host's
overhead between them, so an event pair around each measures the device alone.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gpuexplorer.backends.cuda.arguments import PackedArguments

MAX_OPERATIONS = 192
"""Stream operations behind one closed gate. A stream takes about a thousand before the host has to
wait for room, which behind a closed gate would be for ever."""
TIMEOUT_NS = 1_000_000_000
"""The gate opens by itself after this. Below the two seconds that Windows gives a display GPU."""
SOURCE_NAME = "gate.cu"
ENTRY = "gpuexplorerGate"
SOURCE = """\
// flag[0]: the newest ticket that was let through; flag[1]: the newest that waited too long.
extern "C" __global__ void gpuexplorerGate(volatile unsigned int *flag, unsigned int ticket,
                                           unsigned long long timeout_ns)
{
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    while ((int)(flag[0] - ticket) < 0) {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        if (now - start > timeout_ns) {
            flag[1] = ticket;
            __threadfence_system();
            return;
        }
    }
}
"""


class Gate:
    """The gate of one stream. Its flag is in host memory that the device sees."""

    def __init__(self, api: Any, function: int, stream: int) -> None:
        """``api`` offers CuPy's ``runtime`` and ``driver``; ``function`` is the kernel."""
        self._runtime, self._driver = api.runtime, api.driver
        self._function, self._stream = function, stream
        flags = self._runtime.hostAllocMapped | self._runtime.hostAllocPortable
        self._host = self._runtime.hostAlloc(8, flags)
        self._flag = (ctypes.c_uint32 * 2).from_address(self._host)
        self._flag[0] = self._flag[1] = 0
        self._ticket = 0
        self.took_late = False
        """What ``take_late`` last said."""
        self._device = int(self._runtime.pointerGetAttributes(self._host).devicePointer)

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Hold the stream shut while the block runs; what it queues starts when the block ends."""
        ticket = self._take_ticket()
        packed = PackedArguments(
            [np.uint64(self._device), np.uint32(ticket), np.uint64(TIMEOUT_NS)], {}
        )
        self._driver.launchKernel(
            self._function, 1, 1, 1, 1, 1, 1, 0, self._stream, packed.address, 0
        )
        try:
            yield
        finally:
            self._flag[0] = ticket

    def _take_ticket(self) -> int:
        """Return the next ticket; after 2³² they start over, which the kernel allows for."""
        self._ticket = (self._ticket + 1) & 0xFFFFFFFF
        return self._ticket

    def take_late(self) -> bool:
        """Return whether a gate opened by itself since the last call; ask after waiting."""
        self.took_late = self._flag[1] != 0
        self._flag[1] = 0
        return self.took_late

    def close(self) -> None:
        """Give the flag's memory back."""
        if self._host:
            del self._flag
            self._runtime.freeHost(self._host)
            self._host = 0


def launches_block() -> bool:
    """Return whether the environment makes every launch wait, so that a gate never opens."""
    return os.environ.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0")
