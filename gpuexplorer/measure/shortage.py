"""Runs that run out of memory: let an allocation fail rather than have the process killed.

A GPU's driver refuses what its memory cannot hold, and so does Windows for the host's. Linux
promises a program more than there is and ends it when it uses what was promised. So a run on a CPU
there gets a limit: what the process holds now, and what the machine has to give. At the limit the
kernel refuses, NumPy raises MemoryError and PyTorch RuntimeError, and the session goes on.

The limit is ``RLIMIT_DATA``, which counts private memory that can be written to; the address
space as a whole (``RLIMIT_AS``) also counts files and memory that is only set aside, of which
CUDA sets aside more than any machine has. The limit holds for runs on a CPU alone, is lifted after
each, and is never set where a run uses a GPU.
"""

from __future__ import annotations

import ctypes
import gc
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import (
    CannotRunHere,
    ExplorerError,
    InputError,
    OutOfMemory,
    WrongResult,
)
from gpuexplorer.core.units import listed, quantity
from gpuexplorer.workloads.memory.fits import need
from gpuexplorer.workloads.memory.predict import predict
from gpuexplorer.workloads.plan import Plan

USED_SHARE = 0.97
"""Of what the machine has to give, a run may take this much; the rest keeps the window alive."""
_OUT_OF_MEMORY = re.compile(
    r"out of memory|memory ran out|not enough memory|can(?:no|')t allocate memory|bad_alloc"
    r"|resource[_ ]exhausted|(?:could not|unable to) allocate|has no .+ free",
    re.IGNORECASE,
)


def says_short_of_memory(error: BaseException) -> bool:
    """Whether an error, of whatever library, says that memory is short."""
    return isinstance(error, MemoryError) or bool(_OUT_OF_MEMORY.search(str(error)))


def out_of_memory(
    error: Exception, plan: Plan, device: DeviceInfo, room_B: float | None
) -> OutOfMemory | None:
    """Return the sentence for a run that ran out of memory; None for any other error."""
    if isinstance(error, InputError | CannotRunHere | WrongResult):
        return None
    if not says_short_of_memory(error):
        return None
    said = error.what if isinstance(error, ExplorerError) else f"{device.id} ran out of memory"
    told = []
    if predict(plan) is not None:
        told.append(f"{quantity(need(plan, device).total_B, 'B')} was predicted")
    if room_B is not None:
        told.append(f"{quantity(room_B, 'B')} was there")
    return OutOfMemory(
        f"{said}; {listed(told)}" if told else said,
        remedy="choose a smaller size; what was measured before is kept",
        detail=getattr(error, "detail", "") or str(error),
    )


@contextmanager
def memory_limit(device: DeviceInfo, free_B: float | None) -> Iterator[float | None]:
    """Limit what this process may allocate within the block; yield the bytes it may add.

    ``free_B`` is what the machine has to give now. None, and no limit, on a GPU and where the
    system refuses by itself.
    """
    held_B = _data_B() if device.kind == "cpu" and free_B is not None else None
    if held_B is None or free_B is None:
        yield None
        return
    import resource

    may_add_B = free_B * USED_SHARE
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = int(held_B + may_add_B)
    stricter = soft != resource.RLIM_INFINITY and soft <= wanted
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if not stricter:
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))
    try:
        yield may_add_B
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _data_B() -> int | None:
    """Return what counts towards ``RLIMIT_DATA`` now; None where no limit can be set.

    The sixth number of ``statm`` is data and stack in pages (proc(5)).
    """
    if sys.platform != "linux":
        return None
    try:
        with open("/proc/self/statm", "rb", buffering=0) as statm:  # for every run of a search
            return int(statm.read().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def give_back() -> None:
    """Return to the system what was freed, which an allocator would rather keep."""
    gc.collect()
    if sys.platform != "linux":
        return
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):  # another C library than GNU's
        pass
