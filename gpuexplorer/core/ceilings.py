"""What a device was measured to be able to do: the roofs that runs are held against."""

from __future__ import annotations

from typing import Literal

import msgspec

CEILINGS_SCHEMA = "gpuexplorer/ceilings/1"

CeilingKind = Literal["copy", "triad", "read", "cache", "fma", "gemm"]
"""Memory: ``copy``, ``triad``, ``read`` (main memory), ``cache`` (last-level cache), in B/s.
Arithmetic: ``fma`` (multiply-add chains), ``gemm`` (the vendor's matrix multiply), in FLOP/s."""

MEMORY_KINDS: tuple[CeilingKind, ...] = ("copy", "triad", "read", "cache")
COMPUTE_KINDS: tuple[CeilingKind, ...] = ("fma", "gemm")


class Ceiling(msgspec.Struct, frozen=True, kw_only=True):
    """One measured ceiling.

    ``value`` is B/s for memory kinds and FLOP/s for arithmetic; ``ci95_low`` and ``ci95_high``
    are its 95 % interval, None when there were too few samples.
    """

    kind: CeilingKind
    precision: str | None = None
    """Of the arithmetic; None for memory, whose bytes are the same in each."""
    value: float
    ci95_low: float | None = None
    ci95_high: float | None = None
    clock_held_Hz: float | None = None
    method: str = ""
    """What was run and how it was timed, in words."""


class Ceilings(msgspec.Struct, frozen=True, kw_only=True):
    """All ceilings of one device under one driver and number of CPU threads."""

    schema: str = CEILINGS_SCHEMA
    device: str
    """Its id then."""
    hardware_id: str
    name: str
    driver: str
    threads: int | None = None
    """CPU threads that were used; None on a GPU."""
    time_utc: str
    ceilings: tuple[Ceiling, ...] = ()

    def memory(self) -> Ceiling | None:
        """Return the highest main-memory ceiling, None when none was measured."""
        found = [c for c in self.ceilings if c.kind in ("copy", "triad", "read")]
        return max(found, key=lambda c: c.value, default=None)

    def cache(self) -> Ceiling | None:
        """Return the last-level cache's ceiling."""
        found = [c for c in self.ceilings if c.kind == "cache"]
        return max(found, key=lambda c: c.value, default=None)

    def compute(self, precision: str) -> Ceiling | None:
        """Return the highest arithmetic ceiling in a precision."""
        found = [c for c in self.ceilings if c.kind in COMPUTE_KINDS and c.precision == precision]
        return max(found, key=lambda c: c.value, default=None)
