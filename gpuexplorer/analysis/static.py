"""What a compiled kernel would be on an architecture: its resources, and occupancy by block size.

These structs are both what the compiler's process answers and the document that
``gpuexplorer analyze --json`` prints. A value that is not known is None.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec

from gpuexplorer.analysis.architectures import limits_of
from gpuexplorer.analysis.instructions import Code
from gpuexplorer.analysis.occupancy import (
    MAX_THREADS_PER_BLOCK,
    WARP,
    MultiprocessorLimits,
    occupancy,
)
from gpuexplorer.core.config import Block

ANALYSIS_SCHEMA = "gpuexplorer/analysis/1"
LAUNCH_BOUNDS = "launch bounds"
"""The limiter of a block larger than the kernel's ``__launch_bounds__`` allow."""

Launch = tuple["KernelFigures", int]
"""A compiled kernel, and the dynamic shared memory of a block of it in bytes."""
LaunchAt = Callable[[Block], Launch | None]
"""What is launched with a block (a macro may be tied to it); None for one that is refused."""


class CompileRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One source file to compile, by value; without ``entries`` all kernels but templates."""

    source: str
    files: dict[str, str]
    arch: str
    precision: str = "fp32"
    defines: dict[str, int] = {}
    entries: tuple[str, ...] = ()
    whole_program: bool = False
    """Whether host code may stand in the file, which is left out."""
    listed: bool = False
    """Whether the instructions are wanted, too, with the source lines they come from."""


class KernelFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What one compiled kernel takes, by the compiler's word."""

    name: str
    source: str
    arch: str
    registers_per_thread: int
    static_shared_B: int
    local_B: int
    """Local memory of a thread: its stack, with arrays and spilled registers."""
    spill_store_B: int | None
    spill_load_B: int | None
    barriers: int | None
    max_threads_per_block: int | None
    """What ``__launch_bounds__`` allows; None without them."""
    code: Code | None = None
    """Its instructions, where they were asked for."""


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why nothing was compiled, as an ``ExplorerError`` says it."""

    exit_code: int
    what: str
    remedy: str
    detail: str


class CompileAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What the compiler's process answers: the kernels of each request in order, or a refusal."""

    figures: list[list[KernelFigures]] = []
    refusal: Refusal | None = None


class CurvePoint(msgspec.Struct, frozen=True, kw_only=True):
    """Theoretical occupancy with one block."""

    threads: int
    block: Block
    dynamic_shared_B: int
    blocks_per_multiprocessor: int
    occupancy: float
    limiter: str


class KernelAnalysis(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel on one architecture; ``occupancy`` is that of ``block``."""

    name: str
    source: str
    arch: str
    precision: str
    tunables: dict[str, int]
    registers_per_thread: int
    static_shared_B: int
    dynamic_shared_B: int
    local_B: int
    spill_store_B: int | None
    spill_load_B: int | None
    barriers: int | None
    max_threads_per_block: int | None
    block: Block
    threads_per_block: int
    occupancy: float | None
    occupancy_limiter: str | None
    blocks_per_multiprocessor: int | None
    warps_per_multiprocessor: int | None
    """Warps a multiprocessor holds at most; with the three before, None when not in the table."""
    curve: tuple[CurvePoint, ...] = ()
    """Occupancy by block size, in steps of one warp; ``block`` is among them."""


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """The document of ``analyze``: every kernel on every architecture that was asked for."""

    schema: str = ANALYSIS_SCHEMA
    subject: str
    """The file, or workload and variant."""
    kernels: tuple[KernelAnalysis, ...]


def describe_kernel(
    launch_at: LaunchAt,
    block: Block,
    *,
    precision: str,
    tunables: dict[str, int],
    varies: bool = True,
) -> KernelAnalysis:
    """Return a kernel's resources with its occupancy at ``block`` and by block size.

    ``varies`` is False for a launch whose block does not follow the user's: its curve is empty.
    Raises ValueError when ``launch_at`` refuses ``block`` itself.
    """
    launch = launch_at(block)
    if launch is None:
        raise ValueError(f"no launch with block {block}")
    figures, dynamic_B = launch
    limits = limits_of(figures.arch)
    here = _point(limits, launch, block) if limits is not None else None
    return KernelAnalysis(
        name=figures.name,
        source=figures.source,
        arch=figures.arch,
        precision=precision,
        tunables=tunables,
        registers_per_thread=figures.registers_per_thread,
        static_shared_B=figures.static_shared_B,
        dynamic_shared_B=dynamic_B,
        local_B=figures.local_B,
        spill_store_B=figures.spill_store_B,
        spill_load_B=figures.spill_load_B,
        barriers=figures.barriers,
        max_threads_per_block=figures.max_threads_per_block,
        block=block,
        threads_per_block=math.prod(block),
        occupancy=here.occupancy if here else None,
        occupancy_limiter=here.limiter if here else None,
        blocks_per_multiprocessor=here.blocks_per_multiprocessor if here else None,
        warps_per_multiprocessor=limits.warps if limits else None,
        curve=_curve(limits, launch_at, block) if limits is not None and varies else (),
    )


def _point(limits: MultiprocessorLimits, launch: Launch, block: Block) -> CurvePoint:
    figures, dynamic_B = launch
    threads = math.prod(block)
    found = occupancy(
        limits,
        threads,
        figures.registers_per_thread,
        figures.static_shared_B + dynamic_B,
        figures.barriers or 0,
    )
    blocks, share, limiter = found.blocks_per_multiprocessor, found.occupancy, found.limiter
    if figures.max_threads_per_block is not None and threads > figures.max_threads_per_block:
        blocks, share, limiter = 0, 0.0, LAUNCH_BOUNDS
    return CurvePoint(
        threads=threads,
        block=block,
        dynamic_shared_B=dynamic_B,
        blocks_per_multiprocessor=blocks,
        occupancy=share,
        limiter=limiter,
    )


def _curve(
    limits: MultiprocessorLimits, launch_at: LaunchAt, block: Block
) -> tuple[CurvePoint, ...]:
    launches = ((b, launch_at(b)) for b in curve_blocks(block))
    return tuple(_point(limits, launch, b) for b, launch in launches if launch is not None)


def curve_blocks(block: Block) -> list[Block]:
    """Return blocks of 32 to 1024 threads in steps of a warp, shaped like ``block``, and itself."""
    sizes = range(WARP, MAX_THREADS_PER_BLOCK + 1, WARP)
    others = (shape_like(block, threads) for threads in sizes if threads != math.prod(block))
    return sorted([*others, block], key=math.prod)


def shape_like(block: Block, threads: int) -> Block:
    """Return a block of ``threads`` shaped like another: as wide in x as divides both, then y.

    The shape matters where the dynamic shared memory depends on it.
    """
    if block[1] == block[2] == 1:
        return threads, 1, 1
    x = math.gcd(threads, block[0])
    z = block[2] if threads // x % block[2] == 0 else 1
    return x, threads // x // z, z
