"""DRAM bytes of one launch as the hardware counted them, and what they are to the least needed.

A counter gives bytes a second over an interval. Times the interval these are the bytes that the
whole device moved; over the launches of the interval, the bytes of one. Rests between launches
move nothing and therefore do not matter, but what else uses the device does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import cast

from gpuexplorer.analysis.timeline import Timeline
from gpuexplorer.core.result import Traffic, TrafficSource
from gpuexplorer.core.sample import Reading
from gpuexplorer.core.telemetry import Counters
from gpuexplorer.core.units import count, percent, quantity

LEAST_S = 1.0
"""Least time that must have been counted."""
LEAST_BUSY = 0.5
"""Least share of it that launches must fill: in a rest, others' traffic would be taken for ours."""
LEAST_SHARE = 0.02
"""Bytes moved between the launches that are this share of the least needed are too many."""


def is_blurred(untimed_B: float, compulsory_B: float) -> bool:
    """Whether a counter over time tells nothing of a launch, for what is moved between launches.

    ``untimed_B`` are bytes that are moved before each launch without being part of it: emptied
    caches, arrays set back.
    """
    return untimed_B > LEAST_SHARE * compulsory_B


def dram_of_one_launch(
    readings: Sequence[Reading],
    timeline: Timeline,
    *,
    untimed_B: float = 0.0,
    compulsory_B: float = 0.0,
    missing: Mapping[str, str] = MappingProxyType({}),
) -> Traffic | str:
    """Return a launch's DRAM bytes, or why they are not known.

    ``missing`` says why a field of a reading is not there.
    """
    counted = [r for r in readings if r.dram_B_per_s is not None and r.interval_s]
    if not counted:
        return _why_no_counter(readings, missing)
    if is_blurred(untimed_B, compulsory_B):
        return (
            f"{quantity(untimed_B, 'B')} are moved between launches to prepare each, which a "
            "counter over time cannot tell apart; ncu can"
        )
    source = _best_source(counted)
    inside = [
        (r, r.t_ns - cast(float, r.interval_s) * 1e9)
        for r in counted
        if _source(r) == source
        and r.t_ns <= timeline.end_ns
        and r.t_ns - cast(float, r.interval_s) * 1e9 >= timeline.start_ns
    ]
    span_s = sum(cast(float, r.interval_s) for r, _ in inside)
    if span_s < LEAST_S:
        return f"too short to tell: needs {LEAST_S:.0f} s, counted {span_s:.1f} s"
    busy = sum(timeline.busy_s(began_ns, r.t_ns) for r, began_ns in inside) / span_s
    if busy < LEAST_BUSY:
        return f"launches filled only {percent(busy)} of the time"
    launches = sum(timeline.launches(began_ns, r.t_ns) for r, began_ns in inside)

    def per_launch(field: str) -> float | None:
        rates = [(getattr(r, field), cast(float, r.interval_s)) for r, _ in inside]
        if launches <= 0 or any(rate is None for rate, _ in rates):
            return None
        return float(sum(rate * interval_s for rate, interval_s in rates)) / launches

    read_B, write_B = per_launch("dram_read_B_per_s"), per_launch("dram_write_B_per_s")
    if read_B is not None and write_B is not None:
        return Traffic(
            kind="dram", read_B=read_B, write_B=write_B, source=cast(TrafficSource, source)
        )
    both_B = per_launch("dram_B_per_s")
    if both_B is None:
        return "no launch fell into the time that was counted"
    return Traffic(
        kind="dram",
        read_B=None,
        write_B=None,
        combined_B=both_B,
        source=cast(TrafficSource, source),
    )


def _source(reading: Reading) -> str:
    """Return whose word a reading's DRAM traffic is."""
    return reading.sources.get("dram_B_per_s", reading.source)


def _best_source(counted: Sequence[Reading]) -> str:
    """Return the one source to go by: where two take turns, the one that tells reads from writes.

    Their intervals overlap, so both together would count bytes twice.
    """
    return _source(max(counted, key=lambda r: r.dram_read_B_per_s is not None))


def _why_no_counter(readings: Sequence[Reading], missing: Mapping[str, str]) -> str:
    if not readings:
        return "the device was not read"
    return missing.get("dram_B_per_s", "this device has no counter of DRAM bytes")


METHODS: dict[str, str] = {
    "gpm": "NVML GPM's bytes over the run, divided by its launches",
    "cupti": "CUPTI's counted bytes over the run, divided by its launches",
    "ncu": "counted by Nsight Compute in one launch",
}
"""How measured bytes were come by, beside the number."""


def measured(traffic: Iterable[Traffic]) -> Traffic | None:
    """Return the DRAM bytes that stand for the hardware's word: ``ncu``'s exact ones first."""
    found = [t for t in traffic if t.kind == "dram"]
    return min(found, key=lambda t: t.source != "ncu", default=None)


def measured_once(traffic: Iterable[Traffic]) -> list[Traffic]:
    """Return traffic with one word of the hardware's on DRAM bytes, that of ``measured``."""
    traffic = list(traffic)
    chosen = measured(traffic)
    return [t for t in traffic if t.kind != "dram" or t is chosen]


def ratio_words(traffic: Iterable[Traffic]) -> str | None:
    """Say what the kernel's measured DRAM bytes are to the least the result needs.

    Such as ``the kernel reads each byte 9.1 times``; None when one of the two is not known.
    """
    traffic = list(traffic)
    counted = measured(traffic)
    least = next((t for t in traffic if t.kind == "compulsory"), None)
    if counted is None or least is None or not least.total_B:
        return None
    reads = False
    ratio = counted.total_B / least.total_B
    if counted.read_B is not None and least.read_B:
        reads, ratio = True, counted.read_B / least.read_B
    if ratio < 0.9:
        share = percent(ratio)
        if reads:
            return f"the kernel reads {share} of the least from DRAM: caches hold the rest"
        return f"the kernel moves {share} of the least from DRAM: caches hold the rest"
    if ratio < 1.1:
        return "the kernel reads each byte once" if reads else "the kernel moves each byte once"
    times = f"{ratio:.2g}" if ratio < 100 else count(round(ratio))
    return (
        f"the kernel reads each byte {times} times"
        if reads
        else f"the kernel moves each byte {times} times"
    )


def counted_words(counters: Counters, traffic: Iterable[Traffic]) -> str:
    """Say what a profiler counted in one launch, beginning with its ratio to the least."""
    ratio = ratio_words(traffic)
    parts = [f"{ratio[:1].upper()}{ratio[1:]}" if ratio else "Counted by Nsight Compute"]
    if counters.dram_read_B is not None and counters.dram_write_B is not None:
        parts.append(
            f"DRAM {quantity(counters.dram_read_B, 'B')} read, "
            f"{quantity(counters.dram_write_B, 'B')} written a launch"
        )
    if counters.l2_B is not None:
        parts.append(f"L2 {quantity(counters.l2_B, 'B')}")
    if counters.l1_B is not None:
        parts.append(f"L1 {quantity(counters.l1_B, 'B')}")
    if counters.occupancy is not None:
        parts.append(f"achieved occupancy {percent(counters.occupancy)}")
    return " · ".join(parts)
