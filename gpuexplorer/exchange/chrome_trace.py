"""Write runs as a Chrome trace (JSON), which Perfetto and chrome://tracing draw.

Each run is a process: its phases stand on one track, its batches and launches on two more, clock
and power are counters. Times are microseconds. Only durations of the phases are known, not when
each began: those before the first launch are laid out to end where it begins, the others from
where the last launch ended. Inside a batch the launches are taken to follow each other; those that
one sample is the mean of are one span.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

import gpuexplorer
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import RunResult
from gpuexplorer.exchange.files import atomic_file
from gpuexplorer.exchange.table import size_words

MOST_LAUNCHES = 200_000
"""Spans of launches drawn of one run; of longer ones the first, and the trace says so."""
BEFORE = (
    ("compile", "compile"),
    ("allocate", "allocate"),
    ("host_to_device", "host to device"),
)
AFTER = (("device_to_host", "device to host"), ("free", "free"))
PHASES, BATCHES, LAUNCHES = 1, 2, 3
TRACKS = {PHASES: "Phases", BATCHES: "Batches", LAUNCHES: "Launches"}

Event = dict[str, Any]


def write_trace(results: Sequence[RunResult], path: Path) -> None:
    """Write runs as one trace; InputError when there are none or the file cannot be written."""
    if not results:
        raise InputError(f"there are no runs to write to {path}")
    head = msgspec.json.encode(
        {
            "displayTimeUnit": "ms",
            "otherData": {"program": f"GPU Explorer {gpuexplorer.__version__}"},
        }
    )
    with atomic_file(path) as stream:
        stream.write(head[:-1] + b',\n"traceEvents":[\n')
        first = True
        for number, result in enumerate(results, start=1):
            for event in trace_events(result, number):
                stream.write((b"" if first else b",\n") + msgspec.json.encode(event))
                first = False
        stream.write(b"\n]}\n")


def trace_events(result: RunResult, process: int) -> Iterator[Event]:
    """Yield the events of one run, which is the process of that number; times in µs."""
    yield from _names(result, process)
    phases = msgspec.structs.asdict(result.phases_s)
    at_s = 0.0
    for field, name in BEFORE:
        if phases[field] is not None:
            yield _span(process, PHASES, name, at_s, phases[field])
            at_s += phases[field]
    starts_s, counts, launches = _batches(result)
    starts_s = starts_s + at_s
    samples = np.asarray(result.samples_s) * np.repeat(launches, counts)
    ends = np.cumsum(counts)
    sums = np.add.reduceat(samples, ends - counts) if len(samples) else samples
    total = int((counts * launches).sum())
    spans = zip(starts_s.tolist(), (counts * launches).tolist(), sums.tolist(), strict=True)
    for start_s, count, total_s in spans:
        yield _span(process, BATCHES, "batch", start_s, total_s, {"launches": count})
    yield from _counters(result, process, at_s)
    yield from _launches(process, samples, starts_s, counts, launches)
    end_s = float(starts_s[-1] + sums[-1]) if len(samples) else at_s
    yield _span(
        process, PHASES, "kernel", at_s, max(end_s - at_s, 0.0),
        {"median_s": result.timing.median_s, "launches": total},
    )  # fmt: skip
    for field, name in AFTER:
        if phases[field] is not None:
            yield _span(process, PHASES, name, end_s, phases[field])
            end_s += phases[field]


def _names(result: RunResult, process: int) -> Iterator[Event]:
    config = result.config
    parts = [config.workload, config.variant, size_words(config)]
    parts += ["×".join(map(str, config.block)) if config.block else "", config.precision]
    name = f"{' '.join(part for part in parts if part)} on {result.device.name}"
    yield _meta(process, 0, "process_name", {"name": name})
    yield _meta(process, 0, "process_sort_index", {"sort_index": process})
    for track, words in TRACKS.items():
        yield _meta(process, track, "thread_name", {"name": words})
        yield _meta(process, track, "thread_sort_index", {"sort_index": track})
    _, counts, each = _batches(result)
    drawn = np.repeat(each, counts)[:MOST_LAUNCHES]
    told = {
        "run": result.id,
        "time_utc": result.time_utc,
        "config": msgspec.to_builtins(config),
        "method": result.timing.method,
        "launches": int((counts * each).sum()),
        "launches drawn": int(drawn.sum()),
        "layout": "phases were timed apart; when each began is not known",
    }
    yield {
        "ph": "i", "s": "p", "name": "run", "cat": "run", "pid": process, "tid": PHASES, "ts": 0,
        "args": told,
    }  # fmt: skip


def _meta(process: int, track: int, name: str, arguments: dict[str, Any]) -> Event:
    return {"ph": "M", "name": name, "pid": process, "tid": track, "args": arguments}


def _span(
    process: int,
    track: int,
    name: str,
    start_s: float,
    duration_s: float,
    arguments: dict[str, Any] | None = None,
) -> Event:
    event = {
        "ph": "X", "name": name, "cat": TRACKS[track].lower(), "pid": process, "tid": track,
        "ts": start_s * 1e6, "dur": duration_s * 1e6,
    }  # fmt: skip
    return event if arguments is None else event | {"args": arguments}


def _batches(result: RunResult) -> tuple[Any, Any, Any]:
    """Return when each batch began, from the first, its samples, and the launches in each of these.

    One batch if none are known.
    """
    counts = np.array([b.samples for b in result.batches if b.samples], dtype=np.int64)
    if counts.sum() != len(result.samples_s) or not len(counts):
        whole = [len(result.samples_s)] if result.samples_s else []
        return np.zeros(len(whole)), np.array(whole, dtype=np.int64), np.ones(len(whole), np.int64)
    starts = np.array([b.start_s for b in result.batches if b.samples])
    launches = [b.launches_each for b in result.batches if b.samples]
    return starts - starts[0], counts, np.array(launches, dtype=np.int64)


def _counters(result: RunResult, process: int, at_s: float) -> Iterator[Event]:
    """Yield clock and power over time, as far as they were read."""
    first = result.batches[0].start_s if result.batches else 0.0
    for batch in result.batches:
        for name, unit, value in (
            ("SM clock", "MHz", batch.sm_clock_Hz and batch.sm_clock_Hz / 1e6),
            ("power", "W", batch.power_W),
        ):
            if value is not None:
                yield {
                    "ph": "C", "name": f"{name} ({unit})", "pid": process, "tid": 0,
                    "ts": (batch.start_s - first + at_s) * 1e6, "args": {unit: value},
                }  # fmt: skip


def _launches(
    process: int, samples: Any, starts_s: Any, counts: Any, launches: Any
) -> Iterator[Event]:
    if not len(samples):
        return
    before = np.cumsum(samples) - samples
    firsts = np.cumsum(counts) - counts
    begins = before + np.repeat(starts_s - before[firsts], counts)
    each = np.repeat(launches, counts)
    for begin_s, took_s, number in zip(
        *(column[:MOST_LAUNCHES].tolist() for column in (begins, samples, each)), strict=True
    ):
        if number == 1:
            yield _span(process, LAUNCHES, "launch", begin_s, took_s)
        else:
            told = {"launches": number, "mean_s": took_s / number}
            yield _span(process, LAUNCHES, f"{number} launches", begin_s, took_s, told)
