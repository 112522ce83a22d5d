"""What is said of a situation: the most valuable advice first, three at most."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from gpuexplorer.analysis.advice.accesses import scattered
from gpuexplorer.analysis.advice.advice import MOST_SHOWN, Advice
from gpuexplorer.analysis.advice.rules_grid import edge_tiles, idle_workers, tiny_blocks
from gpuexplorer.analysis.advice.rules_lanes import partial_warps, short_rows
from gpuexplorer.analysis.advice.rules_measured import faster_before, was_slower
from gpuexplorer.analysis.advice.rules_occupancy import low_occupancy
from gpuexplorer.analysis.advice.rules_orientation import orientation, strides
from gpuexplorer.analysis.advice.rules_place import reuse, roof, slow_precision
from gpuexplorer.analysis.advice.rules_time import short_launch, transfers
from gpuexplorer.analysis.advice.rules_trust import (
    at_limit,
    cached,
    no_spare_core,
    suspect,
    throttled,
)
from gpuexplorer.analysis.advice.situation import Situation
from gpuexplorer.core.change import Change

RULES: tuple[Callable[[Situation], Advice | None], ...] = (
    suspect,
    throttled,
    cached,
    no_spare_core,
    slow_precision,
    short_rows,
    orientation,
    strides,
    partial_warps,
    low_occupancy,
    idle_workers,
    tiny_blocks,
    edge_tiles,
    transfers,
    short_launch,
    reuse,
    scattered,
    faster_before,
    roof,
    at_limit,
)
"""Every rule; a new one is a function and a line here."""


def advise(situation: Situation, most: int = MOST_SHOWN) -> tuple[Advice, ...]:
    """Return what the rules say, the most valuable first.

    Of speed advice, what leads to a change that was tried in this session and did not help is left
    out, and of several with the same change only the first keeps it.
    """
    found = [advice for rule in RULES if (advice := rule(situation)) is not None]
    said = [a for a in found if not _tried(situation, a)]
    said.sort(key=lambda advice: advice.weight, reverse=True)
    offered: list[Change | None] = []
    kept = []
    for advice in said[:most]:
        if advice.change is not None and advice.change in offered:
            advice = replace(advice, change=None)
        offered.append(advice.change)
        kept.append(advice)
    return tuple(kept)


def _tried(situation: Situation, advice: Advice) -> bool:
    if advice.kind != "speed" or advice.change is None or advice.rule == "faster-before":
        return False
    return was_slower(situation, advice.change)
