"""The panels of a sweep's chart: heat maps, lines, and bars."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from gpuexplorer.charts.colours import shared_prefix
from gpuexplorer.charts.spec import Annotation, Axis, Panel, Series, series
from gpuexplorer.charts.sweep_points import CANNOT_BE_TRUE, Points
from gpuexplorer.core.axis_words import axis_title, named_value, value_words, values_words
from gpuexplorer.core.sweep import Outcome, values_at
from gpuexplorer.core.units import percent, quantity, ratio

LOG_ABOVE = 8.0
"""Values this many times apart go on a logarithmic scale."""
MOST_BARS = 40
MOST_WORDS = 24
"""Points of lines that have words beside them."""
CELL_HEIGHT = 0.075


# ---- lines


def lines(points: Points, x: str, by_line: Sequence[str], title: str, height: float) -> Panel:
    """Return one line for each combination of ``by_line``, against a number."""
    drawn: list[Series] = []
    for colour, (key, group) in enumerate(points.groups(by_line)):
        drawn += _line(group, x, _names(dict(zip(by_line, key, strict=True))), colour)
    return _lines_panel(points, x, drawn, title, height)


def fastest_lines(
    points: Points, x: str, over: Sequence[str], by_line: Sequence[str], height: float
) -> Panel:
    """Return lines of the best over the values of ``over`` at each x, which are named."""
    kept: list[int] = []
    for _, group in points.groups((x, *by_line)):
        if group.found:
            best = group.metric.best(group.metric.of(run) for _, run in group.found)
            kept.append(next(n for n, run in group.found if group.metric.of(run) == best))
    best_points = replace(points, numbers=np.array(kept, np.intp))
    named = over if len(kept) <= MOST_WORDS else ()
    drawn: list[Series] = []
    for colour, (key, group) in enumerate(best_points.groups(by_line)):
        drawn += _line(group, x, _names(dict(zip(by_line, key, strict=True))), colour, named)
    return _lines_panel(best_points, x, drawn, "The best block of each", height)


def _line(
    points: Points, x: str, name: str, colour: int, named: Sequence[str] = ()
) -> list[Series]:
    """Return a line with its points; the values of the axes in ``named`` stand beside them."""
    found = [(values_at(points.axes, number), number, run) for number, run in points.found]
    if not found:
        return []
    found.sort(key=lambda one: one[0][x])
    xs = [float(values[x]) for values, *_ in found]
    ys = [points.metric.of(run) for *_, run in found]
    drawn = []
    if len(xs) > 1:
        lows, highs = zip(*(points.metric.interval(run) for *_, run in found), strict=True)
        drawn.append(series("", "band", "measured", x=xs, y=[*lows, *highs], colour=colour))
        drawn.append(series(name, "line", "measured", x=xs, y=ys, colour=colour))
    drawn.append(
        series(
            "" if len(xs) > 1 else name, "points", "measured", x=xs, y=ys, colour=colour,
            labels=tuple(
                values_words({n: values[n] for n in named}).removeprefix("block ")
                for values, *_ in found
            ) if named else (),
            keys=tuple(str(number) for _, number, _ in found),
        )
    )  # fmt: skip
    return drawn


def _lines_panel(points: Points, x: str, drawn: list[Series], title: str, height: float) -> Panel:
    xs = sorted(map(float, points.axes[x]))
    low, high = points.value_range
    log_x = xs[0] > 0 and xs[-1] / xs[0] >= LOG_ABOVE
    metric = points.metric
    log_y = metric.unit != "%" and low > 0 and (high / low > LOG_ABOVE or x.startswith("size."))
    return Panel(
        title=title,
        x=Axis(
            label=axis_title(x),
            scale="log" if log_x else "linear",
            low=xs[0] / 1.08 if log_x else xs[0] - 0.03 * (xs[-1] - xs[0] or 1.0),
            high=xs[-1] * 1.08 if log_x else xs[-1] + 0.03 * (xs[-1] - xs[0] or 1.0),
            ticks=tuple(xs),
        ),
        y=Axis(
            label=metric.label,
            unit=metric.unit,
            scale="log" if log_y else "linear",
            low=low / 1.25 if log_y else 0.0,
            high=high * 1.25 if log_y else high * 1.08,
        ),
        series=tuple(drawn),
        height=height,
    )


# ---- heat maps


def heat_map(
    points: Points,
    x: str,
    y: str,
    title: str,
    value_range: tuple[float, float],
    *,
    with_scale: bool = True,
) -> Panel:
    """Return a heat map over two axes; the best cell is framed.

    One range of colours holds for all panels; ``with_scale`` has it drawn beside this row.
    """
    metric = points.metric
    columns, rows = points.places(x), points.places(y)
    low, high = value_range
    z = np.array([math.inf if points.outcomes[n] is None else math.nan for n in points.numbers])
    log = metric.unit != "%" and low > 0 and high / low > LOG_ABOVE
    colours = Axis(
        label=metric.label if with_scale else "",
        unit=metric.unit,
        scale="log" if log else "linear",
        low=low if low < high else low * 0.99,
        high=high if low < high else high * 1.01 or 1.0,
    )
    factor, _ = shared_prefix(colours)
    labels = [""] * len(z)
    at = np.searchsorted(points.numbers, [number for number, _ in points.found])
    values = [metric.of(run) for _, run in points.found]
    for place, value in zip(at, values, strict=True):
        z[place], labels[place] = value, _short(value * factor)
    drawn = [
        series(
            "", "heat", "measured", x=columns, y=rows, z=z,
            labels=tuple(labels), keys=tuple(map(str, points.numbers)),
        )
    ]  # fmt: skip
    if values:
        best = metric.best(values)
        framed = at[values.index(best)]
        drawn.append(
            series(
                f"best: {_value(best, metric.unit)}", "outline", "ceiling",
                x=[columns[framed]], y=[rows[framed]],
            )
        )  # fmt: skip
    return Panel(
        title=title,
        x=Axis(label=axis_title(x), categories=tuple(value_words(x, v) for v in points.axes[x])),
        y=Axis(label=axis_title(y), categories=tuple(value_words(y, v) for v in points.axes[y])),
        z=colours,
        series=tuple(drawn),
        height=max(0.55, 0.42 + CELL_HEIGHT * len(points.axes[y])),
    )


def _short(value: float) -> str:
    """Return three digits, without a unit."""
    return ratio(value, "").strip()


def _value(value: float, unit: str) -> str:
    return percent(value / 100) if unit == "%" else quantity(value, unit)


# ---- bars


def bars(points: Points, title: str) -> Panel:
    """Return one stem for each configuration, in order; the first ``MOST_BARS``."""
    metric, total = points.metric, len(points.numbers)
    points = replace(points, numbers=points.numbers[:MOST_BARS])
    values = {number: metric.of(run) for number, run in points.found}
    known = list(values.values()) or [1.0]
    low, high = min(known), max(known)
    log = metric.unit != "%" and low > 0 and high / low > LOG_ABOVE
    axis_low = low / 2 if log else 0.0
    if total > MOST_BARS:
        title = f"{title} (the first {MOST_BARS} of {total})".strip()
    return Panel(
        title=title,
        x=Axis(
            label=metric.label,
            unit=metric.unit,
            scale="log" if log else "linear",
            low=axis_low,
            high=high * (4.0 if log else 1.3),
        ),
        y=Axis(
            label="",
            low=-0.6,
            high=len(points.numbers) - 0.4,
            categories=tuple(_names(values_at(points.axes, int(n))) for n in points.numbers),
        ),
        series=(
            series(
                "", "stems", "measured", x=list(values), y=list(values.values()), sideways=True,
                labels=tuple(_value(v, metric.unit) for v in values.values()),
                keys=tuple(map(str, values)),
            ),
        ),
        annotations=tuple(
            Annotation(
                text=_why(points.outcomes[n]), x=axis_low * 1.05 if log else 0.01 * high, y=int(n)
            )
            for n in points.numbers
            if n not in values
        ),
        height=0.3 + 0.09 * len(points.numbers),
    )  # fmt: skip


def _why(outcome: Outcome) -> str:
    """Say in a few words why a configuration has no figure."""
    if outcome is None:
        return "not measured"
    return CANNOT_BE_TRUE if outcome == CANNOT_BE_TRUE else "cannot run"


def _names(values: Mapping[str, Any]) -> str:
    return ", ".join(named_value(name, value) for name, value in values.items())
