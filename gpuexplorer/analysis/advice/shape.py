"""How well a block's shape fits a device, each aspect as a share of the ideal, 0 to 1.

The rules speak about one aspect each, and every suggestion maximizes their product, so that
following one rule never makes another one complain: what is followed always gains.
"""

from __future__ import annotations

import math

from gpuexplorer.analysis.advice.situation import Launch, Situation
from gpuexplorer.analysis.occupancy import LIMITS, WARP, blocks_by_limit
from gpuexplorer.core.config import Block

VECTOR = 16
"""Threads that Intel's runtime joins along x; those left over run one after the other (measured:
a row of 17 takes as long as two of 16, one of 15 fifteen times as long)."""
ALONE = ("none", "pieces")
"""Declared of variants whose threads take nothing together with those beside them."""
BLOCK_COST_S = 15e-9
"""What starting one block costs a CPU thread, carefully: 24 ns were measured on one of 2.0 GHz."""
FEW_WAVES = 4
"""With more rounds of blocks than this, what the last one leaves idle hardly counts."""
ENOUGH_OCCUPANCY = 0.5
"""Above this, more resident warps seldom help (Volkov 2010)."""


def vectorizes(situation: Situation) -> bool:
    """Whether the device joins threads along x into vector instructions."""
    device = situation.device
    return device.kind == "cpu" and device.backend == "opencl" and "Intel" in device.driver


def has_warps(situation: Situation) -> bool:
    """Whether the device runs threads in warps of 32: NVIDIA's GPUs, through whatever backend."""
    device = situation.device
    return device.kind == "gpu" and (
        device.backend == "cuda" or device.hardware_id.startswith(("GPU-", "MIG-"))
    )


def vector_lanes(block: Block) -> float:
    """Return the share of vector lanes in use when ``x % VECTOR`` threads run one by one."""
    whole, rest = divmod(block[0], VECTOR)
    return block[0] / (VECTOR * (whole + rest))


def warp_lanes(block: Block) -> float:
    """Return the share of a block's warp lanes that hold a thread."""
    threads = math.prod(block)
    return threads / (WARP * -(-threads // WARP))


def lanes(situation: Situation, block: Block) -> float:
    """Return the share of lanes in use, of warps or of vectors."""
    if has_warps(situation):
        return warp_lanes(block)
    if vectorizes(situation) and situation.neighbours not in ALONE:
        return vector_lanes(block)
    return 1.0


def run_of(block: Block, neighbours: str) -> int:
    """Return how many threads of one warp lie next to each other along the axis ``neighbours``."""
    x, y, _ = block
    if neighbours == "x":
        return min(x, WARP)
    return min(y, WARP // x) if x < WARP else 1


def coalescing(situation: Situation, block: Block) -> float:
    """Return the share of bandwidth that a warp's runs of neighbours leave, against runs of 32.

    For runs of w the textbook product's ceiling grows about as 1 / (1 + 32 / w): public results on
    an H100 gave 0.5, 5.4, 6.0 TFLOP/s for w of 1, 16, 32. The square root is the careful half.
    """
    if not has_warps(situation) or situation.neighbours not in ("x", "y"):
        return 1.0
    run = run_of(block, situation.neighbours)
    return math.sqrt(2 / (1 + WARP / run))


def residency(situation: Situation, block: Block, shared_B: int) -> int | None:
    """Return how many blocks of ``shared_B`` one multiprocessor holds; None when not known.

    ``shared_B`` is dynamic and static shared memory together.
    """
    capability = situation.device.compute_capability
    limits = LIMITS.get(capability) if capability is not None else None
    registers = situation.resources.registers_per_thread
    if limits is None or registers is None or not situation.is_gpu:
        return None
    return min(blocks_by_limit(limits, math.prod(block), registers, shared_B).values())


def occupancy_of(situation: Situation, block: Block, shared_B: int) -> float | None:
    """Return the theoretical occupancy of a block; None when not known."""
    resident = residency(situation, block, shared_B)
    capability = situation.device.compute_capability
    if resident is None or capability is None:
        return None
    return resident * -(-math.prod(block) // WARP) / LIMITS[capability].warps


def shared_of(situation: Situation, launch: Launch) -> int:
    """Return a launch's shared memory a block in bytes, static and dynamic together."""
    total_B = situation.resources.shared_B or 0
    static_B = max(0, total_B - situation.launch.shared_B)
    return static_B + launch.shared_B


def balance(situation: Situation, launch: Launch) -> float:
    """Return the share of workers' time that the grid's last round of blocks does not leave idle.

    Workers are CPU threads, or on a GPU multiprocessors with the blocks they hold at once.
    """
    blocks, workers = launch.blocks, situation.workers
    if not blocks or launch.block is None:
        return 1.0
    if situation.is_gpu:
        resident = residency(situation, launch.block, shared_of(situation, launch))
        if resident is None:  # only what no number of resident blocks would change
            return min(1.0, blocks / workers)
        slots = workers * max(1, resident)
        if blocks > slots:
            waves = blocks / slots
            return waves / math.ceil(waves) if waves <= FEW_WAVES else 1.0
    if blocks > FEW_WAVES * workers:
        return 1.0
    return blocks / (workers * math.ceil(blocks / workers))


def covering(launch: Launch) -> float:
    """Return the share of launched threads that have an element to work on."""
    return math.prod(edge.used for edge in launch.edges)


def block_time_s(situation: Situation, launch: Launch) -> float | None:
    """Return the time one worker spends on one block; None for a library call."""
    if not launch.blocks:
        return None
    return situation.median_s * situation.workers / launch.blocks
