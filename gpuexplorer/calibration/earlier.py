"""What a calibration could not measure stays as it was before, with its date."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from msgspec.structs import replace

from gpuexplorer.calibration.plan import ASSUMED_CACHE_B, CeilingCandidate, Roof
from gpuexplorer.core.ceilings import Ceiling, CeilingKind, Ceilings

INNER_SHARE = 1 / 16
"""What touches less of the last-level cache is of the caches inside of it."""


def roof_of(ceiling: Ceiling, of: Ceilings) -> Roof:
    """Return which of the ceilings one is, as ``Stage.roof`` says it."""
    cache_B = of.last_level_cache_B or ASSUMED_CACHE_B
    footprint_B = ceiling.footprint_B or 0
    last_level = ceiling.kind == "cache" and footprint_B > INNER_SHARE * cache_B
    return ceiling.kind, ceiling.precision, last_level


def _is_reached_by(ceiling: Ceiling, candidate: CeilingCandidate) -> bool:
    """Whether the method of a ceiling says that it was this candidate."""
    config, run = candidate.config, ceiling.method.partition(";")[0]
    device, *rest = run.removeprefix(candidate.title).split(", ")
    sizes = [f"{name} = {value}" for name, value in config.size.items()]
    if not run.startswith(candidate.title) or not device.endswith(config.device):
        return False
    return rest == [*sizes, config.precision]


def with_earlier(
    found: Ceilings, before: Ceilings | None, lost: Sequence[CeilingCandidate]
) -> Ceilings:
    """Return a calibration with what it lacks as it was before.

    What one of the ``lost`` reached then, which could not be measured now, stays if it is higher.
    One in brief says only where about the roofs are, and completes none but one like it.
    """
    if before is None or (before.brief and not found.brief):
        return found
    now = {roof_of(one, found): one for one in found.ceilings}
    kept: dict[Roof, Ceiling] = {}
    for one in before.ceilings:
        roof = roof_of(one, before)
        was_lost = any(_is_reached_by(one, candidate) for candidate in lost)
        if roof not in now or (was_lost and now[roof].value < one.value):
            kept[roof] = replace(one, time_utc=one.time_utc or before.time_utc)
    every = [kept.pop(roof_of(one, found), one) for one in found.ceilings] + [*kept.values()]
    kinds = get_args(CeilingKind)
    return replace(found, ceilings=tuple(sorted(every, key=lambda one: kinds.index(one.kind))))
