"""What a device was measured to be able to do: the roofs that runs are held against."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from gpuexplorer.core.precision import PRECISIONS

CEILINGS_SCHEMA = "gpuexplorer/ceilings/1"

CeilingKind = Literal["copy", "triad", "read", "cache", "fma", "gemm"]
"""Memory: ``copy``, ``triad``, ``read`` (main memory), ``cache`` (caches), in B/s.
Arithmetic: ``fma`` (multiply-add chains), ``gemm`` (the vendor's matrix multiply), in FLOP/s."""

MAIN_MEMORY_KINDS: tuple[CeilingKind, ...] = ("copy", "triad", "read")
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
    footprint_B: int | None = None
    """Bytes that one launch touches, for memory."""
    method: str = ""
    """What was run and how it was timed, in words."""
    time_utc: str | None = None
    """When it was measured, if that was not with the others: it could not be any more."""


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
    last_level_cache_B: int | None = None
    nominal_clock_Hz: float | None = None
    """The highest clock that the device states."""
    quick: bool = False
    """Whether fewer and shorter runs were made."""
    brief: bool = False
    """Whether each was tried with a single candidate for a moment: it says where about the roofs
    are, and makes no run suspect."""
    time_utc: str
    ceilings: tuple[Ceiling, ...] = ()

    def memory(self) -> Ceiling | None:
        """Return the highest main-memory ceiling, None when none was measured."""
        return self._highest(c for c in self.ceilings if c.kind in MAIN_MEMORY_KINDS)

    def cache(self) -> Ceiling | None:
        """Return the highest ceiling of data that stays in the caches."""
        return self._highest(c for c in self.ceilings if c.kind == "cache")

    def compute(self, precision: str) -> Ceiling | None:
        """Return the highest arithmetic ceiling in a precision, or in what it accumulates in."""
        names = arithmetic_of(precision)
        return self._highest(
            c for c in self.ceilings if c.kind in COMPUTE_KINDS and c.precision in names
        )

    @staticmethod
    def _highest(found: Iterable[Ceiling]) -> Ceiling | None:
        return max(found, key=lambda c: c.value, default=None)


def arithmetic_of(precision: str) -> tuple[str, ...]:
    """Return the precisions that a run's arithmetic may be in: halves are added up as floats.

    What only models have is computed by units of its own, faster than those of any other.
    """
    chosen = PRECISIONS.get(precision)
    if chosen is None or not chosen.kernels:
        return (precision,)
    return tuple(dict.fromkeys((precision, chosen.adds_in)))
