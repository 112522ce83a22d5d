"""The page on a study: its chart, its tables, and what a reader should know of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from gpuexplorer.charts.comparison import interval_words
from gpuexplorer.charts.studies import can_draw, study_chart
from gpuexplorer.charts.studies_words import (
    effect_words,
    factor_words,
    speedup_words,
    subject,
    time_words,
    times,
)
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.studies import (
    STUDY_SCHEMA,
    Measured,
    PrecisionStudy,
    SpeedupStudy,
    Study,
    SwitchesStudy,
    with_runs,
)
from gpuexplorer.core.units import quantity
from gpuexplorer.report.figure import figure
from gpuexplorer.report.html import bullets, paragraph, section, table


def study_of(rests: Sequence[Mapping[str, Any]], runs: Sequence[RunResult]) -> Study | None:
    """Return the study that some runs are the runs of; None when they are of none."""
    for rest in rests:
        if rest.get("schema") != STUDY_SCHEMA:
            continue
        try:
            study = with_runs(rest, runs)
        except InputError:
            continue
        if {run.id for run in runs} <= ids_of(study):
            return study
    return None


def ids_of(study: Study) -> set[str]:
    """Return the ids of the runs that a study's figures speak of."""
    found: list[Measured | None]
    if isinstance(study, PrecisionStudy):
        found = [point.measured for point in study.points]
    elif isinstance(study, SwitchesStudy):
        found = [study.baseline, study.beside, study.together]
        found += [one.measured for one in (*study.alone, *study.shares)]
        found += [m for step in study.added for m in (step.before, step.measured)]
    else:
        found = [m for p in study.points for m in (p.first, p.second, p.second_with)]
    return {measured.run for measured in found if measured is not None}


def on_study(study: Study) -> tuple[str, str]:
    """Return the page's title and body, without what stands on every page."""
    if isinstance(study, SpeedupStudy):
        about = f"{study.first.label} and {study.second.label}"
    else:
        without = ("precision",) if isinstance(study, PrecisionStudy) else ()
        about = subject(study.config, without=without)
    body = paragraph(f"{about} · {study.device} · {study.time_utc}", "lead")
    if can_draw(study):
        body += section("Chart", figure(partial(study_chart, study), 1))
    if isinstance(study, PrecisionStudy):
        body += _precision(study)
    elif isinstance(study, SwitchesStudy):
        body += _switches(study)
    else:
        body += _speedup(study)
    return study.title, body + section("How it was measured", bullets(study.notes))


def _error(value: float | None) -> str | None:
    return None if value is None else f"{value:.2e}" if value else "0"


def _precision(study: PrecisionStudy) -> str:
    heads = (
        "precision", "time", f"speed over {study.reference}", "‖error‖ / ‖reference‖",
        "largest error", "allowed", "ran as", "added up in", "on the front",
    )  # fmt: skip
    rows = [
        (
            point.title,
            time_words(point.measured),
            times(1 / point.against.ratio) if point.against is not None else None,
            _error(point.measured.rms_rel_error),
            _error(point.measured.max_rel_error),
            _error(point.measured.tolerance) if not point.measured.wrong
            else f"{_error(point.measured.tolerance)}, and it is above",
            point.ran,
            point.accumulates_in,
            "yes" if point.front else "no",
        )
        for point in study.points
        if point.measured is not None
    ]  # fmt: skip
    told = [point.fallback for point in study.points if point.fallback is not None]
    left = [f"{p.title}: {p.skipped}" for p in study.points if p.skipped is not None]
    return (
        section("Precisions", table(rows, heads, "runs"), bullets(told))
        + section("Not measured", bullets(left))
    )  # fmt: skip


def _switches(study: SwitchesStudy) -> str:
    heads = ("switch", "time", "effect", "time over the baseline's, 95 %", "peak memory")
    rows: list[tuple[str | None, ...]] = [
        ("baseline", time_words(study.baseline), None, None, _memory(study.baseline))
    ]
    for one in study.alone:
        effect = one.effect
        interval = interval_words(effect.ci95_low, effect.ci95_high) if effect else None
        words = effect_words(effect) if one.skipped is None else f"not measured: {one.skipped}"
        rows.append((one.title, time_words(one.measured), words, interval, _memory(one.measured)))
    steps = [
        (
            step.title,
            time_words(step.measured),
            factor_words(step.effect) if step.effect is not None else None,
            "kept" if step.kept else step.reason,
        )
        for step in study.added
    ]
    names = ("added", "time with it", "over those before it", "and then")
    left = [f"{title}: {reason}" for title, reason in study.not_offered.items()]
    return (
        section("Each by itself", table(rows, heads, "runs"))
        + (section("Put together", table(steps, names, "runs")) if steps else "")
        + section("Not offered", bullets(left))
    )


def _memory(measured: Measured | None) -> str | None:
    if measured is None or measured.memory_B is None:
        return None
    return quantity(measured.memory_B, "B")


def _speedup(study: SpeedupStudy) -> str:
    heads = (
        study.symbol, study.first.label, study.second.label, "with transfers", "speed-up",
        "with transfers", "not measured",
    )  # fmt: skip
    rows = [
        (
            point.value,
            time_words(point.first),
            time_words(point.second),
            time_words(point.second_with),
            speedup_words(point.speedup),
            speedup_words(point.speedup_with),
            "; ".join(dict.fromkeys(point.skipped.values())) or None,
        )
        for point in study.points
    ]
    found = [one.words for one in (study.break_even, study.break_even_with) if one is not None]
    return section("Break-even", bullets(found)) + section("Sizes", table(rows, heads, "runs"))
