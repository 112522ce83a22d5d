"""How soon the window's own thread gets a processor that others keep busy (Linux 6.12 or later)."""

from __future__ import annotations

import ctypes
import functools
import platform
import sys

SLICE_NS = 100_000
"""The shortest slice that Linux grants: whoever asks for a short one is served first when it
wakes, and takes no larger share for it. A thread with the usual one waits for the next tick of the
clock, up to 4 ms, whenever a kernel has the processor, and the window wakes many times a frame."""
CALLS = {"x86_64": (315, 314), "aarch64": (275, 274), "riscv64": (275, 274)}
"""The numbers of sched_getattr and sched_setattr, which C libraries have had for a short time."""
RESET_ON_FORK = 1
"""What the thread starts, such as an engine, has the usual slice."""


class Attributes(ctypes.Structure):
    """``struct sched_attr`` of Linux, without what came after its first version."""

    _fields_ = (
        ("size", ctypes.c_uint32), ("policy", ctypes.c_uint32), ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32), ("priority", ctypes.c_uint32), ("runtime_ns", ctypes.c_uint64),
        ("deadline_ns", ctypes.c_uint64), ("period_ns", ctypes.c_uint64),
    )  # fmt: skip


@functools.cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def attributes() -> Attributes | None:
    """Return how the calling thread is scheduled; None where the system does not tell."""
    calls = CALLS.get(platform.machine()) if sys.platform.startswith("linux") else None
    if calls is None:
        return None
    found = Attributes()
    size = ctypes.sizeof(found)
    failed = _library().syscall(calls[0], 0, ctypes.byref(found), size, 0)
    return None if failed else found


def wake_soon() -> None:
    """Have the calling thread served soon when it wakes, where the system can."""
    wanted = attributes()
    if wanted is not None:
        wanted.runtime_ns, wanted.flags = SLICE_NS, wanted.flags | RESET_ON_FORK
        _library().syscall(CALLS[platform.machine()][1], 0, ctypes.byref(wanted), 0)
