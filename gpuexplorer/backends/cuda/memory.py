"""A run's arrays in one device allocation, each between two stretches of guard bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from gpuexplorer.backends.base import HostArray
from gpuexplorer.workloads.plan import ArrayPlan

ALIGNMENT_B = 256
"""Arrays start at multiples of this, as ``cudaMalloc``'s own do."""
GUARD_B = 64 * 1024
"""Least length of a guard: some rows beyond the end of a matrix of ordinary size."""
GUARD_BYTE = 0xC5


class Span(msgspec.Struct, frozen=True):
    """A stretch of the allocation, in bytes from its start."""

    start: int
    nbytes: int

    @property
    def end(self) -> int:
        """The first byte after it."""
        return self.start + self.nbytes


class Layout(msgspec.Struct, frozen=True):
    """Where everything lies; ``guards`` names the array each guard follows ('' for the first)."""

    arrays: dict[str, Span]
    copies: dict[str, Span]
    """Unchanged copies of ``inout`` arrays that are set back before each launch."""
    guards: tuple[tuple[str, Span], ...]
    total_B: int


def lay_out(arrays: Sequence[ArrayPlan], reset: Sequence[str]) -> Layout:
    """Place arrays, their guards, and the copies that ``reset`` needs."""
    placed: dict[str, Span] = {}
    guards = [("", Span(0, GUARD_B))]
    at = GUARD_B
    for array in arrays:
        placed[array.name] = Span(at, array.nbytes)
        end = at + array.nbytes
        at = _aligned(end + GUARD_B)
        guards.append((array.name, Span(end, at - end)))  # from the very next byte
    copies: dict[str, Span] = {}
    for array in arrays:
        if array.role == "inout" and array.name in reset:
            copies[array.name] = Span(at, array.nbytes)
            at = _aligned(at + array.nbytes)
    return Layout(placed, copies, tuple(guards), at)


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT_B) * ALIGNMENT_B


class DeviceArrays:
    """The arrays on the device. Every copy waits, every fill is queued on the stream."""

    def __init__(self, session: Any, layout: Layout) -> None:
        """Allocate; CuPy's error when the memory is not there."""
        self._session = session
        self._runtime = session.api.runtime
        self.layout = layout
        self._base = int(self._runtime.malloc(layout.total_B))
        self._guarded = False

    @property
    def pointers(self) -> dict[str, int]:
        """Device addresses by name."""
        return {name: self._base + span.start for name, span in self.layout.arrays.items()}

    def upload(self, name: str, data: HostArray) -> None:
        """Copy a host array in, and into its unchanged copy where it has one."""
        source = np.ascontiguousarray(data)
        span = self.layout.arrays[name]
        if source.nbytes != span.nbytes:
            raise ValueError(f"array '{name}' holds {span.nbytes} bytes, not {source.nbytes}")
        self._copy(self._base + span.start, source.ctypes.data, span.nbytes, "HostToDevice")
        if name in self.layout.copies:
            copy = self.layout.copies[name]
            self._copy(
                self._base + copy.start, self._base + span.start, span.nbytes, "DeviceToDevice"
            )
        self._session.wait()

    def download(self, name: str, out: HostArray) -> None:
        """Copy an array out into a contiguous host array of its size."""
        span = self.layout.arrays[name]
        self._copy(out.ctypes.data, self._base + span.start, span.nbytes, "DeviceToHost")
        self._session.wait()

    def copy_to(self, address: int, value: str | HostArray) -> None:
        """Queue copying an array, by its name, or host values to another place of the device."""
        if isinstance(value, str):
            span = self.layout.arrays[value]
            self._copy(address, self._base + span.start, span.nbytes, "DeviceToDevice")
        else:
            self._copy(address, value.ctypes.data, value.nbytes, "HostToDevice")

    def copy_from(self, address: int, name: str) -> None:
        """Queue copying what lies at another place of the device to an array."""
        span = self.layout.arrays[name]
        self._copy(self._base + span.start, address, span.nbytes, "DeviceToDevice")

    def fill(self, name: str, byte: int) -> None:
        """Set every byte of an array."""
        span = self.layout.arrays[name]
        self._set(span, byte)

    def clear(self, name: str) -> None:
        """Zero an array, and its unchanged copy where it has one."""
        self.fill(name, 0)
        if name in self.layout.copies:
            self._set(self.layout.copies[name], 0)

    def restore(self, name: str) -> None:
        """Set an array back to what was uploaded."""
        span, copy = self.layout.arrays[name], self.layout.copies[name]
        self._copy(self._base + span.start, self._base + copy.start, span.nbytes, "DeviceToDevice")

    def set_guards(self) -> None:
        """Write the guard bytes."""
        for _, span in self.layout.guards:
            self._set(span, GUARD_BYTE)
        self._guarded = True

    def broken_guard(self) -> tuple[str, int] | None:
        """Return the array before the first changed guard and how far behind its end, or None.

        The distance is in bytes and negative before the first array. None as well when the guards
        were never set.
        """
        if not self._guarded:
            return None
        for name, span in self.layout.guards:
            found = np.empty(span.nbytes, np.uint8)
            self._copy(found.ctypes.data, self._base + span.start, span.nbytes, "DeviceToHost")
            self._session.wait()
            changed = np.flatnonzero(found != GUARD_BYTE)
            if len(changed):
                return (name, int(changed[0])) if name else (name, int(changed[-1]) - span.nbytes)
        return None

    def free(self) -> None:
        """Give the memory back; calling it twice is harmless."""
        base, self._base = self._base, 0
        if base:
            self._runtime.free(base)

    def _set(self, span: Span, byte: int) -> None:
        if span.nbytes:
            self._runtime.memsetAsync(
                self._base + span.start, byte, span.nbytes, self._session.stream
            )

    def _copy(self, to: int, source: int, nbytes: int, kind: str) -> None:
        if nbytes:
            direction = getattr(self._runtime, f"memcpy{kind}")
            self._runtime.memcpyAsync(to, source, nbytes, direction, self._session.stream)
