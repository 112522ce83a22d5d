"""A study as a table: a row for each configuration, with its figures or why it has none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpuexplorer.core.comparison import Comparison
from gpuexplorer.core.studies import (
    Measured,
    PrecisionPoint,
    PrecisionStudy,
    SizePoint,
    Speedup,
    SpeedupStudy,
    Study,
    SwitchesStudy,
    SwitchValue,
)
from gpuexplorer.exchange.csv_table import write_table

FIGURES = (
    "run", "time_s", "ci95_low_s", "ci95_high_s", "flop_per_s", "rms_rel_error", "max_rel_error",
    "tolerance", "wrong", "memory_B", "suspect",
)  # fmt: skip
RATIO = ("ratio", "ratio_ci95_low", "ratio_ci95_high", "verdict")
PRECISION = ("precision", *FIGURES, *RATIO, "ran", "accumulates_in", "fallback", "front", "skipped")
SWITCHES = ("part", "switch", "value", *FIGURES, *RATIO, "kept", "skipped")
SPEEDUP = (
    "size", "device", "transfers", *FIGURES, "speedup", "speedup_ci95_low", "speedup_ci95_high",
    "skipped",
)  # fmt: skip
Row = tuple[Any, ...]


def write_study_csv(study: Study, path: Path) -> None:
    """Write a study as CSV; InputError when the file cannot be written.

    Times are in seconds, ``ratio`` is the time over the reference's, what is not known is empty.
    """
    write_table(path, *table_of(study))


def table_of(study: Study) -> tuple[tuple[str, ...], list[Row]]:
    """Return a study's columns and rows."""
    if isinstance(study, PrecisionStudy):
        return PRECISION, [_precision(point) for point in study.points]
    if isinstance(study, SwitchesStudy):
        return SWITCHES, list(_switches(study))
    return SPEEDUP, [row for point in study.points for row in _sizes(point, study)]


def _figures(measured: Measured | None) -> Row:
    if measured is None:
        return (None,) * len(FIGURES)
    return tuple(getattr(measured, name) for name in FIGURES)


def _ratio(found: Comparison | None) -> Row:
    if found is None:
        return (None,) * len(RATIO)
    return found.ratio, found.ci95_low, found.ci95_high, found.verdict


def _precision(point: PrecisionPoint) -> Row:
    return (
        point.precision, *_figures(point.measured), *_ratio(point.against), point.ran,
        point.accumulates_in, point.fallback, point.front, point.skipped,
    )  # fmt: skip


def _switches(study: SwitchesStudy) -> Iterator[Row]:
    def row(
        part: str,
        switch: str,
        value: SwitchValue | None,
        measured: Measured | None,
        effect: Comparison | None,
        kept: bool | None = None,
        reason: str | None = None,
    ) -> Row:
        return part, switch, value, *_figures(measured), *_ratio(effect), kept, reason

    yield row("baseline", "", None, study.baseline, None)
    for one in study.alone:
        yield row("alone", one.switch, one.value, one.measured, one.effect, None, one.skipped)
    for step in study.added:
        yield row("added", step.switch, step.value, step.measured, step.effect, step.kept,
                  step.reason or None)  # fmt: skip
    for one in study.shares if len(study.shares) > 1 else ():
        yield row("share", one.switch, one.value, one.measured, one.effect)
    if study.together is not None:
        names = " ".join(f"{name}={value}" for name, value in study.combination.items())
        yield row("combination", names, None, study.together, study.total)
        yield row("combining", names, None, None, study.combining)
    for title, reason in study.not_offered.items():
        yield row("not offered", title, None, None, None, None, reason)


def _sizes(point: SizePoint, study: SpeedupStudy) -> Iterator[Row]:
    parts: tuple[tuple[str, str, bool, Measured | None, Speedup | None], ...] = (
        ("first", study.first.device, False, point.first, None),
        ("second", study.second.device, False, point.second, point.speedup),
        ("second_with", study.second.device, True, point.second_with, point.speedup_with),
    )
    for name, device, transfers, measured, found in parts:
        speed: Row = (None,) * 3
        if found is not None:
            speed = (found.factor, found.ci95_low, found.ci95_high)
        yield (
            point.value, device, transfers, *_figures(measured), *speed, point.skipped.get(name)
        )  # fmt: skip
