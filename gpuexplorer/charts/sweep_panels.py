"""The panels of a sweep's chart: heat maps, lines, and bars."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from gpuexplorer.charts.spec import Annotation, Axis, Panel, Series, series
from gpuexplorer.core.axis_words import axis_title, named_value, value_words, values_words
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sweep import SweepDocument
from gpuexplorer.core.units import quantity, ratio, si_scale

LOG_ABOVE = 8.0
"""Values this many times apart go on a logarithmic scale."""
MOST_BARS = 40
MOST_WORDS = 24
"""Points of lines that have words beside them."""
CELL_HEIGHT = 0.075
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Metric:
    """What is shown of a run: throughput where every run has it, else the time."""

    label: str
    unit: str
    higher_is_better: bool

    def of(self, run: RunResult) -> float:
        """Return a run's value in the unit."""
        if self.unit == "FLOP/s":
            return run.throughput.flop_per_s or math.nan
        if self.unit == "B/s":
            return run.throughput.bandwidth_B_per_s or math.nan
        return run.timing.median_s

    def interval(self, run: RunResult) -> tuple[float, float]:
        """Return the ends of its 95 % interval; its value twice without one."""
        value, timing = self.of(run), run.timing
        if timing.ci95_low_s is None or timing.ci95_high_s is None or timing.ci95_low_s <= 0:
            return value, value
        ends = (timing.ci95_low_s, timing.ci95_high_s)
        if not self.higher_is_better:
            return ends
        return value * timing.median_s / ends[1], value * timing.median_s / ends[0]

    def best(self, values: Iterable[float]) -> float:
        """Return the best of some values."""
        return max(values) if self.higher_is_better else min(values)


@dataclass(frozen=True)
class Points:
    """The measured points of a sweep, by the values of the axes that vary."""

    axes: dict[str, tuple[Any, ...]]
    found: list[tuple[Values, RunResult]]
    metric: Metric
    title: str = ""

    @classmethod
    def of(cls, document: SweepDocument) -> Points:
        """Return the points that may be shown: measured, and possible."""
        axes = {
            name: tuple(_hashable(v) for v in values)
            for name, values in document.axes.items()
            if len(values) > 1
        }
        found: list[tuple[Values, RunResult]] = [
            ({name: _hashable(value) for name, value in entry.values.items()}, entry.run)
            for entry in document.runs
            if entry.run is not None
        ]
        possible = [(v, r) for v, r in found if r.timing.suspect is None] or found
        return cls(axes, possible, _metric([r for _, r in possible]))

    @property
    def value_range(self) -> tuple[float, float]:
        """The least and the greatest value."""
        values = [v for _, r in self.found if math.isfinite(v := self.metric.of(r))]
        return min(values), max(values)

    def groups(self, names: Sequence[str]) -> dict[tuple[Any, ...], Points]:
        """Return the points for each combination of some axes' values, in the axes' order."""
        made: dict[tuple[Any, ...], list[tuple[Values, RunResult]]] = {}
        for values, run in self.found:
            made.setdefault(tuple(values[n] for n in names), []).append((values, run))
        places = {n: {v: i for i, v in enumerate(self.axes[n])} for n in names}
        ordered = sorted(
            made, key=lambda key: [places[n][v] for n, v in zip(names, key, strict=True)]
        )
        return {key: replace(self, found=made[key]) for key in ordered}


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _metric(runs: Sequence[RunResult]) -> Metric:
    if all(r.throughput.flop_per_s for r in runs):
        return Metric("useful operations over time", "FLOP/s", True)
    if all(r.throughput.bandwidth_B_per_s for r in runs):
        return Metric("compulsory bytes over time", "B/s", True)
    return Metric("time per launch", "s", False)


# ---- lines


def lines(points: Points, x: str, by_line: Sequence[str], title: str, height: float) -> Panel:
    """Return one line for each combination of ``by_line``, against a number."""
    drawn: list[Series] = []
    for colour, (key, group) in enumerate(points.groups(by_line).items()):
        drawn += _line(group, x, _names(by_line, key), colour)
    return _lines_panel(points, x, drawn, title, height)


def fastest_lines(
    points: Points, x: str, over: Sequence[str], by_line: Sequence[str], height: float
) -> Panel:
    """Return lines of the best over the values of ``over`` at each x."""
    kept: list[tuple[Values, RunResult]] = []
    for group in points.groups((x, *by_line)).values():
        best = group.metric.best(group.metric.of(r) for _, r in group.found)
        kept.append(next((v, r) for v, r in group.found if group.metric.of(r) == best))
    best_points = replace(points, found=kept)
    panel = lines(best_points, x, by_line, "The best block of each", height)
    if len(kept) > MOST_WORDS:
        return panel
    said = tuple(
        Annotation(
            text=values_words({n: values[n] for n in over}).removeprefix("block "),
            x=float(values[x]),
            y=points.metric.of(run) * 1.03,  # above the marker
        )
        for values, run in kept
    )
    return msgspec.structs.replace(panel, annotations=said)


