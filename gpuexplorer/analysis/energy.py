"""Energy of one launch: the difference of a counter over many launches, less what idling takes.

A counter of the whole board or processor package tells a launch's energy only over a long loop:
many chips update it a few times a second, and some look at the power for a quarter of the time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from gpuexplorer.analysis.measured_traffic import is_blurred
from gpuexplorer.analysis.timeline import Timeline
from gpuexplorer.core.result import TelemetrySummary
from gpuexplorer.core.sample import Reading
from gpuexplorer.core.units import percent, quantity

LEAST_S = 5.0
"""Shortest loop that tells the energy."""
LEAST_IDLE_S = 1.0
"""Shortest rest that tells the idle power."""
MOST_GAP_S = 1.0
"""Longest time between two readings of one rest: what was done in a longer one is not known."""
LEAST_BUSY = 0.5
"""Least share of the time that launches must fill, for the energy to be theirs."""


class Energy(msgspec.Struct, frozen=True):
    """Energy per launch, or why it is not known; ``idle_power_W`` was taken off."""

    per_launch_J: float | None = None
    reason: str | None = None
    idle_power_W: float | None = None


def idle_power_W(readings: Sequence[Reading]) -> float | None:
    """Return the mean power over readings of a device at rest; None when they are too few.

    Those before a gap are left out.
    """
    counted = [r for r in readings if r.energy_J is not None]
    for index in range(len(counted) - 1, 0, -1):
        if (counted[index].t_ns - counted[index - 1].t_ns) * 1e-9 > MOST_GAP_S:
            counted = counted[index:]
            break
    if len(counted) < 2:
        return None
    first, last = counted[0], counted[-1]
    span_s = (last.t_ns - first.t_ns) * 1e-9
    assert first.energy_J is not None and last.energy_J is not None
    if span_s < LEAST_IDLE_S or last.energy_J < first.energy_J:
        return None
    return (last.energy_J - first.energy_J) / span_s


def energy_per_launch(
    readings: Sequence[Reading],
    timeline: Timeline,
    idle_W: float | None = None,
    missing: Mapping[str, str] = MappingProxyType({}),
    *,
    untimed_B: float = 0.0,
    compulsory_B: float = 0.0,
) -> Energy:
    """Return the energy of one launch: (ΔE − idle power · Δt) / launches.

    ``readings`` in order of time; ``idle_W`` is the power at rest, where it is known. ``missing``
    says why a field of a reading is not there. ``untimed_B`` are bytes moved before each launch
    without being part of it.
    """
    counted = [r for r in readings if r.energy_J is not None]
    if not counted:
        return Energy(reason=_why_no_counter(readings, missing))
    if is_blurred(untimed_B, compulsory_B):
        return Energy(
            reason=f"{quantity(untimed_B, 'B')} are moved between launches to prepare each, whose "
            "energy the counter cannot tell apart",
            idle_power_W=idle_W,
        )
    during = [r for r in counted if timeline.start_ns <= r.t_ns <= timeline.end_ns]
    span_s = (during[-1].t_ns - during[0].t_ns) * 1e-9 if during else 0.0
    if span_s < LEAST_S:
        return Energy(
            reason=f"too short to tell: needs {LEAST_S:.0f} s, ran {span_s:.1f} s",
            idle_power_W=idle_W,
        )
    if idle_W is None:
        return Energy(
            reason="the idle power is not known: let the device rest for 2 s before the run"
        )
    first, last = during[0], during[-1]
    busy = timeline.busy_s(first.t_ns, last.t_ns) / span_s
    if busy < LEAST_BUSY:
        return Energy(
            reason=f"launches filled only {percent(busy)} of the time", idle_power_W=idle_W
        )
    assert first.energy_J is not None and last.energy_J is not None
    net_J = last.energy_J - first.energy_J - idle_W * span_s
    if net_J <= 0:
        return Energy(reason="the device took no more than at rest", idle_power_W=idle_W)
    launches = timeline.launches(first.t_ns, last.t_ns)
    return Energy(per_launch_J=net_J / launches, idle_power_W=idle_W)


def _why_no_counter(readings: Sequence[Reading], missing: Mapping[str, str]) -> str:
    if not readings:
        return "the device was not read"
    return missing.get("energy_J", "this device has no energy counter")


def energy_words(state: TelemetrySummary) -> str:
    """Say the energy of one launch, or why it is not known."""
    if state.energy_per_launch_J is None:
        return f"not known: {state.energy_reason}" if state.energy_reason else "not known"
    energy = quantity(state.energy_per_launch_J, "J")
    if state.idle_power_W is None:
        return f"{energy} a launch"
    return f"{energy} a launch, less {quantity(state.idle_power_W, 'W')} at rest"
