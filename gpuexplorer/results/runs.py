"""Several runs as a table, such as a sweep's: the fastest first, with what they do not share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gpuexplorer.charts.words import config_parts, median_words
from gpuexplorer.core.compared import runs_apart
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sheet import Cell, Column, Row, Sheet
from gpuexplorer.core.units import count, quantity, speed
from gpuexplorer.exchange.table import Label

FIGURES = (
    Column("median", "median", "Median time of one launch, with half its 95 % interval", "s"),
    Column(
        "ratio",
        "beside the fastest",
        "How fast it is beside the fastest of the same problem, by the medians; they took no turns",
    ),
    Column("throughput", "throughput", "Useful operations over the median", "FLOP/s"),
    Column("bandwidth", "needed traffic", "Bytes needed (compulsory) over the median", "B/s"),
    Column("samples", "samples", "Launches that were timed"),
    Column("result", "result", "Whether it was verified", words=True),
)


def ranked(results: Iterable[RunResult]) -> list[RunResult]:
    """Return runs by their median, the fastest first; what cannot be believed comes last."""
    return sorted(
        results,
        key=lambda r: (
            r.timing.suspect is not None,
            r.verification is not None and not r.verification.ok,
            r.timing.median_s,
        ),
    )


def sheet_of(results: Sequence[RunResult], labels: Mapping[str, Label]) -> Sheet:
    """Return a row for each run, with the parts of the configuration that they do not share."""
    shown = ranked(results)
    parts = [config_parts(r.config) for r in shown]
    several_devices = len({r.device.name for r in shown}) > 1
    differing = [
        name
        for name in parts[0]
        if len({p[name] for p in parts}) > 1 and not (name == "device" and several_devices)
    ]
    if several_devices:
        differing.append("device")
    columns = tuple(Column(name, name, words=True) for name in differing) + FIGURES
    notes = {r.id: labels[r.id].note for r in shown if r.id in labels and labels[r.id].note}
    if notes:
        columns += (Column("note", "note", "What was noted on it", words=True),)
    fastest = {r.config.problem: r for r in reversed(shown)}
    rows = tuple(
        _row(
            result,
            mine,
            fastest[result.config.problem],
            result.device.name if several_devices else "",
            notes,
        )
        for result, mine in zip(shown, parts, strict=True)
    )
    return Sheet("Runs", columns, rows)


def _row(
    run: RunResult,
    parts: Mapping[str, str],
    best: RunResult,
    device: str,
    notes: Mapping[str, str],
) -> Row:
    timing, rate = run.timing, run.throughput
    best_s = best.timing.median_s
    ratio = timing.median_s / best_s if best_s > 0 else None
    found = runs_apart(best, run)
    beside = "fastest" if ratio == 1.0 else found.words if found is not None else speed(ratio)
    cells = {name: Cell(words.removeprefix("block ")) for name, words in parts.items()}
    cells |= {
        "median": Cell(median_words(run), timing.median_s),
        "ratio": Cell("–" if timing.suspect else beside, ratio),
        "throughput": Cell(quantity(rate.flop_per_s, "FLOP/s"), rate.flop_per_s),
        "bandwidth": Cell(quantity(rate.bandwidth_B_per_s, "B/s"), rate.bandwidth_B_per_s),
        "samples": Cell(count(timing.samples), timing.samples),
        "result": Cell(_standing(run)),
        "note": Cell(notes.get(run.id, "")),
    }
    if device:
        cells["device"] = Cell(device)
    return Row(" · ".join(filter(None, parts.values())), cells, marks={run.id: median_words(run)})


def _standing(run: RunResult) -> str:
    if run.timing.suspect:
        return "SUSPECT"
    if run.verification is None:
        return "not known"
    return run.verification.words
