"""Neighbouring threads that do not touch neighbouring elements."""

from __future__ import annotations

from gpuexplorer.analysis.advice import search, shape
from gpuexplorer.analysis.advice.advice import LEAST_SAVING, Advice
from gpuexplorer.analysis.advice.roofs import CACHED_B, place_of, within_roof
from gpuexplorer.analysis.advice.situation import Situation
from gpuexplorer.analysis.occupancy import WARP
from gpuexplorer.core.change import Change
from gpuexplorer.core.knobs import block_words
from gpuexplorer.core.units import factor, percent, quantity

SHORT_RUN = WARP // 2
"""From half a warp on, whole sectors of memory are used, and little is left to gain."""
GATHER_SAVES = 0.4
"""On the CPU the textbook product was 2.1 to 3.7 times as fast with neighbours along x."""

STRIDES_SAVE = 0.5
"""The transpose of 2048² floats was 2 to 4 times as fast through a tile, on a CPU as on GPUs."""
FAR = 0.5
"""Below this share of the memory's roof, strides are what a launch waits for."""


def orientation(situation: Situation) -> Advice | None:
    """Say that a warp touches many short pieces of memory, or a vector scattered elements."""
    if situation.block is None or situation.neighbours not in ("x", "y"):
        return None
    return _warps(situation) if shape.has_warps(situation) else _vectors(situation)


def _warps(situation: Situation) -> Advice | None:
    block, axis = situation.block, situation.neighbours
    assert block is not None and axis is not None
    run = shape.run_of(block, axis)
    saves = within_roof(situation, 1 - shape.coalescing(situation, block))
    if run >= SHORT_RUN or saves < LEAST_SAVING:
        return None
    change = search.best_block(situation, search.coalescing_fit(situation))
    return Advice(
        rule="orientation",
        kind="speed",
        title="A warp reads single elements, not whole rows"
        if run == 1
        else f"A warp reads pieces of {run} elements, not whole rows",
        evidence=f"neighbours in memory lie along {axis}, and in a block of "
        f"{block_words(block)} a warp of {WARP} threads has {run} along it",
        saves=saves,
        section="Orientation",
        change=change if change is not None else _other_variant(situation),
    )


def _vectors(situation: Situation) -> Advice | None:
    block = situation.block
    assert block is not None
    if situation.neighbours != "y" or not shape.vectorizes(situation):
        return None
    saves = within_roof(situation, GATHER_SAVES)
    change = _other_variant(situation)
    if change is None or saves < LEAST_SAVING or block[0] < shape.VECTOR:
        return None  # rows that make no vector are the first thing to change
    return Advice(
        rule="orientation",
        kind="speed",
        title="Vectors gather scattered elements",
        evidence=f"{shape.VECTOR} threads along x make one vector, and in this variant neighbours "
        "in memory lie along y",
        saves=saves,
        section="Orientation",
        change=change,
    )


def strides(situation: Situation) -> Advice | None:
    """Say that reads or writes go in strides through memory, where nothing else asks for more.

    Silent near the roof, for arrays that the inner caches hold, and where arithmetic is the roof.
    Threads that take pieces of their own go in strides only where warps take a step together.
    """
    launch = situation.launch
    if situation.block is None or situation.neighbours not in shape.ALONE:
        return None
    if situation.neighbours == "pieces" and not shape.has_warps(situation):
        return None
    if launch.compulsory_B < CACHED_B or not situation.median_s:  # too short for the clock
        return None
    place = place_of(situation)
    saves = within_roof(situation, STRIDES_SAVE)
    bound_elsewhere = (place.compute or 0.0) > (place.memory or 0.0)
    if saves < LEAST_SAVING or bound_elsewhere or (place.memory or 0.0) >= FAR:
        return None
    change = _other_variant(situation)
    rate = quantity(launch.compulsory_B / situation.median_s, "B/s")
    facts = [f"the bytes needed move at {rate}"]
    if place.memory is not None:
        roof, share = quantity(place.memory_roof_B_per_s, "B/s"), percent(place.memory)
        times = factor(1 / place.memory)
        facts = [f"the bytes needed move at {rate}, {share} of the measured {roof}: {times} less"]
    facts.append(
        "each thread takes pieces of its own"
        if situation.neighbours == "pieces"
        else "reads and writes do not both run along neighbouring elements"
    )
    if change is not None:
        facts.append(f"in variant {change.variant} neighbouring threads take neighbouring elements")
    return Advice(
        rule="strides",
        kind="speed",
        title="Reads or writes go in strides through memory",
        evidence="; ".join(facts),
        saves=saves,
        section="Orientation",
        change=change,
    )


def _other_variant(situation: Situation) -> Change | None:
    """Return the same computation with neighbours along x, with the present block."""
    for sibling in situation.siblings:
        if sibling.neighbours == "x" and situation.neighbours != "x" and not sibling.library:
            change = Change(variant=sibling.name)
            if situation.look(change) is not None:
                return change
    return None
