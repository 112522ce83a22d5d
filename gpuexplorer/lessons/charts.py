"""The charts of a lesson: what was measured, and the guess beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from gpuexplorer.charts.comparison import comparison_chart
from gpuexplorer.charts.spec import Axis, ChartSpec, Panel, Series, series
from gpuexplorer.charts.words import config_parts
from gpuexplorer.core.accesses import SECTOR_B, AccessProfile
from gpuexplorer.core.units import percent
from gpuexplorer.lessons.lesson import Lesson
from gpuexplorer.lessons.manifest import UNITS, Figure, Quantity, Range
from gpuexplorer.lessons.measured import (
    Compared,
    Compiled,
    Counted,
    Measured,
    Studied,
    Value,
    chosen_rows,
    figure_words,
    range_words,
    row_quantity,
    run_quantity,
    unit_of,
)
from gpuexplorer.lessons.measuring import short_labels
from gpuexplorer.lessons.outcome import QUANTITY_WORDS
from gpuexplorer.results.accesses import caveat
from gpuexplorer.studies import chart_of

ROOM = 0.3
"""Right of the longest stem, for its words, as a share of it."""
GUESSED, MEASURED = "your guess", "measured here"


def measured_chart(measured: Measured) -> ChartSpec:
    """Return the chart of a measurement, as the view of its kind draws it."""
    if isinstance(measured, Compared):
        drawn = measured.shows in ("flop_rate", "bandwidth")
        return _rates(measured) if drawn else comparison_chart(measured.result)
    if isinstance(measured, Studied):
        return chart_of(measured.study)
    if isinstance(measured, Counted):
        return _accesses(measured)
    assert isinstance(measured, Compiled)
    return _compiled(measured)


def _rates(measured: Compared) -> ChartSpec:
    """Return a rate of each contestant, which do not all do the same work."""
    quantity = measured.shows
    runs = [(one.label, run_quantity(one.run, quantity)) for one in measured.result.contestants]
    known = [(label, value) for label, value in runs if value is not None]
    values = [value for _, value in known]
    unit = UNITS[quantity]
    panel = _stems(
        QUANTITY_WORDS[quantity], QUANTITY_WORDS[quantity].lower(), [label for label, _ in known],
        values, [figure_words(value, unit) for value in values], unit,
    )  # fmt: skip
    return ChartSpec(title=QUANTITY_WORDS[quantity], rows=((panel,),))


def _accesses(measured: Counted) -> ChartSpec:
    """Return what a warp asks for: for each array, or in all where that is what is counted."""
    quantity, profiles = measured.shows, measured.profiles
    names = measured.names or short_labels([profile.config for profile in profiles])
    bars: list[tuple[str, float]] = []
    for name, word, profile in zip(names, measured.words, profiles, strict=True):
        if quantity in BY_ROW:
            rows = chosen_rows(profile, quantity, None, None)
            if not rows:  # it asks for nothing
                bars.append((name, 0.0))
            for row in rows:
                each = row_quantity([row], quantity)
                bars.append((f"{name} · {row.array} {row.kind}", each or 0.0))
        else:
            figure = Figure(measure="", quantity=cast("Quantity", quantity), of=word)
            bars.append((name, measured.quantity_of(word, figure) or 0.0))
    words = [figure_words(value, UNITS.get(quantity, "")) for _, value in bars]
    panel = _stems(
        QUANTITY_WORDS[quantity], AXES.get(quantity, ""), [name for name, _ in bars],
        [value for _, value in bars], words, UNITS.get(quantity, ""),
    )  # fmt: skip
    return ChartSpec(
        title="What a warp asks of memory",
        subtitle=_shared(profiles),
        rows=((panel,),),
        notes=(caveat(profiles[0]),),
    )


BY_ROW = ("sectors", "passes", "lanes", "requests")
"""Quantities that differ from place to place in the source."""
AXES = {
    "sectors": f"sectors of {SECTOR_B} B a request",
    "passes": "passes through the banks a request",
    "lanes": "lanes that take part in a request",
    "read_bytes": "bytes that all threads read",
}
"""What the axis says, where it says more than the title."""


def _shared(profiles: Sequence[AccessProfile]) -> str:
    """Return what the configurations have in common."""
    parts = [config_parts(profile.config) for profile in profiles]
    same = [v for name, v in parts[0].items() if v and all(p[name] == v for p in parts)]
    return " · ".join(same)


def _compiled(measured: Compiled) -> ChartSpec:
    """Return registers and occupancy of each kernel."""
    names = [
        f"{word} · {kernel.threads_per_block} threads"
        for word, kernel in zip(measured.names or measured.words, measured.kernels, strict=True)
    ]
    registers = [float(kernel.registers_per_thread) for kernel in measured.kernels]
    rows = [(_stems("Registers", "registers a thread", names, registers),)]
    known = [
        (name, kernel.occupancy)
        for name, kernel in zip(names, measured.kernels, strict=True)
        if kernel.occupancy is not None
    ]
    if known:
        shares = [share for _, share in known]
        panel = _stems(
            "Occupancy", "share of the warps that a multiprocessor can hold",
            [name for name, _ in known], shares, words=[percent(share) for share in shares],
        )  # fmt: skip
        rows.append((panel,))
    arch = measured.kernels[0].arch
    return ChartSpec(
        title="What the compiler made of it",
        subtitle=arch,
        rows=tuple(rows),
        notes=(f"Compiled for {arch}; nothing of it ran.",),
    )


def _stems(
    title: str,
    label: str,
    names: Sequence[str],
    values: Sequence[float],
    words: Sequence[str] = (),
    unit: str = "",
) -> Panel:
    """Return a bar for each name."""
    longest = max(values, default=1.0) or 1.0
    return Panel(
        title=title,
        x=Axis(label=label, unit=unit, low=0.0, high=longest * (1 + ROOM)),
        y=Axis(label="", categories=tuple(names), low=-0.6, high=len(names) - 0.4),
        series=(
            series(
                "", "stems", "measured", x=range(len(values)), y=values, sideways=True,
                labels=tuple(words or (f"{value:.3g}" for value in values)),
            ),
        ),
        height=0.35 + 0.14 * len(values),
    )  # fmt: skip


# ---- the guess


def guess_chart(lesson: Lesson, guess: str | float | None, value: Value) -> ChartSpec:
    """Return the guess beside the figure: a range or a point above what was measured."""
    manifest = lesson.manifest
    figure = manifest.figures[manifest.guess.figure]
    unit = unit_of(figure)
    ends = _ends(lesson, guess, value)
    low, high = min(ends), max(ends)
    log = low > 0 and high / low > 4
    low, high = _wider(low, high, log=log)
    drawn = []
    if isinstance(guess, str):
        chosen = next((one for one in manifest.guess.choices if one.name == guess), None)
        if chosen is not None:
            drawn.append(_range_mark(chosen, unit, low, high))
    elif guess is not None:
        words = figure_words(float(guess), unit)
        drawn.append(
            series("", "points", "model", colour=3, x=[float(guess)], y=[0], sideways=True,
                   low=[float(guess)], high=[float(guess)], labels=(words,))
        )  # fmt: skip
    drawn.append(
        series(
            "", "points", "measured", colour=0, x=[value.number], y=[1], sideways=True,
            low=[max(low, value.low if value.low is not None else value.number)],
            high=[min(high, value.high if value.high is not None else value.number)],
            labels=(value.words,),
        )
    )  # fmt: skip
    panel = Panel(
        x=Axis(label=_axis_words(figure), unit=unit or "", scale="log" if log else "linear",
               low=low, high=high),
        y=Axis(label="", categories=(GUESSED, MEASURED), low=-0.6, high=1.6),
        series=tuple(drawn),
    )  # fmt: skip
    return ChartSpec(title=lesson.text.title, rows=((panel,),))


def _axis_words(figure: Figure) -> str:
    if figure.over is not None:
        return "how many times as much"
    return AXES.get(figure.quantity, QUANTITY_WORDS[figure.quantity])


def _range_mark(chosen: Range, unit: str | None, low: float, high: float) -> Series:
    """Return the range of a choice as a point with an interval."""
    first = max(low, chosen.at_least if chosen.at_least is not None else low)
    last = min(high, chosen.at_most if chosen.at_most is not None else high)
    middle = math.sqrt(first * last) if first > 0 else (first + last) / 2
    return series(
        "", "points", "model", colour=3, x=[middle], y=[0], sideways=True, low=[first],
        high=[last], labels=(range_words(chosen, unit),),
    )  # fmt: skip


def _ends(lesson: Lesson, guess: str | float | None, value: Value) -> list[float]:
    """Return everything that the axis has to hold."""
    found = [value.number, value.low, value.high]
    if value.unit is None:
        found.append(1.0)
    for one in lesson.manifest.guess.choices:
        found += [one.at_least, one.at_most]
    if isinstance(guess, int | float):
        found.append(float(guess))
    return [float(end) for end in found if end is not None]


def _wider(low: float, high: float, *, log: bool) -> tuple[float, float]:
    """Return an axis with room at both ends, more at the right, where words stand."""
    if log:
        span = math.log(high / low)
        return low * math.exp(-0.12 * span), high * math.exp(0.5 * span)
    span = (high - low) or abs(high) or 1.0
    return low - 0.1 * span, high + 0.5 * span
