"""Memory for one array with a fence on either side: address space that holds nothing.

The array ends where the fence behind it begins, so that the first byte read or written there is
noticed, and so is every other one up to where a 32-bit index can reach. What lies between array and
fence, because an array begins where a line of the cache does, holds a pattern that shows a write.

Fences stand closed for launches that are checked, and open for those that are timed: processors
take long over a masked access that would fall on closed memory, although none of it happens, and
the last rows of a matrix are full of those (a tiled transposition of 1000 rows took 1.44 times as
long).
"""

from __future__ import annotations

import ctypes
import functools
import mmap
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from gpuexplorer.backends.opencl import faults
from gpuexplorer.core.units import plural

ALIGNMENT_B = 64
"""Of an array's start: a line of the cache, for vectors across two lines cost a fifth of a copy's
speed. Up to so many bytes less one behind an array can be read unnoticed, where its size is odd."""
HUGE_PAGE_B = 2 << 20
"""NumPy asks for such pages as well: rows that lie pages apart took a fifth longer without."""
MARGIN_STEP_B = 4096
MIN_MARGIN_B = 16 * MARGIN_STEP_B
MAX_MARGIN_B = 128 * MARGIN_STEP_B
WIDTHS_B = (68 << 30, 1 << 30, 64 << 20, 1 << 20)
"""Of a fence, the first for which there is address space: an index that wraps at 32 bits lands in
the nearer half of the widest, also in an array of 8-byte elements."""
MOST_LET_THROUGH_B = 64 << 20
"""Of an array's fences, before a kernel that goes on and on there is left to its signal."""
PATTERN = 0xA5
BOUNDS = "check the kernel's bounds for this size and block"
"""What to do about a stray."""
_PAGE = mmap.PAGESIZE
# As Linux has them on every 64-bit processor; Python's own mmap names only some.
_PRIVATE, _FIXED, _ANONYMOUS, _UNRESERVED = 0x02, 0x10, 0x20, 0x4000
_RESERVED = _PRIVATE | _ANONYMOUS | _UNRESERVED
_NONE, _READ_WRITE = 0, 3
_HUGE_PAGES = 14
_FAILED = 2**64 - 1


class Stray(msgspec.Struct, frozen=True):
    """One access outside an array: what it did, where, and how many bytes from its nearest end.

    The first byte before it and the first behind it have the distance 0.
    """

    did: str
    """``read``, ``wrote``, or ``read or wrote`` where the processor does not tell."""
    place: str
    """``before`` or ``behind``."""
    distance_B: int

    def words(self, name: str, itemsize_B: int) -> str:
        """Say in a sentence what was done outside array ``name``."""
        distance = self.distance_B // itemsize_B + 1
        elements = plural(
            distance, "{elements} element", "{elements} elements", elements=f"{distance:,}"
        )
        return f"the kernel {self.did} outside array {name}: {elements} {self.place} it"


