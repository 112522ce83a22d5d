"""What charts of times over sizes share: axes, and lines whose points carry intervals and runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gpuexplorer.charts.spec import Axis, ChartSpec, Panel, Role, Series, series
from gpuexplorer.core.studies import Measured, SizesStudy

MARGIN = 1.35
Point = tuple[float, float, float | None, float | None, str]
"""A size with a figure there, the ends of the figure's interval, and the run it stands for."""


def sizes_chart(
    study: SizesStudy,
    times: Sequence[Series],
    below: Sequence[Series],
    axis: Axis,
    *,
    height: float,
    notes: Sequence[str],
) -> ChartSpec:
    """Return times over sizes, and below them a panel with an ``axis`` and a ``height`` of its own.

    ``notes`` are what it came to.
    """
    upper = Panel(x=size_axis(study), y=times_axis(times), series=tuple(times))
    lower = Panel(x=size_axis(study), y=axis, series=tuple(below), height=height)
    reasons: dict[str, list[str]] = {}
    for point in study.points:
        for reason in dict.fromkeys(point.skipped.values()):
            reasons.setdefault(reason, []).append(str(point.value))
    skipped = [
        f"Not measured at {study.symbol} = {', '.join(values)}: {reason}."
        for reason, values in reasons.items()
    ]
    return ChartSpec(
        title=study.title, subtitle=study.device, rows=((upper,), (lower,)),
        notes=(*notes, *study.notes, *skipped),
    )  # fmt: skip


def size_axis(study: SizesStudy) -> Axis:
    """Return the axis of a study's sizes, each of which carries its number."""
    values = [float(point.value) for point in study.points] or [1.0, 2.0]
    low, high = min(values), max(values)
    reach = max(high / low, 2.0) ** 0.04
    symbol, title = study.symbol, study.symbol_title
    return Axis(
        label=title if symbol == title else f"{title} ({symbol})", scale="log",
        low=low / reach, high=high * reach, ticks=tuple(sorted(set(values))),
    )  # fmt: skip


def axis_around(drawn: Sequence[Series], label: str, unit: str = "") -> Axis:
    """Return the logarithmic axis of points and levels, all above 0, with room around them."""
    values = [float(y) for one in drawn for y in one.y if one.kind != "band"]
    low, high = min(values, default=1e-3) / MARGIN, max(values, default=1e-2) * MARGIN
    return Axis(label=label, unit=unit, scale="log", low=low, high=high)


def times_axis(drawn: Sequence[Series]) -> Axis:
    """Return the axis of some lines of times, in seconds."""
    return axis_around(drawn, "time per launch", "s")


def times_line(
    name: str, colour: int, role: Role, times: Sequence[tuple[int, Measured | None]]
) -> list[Series]:
    """Return times at sizes as a line with points; what was not measured is left out."""
    found = [(size, m) for size, m in times if m is not None and m.time_s > 0]
    points = [(size, m.time_s, m.ci95_low_s, m.ci95_high_s, m.run) for size, m in found]
    return line_of(name, colour, role, points)


def line_of(name: str, colour: int, role: Role, points: Sequence[Point]) -> list[Series]:
    """Return a line with its points; nothing where there are none."""
    if not points:
        return []
    xs, ys = [float(point[0]) for point in points], [point[1] for point in points]
    ends = [(low or math.nan, high or math.nan) for _, _, low, high, _ in points]
    return [
        series(name, "line", role, x=xs, y=ys, colour=colour),
        series(
            "", "points", role, x=xs, y=ys, colour=colour, low=[low for low, _ in ends],
            high=[high for _, high in ends], keys=tuple(key for *_, key in points),
        ),
    ]  # fmt: skip
