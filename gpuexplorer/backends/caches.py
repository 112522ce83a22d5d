"""The CPU's last-level cache: how large it is, who says so, and how much is read to empty it."""

from __future__ import annotations

import ctypes
import functools
import os
import re
import struct
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from gpuexplorer.backends.cpu import memory_available_B
from gpuexplorer.core.units import quantity

FLUSH_FACTOR = 2
"""A cold launch follows a pass over this many times the last-level cache."""
MAX_FLUSH_B = 1 << 31
MEMORY_SHARE = 1 / 8
"""A pass is over at most this many bytes, and this share of the memory available."""
FLUSH_STEP_B = 1 << 16
"""A pass is over a multiple of this."""
ASSUMED_B = 32 << 20
"""Taken where the size of the cache is not known."""

_SYSFS = Path("/sys/devices/system/cpu")


class CacheInfo(msgspec.Struct, frozen=True):
    """The last-level cache in bytes, all of its instances that this process may use together."""

    nbytes: int
    level: int | None
    """3 for an L3; None where it is not known."""
    instances: int
    """How many there are: chips with several dies have one a die."""
    source: str
    """Who says so, in words."""

    @property
    def words(self) -> str:
        """The cache in words, such as ``the 273 MB L3 cache (sysfs)``."""
        size = quantity(self.nbytes / self.instances, "B")
        if self.instances > 1:
            size = f"{self.instances} × {size}"
        if self.level:
            return f"the {size} L{self.level} cache ({self.source})"
        return f"the {size} last-level cache ({self.source})"


class Flush(msgspec.Struct, frozen=True):
    """How many bytes a pass goes over to empty a cache, and that in words."""

    nbytes: int
    cache: CacheInfo

    @property
    def words(self) -> str:
        """What is done before each launch, as it stands beside the number."""
        share = f"{self.nbytes / self.cache.nbytes:.2g} × {self.cache.words}"
        facts = [f"{quantity(self.nbytes, 'B')} read before each launch", share]
        if self.nbytes < FLUSH_FACTOR * self.cache.nbytes * 0.99:
            facts.append("memory is short")
        return ", ".join(facts)


def flush_of(cache: CacheInfo, at_most_B: int | None = None) -> Flush:
    """Return the pass that empties a cache: twice its size, unless memory is short.

    Other programs on the machine share the cache and only make it emptier; a virtual machine may
    have less of it than it is told. Both are on the safe side.
    """
    wanted = min(FLUSH_FACTOR * cache.nbytes, MAX_FLUSH_B, at_most_B or MAX_FLUSH_B)
    wanted = min(wanted, int(memory_available_B() * MEMORY_SHARE))
    return Flush(max(FLUSH_STEP_B, wanted // FLUSH_STEP_B * FLUSH_STEP_B), cache)


@functools.cache
def cpu_flush() -> Flush:
    """Return the pass that empties this CPU's cache; the same for the life of the process."""
    return flush_of(last_level_cache())


@functools.cache
def last_level_cache() -> CacheInfo:
    """Return this CPU's last-level cache by the system's word, else an assumption that says so."""
    for find in (_sysfs, _macos, _windows):
        found = find()
        if found is not None:
            return found
    return CacheInfo(ASSUMED_B, None, 1, "assumed, for the system does not say")


def last_level_cache_B() -> int | None:
    """Return the bytes of this CPU's last-level cache; None where the system does not say."""
    cache = last_level_cache()
    return cache.nbytes if cache.level is not None else None


# ---- Linux


def _sysfs() -> CacheInfo | None:
    cpus = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ()
    return from_sysfs(_SYSFS, cpus)


def from_sysfs(root: Path, cpus: Iterable[int]) -> CacheInfo | None:
    """Return the highest cache that these CPUs use, from a folder like ``/sys/devices/...``."""
    found: dict[int, dict[str, int]] = {}
    for cpu in sorted(cpus):
        for index in sorted((root / f"cpu{cpu}" / "cache").glob("index*")):
            try:
                kind, size = _read(index / "type"), _bytes_in(_read(index / "size"))
                level, shared = int(_read(index / "level")), _read(index / "shared_cpu_list")
            except (OSError, ValueError):
                continue
            if kind != "Instruction" and size:
                found.setdefault(level, {})[shared] = size
    if not found:
        return None
    level = max(found)
    sizes = found[level].values()
    return CacheInfo(sum(sizes), level, len(sizes), "sysfs")


def _read(path: Path) -> str:
    return path.read_text(encoding="ascii").strip()


def _bytes_in(text: str) -> int:
    match = re.fullmatch(r"(\d+)([KMG]?)", text)
    if match is None:
        raise ValueError(text)
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2]]


# ---- macOS


def _macos() -> CacheInfo | None:
    return from_sysctl(_sysctl) if sys.platform == "darwin" else None


def _sysctl(name: str) -> int | None:
    value, size = ctypes.c_uint64(), ctypes.c_size_t(8)
    failed = ctypes.CDLL(None).sysctlbyname(
        name.encode(), ctypes.byref(value), ctypes.byref(size), None, ctypes.c_size_t(0)
    )
    return None if failed else value.value


def from_sysctl(number: Callable[[str], int | None]) -> CacheInfo | None:
    """Return the cache from what ``number`` says of macOS's names: the L3, else the largest L2."""
    l3 = number("hw.l3cachesize")
    if l3:
        return CacheInfo(l3, 3, 1, "sysctl")
    names = ("hw.perflevel0.l2cachesize", "hw.perflevel1.l2cachesize")
    clusters = [size for size in map(number, names) if size]
    l2 = sum(clusters) or number("hw.l2cachesize")
    return CacheInfo(l2, 2, 1, "sysctl") if l2 else None


# ---- Windows

_RELATION_CACHE = 2
_INSTRUCTION_CACHE = 1


def _windows() -> CacheInfo | None:
    if sys.platform == "win32" and struct.calcsize("P") == 8:
        call = ctypes.WinDLL("kernel32").GetLogicalProcessorInformation
        length = ctypes.c_uint32(0)
        call(None, ctypes.byref(length))  # fails, and says how much room it needs
        room = ctypes.create_string_buffer(max(1, length.value))
        if call(room, ctypes.byref(length)):
            return from_windows(room.raw)
    return None


def from_windows(data: bytes) -> CacheInfo | None:
    """Return the cache from what ``GetLogicalProcessorInformation`` writes in a 64-bit process.

    Each entry has 32 bytes: a mask of processors, the relationship, and for a cache its level,
    associativity, line size, size and type.
    """
    found: dict[int, list[int]] = {}
    for _mask, relation, level, _ways, _line, size, kind in struct.iter_unpack(
        "<QI4xBBHII4x", data[: len(data) // 32 * 32]
    ):
        if relation == _RELATION_CACHE and kind != _INSTRUCTION_CACHE and size:
            found.setdefault(level, []).append(size)
    if not found:
        return None
    sizes = found[max(found)]
    return CacheInfo(sum(sizes), max(found), len(sizes), "Windows")
