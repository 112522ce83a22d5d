"""A study as tables for the terminal, with what a reader should know of it below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpuexplorer.charts.comparison import interval_words
from gpuexplorer.charts.studies_switches import bars_of, combining_words
from gpuexplorer.charts.studies_words import (
    effect_words,
    factor_words,
    speedup_words,
    subject,
    time_words,
    times,
)
from gpuexplorer.core.studies import (
    Measured,
    PrecisionPoint,
    PrecisionStudy,
    SpeedupStudy,
    Study,
    SwitchesStudy,
)
from gpuexplorer.core.units import quantity

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def print_study(study: Study, console: Console) -> None:
    """Print a study."""
    from rich.text import Text

    console.print(Text(study.title, style="bold"))
    if isinstance(study, SpeedupStudy):
        console.print(Text(f"{study.first.label} and {study.second.label}", style="dim"))
    else:
        without = ("precision",) if isinstance(study, PrecisionStudy) else ()
        console.print(Text(subject(study.config, without=without), style="dim"))
    console.print(Text(f"{study.device}\n", style="dim"))
    if isinstance(study, PrecisionStudy):
        _precision(study, console)
    elif isinstance(study, SwitchesStudy):
        _switches(study, console)
    else:
        _speedup(study, console)
    console.print()
    for note in study.notes:
        console.print(Text(note, style="dim"))


def _table(heads: Sequence[str], right: int) -> Table:
    """Return a table whose columns from the second on are at the right, ``right`` of them."""
    from rich.table import Table

    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for place, head in enumerate(heads):
        figures = 1 <= place <= right
        table.add_column(head, justify="right" if figures else "left", no_wrap=figures,
                         overflow="fold")  # fmt: skip
    return table


def error_words(value: float | None) -> str:
    """Return an error with two digits."""
    return "–" if value is None else f"{value:.1e}" if value else "0"


def _precision(study: PrecisionStudy, console: Console) -> None:
    table = _table(
        ("precision", "time", f"speed over {study.reference}", "error", "largest", "added up in",
         "remarks"), 4,
    )  # fmt: skip
    for point in study.points:
        measured = point.measured
        if measured is None:
            table.add_row(point.precision, "–", "–", "–", "–", "", point.skipped or "",
                          style="dim")  # fmt: skip
            continue
        speed = times(1 / point.against.ratio) if point.against is not None else ""
        table.add_row(
            point.precision, time_words(measured), speed, error_words(measured.rms_rel_error),
            error_words(measured.max_rel_error), point.accumulates_in or "",
            "; ".join(_remarks(point, study)),
        )  # fmt: skip
    console.print(table)


def _remarks(point: PrecisionPoint, study: PrecisionStudy) -> list[str]:
    found = []
    if point.precision == study.reference:
        found.append("reference")
    if point.front:
        found.append("on the Pareto front")
    measured = point.measured
    if measured is not None and measured.wrong:
        found.append(f"above the workload's tolerance of {error_words(measured.tolerance)}")
    if measured is not None and measured.suspect is not None:
        found.append(f"cannot be true: {measured.suspect}")
    if point.fallback is not None:
        found.append(point.fallback)
    return found


def _switches(study: SwitchesStudy, console: Console) -> None:
    from rich.text import Text

    memory = any(m is not None and m.memory_B is not None
                 for m in (study.baseline, *(one.measured for one in study.alone)))  # fmt: skip
    heads = ["by itself", "time", "effect", "95 % of the time ratio"]
    table = _table([*heads, "peak memory"] if memory else heads, 4)
    rows: list[list[str]] = [["baseline", time_words(study.baseline), "", ""]]
    figures: list[Measured | None] = [study.baseline]
    for one in study.alone:
        effect = one.effect
        words = one.skipped or effect_words(effect)
        interval = interval_words(effect.ci95_low, effect.ci95_high) if effect is not None else ""
        rows.append([one.title, time_words(one.measured), words, interval])
        figures.append(one.measured)
    for row, found in zip(rows, figures, strict=True):
        known = found is not None and found.memory_B is not None
        last = [quantity(found.memory_B, "B") if found is not None and known else "–"]
        table.add_row(*row, *(last if memory else []))
    console.print(table)
    if study.not_offered:
        console.print(Text("\nNot offered here:", style="dim"))
    for title, reason in study.not_offered.items():
        console.print(Text(f"  {title}: {reason}", style="dim"))
    if not study.combination:
        console.print(Text("\nNo switch pays by itself, so there is nothing to combine."))
        return
    console.print()
    waterfall = _table(("what each bought", "time", "effect"), 2)
    for bar in bars_of(study):
        waterfall.add_row(bar.label, quantity(bar.end_s, "s"), "" if bar.total else bar.words)
    console.print(waterfall)
    if study.total is not None:
        interval = interval_words(study.total.ci95_low, study.total.ci95_high)
        console.print(
            Text(f"Together {factor_words(study.total)} (time over the baseline's: {interval}).")
        )
    if study.combining is not None:
        console.print(Text(f"Combining them {combining_words(study)}."))
    for step in study.added:
        if not step.kept:
            console.print(Text(f"{step.title} was left out: {step.reason}", style="dim"))


def _speedup(study: SpeedupStudy, console: Console) -> None:
    from rich.text import Text

    table = _table(
        (study.symbol, study.first.device, study.second.device, "with transfers", "speed-up",
         "with transfers"), 5,
    )  # fmt: skip
    for point in study.points:
        table.add_row(
            str(point.value), time_words(point.first), time_words(point.second),
            time_words(point.second_with), speedup_words(point.speedup),
            speedup_words(point.speedup_with),
        )  # fmt: skip
    console.print(table)
    console.print()
    for point in study.points:
        for reason in dict.fromkeys(point.skipped.values()):
            console.print(Text(f"{study.symbol} = {point.value}: {reason}", style="dim"))
    for found in (study.break_even, study.break_even_with):
        if found is not None:
            console.print(Text(found.words))
