"""CUPTI's activity records: when each kernel began and ended on the device, by itself.

Optional: ``pip install 'gpuexplorer[cupti]'``. A record knows nothing of the gap before a launch,
so a short kernel's time is the kernel's alone. Recording is on only while a batch is being timed,
for other profilers and the telemetry's counters use the same interface. A process has one pair of
callbacks that take records in: the last to register gets them all, and PyTorch's profiler
registers its own whenever it starts. So ours are registered anew for each batch. And a process has
one clock in which all records are given, nanoseconds at first. PyTorch's profiler makes it count
the processor's cycles, and nothing takes that back: so each batch looks what its clock counts.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuexplorer.backends.base import TimingLost
from gpuexplorer.backends.cuda.gate import ENTRIES

SWITCH = "GPUEXPLORER_CUPTI"
"""With this in the environment set to 0, CUPTI is left alone."""
RESOLUTION_S = 32e-9
"""Records' times are multiples of this on the GPUs of today."""
BUFFER_B = 1 << 20
FASTER = 1.25
"""A clock that runs so much faster than the host's counts no nanoseconds; cycles are about twice as
many, and more."""
STRAY_NS = 1_000_000_000
"""A record that lies so far outside of its batch is given in another clock than was asked."""
MULTIPLE_SUBSCRIBERS = 39
NOT_PERMITTED = 35
_REASONS = {
    MULTIPLE_SUBSCRIBERS: "another profiler holds CUPTI in this process (error 39)",
    NOT_PERMITTED: "this user may not profile the GPU (error 35, ERR_NVGPUCTRPERM)",
}


class KernelRecords:
    """The records of one batch after another."""

    def __init__(self, cupti: Any) -> None:
        """``cupti`` is the module ``cupti.cupti``; raises TimingLost when it cannot record."""
        self._cupti = cupti
        self._kind = cupti.ActivityKind.CONCURRENT_KERNEL
        self._lock = threading.Lock()
        self._found: list[tuple[int, int]] = []
        self.seconds: npt.NDArray[np.float64] = np.empty(0)
        """The device's seconds of each launch of the last batch, all of its kernels added up."""
        self.complete = False
        """Whether every kernel of the last batch was recorded."""
        with self.collected(0):
            pass

    @contextmanager
    def collected(self, launches: int) -> Iterator[None]:
        """Record what runs meanwhile; the block waits for the device before it ends.

        Afterwards ``seconds`` holds one number a launch, when all launches had as many kernels.
        """
        self.complete = False
        with self._lock:
            self._found.clear()
        with self._explained():
            self._cupti.activity_register_callbacks(self._room, self._take)
            host_ns, began = time.perf_counter_ns(), int(self._cupti.get_timestamp())
            self._cupti.activity_enable(self._kind)
        try:
            yield
        except BaseException:
            with suppress(TimingLost):  # what went wrong first is what counts
                self._end()
            raise
        ended = self._end()
        host_ns = time.perf_counter_ns() - host_ns
        with self._lock:
            found = sorted(self._found)
        _check_clock(host_ns, began, ended, found)
        whole = bool(found) and launches > 0 and len(found) % launches == 0
        # Where CUPTI could not collect a kernel's times, both are 0.
        self.complete = whole and all(end > start for start, end in found)
        if self.complete:
            spans_ns = np.array([end - start for start, end in found], np.float64)
            self.seconds = spans_ns.reshape(launches, -1).sum(axis=1) * 1e-9

    def _end(self) -> int:
        """Stop recording and return CUPTI's time as it was then."""
        with self._explained():
            self._cupti.activity_flush_all(1)  # 1: buffers that are not full, too
            self._cupti.activity_disable(self._kind)
            return int(self._cupti.get_timestamp())

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (self._cupti.cuptiError, RuntimeError) as error:
            raise TimingLost(
                f"CUPTI does not record: {why_not(error)}",
                remedy=f"set {SWITCH}=0 to time by events instead",
            ) from None

    @staticmethod
    def _room() -> tuple[int, int]:
        """Return the bytes of a fresh buffer, and no limit on the records in it."""
        return BUFFER_B, 0

    def _take(self, activities: list[Any]) -> None:
        """Take in a buffer's records; CUPTI may call this from a thread of its own."""
        spans = [
            (int(a.start), int(a.end))
            for a in activities
            if a.kind == self._kind and a.name not in ENTRIES
        ]
        with self._lock:
            self._found += spans


def _check_clock(host_ns: int, began: int, ended: int, found: list[tuple[int, int]]) -> None:
    """Raise TimingLost unless a batch's records are in nanoseconds.

    ``host_ns`` passed on the host around CUPTI's times from ``began`` to ``ended``.
    """
    strays = [
        start
        for start, end in found
        if end > start and (start < began - STRAY_NS or end > ended + STRAY_NS)
    ]
    if strays or ended - began > FASTER * host_ns:
        raise TimingLost(
            "another profiler in this process has changed the clock of CUPTI's records",
            remedy=f"set {SWITCH}=0 to time by events instead",
        )


@functools.cache
def open_records() -> KernelRecords | str:
    """Return this process's recorder, or why it cannot record; empty when it was not asked for.

    Ask with the device's context current.
    """
    if os.environ.get(SWITCH, "") == "0" or importlib.util.find_spec("cupti") is None:
        return ""
    try:
        from cupti import cupti

        return KernelRecords(cupti)
    except TimingLost as error:
        return error.what
    except (ImportError, OSError, RuntimeError) as error:
        return f"CUPTI cannot be loaded ({error})"


def why_not(error: Exception) -> str:
    """Return an error of CUPTI's as a clause, with what helps."""
    status = getattr(error, "status", None)
    return _REASONS.get(status, str(error)) if status is not None else str(error)
