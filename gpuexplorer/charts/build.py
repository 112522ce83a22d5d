"""From runs to charts: times per launch with their distribution, and memory traffic."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuexplorer.analysis.measured_traffic import METHODS, measured, measured_once, ratio_words
from gpuexplorer.charts import words
from gpuexplorer.charts.caption import shared_words, words_apart
from gpuexplorer.charts.memory import has_memory, memory_notes, memory_panel
from gpuexplorer.charts.spec import Axis, ChartSpec, Floats, Kind, Panel, Role, Series, series
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.series.thin import Counts, busy_s, figures, pauses
from gpuexplorer.core.units import count, percent, plural, quantity

MAX_POINTS = 2000
"""Points of one trace; those of longer ones stand for several samples, and the chart says so."""
BINS = 60
LOG_ABOVE = 8.0
"""Medians this many times apart go on a logarithmic axis."""
TRAFFIC_LOG_ABOVE = 30.0
OUTLIER_QUANTILE = 0.995

TRAFFIC_ROLES: dict[str, Role] = {
    "compulsory": "compulsory",
    "requested": "requested",
    "dram": "hardware",
    "l2": "hardware",
    "pcie": "transfer",
}


def launches_each(result: RunResult) -> Counts:
    """Return of how many launches each sample is the mean."""
    counts = [b.samples for b in result.batches]
    if sum(counts) != len(result.samples_s):
        return np.ones(len(result.samples_s), np.int64)
    return np.repeat(np.array([b.launches_each for b in result.batches], np.int64), counts)


def sample_times(result: RunResult) -> Floats:
    """Return when each launch began, in seconds from the first batch.

    A batch's start is measured; inside a batch the launches are taken to follow each other, all
    those that a sample is the mean of.
    """
    durations = np.asarray(result.samples_s, dtype=np.float64) * launches_each(result)
    before = np.concatenate([[0.0], np.cumsum(durations)[:-1]]) if len(durations) else durations
    counts = np.array([b.samples for b in result.batches], dtype=np.int64)
    if counts.sum() != len(durations) or not len(durations):
        return before
    starts = np.array([b.start_s for b in result.batches])
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    held = counts > 0
    offsets = np.zeros(len(counts))
    offsets[held] = starts[held] - starts[0] - before[first[held]]
    return before + np.repeat(offsets, counts)


def columns(x: Floats, y: Floats, most: int = MAX_POINTS) -> tuple[Floats, Floats, int]:
    """Return where stretches of points begin, their ``figures``, and the length of a stretch.

    There are ``most`` at the most, all of them alike but the last; the stretch is 1 where that is
    how many points there are.
    """
    stretch = max(1, -(-len(x) // most))
    whole = len(x) // stretch * stretch
    found = figures(y[:whole].reshape(-1, stretch))
    if whole < len(y):
        found = np.append(found, figures(y[np.newaxis, whole:]), axis=1)
    return x[::stretch], found, stretch


def trace_series(result: RunResult, name: str, role: Role, colour: int) -> tuple[list[Series], int]:
    """Return what draws a run's samples in order, and how many samples a point stands for.

    Up to ``MAX_POINTS`` a point is a sample. Beyond, a band reaches from the least to the greatest
    of each stretch, another over its middle nine tenths, and the line follows its median. A pause
    interrupts them.
    """
    samples_s = np.asarray(result.samples_s, dtype=np.float64)
    x, found, stretch = columns(sample_times(result), samples_s)
    least, low, median, high, most = found
    lasted_s = busy_s(found[1:-1], stretch) * launches_each(result)[::stretch]
    after = pauses(x, lasted_s) + 1
    x = np.insert(x, after, np.nan)
    drawn: list[Series] = []
    if stretch > 1:
        for ends in ((least, most), (low, high)):
            y = np.concatenate([np.insert(end, after, np.nan) for end in ends])
            drawn.append(series("", "band", role, x=x, y=y, colour=colour))
    kind: Kind = "line" if len(x) > 1 else "points"
    y = np.insert(median, after, np.nan)
    return [*drawn, series(name, kind, role, x=x, y=y, colour=colour)], stretch


def timing_row(
    result: RunResult, pinned: Sequence[RunResult] = (), labels: Sequence[str] = ()
) -> tuple[tuple[Panel, Panel], list[str]]:
    """Return the trace of launch times with its distribution beside it, and notes on both.

    ``labels`` name every run, where their configurations do not tell them apart.
    """
    runs = [result, *pinned]
    samples = [np.asarray(r.samples_s, dtype=np.float64) for r in runs]
    notes = words.means_words(runs)
    medians = [r.timing.median_s for r in runs]
    log = min(medians) > 0 and max(medians) / min(medians) > LOG_ABOVE
    low, high = _time_range(samples, log)
    outside = sum(int(((s < low) | (s > high)).sum()) for s in samples)
    if outside:
        notes.append(
            plural(
                outside,
                "{number} of {all} samples lies outside the range shown; the longest is {most}.",
                "{number} of {all} samples lie outside the range shown; the longest is {most}.",
                all=count(sum(map(len, samples))),
                most=quantity(max(float(s.max()) for s in samples), "s"),
            )
        )
    trace: list[Series] = []
    stretches: set[int] = set()
    for slot, run in enumerate(runs):
        role: Role = "pinned" if slot else "measured"
        median = words.median_words(run)
        name = f"median {median}"
        if labels:
            name = f"{labels[slot]}: {name}"
        elif slot:
            difference = words.difference_words(run.config, result.config)
            name = f"pinned: {difference}, median {median}"
        drawn, stretch = trace_series(run, name, role, slot)
        stretches.add(stretch)
        trace += drawn
        trace.append(series("", "hline", role, y=[medians[slot]], colour=slot))
    if max(stretches) > 1:
        notes.append(
            f"The trace is thinned: of every {count(max(stretches))} samples it shows all as a "
            "pale band, the middle 90 % as a darker one, and the median as a line. All count in "
            "the figures and the distribution."
        )
    scale = "log" if log else "linear"
    time_axis = Axis(label="time per launch", unit="s", scale=scale, low=low, high=high)  # type: ignore[arg-type]
    edges = np.geomspace(low, high, BINS + 1) if log else np.linspace(low, high, BINS + 1)
    shares = [
        series(
            "", "histogram", "pinned" if slot else "measured", colour=slot, sideways=True,
            x=edges, y=np.histogram(samples[slot], edges)[0] * (100.0 / len(samples[slot])),
        )
        for slot in range(len(runs))
    ]  # fmt: skip
    panels = (
        Panel(
            title="Time per launch",
            x=Axis(label="time since the run began", unit="s", low=0.0),
            y=time_axis,
            series=tuple(trace),
            width=3.4,
        ),
        Panel(
            title="Distribution",
            x=Axis(label="share of samples", unit="%", low=0.0),
            y=time_axis,
            series=tuple(shares),
            share_y=True,
        ),
    )
    return panels, notes


def _time_range(samples: list[Floats], log: bool) -> tuple[float, float]:
    """Return a range that holds nearly every sample: single outliers may lie outside."""
    low = min(float(s.min()) for s in samples)
    high = max(
        min(float(s.max()), float(np.quantile(s, OUTLIER_QUANTILE, method="lower")) * 1.3)
        for s in samples
    )
    if log and low > 0:
        return low / 1.15, high * 1.15
    margin = max(high - low, high * 0.01, 1e-12) * 0.08
    return max(0.0, low - margin), high + margin


def _rates(result: RunResult) -> list[tuple[str, Role, float, float]]:
    """Return (what, role, bytes moved, bytes per second) for each kind and direction of traffic."""
    rows: list[tuple[str, Role, float, float]] = []
    median, phases = result.timing.median_s, result.phases_s
    for entry in measured_once(result.traffic):
        role = TRAFFIC_ROLES[entry.kind]
        pairs: tuple[tuple[str, float | None, float | None], ...]
        if entry.kind == "pcie":
            pairs = (
                ("host → device", entry.read_B, phases.host_to_device),
                ("device → host", entry.write_B, phases.device_to_host),
            )
        else:
            name = words.TRAFFIC_NAMES[entry.kind]
            pairs = (
                (f"{name} read", entry.read_B, median),
                (f"{name} write", entry.write_B, median),
                (f"{name}, read and write", entry.combined_B, median),
            )
        rows += [(what, role, B, B / s) for what, B, s in pairs if B and s]
    return rows


def traffic_panel(
    result: RunResult, pinned: Sequence[RunResult] = ()
) -> tuple[Panel | None, list[str]]:
    """Return memory traffic as rates, one stem for each kind and direction; None without any."""
    runs = [result, *pinned]
    rates = [_rates(r) for r in runs]
    categories = list(dict.fromkeys(what for rows in rates for what, *_ in rows))
    if not categories:
        return None, []
    step = 0.7 / len(runs)
    drawn: list[Series] = []
    named: set[Role] = set()
    for slot, rows in enumerate(rates):
        for role in dict.fromkeys(role for _, role, _, _ in rows):
            mine = [row for row in rows if row[1] == role]
            offset = (slot - (len(runs) - 1) / 2) * step
            drawn.append(
                series(
                    "" if role in named else _role_words(role),
                    "stems",
                    role,
                    x=[categories.index(what) + offset for what, *_ in mine],
                    y=[rate for *_, rate in mine],
                    colour=slot,
                    sideways=True,
                    labels=tuple(
                        f"{quantity(rate, 'B/s')}  ({quantity(B, 'B')})" for _, _, B, rate in mine
                    ),
                )
            )
            named.add(role)
    values = [rate for rows in rates for *_, rate in rows]
    notes = [
        "Needed (compulsory): each operand once, the least the result needs. Requested: what the "
        "threads ask for with this block; caches serve part of it. Both are computed, over the "
        "median."
    ]
    peak = result.device.peak_bandwidth_B_per_s
    if peak:
        drawn.append(series(f"peak {quantity(peak, 'B/s')}", "vline", "ceiling", x=[peak]))
        values.append(peak)
        source = result.device.peak_source
        notes[0] = (
            f"{notes[0]} Peak: {source}." if source else f"{notes[0]} Peak: source not known."
        )
    counted = measured(result.traffic)
    if counted is not None:
        method, ratio = METHODS.get(counted.source, counted.source), ratio_words(result.traffic)
        notes.append(f"Measured: {method}; {ratio}." if ratio else f"Measured: {method}.")
    if any(role == "transfer" for rows in rates for _, role, *_ in rows):
        notes.append(
            "Host transfers: bytes over the time of their own phase, the median of every sample."
            if result.config.include_transfers
            else "Host transfers: bytes over the time of their own phase, one copy."
        )
    log = max(values) / min(values) > TRAFFIC_LOG_ABOVE
    return (
        Panel(
            title="Memory traffic of one launch",
            x=Axis(
                label="bytes over time",
                unit="B/s",
                scale="log" if log else "linear",
                low=min(values) / 2.5 if log else 0.0,
                high=max(values) * (12.0 if log else 1.45),  # room for the words at the stems' ends
            ),
            y=Axis(
                label="",
                low=-0.6,
                high=len(categories) - 0.4,
                categories=tuple(categories),
            ),
            series=tuple(drawn),
            height=0.3 + 0.052 * len(categories) * (1 + len(runs)),
        ),
        notes,
    )


def _role_words(role: Role) -> str:
    return {
        "compulsory": "needed",
        "requested": "requested",
        "hardware": "measured by the hardware",
        "transfer": "host transfers",
    }[role]


def traffic_over_time_panel(result: RunResult) -> tuple[Panel | None, list[str]]:
    """Return the effective bandwidth of every batch as lines over time; None without traffic.

    Reads and writes of one kind stand together; host transfers are levels, not lines, since each
    was timed once.
    """
    timed = [b for b in result.batches if b.median_s > 0]  # others are below the clock's step
    starts = np.array([b.start_s for b in timed])
    medians = np.array([b.median_s for b in timed])
    drawn: list[Series] = []
    notes: list[str] = []
    if timed:
        first_s = result.batches[0].start_s
        moved = [t for t in measured_once(result.traffic) if t.kind != "pcie"]
        for colour, entry in enumerate(moved):
            total = entry.total_B
            x, (_, _, y, _, _), stretch = columns(starts - first_s, total / medians)
            name = f"{words.TRAFFIC_NAMES[entry.kind]}, read and write"
            drawn.append(series(name, "step", TRAFFIC_ROLES[entry.kind], x=x, y=y, colour=colour))
            if stretch > 1 and not notes:
                notes.append(f"Traffic is thinned: of every {stretch} batches the median is drawn.")
    for colour, (what, role, _, rate) in enumerate(_rates(result)):
        if role == "transfer":
            name = f"{what} {quantity(rate, 'B/s')}"
            drawn.append(series(name, "hline", role, y=[rate], colour=colour))
    if not drawn:
        return None, []
    levels = [float(np.median(s.y)) for s in drawn]
    peak = result.device.peak_bandwidth_B_per_s
    if peak:
        drawn.append(series(f"peak {quantity(peak, 'B/s')}", "hline", "ceiling", y=[peak]))
        levels.append(peak)
    log = min(levels) > 0 and max(levels) / min(levels) > TRAFFIC_LOG_ABOVE
    return (
        Panel(
            title="Memory traffic",
            x=Axis(label="time since the run began", unit="s", low=0.0),
            y=Axis(
                label="bytes over time",
                unit="B/s",
                scale="log" if log else "linear",
                low=None if log else 0.0,
            ),
            series=tuple(drawn),
            height=0.8,
        ),
        notes,
    )


def run_chart(
    result: RunResult,
    pinned: Sequence[RunResult] = (),
    *,
    title: str = "",
    over_time: bool = False,
    timing: bool = True,
    traffic: bool = True,
    memory: bool = True,
) -> ChartSpec:
    """Return the chart of one run: launch times, their distribution, memory traffic, and of a model
    where its memory goes.

    ``pinned`` runs are drawn as ghosts. With ``over_time`` the traffic is drawn as lines over the
    run instead of one figure each. ValueError when a run has no samples or nothing is to be shown.
    """
    if any(not len(r.samples_s) for r in (result, *pinned)):
        raise ValueError("a run without samples cannot be drawn")
    rows: list[tuple[Panel, ...]] = []
    notes = [
        words.noise_words(result),
        words.method_words(result),
        words.verification_words(result),
    ]
    if timing:
        row, more = timing_row(result, pinned)
        rows.append(row)
        notes += more
    if traffic:
        panel, more = (
            traffic_over_time_panel(result) if over_time else traffic_panel(result, pinned)
        )
        if panel:
            rows.append((panel,))
            notes += more
    if memory and result.memory is not None and has_memory(result.memory):
        rows.append((memory_panel(result.memory),))
        notes += memory_notes(result.memory)
    if not rows:
        raise ValueError("nothing to draw")
    return ChartSpec(
        title=title or result.config.workload,
        subtitle=f"{words.config_words(result.config)}\n{_device_words(result)}",
        rows=tuple(rows),
        notes=tuple(notes),
    )


def _device_words(result: RunResult) -> str:
    device, state = result.device, result.telemetry
    parts = [f"{device.name}, {device.driver}"]
    if state.sm_clock_Hz:
        parts.append(quantity(state.sm_clock_Hz, "Hz"))
    if state.load is not None:
        parts.append(f"load {percent(state.load)}")
    if state.power_W:
        parts.append(quantity(state.power_W, "W"))
    if state.temperature_C:
        parts.append(f"{state.temperature_C:.0f} °C")
    if result.throughput.flop_per_s:
        parts.append(quantity(result.throughput.flop_per_s, "FLOP/s"))
    return " · ".join(parts)


def sweep_chart(results: Sequence[RunResult], *, title: str = "") -> ChartSpec:
    """Return the speed of several configurations beside each other, in the order given.

    Each is named by what they do not share; suspect figures come last. ValueError when there is
    nothing to draw.
    """
    if not results:
        raise ValueError("nothing to draw")
    results = sorted(results, key=lambda r: r.timing.suspect is not None)
    flops = all(r.throughput.flop_per_s for r in results)
    values = [(r.throughput.flop_per_s or 0.0) if flops else r.timing.median_s for r in results]
    unit = "FLOP/s" if flops else "s"
    names = words_apart(results)
    stems = series(
        "", "stems", "measured", x=range(len(values)), y=values, sideways=True,
        labels=tuple(_figures(v, unit, r) for v, r in zip(values, results, strict=True)),
    )  # fmt: skip
    log = max(values) / min(values) > TRAFFIC_LOG_ABOVE
    panel = Panel(
        x=Axis(
            label="useful operations over time" if flops else "time per launch",
            unit=unit,
            scale="log" if log else "linear",
            low=min(values) / 2 if log else 0.0,
            high=max(values) * (8.0 if log else 1.5),
        ),
        y=Axis(label="", low=-0.6, high=len(names) - 0.4, categories=tuple(names)),
        series=(stems,),
        height=0.3 + 0.09 * len(names),
    )
    methods = dict.fromkeys(f"Timed by {r.timing.method}." for r in results)
    return ChartSpec(
        title=title or results[0].config.workload,
        subtitle=shared_words(results),
        rows=((panel,),),
        notes=(
            "Medians with half their 95 % interval, where there were samples enough for one.",
            *methods,
            *(f"SUSPECT: {r.timing.suspect}." for r in results if r.timing.suspect),
            *words.checks_words(results),
        ),
    )


def _figures(value: float, unit: str, result: RunResult) -> str:
    """Return what stands beside a run's rate, or beside its time where there is no rate."""
    median = words.median_words(result)
    facts = [median if unit == "s" else f"{quantity(value, unit)}  ({median})"]
    if result.timing.suspect:
        facts.append("SUSPECT")
    return "  ".join(facts)
