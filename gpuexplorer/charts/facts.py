"""The figures of one run in words: a line each, as the terminal and a report show them."""

from __future__ import annotations

from gpuexplorer.analysis.energy import energy_words
from gpuexplorer.analysis.measured_traffic import METHODS, ratio_words
from gpuexplorer.charts.memory import has_memory, memory_words, parts_words
from gpuexplorer.charts.words import (
    STOPPED,
    TRAFFIC_NAMES,
    cause_words,
    checked_against,
    error_words,
    median_words,
    timing_words,
    verification_words,
)
from gpuexplorer.core.accesses import METHOD as COUNTED
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.text import visible
from gpuexplorer.core.units import count, percent, plural, quantity, samples_words

SHOWN_LINES = 20
"""Of what kernels print; the document has all that was kept."""


def facts(result: RunResult) -> list[tuple[str, str, str]]:
    """Return (name, figure, explanation) for each line of the summary."""
    timing = result.timing
    spread = (
        f"min {quantity(timing.min_s, 's')} · 5 % {quantity(timing.p05_s, 's')} · "
        f"95 % {quantity(timing.p95_s, 's')} · {samples_words(timing.samples)}"
    )
    rows = [("time per launch", median_words(result), spread)]
    if result.throughput.flop_per_s:
        rows.append(("throughput", quantity(result.throughput.flop_per_s, "FLOP/s"), ""))
    rows += _traffic(result)
    rows.append(("phases", "", _phases(result)))
    check = result.verification
    if check is None:
        rows.append(("result", "", verification_words(result)))
    else:
        error = f"{error_words(check)} (against {checked_against(check.method)})"
        rows.append(("result", check.words, error))
    rows += _printed(result)
    rows += _arithmetic(result)
    noise = percent(timing.max_noise)
    known = f"median known to {noise}" if timing.converged else f"median not known to {noise}"
    rows.append(("measured by", "", timing_words(result)))
    ended = STOPPED.get(timing.stopped_by, timing.stopped_by)
    rows.append(("ended", "", f"{ended}; {known}"))
    rows += _energy(result)
    state = _state(result)
    if state:
        rows.append(("device state", "", state))
    rows += _memory(result)
    resources = _resources(result)
    if resources:
        rows.append(("kernel", "", resources))
    if timing.outliers and not any("outliers" in said for said in timing.warnings):
        outliers = (
            f"{count(timing.outliers)} of {count(timing.samples)} samples are far longer than the "
            "rest; they are counted in"
        )
        rows.append(("outliers", "", outliers))
    if timing.dropped:
        rows.append(("lost", "", dropped_words(timing.dropped)))
    if cause := cause_words(result):
        rows.append(("meanwhile", "", cause))
    rows += [("note", "", said) for said in timing.warnings]
    if timing.suspect:
        rows.append(("SUSPECT", "", timing.suspect))
    return [(name, visible(figure), visible(words)) for name, figure, words in rows]


def dropped_words(samples: int) -> str:
    """Return what is said of samples that were measured and lost."""
    return plural(
        samples,
        "{number} sample was lost, because samples came faster than they were taken in",
        "{number} samples were lost, because samples came faster than they were taken in",
    )


def _printed(result: RunResult) -> list[tuple[str, str, str]]:
    """Return what the kernels printed in the launch that was checked."""
    lines = (result.printed or "").splitlines()
    if not lines:
        return []
    shown = [visible(line) for line in lines[:SHOWN_LINES]]
    if len(lines) > SHOWN_LINES:
        shown.append("…")
    words = plural(len(lines), "{number} line", "{number} lines")
    return [("printed", words, "\n".join(shown))]


def _arithmetic(result: RunResult) -> list[tuple[str, str, str]]:
    """Say what a framework computed in, where that is a question: in other than fp32 and fp64."""
    found = result.arithmetic
    if found is None or (found.asked in ("fp32", "fp64") and found.fallback is None):
        return []
    if found.fallback:
        words = f"NOT {found.asked}: {found.fallback}"
    elif found.accumulates_in:
        words = f"sums in {found.accumulates_in}; {found.how}"
    else:
        words = found.how
    return [("arithmetic", found.ran or "not known", words)]


