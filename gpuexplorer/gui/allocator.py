"""What the C library does with freed memory: glibc keeps it unless it is told otherwise."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

ARENAS = 2
"""Heaps for threads to allocate from: glibc's own eight a core each keep what was freed there."""
LARGE_B = 1 << 18
"""Blocks of so many bytes, such as pictures of plots, have pages of their own, which go back with
them. By itself glibc takes them from its heap once it has seen a larger one freed."""
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
"""From glibc's malloc.h."""


@cache
def _library() -> ctypes.CDLL | None:
    """Return the C library if it is glibc."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None


def share_heaps() -> None:
    """Let threads share a few heaps, and no large block lie there; call it before there are any."""
    library = _library()
    if library is not None:
        library.mallopt(M_ARENA_MAX, ARENAS)
        library.mallopt(M_MMAP_THRESHOLD, LARGE_B)
        library.mallopt(M_TRIM_THRESHOLD, 2 * LARGE_B)


def give_back() -> None:
    """Give pages that hold nothing back to the system."""
    library = _library()
    if library is not None:
        library.malloc_trim(0)
