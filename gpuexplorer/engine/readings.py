"""The readings of a run that goes on for long: the latest as they came, the others packed.

A reading takes about a kilobyte as an object and a tenth of that packed, and there are ten a
second.
"""

from __future__ import annotations

import zlib
from copy import copy
from itertools import chain

import msgspec

from gpuexplorer.core.sample import Reading

PACK = 512
"""Readings packed at a time, and at least as many of the latest that stay as they came: what is
shown of a run that goes on rests on those."""
_FAST = 1
"""The level of compression: more of it saves little and takes long."""
_decoder = msgspec.msgpack.Decoder(list[Reading])


class Readings:
    """Readings in order of arrival."""

    def __init__(self) -> None:
        self._packs: list[bytes] = []
        self._latest: list[Reading] = []

    def __len__(self) -> int:
        return PACK * len(self._packs) + len(self._latest)

    def add(self, reading: Reading, most: int) -> None:
        """Add one; the oldest go where there are more than ``most``."""
        self._latest.append(reading)
        if len(self._latest) >= 2 * PACK:
            told = msgspec.msgpack.encode(self._latest[:PACK])
            self._packs.append(zlib.compress(told, _FAST))
            del self._latest[:PACK]
        if len(self) > most:
            del self._packs[:1]

    def all(self) -> list[Reading]:
        """Return every one."""
        return [*chain.from_iterable(map(_unpacked, self._packs)), *self._latest]

    def since(self, t_ns: int) -> list[Reading]:
        """Return those that came after the last one from before ``t_ns``."""
        found = self._latest
        packs = len(self._packs)
        while packs and all(reading.t_ns >= t_ns for reading in found):
            packs -= 1
            found = _unpacked(self._packs[packs]) + found
        kept = len(found)
        while kept and found[kept - 1].t_ns >= t_ns:
            kept -= 1
        return found[kept:]

    def drop_after(self, t_ns: int) -> None:
        """Let go of the latest ones that were read after ``t_ns``."""
        while self._latest and self._latest[-1].t_ns > t_ns:
            self._latest.pop()

    def copy(self) -> Readings:
        """Return a copy that later additions leave alone."""
        made = copy(self)
        made._packs, made._latest = list(self._packs), list(self._latest)
        return made


def _unpacked(pack: bytes) -> list[Reading]:
    return _decoder.decode(zlib.decompress(pack))