def _traffic(result: RunResult) -> list[tuple[str, str, str]]:
    rows = []
    compulsory_B = 0.0
    peak = result.device.peak_bandwidth_B_per_s
    for entry in result.traffic:
        total_B = entry.total_B
        median_s = result.timing.median_s
        rate = total_B / median_s if median_s > 0 else None
        words = [f"{quantity(total_B, 'B')} a launch"]
        if entry.kind == "compulsory":
            compulsory_B = total_B
            if peak and rate is not None:
                share = rate / peak
                words.append(f"{percent(share)} of the peak {quantity(peak, 'B/s')}")
        elif entry.kind == "pcie":
            continue
        elif compulsory_B:
            factor = total_B / compulsory_B
            words.append(f"{factor:.3g} × the bytes needed")
        if entry.kind == "dram":
            ratio = ratio_words(t for t in result.traffic if t is entry or t.kind == "compulsory")
            words += [ratio] if ratio else []
            words.append(METHODS.get(entry.source, entry.source))
        if entry.source == "counted":
            words.append(COUNTED)
        name = f"{TRAFFIC_NAMES[entry.kind]} traffic"
        rows.append((name, quantity(rate, "B/s"), " · ".join(words)))
    return rows


def _energy(result: RunResult) -> list[tuple[str, str, str]]:
    """Say the energy of a launch; why there is none only where the device could tell it."""
    state = result.telemetry
    if state.energy_per_launch_J is not None:
        figure = quantity(state.energy_per_launch_J, "J")
        return [("energy", figure, energy_words(state))]
    return [("energy", "", energy_words(state))] if state.energy_reason else []


def _memory(result: RunResult) -> list[tuple[str, str, str]]:
    """Say the peak, and its parts where there is more to it than arrays."""
    use = result.memory
    if use is None or not has_memory(use):
        return []
    rows = [("memory", quantity(use.peak_B, "B") if use.peak_B else "", memory_words(use))]
    parts = parts_words(use)
    return [*rows, ("", "", parts)] if parts else rows


def _phases(result: RunResult) -> str:
    phases = result.phases_s
    named = {
        "compile": phases.compile,
        "allocate": phases.allocate,
        "host→device": phases.host_to_device,
        "kernel": phases.kernel,
        "device→host": phases.device_to_host,
        "free": phases.free,
    }
    return " · ".join(f"{name} {quantity(s, 's')}" for name, s in named.items() if s is not None)


def _state(result: RunResult) -> str:
    state = result.telemetry
    parts = []
    if state.sm_clock_Hz is not None:
        parts.append(quantity(state.sm_clock_Hz, "Hz"))
    if state.load is not None:
        parts.append(f"load {percent(state.load)}")
    if state.power_W is not None:
        parts.append(quantity(state.power_W, "W"))
    if state.temperature_C is not None:
        parts.append(f"{state.temperature_C:.0f} °C")
    if state.occupancy is not None:
        parts.append(f"achieved occupancy {percent(state.occupancy)}")
    if state.throttle_reasons:
        parts.append(f"clock held at times by {', '.join(state.throttle_reasons)}")
    return " · ".join(parts)


def _resources(result: RunResult) -> str:
    kernel = result.resources
    parts = []
    if kernel.registers_per_thread is not None:
        parts.append(f"{kernel.registers_per_thread} registers a thread")
    if kernel.shared_B:
        parts.append(f"{quantity(kernel.shared_B, 'B')} shared")
    if kernel.local_B:
        parts.append(f"{quantity(kernel.local_B, 'B')} local")
    if kernel.occupancy is not None:
        occupancy, limiter = percent(kernel.occupancy), kernel.occupancy_limiter
        parts.append(
            f"occupancy {occupancy}, limited by {limiter}" if limiter else f"occupancy {occupancy}"
        )
    return " · ".join(parts)