def _line(points: Points, x: str, name: str, colour: int) -> list[Series]:
    found = sorted(points.found, key=lambda p: p[0][x])
    xs = [float(v[x]) for v, _ in found]
    ys = [points.metric.of(r) for _, r in found]
    ends = [points.metric.interval(r) for _, r in found]
    drawn = []
    if len(xs) > 1:
        lows, highs = zip(*ends, strict=True)
        drawn.append(series("", "band", "measured", x=xs, y=[*lows, *highs], colour=colour))
        drawn.append(series(name, "line", "measured", x=xs, y=ys, colour=colour))
    drawn.append(
        series("" if len(xs) > 1 else name, "points", "measured", x=xs, y=ys, colour=colour)
    )
    return drawn


def _lines_panel(points: Points, x: str, drawn: list[Series], title: str, height: float) -> Panel:
    xs = sorted({float(v[x]) for v, _ in points.found})
    low, high = points.value_range
    log_x = xs[0] > 0 and xs[-1] / xs[0] >= LOG_ABOVE
    log_y = low > 0 and (high / low > LOG_ABOVE or x.startswith("size."))
    metric = points.metric
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

    One range of colours holds for all panels; ``with_scale`` has it drawn beside this one.
    """
    metric = points.metric
    columns = {value: i for i, value in enumerate(points.axes[x])}
    rows = {value: i for i, value in enumerate(points.axes[y])}
    cells = {(columns[v[x]], rows[v[y]]): metric.of(r) for v, r in points.found}
    best = metric.best(cells.values())
    framed = next(place for place, value in cells.items() if value == best)
    low, high = value_range
    factor, _ = si_scale(high)
    return Panel(
        title=title,
        x=Axis(label=axis_title(x), categories=tuple(value_words(x, v) for v in columns)),
        y=Axis(label=axis_title(y), categories=tuple(value_words(y, v) for v in rows)),
        z=Axis(
            label=metric.label if with_scale else "",
            unit=metric.unit,
            scale="log" if low > 0 and high / low > LOG_ABOVE else "linear",
            low=low if low < high else low * 0.99,
            high=high if low < high else high * 1.01 or 1.0,
        ),
        series=(
            series(
                "", "heat", "measured",
                x=[place[0] for place in cells], y=[place[1] for place in cells],
                z=list(cells.values()),
                labels=tuple(_short(value * factor) for value in cells.values()),
            ),
            series(
                f"best: {quantity(best, metric.unit)}", "outline", "ceiling",
                x=[framed[0]], y=[framed[1]],
            ),
        ),
        height=max(0.55, 0.42 + CELL_HEIGHT * len(rows)),
        width=1.16 if with_scale else 1.0,
    )  # fmt: skip


def _short(value: float) -> str:
    """Return three digits, without a unit."""
    return ratio(value, "").strip()


# ---- bars


def bars(points: Points, names: Sequence[str], title: str) -> Panel:
    """Return one stem for each combination of names, in order; the first ``MOST_BARS``."""
    metric = points.metric
    groups = list(points.groups(names).items())
    shown = [(key, group.found[0][1]) for key, group in groups[:MOST_BARS]]
    values = np.array([metric.of(run) for _, run in shown])
    low, high = float(values.min()), float(values.max())
    log = low > 0 and high / low > LOG_ABOVE
    if len(groups) > MOST_BARS:
        title = f"{title} (the first {MOST_BARS} of {len(groups)})".strip()
    return Panel(
        title=title,
        x=Axis(
            label=metric.label,
            unit=metric.unit,
            scale="log" if log else "linear",
            low=low / 2 if log else 0.0,
            high=high * (4.0 if log else 1.3),
        ),
        y=Axis(
            label="",
            low=-0.6,
            high=len(shown) - 0.4,
            categories=tuple(_names(names, key) for key, _ in shown),
        ),
        series=(
            series(
                "", "stems", "measured", x=range(len(shown)), y=values, sideways=True,
                labels=tuple(quantity(float(v), metric.unit) for v in values),
            ),
        ),
        height=0.3 + 0.09 * len(shown),
    )  # fmt: skip


def _names(names: Sequence[str], key: Sequence[Any]) -> str:
    return ", ".join(named_value(name, value) for name, value in zip(names, key, strict=True))
