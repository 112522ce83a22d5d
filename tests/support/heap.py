"""What the C library has given out, where it is glibc 2.33 or later, and what Python has."""

from __future__ import annotations

import ctypes
import os
import re
import sys
import tempfile


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


def python_heap() -> dict[str, int]:
    """Return the bytes that Python's small objects take, and those of the arenas they lie in.

    CPython tells both on its standard error alone. Empty where it has another allocator.
    """
    sys.stderr.flush()
    before = os.dup(2)
    with tempfile.TemporaryFile("w+", encoding="ascii", errors="replace") as told:
        os.dup2(told.fileno(), 2)
        try:
            sys._debugmallocstats()
        finally:
            os.dup2(before, 2)
            os.close(before)
        told.seek(0)
        words = told.read()
    found = {
        "objects_B": re.search(r"bytes in allocated blocks += +([\d,]+)", words),
        "arenas_B": re.search(r"bytes/arena += +([\d,]+)", words),
    }
    return {name: int(one[1].replace(",", "")) for name, one in found.items() if one}
