"""A kernel that holds a stream shut until the host has queued everything behind it.

Launches that are queued before the first of them runs follow one another without the host's
overhead between them, so events around them measure the device alone. As the gate opens, and again
behind the last launch, clock and time are noted: together they give the clock that was held.
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
LEAST_CLOCKED_NS = 200_000
"""Over a shorter time the clock is not told: the device's timer steps by up to a microsecond."""
PLAUSIBLE_CLOCK_Hz = (1e6, 1e10)
SOURCE_NAME = "gate.cu"
ENTRY = "gpuexplorerGate"
END = "gpuexplorerGateEnd"
ENTRIES = (ENTRY, END)
SOURCE = """\
// flag[0]: the newest ticket that was let through; flag[1]: the newest that waited too long.
// stamp: ticket and multiprocessor, clock, time as the gate opens; then the same at the end.
extern "C" __global__ void gpuexplorerGate(volatile unsigned int *flag,
                                           volatile unsigned long long *stamp,
                                           unsigned int ticket, unsigned long long timeout_ns)
{
    unsigned long long start, now, clock;
    unsigned int multiprocessor;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    while ((int)(flag[0] - ticket) < 0) {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        if (now - start > timeout_ns) {
            flag[1] = ticket;
            __threadfence_system();
            return;
        }
    }
    asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(clock));
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    stamp[0] = ((unsigned long long)ticket << 32) | multiprocessor;
    stamp[1] = clock;
    stamp[2] = now;
}

// One block on each multiprocessor, so that one runs where the gate ran: the clocks of two have
// nothing to do with each other.
extern "C" __global__ void gpuexplorerGateEnd(volatile unsigned long long *stamp,
                                              unsigned int ticket)
{
    unsigned long long now, clock, here;
    unsigned int multiprocessor;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(clock));
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    here = ((unsigned long long)ticket << 32) | multiprocessor;
    if (threadIdx.x == 0 && stamp[0] == here) {
        stamp[4] = clock;
        stamp[5] = now;
        stamp[3] = here;
    }
}
"""
_FLAG_B = 64
_STAMP_WORDS = 6
_STAMPS = 64
"""Gates whose stamps are kept; a batch seldom has more."""
_WARP = 32


class Gate:
    """The gate of one stream. Its flag and stamps are in host memory that the device sees."""

    def __init__(
        self, api: Any, functions: tuple[int, int], stream: int, multiprocessors: int
    ) -> None:
        """``api`` offers CuPy's ``runtime`` and ``driver``; ``functions`` are ``ENTRIES``."""
        self._runtime, self._driver = api.runtime, api.driver
        self._function, self._end_function = functions
        self._stream, self._multiprocessors = stream, multiprocessors
        flags = self._runtime.hostAllocMapped | self._runtime.hostAllocPortable
        self._host = self._runtime.hostAlloc(_FLAG_B + 8 * _STAMP_WORDS * _STAMPS, flags)
        self._flag = (ctypes.c_uint32 * 2).from_address(self._host)
        self._flag[0] = self._flag[1] = 0
        words = (ctypes.c_uint64 * (_STAMP_WORDS * _STAMPS)).from_address(self._host + _FLAG_B)
        self._stamps = np.ctypeslib.as_array(words).reshape(_STAMPS, _STAMP_WORDS)
        self._stamps[:] = 0
        self._ticket = 0
        self._clocked = 0
        """The newest ticket whose stamps were read."""
        self.took_late = False
        """What ``take_late`` last said."""
        self._device = int(self._runtime.pointerGetAttributes(self._host).devicePointer)

    def load(self) -> None:
        """Have the end's code loaded: behind a closed gate, waiting for that would be for ever."""
        self._queue_end(0)

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Hold the stream shut while the block runs; what it queues starts when the block ends."""
        ticket = self._take_ticket()
        packed = PackedArguments(
            [
                np.uint64(self._device),
                np.uint64(self._stamp_address(ticket)),
                np.uint32(ticket),
                np.uint64(TIMEOUT_NS),
            ],
            {},
        )
        self._driver.launchKernel(
            self._function, 1, 1, 1, 1, 1, 1, 0, self._stream, packed.address, 0
        )
        try:
            yield
            self._queue_end(ticket)
        finally:
            self._flag[0] = ticket

    def _queue_end(self, ticket: int) -> None:
        packed = PackedArguments([np.uint64(self._stamp_address(ticket)), np.uint32(ticket)], {})
        self._driver.launchKernel(
            self._end_function, self._multiprocessors, 1, 1, _WARP, 1, 1, 0, self._stream,
            packed.address, 0,
        )  # fmt: skip

    def _stamp_address(self, ticket: int) -> int:
        return self._device + _FLAG_B + 8 * _STAMP_WORDS * (ticket % _STAMPS)

    def _take_ticket(self) -> int:
        """Return the next ticket; after 2³² they start over, which the kernel allows for."""
        self._ticket = (self._ticket + 1) & 0xFFFFFFFF
        return self._ticket

    def take_late(self) -> bool:
        """Return whether a gate opened by itself since the last call; ask after waiting."""
        self.took_late = self._flag[1] != 0
        self._flag[1] = 0
        return self.took_late

    def take_clock_Hz(self) -> float | None:
        """Return the clock held behind the gates since the last call; ask after waiting.

        None when that was too short, or no end ran on the multiprocessor of its gate.
        """
        newest, oldest = self._ticket, self._clocked
        self._clocked = newest
        fresh = min((newest - oldest) & 0xFFFFFFFF, _STAMPS)
        cycles = spent_ns = 0
        for ticket in ((newest - back) & 0xFFFFFFFF for back in range(fresh)):
            began, clock, time_ns, ended, end_clock, end_ns = self._stamps[
                ticket % _STAMPS
            ].tolist()
            if began >> 32 == ticket and began == ended:
                cycles += end_clock - clock
                spent_ns += end_ns - time_ns
        if spent_ns < LEAST_CLOCKED_NS:
            return None
        clock_Hz = cycles / spent_ns * 1e9
        low, high = PLAUSIBLE_CLOCK_Hz
        return clock_Hz if low < clock_Hz < high else None

    def close(self) -> None:
        """Give the memory back."""
        if self._host:
            del self._flag, self._stamps
            self._runtime.freeHost(self._host)
            self._host = 0


def launches_block() -> bool:
    """Return whether the environment makes every launch wait, so that a gate never opens."""
    return os.environ.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0")
