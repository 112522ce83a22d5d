"""The device's state over a run, from its readings: medians, energy and DRAM bytes of a launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np

from gpuexplorer.analysis.energy import Energy, energy_per_launch
from gpuexplorer.analysis.measured_traffic import dram_of_one_launch
from gpuexplorer.analysis.timeline import Timeline
from gpuexplorer.core.result import TelemetrySummary, Traffic
from gpuexplorer.core.sample import Reading
from gpuexplorer.core.sample_block import Samples
from gpuexplorer.core.telemetry import frequent, limit_words
from gpuexplorer.core.units import quantity
from gpuexplorer.engine.protocol import Prepared

MOSTLY = 0.5
"""What holds the clock is remarked on when it stood in this share of the readings."""
BELOW = 0.97
"""A limit is worth a word when the clock lies below this share of the highest."""
AFTER_NS = 120_000_000
"""A reading comes within this time of the last launch, so that a short run has one."""
STEP_NS = 50_000_000
"""Batches this close together are one step: readings are twice as far apart."""


def device_state(
    prepared: Prepared,
    batches: Sequence[Samples],
    readings: Sequence[Reading],
    idle_power_W: float | None,
    missing: Mapping[str, str],
    *,
    in_turns: bool = False,
    lost: bool = False,
) -> tuple[TelemetrySummary, Traffic | None]:
    """Return the device's state over a run, and a launch's DRAM bytes if they were counted.

    ``idle_power_W`` is the power at rest, where it was read before the run. ``missing`` says why a
    field of a reading is not there. ``in_turns``: something else ran between its launches.
    ``lost``: samples between these were lost on their way.
    """
    during = while_sampled(batches, readings)

    def middle(field: str) -> float | None:
        known = [v for r in during if (v := getattr(r, field)) is not None]
        return median(known) if known else None

    reasons = [r.throttle_reasons for r in during if r.throttle_reasons is not None]
    users = [r.users for r in during if r.users is not None]
    sources = dict.fromkeys(name for r in during for name in (r.source, *r.sources.values()))
    energy, dram = _of_one_launch(
        prepared, batches, readings, idle_power_W, missing, in_turns, lost
    )
    summary = TelemetrySummary(
        sm_clock_Hz=middle("sm_clock_Hz"),
        power_W=middle("power_W"),
        energy_per_launch_J=energy.per_launch_J,
        energy_reason=energy.reason,
        idle_power_W=energy.idle_power_W,
        temperature_C=middle("temperature_C"),
        load=middle("load"),
        other_cores=middle("other_cores"),
        stolen=middle("stolen"),
        other_programs=(
            tuple(sorted({one.program for look in users for one in look if one.works}))
            if users
            else None
        ),
        memory_used_B=middle("memory_used_B"),
        dram_B_per_s=middle("dram_B_per_s"),
        dram_reason=dram if isinstance(dram, str) else None,
        pcie_rx_B_per_s=middle("pcie_rx_B_per_s"),
        pcie_tx_B_per_s=middle("pcie_tx_B_per_s"),
        occupancy=middle("occupancy"),
        throttle_reasons=tuple(sorted({x for r in reasons for x in r})) if reasons else None,
        source=", ".join(sources) or None,
    )
    return summary, None if isinstance(dram, str) else dram


def _of_one_launch(
    prepared: Prepared,
    batches: Sequence[Samples],
    readings: Sequence[Reading],
    idle_W: float | None,
    missing: Mapping[str, str],
    in_turns: bool,
    lost: bool,
) -> tuple[Energy, Traffic | str]:
    """Return energy and DRAM bytes of one launch, each with its reason where it is not known."""
    if prepared.config.include_transfers:
        why = "each sample includes transfers, so it would not be the kernel's alone"
        return Energy(reason=why), why
    counted = any(r.energy_J is not None or r.dram_B_per_s is not None for r in readings)
    if in_turns and counted:
        why = "it was measured in turns, between which the counters ran on"
        return Energy(reason=why), why
    if lost and counted:
        why = "samples were lost on their way, while the counters ran on"
        return Energy(reason=why), why
    timeline = _timeline(batches if counted else batches[:1])  # without counters only reasons
    if timeline is None:
        return Energy(reason="no launches yet"), "no launches yet"
    ordered = sorted(readings, key=lambda r: r.t_ns)
    untimed_B = prepared.untimed_B
    compulsory_B = sum(t.total_B for t in prepared.traffic if t.kind == "compulsory")
    energy = energy_per_launch(
        ordered, timeline, idle_W, missing, untimed_B=untimed_B, compulsory_B=compulsory_B
    )
    dram = dram_of_one_launch(
        ordered, timeline, untimed_B=untimed_B, compulsory_B=compulsory_B, missing=missing
    )
    return energy, dram


def _timeline(batches: Sequence[Samples]) -> Timeline | None:
    """Return when launches ran; what arrived together and lies close together is one step."""
    starts_ns: list[int] = []
    launches: list[int] = []
    device_s: list[float] = []
    for batch in batches:
        groups = batch.launches or (1,) * len(batch.counts)
        uniform = len(set(groups)) == 1
        if uniform and batch.starts_ns[-1] - batch.starts_ns[0] < STEP_NS:
            starts_ns.append(batch.starts_ns[0])
            launches.append(sum(batch.counts) * groups[0])
            device_s.append(float(batch.durations_s.sum()) * groups[0])
            continue
        ends = np.cumsum(batch.counts)
        totals = np.concatenate([[0.0], np.cumsum(batch.durations_s)])
        starts_ns += batch.starts_ns
        launches += [count * group for count, group in zip(batch.counts, groups, strict=True)]
        seconds = totals[ends] - totals[ends - np.asarray(batch.counts)]
        device_s += (seconds * np.asarray(groups)).tolist()
    if not starts_ns:
        return None
    return Timeline(
        np.array(starts_ns, dtype=np.int64),
        np.array(launches, dtype=np.int64),
        np.array(device_s, dtype=np.float64),
    )


def while_sampled(batches: Sequence[Samples], readings: Sequence[Reading]) -> list[Reading]:
    """Return the readings from the first launch to the last one, and the one that follows.

    After that the result is checked once more, and the device has nothing to do.
    """
    if not batches:
        return list(readings)
    end_ns = sampled_until_ns(batches[-1])
    return [one for one in readings if batches[0].starts_ns[0] <= one.t_ns <= end_ns]


def sampled_until_ns(last: Samples) -> int:
    """Return until when a reading belongs to what was sampled, whose ``last`` message this is."""
    lasted_s = last.durations_s[-last.counts[-1] :].sum() * (last.launches[-1:] or (1,))[0]
    return last.starts_ns[-1] + int(lasted_s * 1e9) + AFTER_NS


def limit_remark(
    readings: Sequence[Reading], clock_Hz: float | None, highest_Hz: float | None
) -> str | None:
    """Say at which limit the device was for most of the readings, and at what clock; else None.

    ``clock_Hz`` is the clock it held and ``highest_Hz`` the highest it has, where they are known.
    """
    words = limit_words(frequent([r.throttle_reasons for r in readings], MOSTLY))
    if not words or clock_Hz is None:
        return words or None
    if highest_Hz is None:
        return f"{words}, {quantity(clock_Hz, 'Hz')}"
    if clock_Hz >= BELOW * highest_Hz:
        return None
    return f"{words}, {quantity(clock_Hz, 'Hz')} of {quantity(highest_Hz, 'Hz')} at most"


def latest(batches: list[Samples], seconds: float) -> list[Samples]:
    """Return what was sampled in the latest ``seconds`` of a run, in a time that does not grow."""
    since_ns = batches[-1].starts_ns[-1] - int(seconds * 1e9)
    first = len(batches) - 1
    while first > 0 and batches[first].starts_ns[0] > since_ns:
        first -= 1
    return batches[first:]
