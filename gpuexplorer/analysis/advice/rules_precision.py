"""Arithmetic that this device is slow at."""

from __future__ import annotations

from gpuexplorer.analysis.advice.advice import LEAST_SAVING, Advice
from gpuexplorer.analysis.advice.situation import Situation
from gpuexplorer.core.change import Change
from gpuexplorer.core.units import percent, quantity

FASTER = 4.0
"""From this ratio of the ceilings on, the precision is said to be slow here."""
BOUND = 0.3
"""A run that reaches this share of its arithmetic's ceiling is slowed by it."""


def slow_precision(situation: Situation) -> Advice | None:
    """Say that double precision limits a run on a device made for single precision.

    Promised is the share of the time that arithmetic takes at its ceiling, as the ceilings differ.
    """
    ceilings, seconds = situation.ceilings, situation.median_s
    if situation.config.precision != "fp64" or ceilings is None or seconds <= 0:
        return None
    slow, fast = ceilings.compute("fp64"), ceilings.compute("fp32")
    change = Change(precision="fp32")
    if slow is None or fast is None or fast.value < FASTER * slow.value:
        return None
    share = min(1.0, situation.launch.flops / seconds / slow.value)
    saves = share * (1 - slow.value / fast.value)
    if share < BOUND or saves < LEAST_SAVING or situation.look(change) is None:
        return None
    return Advice(
        rule="slow-precision",
        kind="speed",
        title=f"fp32 arithmetic is {fast.value / slow.value:.0f} times as fast on this device",
        evidence=f"this run reaches {percent(share)} of the {quantity(slow.value, 'FLOP/s')} "
        f"measured in fp64; fp32 was measured at {quantity(fast.value, 'FLOP/s')}",
        saves=saves,
        section="Precision",
        change=change,
    )
