"""How long a launch will take, from launches of a part of its grid."""

from __future__ import annotations

import math
from collections.abc import Callable

from gpuexplorer.core.config import Block

LONG_ENOUGH_S = 0.002
"""A probe this long is well above what a launch itself costs."""
TOO_LONG_TO_REPEAT_S = 0.1
GROWTH = 4


def partial_grid(grid: Block, blocks: int) -> Block:
    """Return the part of a grid with about ``blocks`` blocks, filled along x, then y, then z."""
    x = min(grid[0], max(1, blocks))
    y = min(grid[1], max(1, -(-blocks // x)))
    z = min(grid[2], max(1, -(-blocks // (x * y))))
    return x, y, z


def predict_s(grid: Block, resident_blocks: int, time_s: Callable[[Block], float]) -> float:
    """Estimate the seconds of a whole grid.

    ``resident_blocks`` is how many blocks run on the device at once; ``time_s`` runs a part of the
    grid and returns its seconds. The probes grow from one resident set until one takes long enough
    to tell, and the rest is extrapolated along the line through the last two. A kernel that strides
    by its grid does all of its work in every probe; its line is flat, and the estimate is then the
    probe's own time. Where only one probe could be afforded the estimate is the upper bound: every
    further resident set takes as long as the first.
    """
    total = math.prod(grid)
    part = partial_grid(grid, max(1, resident_blocks))
    blocks, seconds = math.prod(part), time_s(part)
    if seconds < TOO_LONG_TO_REPEAT_S:
        seconds = time_s(part)  # the first may have waited for the kernel to be loaded
    while blocks < total:
        if seconds >= TOO_LONG_TO_REPEAT_S:
            return seconds * math.ceil(total / blocks)
        larger = partial_grid(grid, blocks * GROWTH)
        larger_blocks, larger_s = math.prod(larger), time_s(larger)
        per_block_s = max(0.0, (larger_s - seconds) / (larger_blocks - blocks))
        blocks, seconds = larger_blocks, larger_s
        if seconds >= LONG_ENOUGH_S:
            return seconds + per_block_s * (total - blocks)
    return seconds
