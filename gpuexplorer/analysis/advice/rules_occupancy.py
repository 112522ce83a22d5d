"""Few resident warps, where that can matter."""

from __future__ import annotations

from gpuexplorer.analysis.advice import search, shape
from gpuexplorer.analysis.advice.advice import LEAST_SAVING, Advice
from gpuexplorer.analysis.advice.roofs import within_roof
from gpuexplorer.analysis.advice.situation import Launch, Situation
from gpuexplorer.core.change import Change
from gpuexplorer.core.units import percent, quantity

MOST_SAVES = 0.3
"""What is promised where almost no warp is resident, shrinking to 0 at enough occupancy."""
INDEPENDENT_REGISTERS = 128
"""A thread with so many registers keeps many independent operations in flight by itself: kernels
that hold a tile in registers are fastest at low occupancy (Volkov 2010)."""


def low_occupancy(situation: Situation) -> Advice | None:
    """Say what keeps warps from being resident; silent where a roof is near or registers help.

    What the roofs leave bounds the promise, so a kernel near its memory roof is left alone however
    low its occupancy.
    """
    resources = situation.resources
    occupancy = resources.occupancy
    if not situation.is_gpu or situation.library or occupancy is None:
        return None
    if occupancy >= shape.ENOUGH_OCCUPANCY:
        return None
    if (resources.registers_per_thread or 0) >= INDEPENDENT_REGISTERS:
        return None
    saves = within_roof(situation, MOST_SAVES * (1 - occupancy / shape.ENOUGH_OCCUPANCY))
    if saves < LEAST_SAVING:
        return None
    limiter = resources.occupancy_limiter or "an unknown limit"
    achieved = situation.achieved_occupancy
    evidence = [f"limited by {limiter}: {_amount(situation, limiter)}"]
    if achieved:
        evidence.append(f"{percent(achieved)} achieved, as the hardware counted")
    return Advice(
        rule="low-occupancy",
        kind="speed",
        title=f"Only {percent(occupancy)} of the warps that fit are resident",
        evidence="; ".join(evidence),
        saves=saves,
        section="Occupancy",
        change=_remedy(situation, limiter),
    )


def _amount(situation: Situation, limiter: str) -> str:
    resources, threads = situation.resources, situation.launch.threads_per_block
    if limiter == "registers":
        return f"{resources.registers_per_thread} registers a thread, {threads} threads a block"
    if limiter == "shared memory":
        return f"{quantity(resources.shared_B, 'B')} of it a block of {threads} threads"
    return f"{threads} threads a block"


def _remedy(situation: Situation, limiter: str) -> Change | None:
    """Return another block, or a smaller tunable where shared memory limits."""
    change = search.best_block(situation, search.occupancy_fit(situation))
    if change is not None or limiter != "shared memory":
        return change
    now = _occupancy(situation, situation.launch)
    best: tuple[float, Change] | None = None
    for name, values in situation.tunables.items():
        for value in values:
            change = Change(tunables={name: value})
            launch = situation.look(change)
            if launch is None or launch.shared_B >= situation.launch.shared_B:
                continue
            occupancy = _occupancy(situation, launch)
            if occupancy is not None and (best is None or occupancy > best[0]):
                best = occupancy, change
    return best[1] if best is not None and now is not None and best[0] > now else None


def _occupancy(situation: Situation, launch: Launch) -> float | None:
    if launch.block is None:
        return None
    return shape.occupancy_of(situation, launch.block, shape.shared_of(situation, launch))
