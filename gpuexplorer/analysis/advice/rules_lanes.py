"""Lanes without a thread: partial warps on a GPU, rows too short for a vector on a CPU."""

from __future__ import annotations

import math

from gpuexplorer.analysis.advice import search, shape
from gpuexplorer.analysis.advice.advice import LEAST_SAVING, Advice
from gpuexplorer.analysis.advice.roofs import within_roof
from gpuexplorer.analysis.advice.situation import Situation
from gpuexplorer.analysis.occupancy import WARP
from gpuexplorer.core.units import percent, plural, quantity

WARP_SHARE = 0.5
"""Idle lanes cost nothing where memory limits; half of their share is promised."""
VECTOR_SHARE = 0.8
"""Of the vectors' gain: 8×8 to 16×16 saved 0.94 where the lanes alone say 0.94, and less where
memory limits."""
UNDECLARED = 0.5
"""A manifest that does not say how its threads lie halves the promise."""


def partial_warps(situation: Situation) -> Advice | None:
    """Say that a block's threads do not fill its warps."""
    block = situation.block
    if block is None or not shape.has_warps(situation):
        return None
    used = shape.warp_lanes(block)
    saves = within_roof(situation, (1 - used) * WARP_SHARE)
    if saves < LEAST_SAVING:
        return None
    threads = math.prod(block)
    warps = -(-threads // WARP)
    idle = warps * WARP - threads
    return Advice(
        rule="partial-warps",
        kind="speed",
        title=f"{percent(1 - used)} of the warps' lanes have no thread",
        evidence=plural(
            warps,
            "{threads} threads a block take {number} warp of {lanes} lanes, {idle} of them idle",
            "{threads} threads a block take {number} warps of {lanes} lanes, {idle} of them idle",
            threads=threads,
            lanes=WARP,
            idle=idle,
        ),
        saves=saves,
        section="Partial warps",
        change=search.best_block(situation, search.lane_fit(situation)),
    )


def short_rows(situation: Situation) -> Advice | None:
    """Say that rows of threads do not fill the vectors of Intel's runtime."""
    block = situation.block
    if block is None or not shape.vectorizes(situation) or situation.neighbours in shape.ALONE:
        return None
    used = shape.vector_lanes(block)
    saves = (1 - used) * VECTOR_SHARE * (UNDECLARED if situation.neighbours is None else 1.0)
    saves = within_roof(situation, saves)
    if saves < LEAST_SAVING:
        return None
    whole, rest = divmod(block[0], shape.VECTOR)
    width = block[0]
    evidence = [
        f"Intel's runtime joins {shape.VECTOR} threads along x into one instruction",
        f"here {rest} of {width} threads run one by one"
        if whole
        else "here all threads of a row run one by one",
    ]
    rate = situation.launch.flops / situation.median_s if situation.median_s > 0 else 0.0
    if rate:
        evidence.append(f"this run made {quantity(rate, 'FLOP/s')}")
    return Advice(
        rule="short-rows",
        kind="speed",
        title=f"A row of {width} along x does not fill this CPU's vectors",
        evidence="; ".join(evidence),
        saves=saves,
        section="Rows too short for a vector",
        change=search.best_block(situation, search.lane_fit(situation)),
    )