def margin_B(nbytes: int) -> int:
    """Return how much an open fence lets through: a sixteenth of the array, within limits."""
    wanted = min(max(nbytes // 16, MIN_MARGIN_B), MAX_MARGIN_B)
    return -(-wanted // MARGIN_STEP_B) * MARGIN_STEP_B


class FencedMemory:
    """The memory of one array between two fences; nothing is to be used after ``free``."""

    def __init__(self, name: str, nbytes: int, itemsize_B: int) -> None:
        """Reserve and make accessible, the fences open; MemoryError where there is no room."""
        self._name, self._itemsize_B = name, itemsize_B
        pages_B = -(-nbytes // _PAGE) * _PAGE
        spare_B = HUGE_PAGE_B if pages_B >= HUGE_PAGE_B else 0
        self._reserved, width_B = _reserve(pages_B + spare_B)
        self._end = self._reserved + width_B + pages_B + spare_B + width_B
        self._behind = self._end - width_B
        if spare_B:
            self._behind -= self._behind % HUGE_PAGE_B
        self._pages = self._behind - pages_B
        self._margin_B = -(-margin_B(nbytes) // _PAGE) * _PAGE
        self.start = (self._behind - nbytes) // ALIGNMENT_B * ALIGNMENT_B
        """The array's address."""
        self._stop = self.start + nbytes
        self._let_through_B = 0
        self._filled = False
        self._first: Stray | None = None
        _ask_for_huge_pages(self._pages, self._behind)
        if self._open():
            self.free()
            raise MemoryError(f"no memory for {pages_B} bytes")
        self.values = _bytes(self.start, self._stop)
        """The array's bytes, in place."""
        self._fill_margins()
        faults.watch(self)

    def close(self) -> None:
        """Close the fences and write the pattern; what was noted before is forgotten."""
        self._first = None
        outside = ((self._reserved, self._pages), (self._behind, self._end))
        if self._let_through_B:
            for start, stop in outside:
                _empty(start, stop - start)
            self._let_through_B, self._filled = 0, False
        for start in (self._pages - self._margin_B, self._behind):
            _protect(start, self._margin_B, _NONE)
        for gap in self._gaps:
            gap[:] = PATTERN
        faults.watch(self)

    def open(self) -> None:
        """Open the fences next to the array."""
        self._open()
        if not self._filled:
            self._fill_margins()

    def _open(self) -> int:
        """Make array and margins accessible, in one call for all; 0 where that was possible."""
        start = self._pages - self._margin_B
        return _protect(start, self._behind + self._margin_B - start, _READ_WRITE)

    def stray(self) -> Stray | None:
        """Return the first access outside since ``close``, as far as it was noted or shows."""
        if self._first is not None:
            return self._first
        before, behind = (np.flatnonzero(gap != PATTERN) if len(gap) else gap for gap in self._gaps)
        if len(before):
            return Stray("wrote", "before", self.start - 1 - self._pages - int(before[-1]))
        if len(behind):
            return Stray("wrote", "behind", int(behind[0]))
        return None

    def free(self) -> None:
        """Give back memory and address space; calling it twice is harmless."""
        faults.forget(self)
        reserved, self._reserved = self._reserved, 0
        if reserved:
            _unmap(reserved, self._end - reserved)

    def lets_through(self, address: int, written: bool | None) -> bool:
        """Note an access to a fence and let it through; False for an address elsewhere."""
        if not self._reserved <= address < self._end or self._let_through_B >= MOST_LET_THROUGH_B:
            return False
        if self._first is None:
            did = "read or wrote" if written is None else "wrote" if written else "read"
            before = address < self.start
            distance_B = self.start - 1 - address if before else address - self._stop
            self._first = Stray(did, "before" if before else "behind", distance_B)
        page = address // _PAGE * _PAGE
        stop = self._pages if page < self._pages else self._end
        step_B = min(max(self._let_through_B, _PAGE), stop - page)
        self._let_through_B += step_B
        return not _protect(page, step_B, _READ_WRITE)

    def last_words(self) -> tuple[int, str] | None:
        """Return what was noted since ``close``, and how many bytes from the array."""
        first = self._first
        return (first.distance_B, first.words(self._name, self._itemsize_B)) if first else None

    def _fill_margins(self) -> None:
        """Have memory there, and not only the right to have some."""
        for start in (self._pages - self._margin_B, self._behind):
            _bytes(start, start + self._margin_B)[:] = PATTERN
        self._filled = True

    @functools.cached_property
    def _gaps(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
        return _bytes(self._pages, self.start), _bytes(self._stop, self._behind)


def _bytes(start: int, stop: int) -> npt.NDArray[np.uint8]:
    block = (ctypes.c_uint8 * (stop - start)).from_address(start)
    return np.frombuffer(memoryview(block), np.uint8)


def _reserve(pages_B: int) -> tuple[int, int]:
    """Return the address of inaccessible memory, and how wide each fence is."""
    for width_B in WIDTHS_B:
        found = _map(None, pages_B + 2 * width_B, _RESERVED)
        if found not in (None, _FAILED):
            return found, width_B
    raise MemoryError("no address space for fences")


def _empty(start: int, nbytes: int) -> None:
    """Make a fence inaccessible and give back what was written there."""
    _map(start, nbytes, _RESERVED | _FIXED)


def _ask_for_huge_pages(start: int, stop: int) -> None:
    """Have what lies between in huge pages as far as they fit; a system without them says no."""
    first = -(-start // HUGE_PAGE_B) * HUGE_PAGE_B
    if first < stop:
        _libc().madvise(ctypes.c_void_p(first), ctypes.c_size_t(stop - first), _HUGE_PAGES)


def _map(start: int | None, nbytes: int, flags: int) -> int:
    place, size = ctypes.c_void_p(start), ctypes.c_size_t(nbytes)
    found: int = _libc().mmap(place, size, _NONE, flags, -1, ctypes.c_long(0))
    return found


def _protect(start: int, nbytes: int, access: int) -> int:
    failed: int = _libc().mprotect(ctypes.c_void_p(start), ctypes.c_size_t(nbytes), access)
    return failed


def _unmap(start: int, nbytes: int) -> None:
    _libc().munmap(ctypes.c_void_p(start), ctypes.c_size_t(nbytes))


@functools.cache
def _libc() -> Any:
    library = ctypes.CDLL(None)
    library.mmap.restype = ctypes.c_void_p
    return library
