"""Theoretical occupancy: how many blocks of a kernel fit on one multiprocessor, and what limits it.

The formula is that of NVIDIA's occupancy calculator (``cuda_occupancy.h`` of CUDA's toolkit), with
the limits of the table "Technical specifications per compute capability" in the CUDA C++
Programming Guide.
"""

from __future__ import annotations

import msgspec

WARP = 32
KIB = 1024
MAX_THREADS_PER_BLOCK = 1024


class MultiprocessorLimits(msgspec.Struct, frozen=True):
    """What one multiprocessor holds; shared memory in bytes, registers as 32-bit words."""

    warps: int
    blocks: int
    shared_B: int
    shared_per_block_B: int
    """Most shared memory a block may ask for (opt-in)."""
    reserved_per_block_B: int
    """Shared memory the driver takes of each block."""
    shared_unit_B: int
    """Shared memory is allocated in multiples of this."""
    registers: int = 65536
    partitions: int = 4
    """Registers and warps are divided among this many schedulers."""
    register_unit: int = 256
    """A warp's registers are allocated in multiples of this."""
    barriers: int | None = None
    """Barriers of all resident blocks together; None where they never limit (before 9.0)."""


def _limits(
    warps: int,
    blocks: int,
    shared_KiB: int,
    *,
    reserved_KiB: int = 1,
    unit_B: int = 128,
    barriers: int | None = None,
) -> MultiprocessorLimits:
    return MultiprocessorLimits(
        warps=warps,
        blocks=blocks,
        shared_B=shared_KiB * KIB,
        shared_per_block_B=(shared_KiB - reserved_KiB) * KIB,
        reserved_per_block_B=reserved_KiB * KIB,
        shared_unit_B=unit_B,
        barriers=barriers,
    )


LIMITS: dict[tuple[int, int], MultiprocessorLimits] = {
    (7, 5): _limits(32, 16, 64, reserved_KiB=0, unit_B=256),
    (8, 0): _limits(64, 32, 164),
    (8, 6): _limits(48, 16, 100),
    (8, 7): _limits(48, 16, 164),
    (8, 9): _limits(48, 24, 100),
    (9, 0): _limits(64, 32, 228, barriers=64),
    (10, 0): _limits(64, 32, 228, barriers=64),
    (10, 3): _limits(64, 32, 228, barriers=64),
    (12, 0): _limits(48, 24, 100, barriers=24),
    (12, 1): _limits(48, 24, 100, barriers=24),
}
"""Limits by compute capability."""


class Occupancy(msgspec.Struct, frozen=True):
    """How full a multiprocessor is; ``occupancy`` is resident warps over the most it holds.

    ``limiter`` is ``threads``, ``registers``, ``shared memory``, ``blocks`` or ``barriers``: the
    first of them that allows no further block.
    """

    blocks_per_multiprocessor: int
    occupancy: float
    limiter: str


def parse_architecture(arch: str) -> tuple[int, int] | None:
    """Return the compute capability of ``sm_90`` or ``sm_90a``; None for another text."""
    digits = arch.removeprefix("sm_").rstrip("af")
    if not arch.startswith("sm_") or not digits.isdigit() or len(digits) < 2:
        return None
    return int(digits[:-1]), int(digits[-1])


def blocks_by_limit(
    limits: MultiprocessorLimits, threads: int, registers: int, shared_B: int, barriers: int = 0
) -> dict[str, int]:
    """Return how many blocks each resource of a multiprocessor has room for.

    ``threads`` a block, ``registers`` a thread, ``shared_B`` a block, static and dynamic together,
    ``barriers`` a block as ptxas counts them. Raises ValueError for a block without threads or a
    negative amount.
    """
    if threads < 1 or registers < 0 or shared_B < 0 or barriers < 0:
        raise ValueError("a block has at least one thread and no negative resources")
    warps = -(-threads // WARP)
    found = {"threads": limits.warps // warps if threads <= MAX_THREADS_PER_BLOCK else 0}
    if registers:
        per_warp = _round_up(WARP * registers, limits.register_unit)
        per_partition = limits.registers // limits.partitions // per_warp
        found["registers"] = per_partition * limits.partitions // warps
    taken_B = _round_up(shared_B + limits.reserved_per_block_B, limits.shared_unit_B)
    if shared_B > limits.shared_per_block_B:
        found["shared memory"] = 0
    elif taken_B:
        found["shared memory"] = limits.shared_B // taken_B
    found["blocks"] = limits.blocks
    if barriers and limits.barriers is not None:
        found["barriers"] = limits.barriers // barriers
    return found


def occupancy(
    limits: MultiprocessorLimits, threads: int, registers: int, shared_B: int, barriers: int = 0
) -> Occupancy:
    """Return the theoretical occupancy of a launch; see ``blocks_by_limit`` for the arguments."""
    rooms = blocks_by_limit(limits, threads, registers, shared_B, barriers)
    limiter = min(rooms, key=rooms.__getitem__)
    blocks = rooms[limiter]
    return Occupancy(
        blocks_per_multiprocessor=blocks,
        occupancy=blocks * -(-threads // WARP) / limits.warps,
        limiter=limiter,
    )


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
