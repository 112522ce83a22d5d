"""How near a run is to what its device was measured to be able to do (Williams et al. 2009).

The roofline bounds a launch from below: it takes at least the time of its operations at the
arithmetic ceiling, and of its bytes at the memory ceiling, whichever is longer. No change of the
block can save more than what lies above that, so every promise is cut to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gpuexplorer.analysis.plausible import Work, resident_B
from gpuexplorer.core.ceilings import Ceiling, Ceilings
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo

if TYPE_CHECKING:
    from gpuexplorer.analysis.advice.situation import Situation

CACHED_ABOVE = 1.05
"""Compulsory bytes that move faster than this times the memory's ceiling came from a cache."""

CACHED_B = 8e6
"""Arrays below this fit the caches next to the cores, which serve repeated requests as fast."""

LITTLE = 0.5
"""With a smaller share of the compulsory bytes from the memory, the caches serve most of them."""


class Place(msgspec.Struct, frozen=True):
    """Where a run stands under the measured roofs; shares are of the ceiling, None if unknown.

    ``memory`` counts bytes against the roof that ``source`` names: those that the hardware saw, or
    else the compulsory ones, against the main memory's; the compulsory ones against the caches',
    for arrays that stay in them.
    """

    memory: float | None
    compute: float | None
    source: str
    memory_roof_B_per_s: float | None
    compute_roof_FLOP_per_s: float | None
    intensity: float | None
    ridge: float | None
    cached: bool
    """Whether the data must have come from a cache: memory cannot deliver it so fast."""

    @property
    def attained(self) -> float | None:
        """The larger share of a roof that bounds this run; None when none is known."""
        usable = self.memory is None or self.source == "caches" or not self.cached
        known = [s for s in (self.compute, self.memory if usable else None) if s is not None]
        return min(1.0, max(known)) if known else None


def place_of(situation: Situation) -> Place:
    """Return where a run stands under the ceilings measured on its device."""
    launch, ceilings = situation.launch, situation.ceilings
    main = ceilings.memory() if ceilings is not None else None
    in_cache = ceilings is not None and stays_in_cache(situation)
    memory = main
    if ceilings is not None and in_cache:
        memory = cache_of(ceilings, launch.compulsory_B)
    compute = ceilings.compute(situation.config.precision) if ceilings is not None else None
    seen_B = None if in_cache else situation.dram_B
    moved_B = seen_B if seen_B is not None else launch.compulsory_B
    seconds = situation.median_s
    roof_B, roof_F = (c.value if c is not None else None for c in (memory, compute))
    return Place(
        memory=_share(moved_B, seconds, roof_B),
        compute=_share(launch.flops, seconds, roof_F),
        source="caches" if in_cache else "memory",
        memory_roof_B_per_s=roof_B,
        compute_roof_FLOP_per_s=roof_F,
        intensity=launch.flops / launch.compulsory_B if launch.compulsory_B else None,
        ridge=roof_F / roof_B if roof_F and roof_B else None,
        cached=main is not None and _from_cache(situation, main.value),
    )


def _from_cache(situation: Situation, roof_B_per_s: float) -> bool:
    """Return whether a run beats the memory's roof, and a cache can be why.

    Where the last-level cache holds too little for that, the roof is too low, as one that was
    measured in a moment may be. What the hardware counted went through the memory.
    """
    launch, cache_B = situation.launch, situation.device.last_level_cache_B
    if situation.dram_B is not None or situation.ceilings is None or situation.ceilings.brief:
        return False
    in_time_B = roof_B_per_s * situation.median_s
    if not 0 < in_time_B * CACHED_ABOVE < launch.compulsory_B:
        return False
    read_B = launch.compulsory_B - launch.written_B
    work = Work(launch.flops, read_B, launch.written_B, situation.median_s)
    kept_B = resident_B(work, situation.config, cache_B)
    return cache_B is None or launch.compulsory_B - kept_B <= in_time_B


def cache_of(ceilings: Ceilings, touched_B: float) -> Ceiling | None:
    """Return the caches' ceiling for a launch that touches so many bytes.

    Smaller arrays sit in faster caches, so it is the one measured with the largest arrays that are
    not larger than these; the one with the smallest where all are.
    """
    caches = sorted(
        (c for c in ceilings.ceilings if c.kind == "cache"), key=lambda c: c.footprint_B or 0
    )
    held = [c for c in caches if (c.footprint_B or 0) <= touched_B]
    return held[-1] if held else next(iter(caches), None)


def stays_in_cache(situation: Situation) -> bool:
    """Whether everything a launch touches may still be in the caches from the one before.

    What the hardware counted has a say: little comes from the memory then.
    """
    needed_B, seen_B = situation.launch.compulsory_B, situation.dram_B
    little = seen_B is None or seen_B < LITTLE * needed_B
    return little and held_by_caches(situation.config, situation.device, needed_B)


def held_by_caches(config: RunConfig, device: DeviceInfo, needed_B: float) -> bool:
    """Return whether the caches may hold all bytes that a launch needs, from the one before."""
    cache_B = device.last_level_cache_B
    return config.cache == "hot" and cache_B is not None and needed_B <= cache_B


class Roof(msgspec.Struct, frozen=True):
    """What a run's rate is held against."""

    per_s: float
    """Bytes or operations a second, as ``unit`` says."""
    unit: str
    """``B/s`` or ``FLOP/s``."""
    words: str
    """What that is."""


def bandwidth_roof(
    config: RunConfig, device: DeviceInfo, ceilings: Ceilings | None, needed_B: float
) -> Roof | None:
    """Return what a run's bandwidth is held against.

    The stated peak where the device has one, else what was measured; None where neither is known.
    """
    peak = device.peak_bandwidth_B_per_s
    if peak:
        source = device.peak_source or "source not known"
        return Roof(peak, "B/s", f"the device's stated peak, {source}")
    if ceilings is None:
        return None
    if held_by_caches(config, device, needed_B) and (cache := cache_of(ceilings, needed_B)):
        return Roof(cache.value, "B/s", "what the caches were measured to move")
    main = ceilings.memory()
    return Roof(main.value, "B/s", "what the main memory was measured to move") if main else None


def nearest_roof(
    config: RunConfig, device: DeviceInfo, ceilings: Ceilings | None, needed_B: float,
    flops: float, computed_in: str,
) -> Roof | None:  # fmt: skip
    """Return the roof that a run meets first as it gets faster, which bounds it; None if unknown.

    Its arithmetic is that of the precision ``computed_in``.
    """
    memory = bandwidth_roof(config, device, ceilings, needed_B)
    compute = ceilings.compute(computed_in) if ceilings is not None else None
    if compute is None or not flops:
        return memory
    if memory is not None and flops / compute.value < needed_B / memory.per_s:
        return memory
    return Roof(compute.value, "FLOP/s", "what its arithmetic was measured to do")


def _share(amount: float, seconds: float, roof: float | None) -> float | None:
    return amount / seconds / roof if roof and seconds > 0 and amount else None


def within_roof(situation: Situation, saves: float) -> float:
    """Return a promised saving of the kernel's time, cut to what the measured roofs leave.

    Roofs of a brief calibration say about where a run stands, and cut nothing.
    With transfers included, it is a saving of the kernel's share of each sample alone.
    """
    if situation.config.include_transfers:
        kernel_s = situation.phases.kernel
        if kernel_s is None or situation.median_s <= 0:
            return saves
        return saves * min(1.0, kernel_s / situation.median_s)
    brief = situation.ceilings is not None and situation.ceilings.brief
    attained = None if brief else place_of(situation).attained
    return saves if attained is None else min(saves, 1 - attained)
