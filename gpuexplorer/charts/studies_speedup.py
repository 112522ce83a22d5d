"""Two devices over a range of sizes: times, speed-up, and where the second breaks even."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from gpuexplorer.charts.spec import Axis, ChartSpec, Panel, Role, Series, series
from gpuexplorer.charts.studies_words import size_words
from gpuexplorer.core.studies import BreakEven, Measured, SizePoint, Speedup, SpeedupStudy

FIRST, SECOND, EVEN = 0, 1, 3
"""Slots in the palette."""
MARGIN = 1.35


def speedup_chart(study: SpeedupStudy) -> ChartSpec:
    """Return the chart: both times against the size, and below them the speed-up."""
    first, second = study.first, study.second
    kinds = f"{first.label} against {second.label} · {second.precision}"
    fixed = ", ".join(
        f"{name} = {value}"
        for name, value in (study.points[0].size if study.points else {}).items()
        if name != study.symbol
    )
    return ChartSpec(
        title=study.title,
        subtitle="\n".join((" · ".join(p for p in (study.workload, kinds, fixed) if p),
                            study.device)),
        rows=((_times(study),), (_speedups(study),)),
        notes=tuple(_notes(study)),
    )  # fmt: skip


def size_axis(symbol: str, title: str, sizes: Sequence[int]) -> Axis:
    """Return the axis of some sizes of a symbol, each of which carries its number."""
    values = [float(size) for size in sizes] or [1.0, 2.0]
    low, high = min(values), max(values)
    reach = max(high / low, 2.0) ** 0.04
    return Axis(
        label=title if symbol == title else f"{title} ({symbol})", scale="log",
        low=low / reach, high=high * reach, ticks=tuple(sorted(set(values))),
    )  # fmt: skip


def times_axis(times_s: Sequence[float]) -> Axis:
    """Return the axis of some times above 0, in seconds, with room around them."""
    low, high = min(times_s, default=1e-3) / MARGIN, max(times_s, default=1e-2) * MARGIN
    return Axis(label="time per launch", unit="s", scale="log", low=low, high=high)


def _sizes(study: SpeedupStudy) -> Axis:
    return size_axis(study.symbol, study.symbol_title, [point.value for point in study.points])


def _times(study: SpeedupStudy) -> Panel:
    parts: tuple[tuple[str, int, Role, Callable[[SizePoint], Measured | None]], ...] = (
        (f"{study.first.label}, data at hand", FIRST, "measured", lambda p: p.first),
        (f"{study.second.label} without transfers", SECOND, "measured", lambda p: p.second),
        (f"{study.second.label} with transfers", SECOND, "transfer", lambda p: p.second_with),
    )
    drawn: list[Series] = []
    every: list[float] = []
    for name, colour, role, of in parts:
        found = [(p.value, of(p)) for p in study.points]
        every += [m.time_s for _, m in found if m is not None and m.time_s > 0]
        drawn += times_line(name, colour, role, found)
    times = times_axis(every)
    drawn += _marks(study, times.low or 0.0, times.high or 0.0)
    return Panel(
        x=_sizes(study),
        y=times,
        series=tuple(drawn),
    )


def _speedups(study: SpeedupStudy) -> Panel:
    parts: tuple[
        tuple[str, Role, Callable[[SizePoint], tuple[Speedup | None, Measured | None]]], ...
    ] = (
        ("without transfers", "measured", lambda p: (p.speedup, p.second)),
        ("with transfers", "transfer", lambda p: (p.speedup_with, p.second_with)),
    )
    drawn: list[Series] = [series("equally fast", "hline", "ceiling", y=[1.0])]
    every = [1.0]
    for name, role, of in parts:
        found = [
            (p.value, speed.factor, speed.ci95_low, speed.ci95_high, run.run if run else "")
            for p in study.points
            for speed, run in (of(p),)
            if speed is not None
        ]
        every += [factor for _, factor, *_ in found]
        drawn += _line(name, SECOND, role, found)
    low, high = min(every) / MARGIN, max(every) * MARGIN
    drawn += _marks(study, low, high, named=False)
    return Panel(
        x=_sizes(study),
        y=Axis(
            label=f"speed of {study.second.device} over {study.first.device}", scale="log",
            low=low, high=high,
        ),
        series=tuple(drawn),
        height=0.75,
    )  # fmt: skip


def times_line(
    name: str, colour: int, role: Role, times: Sequence[tuple[int, Measured | None]]
) -> list[Series]:
    """Return times at sizes as a line with points; what was not measured is left out."""
    found = [(size, m) for size, m in times if m is not None and m.time_s > 0]
    values = [(size, m.time_s, m.ci95_low_s, m.ci95_high_s, m.run) for size, m in found]
    return _line(name, colour, role, values)


def _line(
    name: str,
    colour: int,
    role: Role,
    values: Sequence[tuple[float, float, float | None, float | None, str]],
) -> list[Series]:
    """Return a line with its points, the interval of each, and the run that it stands for."""
    if not values:
        return []
    xs, ys = [float(v[0]) for v in values], [v[1] for v in values]
    ends = [(low or math.nan, high or math.nan) for _, _, low, high, _ in values]
    return [
        series(name, "line", role, x=xs, y=ys, colour=colour),
        series(
            "", "points", role, x=xs, y=ys, colour=colour, low=[low for low, _ in ends],
            high=[high for _, high in ends], keys=tuple(key for *_, key in values),
        ),
    ]  # fmt: skip


def _marks(study: SpeedupStudy, low: float, high: float, *, named: bool = True) -> list[Series]:
    """Return where the second device breaks even, with its interval."""
    drawn: list[Series] = []
    marks: tuple[tuple[BreakEven | None, Role, str], ...] = (
        (study.break_even, "measured", "without transfers"),
        (study.break_even_with, "transfer", "with transfers"),
    )
    for found, role, how in marks:
        if found is None or found.size is None:
            continue
        if found.low is not None and found.high is not None:
            drawn.append(
                series("", "band", "measured", x=[found.low, found.high],
                       y=[low, low, high, high], colour=EVEN)
            )  # fmt: skip
        words = f"break-even {how}, {study.symbol} ≈ {size_words(found.size)}" if named else ""
        drawn.append(series(words, "vline", role, x=[found.size], colour=EVEN))
    return drawn


def _notes(study: SpeedupStudy) -> list[str]:
    notes = [found.words for found in (study.break_even, study.break_even_with) if found]
    notes += study.notes
    reasons: dict[str, list[str]] = {}
    for point in study.points:
        for reason in dict.fromkeys(point.skipped.values()):
            reasons.setdefault(reason, []).append(str(point.value))
    notes += [
        f"Not measured at {study.symbol} = {', '.join(values)}: {reason}."
        for reason, values in reasons.items()
    ]
    return notes
