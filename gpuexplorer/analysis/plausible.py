"""Can a figure be true? Held against what the device was measured to do, it is, or it is suspect.

Two bounds, and each is generous. Arithmetic: no run does more operations a second than the best of
multiply-add chains and the vendor's matrix multiply in its precision. Memory: of the bytes a result
needs at least, only as many as the last-level cache holds can be there already, so the rest has
to come through main memory, and all of them pass the caches. A run is suspect when even the slow
end of its interval beats the fast end of the ceiling's by more than a margin.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from gpuexplorer.core.ceilings import Ceiling, Ceilings
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.units import percent, quantity

MARGIN = 0.05
"""A clock, and a neighbour's share of the memory, change by this much from hour to hour."""
FILL_MARGINS = {"zeros": 0.25, "integers": 0.15}
"""Values with few set bits take less power, so a power-limited chip holds a higher clock."""
COLD_MARGIN = 0.25
"""What the caches may keep although they were flushed."""
NOMINAL_MARGIN = 0.10
"""Allowed above a stated peak, where nothing was measured."""

Where = Literal["memory", "cache"]


class Work(msgspec.Struct, frozen=True):
    """What one launch does, and how long it took at the slow end of the median's interval.

    ``flops`` are useful operations; ``read_B`` and ``write_B`` compulsory bytes.
    """

    flops: float
    read_B: float
    write_B: float
    slow_s: float

    @property
    def total_B(self) -> float:
        """Compulsory bytes of both directions."""
        return self.read_B + self.write_B


def suspicion(
    work: Work,
    config: RunConfig,
    ceilings: Ceilings | None,
    *,
    peak_bandwidth_B_per_s: float | None = None,
    last_level_cache_B: int | None = None,
) -> str | None:
    """Return one sentence that says why a run's figure cannot be true; None when it can.

    Without ceilings, or with those of a brief calibration, only the stated peak bandwidth is left
    to hold it against, where the data is known to exceed the last-level cache.
    """
    if work.slow_s <= 0:
        return None
    if ceilings is None or ceilings.brief:
        return _above_nominal(work, config, peak_bandwidth_B_per_s, last_level_cache_B)
    return _above_arithmetic(work, config, ceilings) or _above_memory(work, config, ceilings)


def _above_arithmetic(work: Work, config: RunConfig, ceilings: Ceilings) -> str | None:
    roof = ceilings.compute(config.precision)
    if roof is None or not work.flops:
        return None
    rate = work.flops / work.slow_s
    if rate <= _most(roof) * (1 + MARGIN + FILL_MARGINS.get(config.fill, 0.0)):
        return None
    times = rate / roof.value
    if roof.kind == "fma":
        return (
            f"{quantity(rate, 'FLOP/s')} is {times:.3g} times the {quantity(roof.value, 'FLOP/s')} "
            f"that this device was measured to reach in {roof.precision} (multiply-add chains): "
            "check the manifest's 'flops', or calibrate again"
        )
    return (
        f"{quantity(rate, 'FLOP/s')} is {times:.3g} times the {quantity(roof.value, 'FLOP/s')} "
        f"that this device was measured to reach in {roof.precision} (the vendor's matrix "
        "multiply): check the manifest's 'flops', or calibrate again"
    )


def _above_memory(work: Work, config: RunConfig, ceilings: Ceilings) -> str | None:
    bound = least_time(work, config, ceilings)
    if bound is None or not work.total_B:
        return None
    least_s, where = bound
    margin = MARGIN + (COLD_MARGIN if config.cache == "cold" else 0.0)
    if work.slow_s * (1 + margin) >= least_s:
        return None
    roof = ceilings.cache() if where == "cache" else ceilings.memory()
    assert roof is not None
    total, took, needed = (
        quantity(work.total_B, "B"),
        quantity(work.slow_s, "s"),
        quantity(least_s, "s"),
    )
    share, rate = percent(work.slow_s / least_s), quantity(roof.value, "B/s")
    if where == "cache":
        return (
            f"{total} of needed bytes took {took}, {share} of the {needed} they take at the "
            f"{rate} its caches were measured to move: check the manifest's bytes, or calibrate "
            "again"
        )
    kept_B = resident_B(work, config, ceilings.last_level_cache_B)
    if kept_B:
        return (
            f"{total} of needed bytes took {took}, {share} of the {needed} they take at the "
            f"{rate} its main memory was measured to move, even with {quantity(kept_B, 'B')} of "
            "them kept in the cache: check the manifest's bytes, or calibrate again"
        )
    return (
        f"{total} of needed bytes took {took}, {share} of the {needed} they take at the "
        f"{rate} its main memory was measured to move: check the manifest's bytes, or calibrate "
        "again"
    )


def least_time(work: Work, config: RunConfig, ceilings: Ceilings) -> tuple[float, Where] | None:
    """Return the least seconds that the compulsory bytes need, and what holds them up.

    What the last-level cache can hold may stay there from the launch before; after a flush only
    results may stay there to be written later. None without a ceiling for either.
    """
    bounds: list[tuple[float, Where]] = []
    memory, cache = ceilings.memory(), ceilings.cache()
    cache_B = ceilings.last_level_cache_B
    if memory is not None and cache_B is not None:
        through_B = max(0.0, work.total_B - resident_B(work, config, cache_B))
        bounds.append((through_B / _most(memory), "memory"))
    if memory is not None and cache is not None:
        best = max(_most(cache), _most(memory))
        bounds.append((work.total_B / best, "cache"))
    return max(bounds, default=None)


def resident_B(work: Work, config: RunConfig, cache_B: int | None) -> float:
    """Return the compulsory bytes that may be in the last-level cache before or after a launch."""
    if cache_B is None:
        return 0.0
    return min(cache_B, work.write_B if config.cache == "cold" else work.total_B)


def _above_nominal(
    work: Work, config: RunConfig, peak_B_per_s: float | None, cache_B: int | None
) -> str | None:
    if not peak_B_per_s or cache_B is None:
        return None
    through_B = work.total_B - resident_B(work, config, cache_B)
    least_s = through_B / peak_B_per_s
    if work.slow_s * (1 + NOMINAL_MARGIN) >= least_s:
        return None
    return (
        f"{quantity(work.total_B, 'B')} of needed bytes took {quantity(work.slow_s, 's')}, and "
        f"the stated peak of {quantity(peak_B_per_s, 'B/s')} needs {quantity(least_s, 's')} for "
        "what the cache cannot hold: check the manifest's bytes, or calibrate this device"
    )


def _most(ceiling: Ceiling) -> float:
    """Return the fast end of a ceiling's interval."""
    return max(ceiling.value, ceiling.ci95_high or 0.0)
