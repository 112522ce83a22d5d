"""The block that fits a device best as a whole: what every rule about shape suggests."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from gpuexplorer.analysis.advice import shape
from gpuexplorer.analysis.advice.situation import Launch, Situation
from gpuexplorer.core.change import Change
from gpuexplorer.core.config import Block

LOOKS = 16
"""Candidates whose launch is worked out in full; the cheap aspects choose them."""
USUAL_THREADS = (128, 512)
"""Thread counts of a block that suit nearly every device; others are suggested only if better."""
BETTER = 1.02
"""A suggestion fits better than the present block by at least this factor."""

Fit = Callable[[Block, Launch], float]


def fit(situation: Situation, block: Block, launch: Launch) -> float:
    """Return how well a block fits the device in all aspects together, 0 to 1."""
    return (
        _cheap(situation, block)
        * shape.balance(situation, launch)
        * shape.covering(launch)
        * _resident(situation, launch)
    )


def best_block(situation: Situation, aspect: Fit) -> Change | None:
    """Return the block that fits best among those that improve ``aspect``; None when none does.

    It can be launched, and fits better as a whole than the present one; of equals the nearest.
    """
    present = situation.block
    if present is None:
        return None
    now = fit(situation, present, situation.launch)
    aspect_now = aspect(present, situation.launch)
    best: tuple[float, float] | None = None
    chosen: Block | None = None
    for block in _candidates(situation, present):
        launch = situation.look(Change(block=block))
        if launch is None or launch.block is None or aspect(block, launch) <= aspect_now:
            continue
        value = fit(situation, block, launch)
        rank = (round(value, 3), -_distance(block, present))
        if value > now * BETTER and (best is None or rank > best):
            best, chosen = rank, block
    return Change(block=chosen) if chosen is not None else None


def lane_fit(situation: Situation) -> Fit:
    """Return the aspect of lanes in use."""
    return lambda block, launch: shape.lanes(situation, block)


def coalescing_fit(situation: Situation) -> Fit:
    """Return the aspect of neighbours read together."""
    return lambda block, launch: shape.coalescing(situation, block)


def balance_fit(situation: Situation) -> Fit:
    """Return the aspect of blocks shared out evenly."""
    return lambda block, launch: shape.balance(situation, launch)


def covering_fit(block: Block, launch: Launch) -> float:
    """Return the aspect of threads that have an element."""
    return shape.covering(launch)


def occupancy_fit(situation: Situation) -> Fit:
    """Return the aspect of resident warps."""
    return lambda block, launch: _resident(situation, launch)


def thread_fit(situation: Situation) -> Fit:
    """Return the aspect of threads a block."""
    return lambda block, launch: float(math.prod(block))


def _cheap(situation: Situation, block: Block) -> float:
    """Return the aspects that need no look at the launch."""
    threads = math.prod(block)
    low, high = USUAL_THREADS
    usual = math.sqrt(min(1.0, threads / low)) * math.pow(min(1.0, high / threads), 0.1)
    return shape.lanes(situation, block) * shape.coalescing(situation, block) * usual


def _resident(situation: Situation, launch: Launch) -> float:
    """Return how far occupancy is enough; 1 where it is not known."""
    if launch.block is None:
        return 1.0
    shared_B = shape.shared_of(situation, launch)
    occupancy = shape.occupancy_of(situation, launch.block, shared_B)
    if occupancy is None:
        return 1.0
    return math.sqrt(min(1.0, occupancy / shape.ENOUGH_OCCUPANCY))


def _candidates(situation: Situation, present: Block) -> list[Block]:
    """Return blocks of powers of two worth a look, the most promising first."""
    limits = situation.device.limits
    axes = [
        [1 << k for k in range(limits.max_block[axis].bit_length()) if 1 << k <= longest]
        if axis < situation.dimensions
        else [1]
        for axis, longest in enumerate(limits.max_block)
    ]
    if situation.dimensions == 3:
        axes[2] = sorted({present[2], 1, 4, 16} & {*axes[2], present[2]})
    most = limits.max_threads_per_block
    found = [
        (x, y, z)
        for x, y, z in itertools.product(*axes)
        if x * y * z <= most and (x, y, z) != present
    ]
    found.sort(key=lambda b: (-_cheap(situation, b), _distance(b, present)))
    return found[:LOOKS]


def _distance(block: Block, other: Block) -> float:
    return sum(abs(math.log2(a / b)) for a, b in zip(block, other, strict=True))
