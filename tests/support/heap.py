"""What the C library has given out, where it is glibc 2.33 or later and can be asked."""

from __future__ import annotations

import ctypes
import sys


class _Heap(ctypes.Structure):
    """``struct mallinfo2`` of glibc's malloc.h."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
            "fordblks", "keepcost",
        )
    )  # fmt: skip


def can_be_asked() -> bool:
    """Whether the heap can be asked."""
    return sys.platform.startswith("linux") and hasattr(ctypes.CDLL(None), "mallinfo2")


def heap() -> dict[str, int]:
    """Return the bytes given out in the heaps and apart from them, and what they hold unused."""
    if not can_be_asked():
        return {}
    library = ctypes.CDLL(None)
    library.mallinfo2.restype = _Heap
    found = library.mallinfo2()
    return {"used_B": found.uordblks, "apart_B": found.hblkhd, "free_B": found.fordblks}


def in_hand_B() -> int:
    """Return how many bytes are given out."""
    found = heap()
    return found["used_B"] + found["apart_B"]
