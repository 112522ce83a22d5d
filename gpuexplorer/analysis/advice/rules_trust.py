"""Whether the figure means what it seems to: throttling, and results that cannot be."""

from __future__ import annotations

from gpuexplorer.analysis.advice.advice import Advice
from gpuexplorer.analysis.advice.roofs import place_of
from gpuexplorer.analysis.advice.situation import Situation
from gpuexplorer.core.change import Change
from gpuexplorer.core.telemetry import limit_words, slowdowns
from gpuexplorer.core.units import count, percent, quantity

HELD = 0.9
"""A clock below this share of the highest one counts as held down."""
NOISY = 0.03
"""A median known worse than this, with every core in use, is blamed on the lack of a spare one."""


def suspect(situation: Situation) -> Advice | None:
    """Repeat why the figure is impossible."""
    if situation.suspect is None:
        return None
    return Advice(
        rule="suspect",
        kind="trust",
        title="This figure cannot be right",
        evidence=situation.suspect,
        saves=0.0,
        section="A result that is too fast",
    )


def cached(situation: Situation) -> Advice | None:
    """Say that the arrays stayed in a cache, so that the figure says nothing of the memory."""
    if situation.suspect is not None or situation.config.include_transfers:
        return None
    place = place_of(situation)
    if not place.cached or situation.config.cache == "cold" or situation.dram_B is not None:
        return None
    if place.intensity is not None and place.ridge is not None and place.intensity > place.ridge:
        return None  # arithmetic is what this kernel is about
    change = Change(cache="cold")
    memory = situation.ceilings.memory() if situation.ceilings is not None else None
    rate = situation.launch.compulsory_B / situation.median_s
    return Advice(
        rule="cached",
        kind="place",
        title="The arrays stay in a cache: this is not the memory's speed",
        evidence=f"{quantity(rate, 'B/s')} of needed bytes, and the memory was measured at "
        f"{quantity(memory.value if memory is not None else None, 'B/s')}",
        saves=0.0,
        section="A result that is too fast",
        change=change if situation.look(change) is not None else None,
    )


def throttled(situation: Situation) -> Advice | None:
    """Say that heat or a fault held the clock down, or that it fell while samples were taken."""
    reasons = slowdowns(situation.throttle_reasons)
    held = _held(situation)
    if not reasons and not situation.marked_throttled:
        return None
    parts = [", ".join(reasons)] if reasons else []
    if situation.clock_Hz is not None:
        clock = ", ".join([quantity(situation.clock_Hz, "Hz"), *_of_highest(situation)])
        parts.append(f"clock held at {clock}")
    if situation.marked_throttled:
        marked_throttled = count(situation.marked_throttled)
        parts.append(
            f"{marked_throttled} samples marked, most of them, so the median is that of a "
            "throttled device"
            if situation.mostly_throttled
            else f"{marked_throttled} samples marked, not in the median"
        )
    slower = held is not None and held < HELD
    return Advice(
        rule="throttled",
        kind="trust",
        title="The clock is held down, so every time is longer"
        if slower
        else "The clock is held down",
        evidence="; ".join(parts),
        saves=1 - held if held is not None and held < 1 else 0.0,
        section="Held clocks",
    )


def at_limit(situation: Situation) -> Advice | None:
    """Say that the device runs at a limit of its own: the figure is true, and this is why."""
    words = limit_words(situation.lasting_reasons)
    held = _held(situation)
    if not words or slowdowns(situation.throttle_reasons) or held is None or held >= HELD:
        return None
    clock = ", ".join([quantity(situation.clock_Hz, "Hz"), *_of_highest(situation)])
    return Advice(
        rule="at-limit",
        kind="place",
        title=f"The device runs {words}",
        evidence=f"clock at {clock}",
        saves=0.0,
        section="Held clocks",
    )


def _held(situation: Situation) -> float | None:
    """Return the clock over the highest one, None when either is not known."""
    clock_Hz, highest_Hz = situation.clock_Hz, situation.clock_high_Hz
    return clock_Hz / highest_Hz if clock_Hz is not None and highest_Hz else None


def _of_highest(situation: Situation) -> list[str]:
    held = _held(situation)
    if held is None or held >= 1:
        return []
    return [f"{percent(held)} of {quantity(situation.clock_high_Hz, 'Hz')}"]


def no_spare_core(situation: Situation) -> Advice | None:
    """Say that a CPU measures with every core, so that whatever else runs is in the times.

    With every core in use a busy window moved medians by up to 2 times, with one left free by 5 %.
    """
    cores, threads = situation.device.compute_units, situation.config.threads
    error = situation.relative_error
    if situation.is_gpu or situation.library or not threads or threads < cores or cores < 2:
        return None
    if error is None or error < NOISY:
        return None
    change = Change(threads=cores - 1)
    return Advice(
        rule="no-spare-core",
        kind="trust",
        title="No core is left for whatever else runs",
        evidence=f"{threads} CPU threads on {cores} cores, and the median is known to "
        f"± {percent(error)}",
        saves=0.0,
        section="A core to spare",
        change=change if situation.look(change) is not None else None,
    )
