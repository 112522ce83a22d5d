"""Where the run stands under the measured roofs, and what that leaves to do."""

from __future__ import annotations

from gpuexplorer.analysis.advice.advice import LEAST_SAVING, Advice
from gpuexplorer.analysis.advice.roofs import CACHED_B, Place, place_of, within_roof
from gpuexplorer.analysis.advice.situation import Situation
from gpuexplorer.core.change import Change
from gpuexplorer.core.units import percent, quantity, ratio

AT_ROOF = 0.9
"""From this share of a roof on, the roof is what limits."""
NEAR = 0.6
"""From this share on it is the nearer one, and a part of the time is spent on something else."""
SECTION = "Under the roof: memory or arithmetic"
REUSE_ABOVE = 8.0
"""Requests for each compulsory byte from which a variant that asks for less is worth a try."""
REUSE_SAVES = 0.25
"""Tiling in shared memory saved 0.33 at 4096³ on an H100 and 0.75 at 1024³ on a CPU."""
_BOUND = {
    "memory": "Memory-bound: only fewer bytes make it faster",
    "caches": "Cache-bound: only fewer bytes make it faster",
    "arithmetic": "Compute-bound: only fewer or cheaper operations make it faster",
}
_POSSESSIVE = {"memory": "memory's", "caches": "caches'"}


def roof(situation: Situation) -> Advice | None:
    """Say which measured roof limits the run, or that none is near."""
    if situation.config.include_transfers:
        return None
    place = place_of(situation)
    if place.attained is None:
        return None
    title, evidence = _words(situation, place)
    return Advice(
        rule="roof", kind="place", title=title, evidence=evidence, saves=0.0, section=SECTION
    )


def _words(situation: Situation, place: Place) -> tuple[str, str]:
    by_memory = place.memory or 0.0
    if place.cached and place.source == "memory":
        by_memory = 0.0
    by_compute = place.compute or 0.0
    evidence = _evidence(place)
    if max(by_memory, by_compute) < NEAR:
        return "Far from the roofs: threads wait for something else", evidence
    nearer = place.source if by_memory >= by_compute else "arithmetic"
    share = max(by_memory, by_compute)
    if share >= AT_ROOF:
        return _BOUND[nearer], evidence
    left = percent(1 - share)
    if nearer == "memory":
        return f"Memory is the nearer roof: {left} of the time goes into something else", evidence
    if nearer == "caches":
        return (
            f"The caches are the nearer roof: {left} of the time goes into something else",
            evidence,
        )
    return f"Arithmetic is the nearer roof: {left} of the time goes into something else", evidence


def _evidence(place: Place) -> str:
    """Return the shares of both roofs, that of the roof above this intensity first."""
    shares = []
    if place.memory is not None:
        roof = quantity(place.memory_roof_B_per_s, "B/s")
        shares.append(f"{percent(place.memory)} of the {_POSSESSIVE[place.source]} measured {roof}")
    if place.compute is not None:
        roof = quantity(place.compute_roof_FLOP_per_s, "FLOP/s")
        shares.append(f"{percent(place.compute)} of the measured {roof}")
    if place.intensity is None or place.ridge is None:
        return "; ".join(shares)
    above = place.intensity > place.ridge
    if above:
        shares.reverse()
    shares.append(
        f"intensity {ratio(place.intensity, 'FLOP/B')}, above the ridge at "
        f"{ratio(place.ridge, 'FLOP/B')}"
        if above
        else f"intensity {ratio(place.intensity, 'FLOP/B')}, below the ridge at "
        f"{ratio(place.ridge, 'FLOP/B')}"
    )
    return "; ".join(shares)


def reuse(situation: Situation) -> Advice | None:
    """Say that threads ask for the same bytes many times, where another variant asks for less.

    Named is the first of those that build on this one that asks for half or less: the next rung to
    learn. A kernel that came before it may ask for less as well, and yet be slower.
    """
    launch = situation.launch
    requested_B, least_B = launch.requested_B, launch.compulsory_B
    if situation.library or not requested_B or least_B < CACHED_B:
        return None
    asks = requested_B / least_B
    saves = within_roof(situation, REUSE_SAVES)
    if asks < REUSE_ABOVE or saves < LEAST_SAVING:
        return None
    found: tuple[float, Change] | None = None
    for sibling in situation.siblings:
        change = Change(variant=sibling.name)
        other = situation.look(change) if sibling.builds_on_it else None
        if other is None or other.requested_B is None or other.requested_B > requested_B / 2:
            continue
        found = other.requested_B, change
        break
    if found is None:
        return None
    less = requested_B / found[0]
    return Advice(
        rule="reuse",
        kind="speed",
        title=f"Threads ask for each byte {asks:.0f} times",
        evidence=f"{quantity(requested_B, 'B')} asked for, {quantity(least_B, 'B')} needed; "
        f"variant {found[1].variant} asks for {less:.0f} times less",
        saves=saves,
        section="Bytes asked for again and again",
        change=found[1],
    )


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
