"""The page: one run, several, a sweep, a comparison or a study, in one file without a network.

Charts are inline SVG, colours follow the reader's light or dark, printing is light, and the runs
are attached with every sample. A policy in the page forbids it to run or to load anything.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import gpuexplorer
from gpuexplorer.charts.build import run_chart, sweep_chart
from gpuexplorer.charts.comparison import comparison_chart
from gpuexplorer.charts.spec import ChartSpec
from gpuexplorer.charts.sweep import chart_of_sweep
from gpuexplorer.charts.words import config_words, median_words, when_words
from gpuexplorer.core.compared import ComparisonResult, comparison_json
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sharing import places_of, shared_text
from gpuexplorer.core.studies import Study, study_json
from gpuexplorer.core.sweep import SweepDocument
from gpuexplorer.core.units import count, plural
from gpuexplorer.exchange.document import run_json, runs_json
from gpuexplorer.exchange.files import atomic_file
from gpuexplorer.exchange.imported import SkippedRun
from gpuexplorer.exchange.table import Label
from gpuexplorer.report import parts
from gpuexplorer.report.figure import figure
from gpuexplorer.report.html import bullets, paragraph, section, sheet_sections, text, told
from gpuexplorer.report.style import page_head
from gpuexplorer.report.whole import comparison_of, sweep_of
from gpuexplorer.results.comparison import sheet_of as comparison_sheet
from gpuexplorer.results.runs import ranked
from gpuexplorer.results.runs import sheet_of as runs_sheet
from gpuexplorer.search.stored import compare_runs, labels_of_runs
from gpuexplorer.studies import kind_of, sheet_of, study_of

MOST_BARS = 40
"""Configurations of a chart of bars; of more the fastest."""
MOST_TRACES = 6
"""Runs that are drawn over each other, each with its own details below."""
TITLE = 160


@dataclass
class Report:
    """What a page is about."""

    runs: Sequence[RunResult]
    labels: Mapping[str, Label] = field(default_factory=dict)
    """What a user noted on runs, by id."""
    skipped: Sequence[SkippedRun] = ()
    rests: Sequence[Mapping[str, Any]] = ()
    """Documents apart from their runs; a comparison among them is shown as one."""


def write_report(report: Report, path: Path) -> None:
    """Write the page; InputError when there are no runs or the file cannot be written."""
    page = report_page(report)
    with atomic_file(path) as stream:
        stream.write(page.encode("utf-8", "replace"))


def report_page(report: Report) -> str:
    """Return the whole page."""
    if not report.runs:
        raise InputError("there are no runs to report on")
    comparison = comparison_of(report.rests, report.runs)
    study = study_of(report.rests, report.runs)
    others: list[RunResult] = []
    if study is not None:
        its = {run.id for run in study.runs}
        others = [run for run in report.runs if run.id not in its]
        title, body = _on_study(study)
        body += sheet_sections(runs_sheet(others, report.labels)) if others else ""
        each = _one_a_device(study.runs)
        body += section("Device", *map(parts.device, each))
        body += section("Environment", *map(parts.environment, each))
    elif comparison is not None:
        title, body = _on_comparison(comparison, report)
    elif len(report.runs) == 1:
        title, body = _on_run(report.runs[0], report)
    else:
        title, body = _on_runs(report)
    written = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    places = {text(place) for place in places_of(run.environment for run in report.runs)}
    title, body = shared_text(title, places), shared_text(body, places)
    return page_head(title[:TITLE]) + (
        f"<header>\n<h1>{told(title[:TITLE])}</h1>\n</header>\n<main>\n{body}"
        f"{section('Data', _attached(report.runs, comparison, study, others))}</main>\n"
        f"<footer>{text(f'GPU Explorer {gpuexplorer.__version__} · {written}')}</footer>\n"
        "</body>\n</html>\n"
    )


# ---- the kinds


def _on_run(result: RunResult, report: Report) -> tuple[str, str]:
    title = config_words(result.config)
    return title, (
        paragraph(f"{result.device.name} · {result.time_utc}", "lead")
        + parts.badges(result)
        + parts.label(report.labels.get(result.id))
        + section("Charts", figure(partial(run_chart, result), 1))
        + section("Figures", parts.figures(result))
        + _details(result)
    )


def _details(result: RunResult) -> str:
    return (
        section("Configuration", parts.configuration(result), parts.repeat(result))
        + section("Device", parts.device(result))
        + section("Environment", parts.environment(result))
    )


def _on_study(study: Study) -> tuple[str, str]:
    kind = kind_of(study)
    body = paragraph(f"{kind.subject_of(study)} · {study.device} · {study.time_utc}", "lead")
    if study.runs:
        body += section("Chart", figure(partial(kind.chart, study), 1))
    body += sheet_sections(sheet_of(study))
    return study.title, body + section("How it was measured", bullets(study.notes))


def _on_runs(report: Report) -> tuple[str, str]:
    runs = list(report.runs)
    first = ranked(runs)[0]
    names = _names(runs)
    title = f"{count(len(runs))} runs of {names}"
    race = len({r.config.problem for r in runs}) == 1 and first.timing.suspect is None
    stored = _stored(runs, report)
    charts = [figure(make, i) for i, make in enumerate(_charts(report, stored), start=1)]
    body = paragraph(parts.shared(runs), "lead")
    if race:
        body += paragraph(f"The fastest: {config_words(first.config)}, {median_words(first)}.")
    if stored is not None:
        body += sheet_sections(comparison_sheet(stored))
    body += section("Charts", *charts) + sheet_sections(runs_sheet(runs, report.labels))
    body += section("Without a result", parts.left_out(report.skipped))
    if len(runs) <= MOST_TRACES:
        titles = labels_of_runs(runs)
        body += "".join(map(partial(_one_of_several, report), runs, titles))
    else:
        shown = first if race else runs[0]
        where = "Environment of the fastest" if race else "Environment of the first run"
        each = _one_a_device([shown, *runs])
        body += section("Device", *map(parts.device, each))
        body += section(where, parts.environment(shown))
    return title, body


def _one_a_device(runs: Sequence[RunResult]) -> list[RunResult]:
    """Return the first run on each device, in order."""
    found: dict[tuple[str, str], RunResult] = {}
    for run in runs:
        found.setdefault((run.device.id, run.device.hardware_id), run)
    return list(found.values())


def _names(runs: Sequence[RunResult]) -> str:
    names = list(dict.fromkeys(r.config.workload for r in runs))
    shown, more = ", ".join(names[:3]), len(names) - 3
    return f"{shown} and {more} more" if more > 0 else shown


def _sweep(report: Report) -> SweepDocument | None:
    """Return the sweep that all the runs are of; None for one of a single run, and for none."""
    found = sweep_of(report.rests, report.runs)
    return found if found is not None and len(report.runs) > 1 else None


def _stored(runs: Sequence[RunResult], report: Report) -> ComparisonResult | None:
    """Return a few runs of the same work held against the first; None where that says nothing."""
    problems = {r.config.problem for r in runs}
    if len(runs) > MOST_TRACES or len(problems) > 1 or _sweep(report) is not None:
        return None
    return compare_runs(runs)


def _one_of_several(report: Report, result: RunResult, title: str) -> str:
    return section(
        title,
        paragraph(f"{config_words(result.config)} · {when_words(result.time_utc)}", "note"),
        parts.badges(result),
        parts.label(report.labels.get(result.id)),
        parts.figures(result),
        parts.repeat(result),
        parts.device(result),
        parts.environment(result),
    )


def _charts(report: Report, stored: ComparisonResult | None) -> list[Callable[[], ChartSpec]]:
    runs = list(report.runs)
    drawn = [r for r in ranked(runs) if r.timing.median_s > 0][:MOST_BARS]
    found: list[Callable[[], ChartSpec]] = []
    sweep = _sweep(report)
    if sweep is not None and len(drawn) > 1:
        found.append(partial(chart_of_sweep, sweep.outcomes))
    elif len({r.config.workload for r in drawn}) == 1 and len(drawn) > 1:
        found.append(partial(sweep_chart, drawn))
    if stored is not None:
        found.insert(0, partial(comparison_chart, stored))
    elif 1 < len(runs) <= MOST_TRACES:
        found.append(partial(run_chart, runs[0], runs[1:], traffic=False))
    return found


def _on_comparison(result: ComparisonResult, report: Report) -> tuple[str, str]:
    reference = result.contestants[result.reference]
    title = f"Comparison with {reference.label}"
    how = plural(
        result.rounds,
        "Measured in {number} turn each, in one session.",
        "Measured in {number} turns each, in one session.",
    )
    if result.rested:
        how = (
            f"Measured in up to {result.rounds} turns, in one session; one whose verdict was "
            "clear took no more."
        )
    runs = [one.run for one in result.contestants]
    body = paragraph(how, "lead") if result.interleaved else ""
    body += sheet_sections(comparison_sheet(result))
    charts = [figure(partial(comparison_chart, result), 1)]
    if result.interleaved and len(runs) <= MOST_TRACES:
        charts.append(figure(partial(run_chart, runs[0], runs[1:], traffic=False), 2))
    body += section("Charts", *charts)
    return title, body + "".join(
        _one_of_several(report, one.run, one.label) for one in result.contestants
    )


# ---- the page itself


def _attached(
    runs: Sequence[RunResult],
    comparison: ComparisonResult | None,
    study: Study | None,
    others: Sequence[RunResult],
) -> str:
    """Return the links to the runs, which stand in the page itself; ``others`` have their own."""
    if study is not None:
        links = _link(study_json(study), "study", len(study.runs))
        links += _link(*_runs_data(others), len(others)) if others else ""
    elif comparison is not None:
        links = _link(comparison_json(comparison), "comparison", len(runs))
    else:
        links = _link(*_runs_data(runs), len(runs))
    return links + paragraph("'gpuexplorer import' reads the unpacked file.", "note")


def _runs_data(runs: Sequence[RunResult]) -> tuple[bytes, str]:
    """Return the document of runs, and the name of its file."""
    return (run_json(runs[0]), "run") if len(runs) == 1 else (runs_json(runs), "runs")


def _link(data: bytes, name: str, number: int) -> str:
    """Return a link that holds a document of so many runs."""
    packed = gzip.compress(data, 6, mtime=0)
    link = f"data:application/gzip;base64,{base64.b64encode(packed).decode()}"
    words = plural(
        number,
        "{name}.json.gz, {KiB:.0f} KiB, every sample of {number} run",
        "{name}.json.gz, {KiB:.0f} KiB, every sample of {number} runs",
        name=name,
        KiB=len(packed) / 1024,
    )
    return f'<p><a download="{name}.json.gz" href="{link}">{told(words)}</a></p>\n'
