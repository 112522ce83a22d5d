"""From a sweep to a chart that fits its axes.

Threads in x and y, or two other numbers, make heat maps; a size makes lines on logarithmic axes, as
any other single number does; names alone make bars. What is left becomes lines of their own, then
panels side by side (small multiples), up to what a page holds; whatever is left out is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import msgspec

from gpuexplorer.charts import words
from gpuexplorer.charts.caption import Caption, shared_words, varied_by
from gpuexplorer.charts.spec import ChartSpec, Panel
from gpuexplorer.charts.sweep_panels import bars, fastest_lines, heat_map, lines
from gpuexplorer.charts.sweep_points import Figure, Points
from gpuexplorer.core.axis_words import axis_title, is_number_axis, named_value
from gpuexplorer.core.sweep import SweepOutcomes
from gpuexplorer.core.units import count, listed, plural

MOST_LINES = 6
MOST_PANELS = 12
MOST_REASONS = 3
"""Why figures cannot be true, of those that are not shown."""
PANELS_A_ROW = 3
LINES_HEIGHT = 1.05
BEST_HEIGHT = 0.75

Names = tuple[str, ...]


class _Shape(msgspec.Struct, frozen=True):
    """Which axes go where: along x (and y of a heat map), to lines, to panels."""

    x: str | None
    y: str | None
    by_line: Names
    by_panel: Names


def chart_of_sweep(
    sweep: SweepOutcomes,
    *,
    title: str = "",
    figure: Figure | None = None,
    waiting: bool = False,
) -> ChartSpec:
    """Return the chart of a sweep, as far as it is done; keys are cells' numbers, row-major.

    ``figure`` is what it shows of each run; None: operations, else bytes over time, else times.
    ValueError when nothing of it was measured, unless it is ``waiting`` to be.
    """
    if not sweep.measured and not waiting:
        raise ValueError("nothing to draw")
    points = Points.of(sweep, figure)
    shape = _shape(points)
    shown = list(islice(points.groups(shape.by_panel), MOST_PANELS))
    step = 2 if len(shown) == 4 else PANELS_A_ROW
    panels = [
        _panel(
            group,
            shape,
            _words(shape.by_panel, key),
            points.value_range,
            last=(i + 1) % step == 0 or i + 1 == len(shown),
        )
        for i, (key, group) in enumerate(shown)
    ]
    rows: list[tuple[Panel, ...]] = []
    if shape.y is not None and (size := next((n for n in points.axes if _is_size(n)), None)):
        rest = tuple(n for n in shape.by_panel if n != size)
        over = (shape.x or "", shape.y)
        rows.append((fastest_lines(points, size, over, rest, BEST_HEIGHT),))
    rows += [tuple(panels[i : i + step]) for i in range(0, len(panels), step)]
    return ChartSpec(
        title=title or sweep.title,
        subtitle=shared_words(sweep.measured, varied_by(sweep.axes)) if sweep.measured else "",
        rows=tuple(rows),
        notes=(*_notes(sweep, shape, points), *_left_out(points, shape)),
    )


def _is_size(name: str) -> bool:
    return name.startswith("size.")


def _all_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(value, int | float) for value in values)


def _shape(points: Points) -> _Shape:
    """Choose what each axis becomes."""
    names = tuple(points.axes)
    numbers = [n for n in names if is_number_axis(n) and _all_numbers(points.axes[n])]
    if "block.x" in names and "block.y" in names:
        pair: tuple[str, ...] = ("block.x", "block.y")
    else:
        size = next((n for n in numbers if _is_size(n)), None)
        others = [n for n in numbers if not _is_size(n)]
        if size is not None:
            pair = (size,)
        elif len(others) >= 2:
            pair = (others[0], others[1])
        else:
            pair = tuple(others[:1])
    rest = [n for n in names if n not in pair]
    if len(pair) == 2:
        return _Shape(pair[0], pair[1], (), tuple(rest))
    if not pair:
        return _bars_shape(points, rest)
    return _Shape(pair[0], None, *_lines_and_panels(points, rest))


def _bars_shape(points: Points, names: Sequence[str]) -> _Shape:
    return _Shape(None, None, tuple(names), ())


def _lines_and_panels(points: Points, names: list[str]) -> tuple[Names, Names]:
    """Put as many axes as fit into the lines of one panel, the others into panels."""
    by_line: list[str] = []
    lines_so_far = 1
    for name in sorted(names, key=lambda n: len(points.axes[n])):
        if lines_so_far * len(points.axes[name]) > MOST_LINES:
            break
        by_line.append(name)
        lines_so_far *= len(points.axes[name])
    in_order = tuple(n for n in names if n in by_line)
    return in_order, tuple(n for n in names if n not in by_line)


def _panel(
    points: Points, shape: _Shape, title: str, value_range: tuple[float, float], *, last: bool
) -> Panel:
    if shape.x is None:
        return bars(points, title)
    if shape.y is None:
        return lines(points, shape.x, shape.by_line, title, LINES_HEIGHT)
    return heat_map(points, shape.x, shape.y, title, value_range, with_scale=last)


def _words(names: Names, key: tuple[Any, ...]) -> str:
    return " · ".join(named_value(name, value) for name, value in zip(names, key, strict=True))


def sweep_caption(sweep: SweepOutcomes) -> Caption | None:
    """Return what the runs of a sweep have in common; None before the first."""
    measured = sweep.measured
    return Caption.of(measured, varied_by(sweep.axes)) if measured else None


def _notes(sweep: SweepOutcomes, shape: _Shape, points: Points) -> list[str]:
    measured = sweep.measured
    shown = ["Medians"]
    if shape.x is not None:
        shown.append("shaded in lines: the 95 % interval of each")
    if shape.y is not None:
        shown.append(f"in heat maps: {points.metric.label}")
    sentences = [
        f"{'; '.join(shown)}.",
        f"{count(len(measured))} of {count(sweep.points)} configurations were measured.",
    ]
    skipped = sum(isinstance(one, str) for one in sweep.outcomes)
    if skipped:
        sentences.append(
            f"{count(skipped)} could not run or were skipped (hatched)."
            if shape.y is not None
            else f"{count(skipped)} could not run or were skipped."
        )
    notes = [" ".join(sentences)]
    notes += dict.fromkeys(f"Timed by {r.timing.method}." for r in measured)
    suspects = [r.timing.suspect for r in measured if r.timing.suspect]
    if suspects:
        notes.append(
            plural(
                len(suspects),
                "{number} cannot be true and is not shown.",
                "{number} cannot be true and are not shown.",
            )
        )
        notes += [
            f"SUSPECT: {suspect}." for suspect in list(dict.fromkeys(suspects))[:MOST_REASONS]
        ]
    return [*notes, *words.checks_words(measured)]


def _left_out(points: Points, shape: _Shape) -> list[str]:
    panels = points.how_many(shape.by_panel)
    if panels <= MOST_PANELS:
        return []
    named = listed(axis_title(n) for n in shape.by_panel)
    return [f"The first {MOST_PANELS} of {panels} values of {named} are shown."]
