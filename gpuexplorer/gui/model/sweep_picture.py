"""What the chart of a sweep shows: which kind fits the axes, and where each configuration stands.

Two block axes make a heat map; a numeric axis makes lines on logarithmic axes, one line for each
value of a second axis; names alone make bars. Whatever axes are left make small multiples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

from gpuexplorer.charts.words import median_words
from gpuexplorer.core.axis_words import is_number_axis, named_value, value_words, values_words
from gpuexplorer.core.units import percent, quantity
from gpuexplorer.search.outcome import Cell, fastest
from gpuexplorer.search.space import BLOCK_AXES, Axis, Space

Kind = Literal["lines", "heat", "bars"]
MAX_FACETS = 12
"""Small multiples drawn at once; the table has them all."""
MAX_LINES = 6
MAX_BARS = 40
LOG_ABOVE = 8.0
"""Values so many times apart go on a logarithmic axis."""


@dataclass(frozen=True)
class Measure:
    """What is drawn of each run."""

    name: str
    title: str
    unit: str
    value: Callable[[Cell], float | None]
    less_is_better: bool = False


def _median(cell: Cell) -> float | None:
    return cell.median_s


def _flops(cell: Cell) -> float | None:
    return cell.result.throughput.flop_per_s if cell.result is not None else None


def _bandwidth(cell: Cell) -> float | None:
    return cell.result.throughput.bandwidth_B_per_s if cell.result is not None else None


MEASURES = {
    m.name: m
    for m in (
        Measure("time", "time per launch", "s", _median, less_is_better=True),
        Measure("flops", "throughput", "FLOP/s", _flops),
        Measure("bandwidth", "effective bandwidth", "B/s", _bandwidth),
        Measure("best", "share of the best's speed", "%", _median),
    )
}


@dataclass(frozen=True)
class Scale:
    """One axis of a chart: positions of its values, and the words there."""

    title: str
    positions: tuple[float, ...]
    words: tuple[str, ...]


@dataclass(frozen=True)
class Mark:
    """One configuration: ``index`` counts the cells; ``x`` in the scale's positions.

    ``y`` is None where there is no figure (yet). ``low`` and ``high`` hold the 95 % interval.
    """

    index: int
    x: float
    y: float | None
    row: int = 0
    """In a heat map: which row, from below."""
    low: float | None = None
    high: float | None = None
    skipped: bool = False
    suspect: bool = False


@dataclass(frozen=True)
class Line:
    """Marks that belong together, in the order of x."""

    name: str
    slot: int
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Facet:
    """One of the small multiples, or the only one."""

    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class SweepPicture:
    """All of a chart. ``low`` and ``high`` span the values; both None: nothing was measured yet."""

    kind: Kind
    measure: Measure
    x: Scale
    y: Scale | None
    """The rows of a heat map, from below."""
    facets: tuple[Facet, ...]
    low: float | None
    high: float | None
    log: bool
    """Whether the values' axis, or the scale of colours, is logarithmic."""
    best: int | None
    """The fastest cell, where the problem is the same for all."""
    note: str = ""
    names: tuple[str, ...] = ()
    """The lines' names, by slot; none for a single one."""


@dataclass(frozen=True)
class Layout:
    """Which axis is drawn how, after the rules of ``charts.sweep``."""

    kind: Kind
    x: Axis | None
    y: Axis | None
    """The rows of a heat map."""
    by_line: tuple[Axis, ...]
    by_panel: tuple[Axis, ...]


def layout_of(axes: Sequence[Axis]) -> Layout:
    """Return which kind of chart fits some axes; axes of one value are not drawn."""
    wide = [axis for axis in axes if len(axis.values) > 1]
    named = {axis.name: axis for axis in wide}
    numbers = [axis for axis in wide if is_number_axis(axis.name)]
    size = next((axis for axis in numbers if axis.name.startswith("size.")), None)
    others = [axis for axis in numbers if not axis.name.startswith("size.")]
    pair: tuple[Axis, ...] = tuple(others[:1])
    if BLOCK_AXES[0] in named and BLOCK_AXES[1] in named:
        pair = named[BLOCK_AXES[0]], named[BLOCK_AXES[1]]
    elif size is not None:
        pair = (size,)
    elif len(others) >= 2:
        pair = others[0], others[1]
    rest = [axis for axis in wide if axis not in pair]
    if len(pair) == 2:
        return Layout("heat", *pair, (), tuple(rest))
    if not pair:
        return Layout("bars", None, None, tuple(rest), ())
    by_line: list[Axis] = []
    for axis in sorted(rest, key=lambda a: len(a.values)):
        if math.prod(len(a.values) for a in (*by_line, axis)) > MAX_LINES:
            break
        by_line.append(axis)
    lines = tuple(axis for axis in rest if axis in by_line)
    return Layout("lines", pair[0], None, lines, tuple(a for a in rest if a not in by_line))


def picture(space: Space, cells: Sequence[Cell], measure: Measure) -> SweepPicture:
    """Return the chart of a sweep as far as it is done."""
    layout = layout_of(space.axes)
    values = _values(space, cells, measure)
    known = [v for v in values if v is not None and v > 0 and math.isfinite(v)]
    low, high = (min(known), max(known)) if known else (None, None)
    combined = _combinations(layout.by_line)
    if layout.kind == "bars":
        words = tuple(_names(layout.by_line, key) for key in combined[:MAX_BARS])
        x = Scale("", tuple(float(i) for i in range(len(words))), words)
        facets: tuple[Facet, ...] = (_bars(space, layout, cells, values, combined),)
        note = ""
        if len(combined) > MAX_BARS:
            note = f"The first {MAX_BARS} of {len(combined)} are drawn; the table has all."
    else:
        assert layout.x is not None
        x = _scale(layout.x)
        facets, note = _facets(space, layout, cells, values, x, combined)
    wide = low is not None and high is not None and high > low * LOG_ABOVE
    over_size = layout.x is not None and layout.x.name.startswith("size.")
    return SweepPicture(
        kind=layout.kind,
        measure=measure,
        x=x,
        y=_scale(layout.y) if layout.y is not None else None,
        facets=facets,
        low=low,
        high=high,
        log=(wide or over_size) and measure.unit != "%",
        best=best_of(space, cells),
        note=note,
        names=tuple(_names(layout.by_line, key) for key in combined)
        if layout.kind == "lines" and layout.by_line
        else (),
    )


Key = tuple[int, ...]


def _combinations(axes: Sequence[Axis]) -> list[Key]:
    """Return the places of every combination of some axes' values, in their order."""
    return [*product(*(range(len(axis.values)) for axis in axes))]


def _names(axes: Sequence[Axis], key: Key) -> str:
    return ", ".join(
        named_value(axis.name, axis.values[place]) for axis, place in zip(axes, key, strict=True)
    )


def best_of(space: Space, cells: Sequence[Cell]) -> int | None:
    """Return the fastest cell's index, where all cells solve the same problem; None otherwise."""
    if any(a.name.startswith("size.") and len(a.values) > 1 for a in space.axes):
        return None
    best = fastest(cells)
    return next((i for i, c in enumerate(cells) if c is best), None) if best is not None else None


def _values(space: Space, cells: Sequence[Cell], measure: Measure) -> list[float | None]:
    if measure.name != "best":
        return [measure.value(cell) for cell in cells]
    sizes = [a.name for a in space.axes if a.name.startswith("size.")]
    fewest: dict[tuple[Any, ...], float] = {}
    for cell in cells:
        if cell.ranked and cell.median_s:
            key = tuple(cell.point.values[n] for n in sizes)
            fewest[key] = min(fewest.get(key, math.inf), cell.median_s)
    return [
        fewest[tuple(c.point.values[n] for n in sizes)] / c.median_s * 100
        if c.ranked and c.median_s else None
        for c in cells
    ]  # fmt: skip


def _scale(axis: Axis) -> Scale:
    words = tuple(value_words(axis.name, v) for v in axis.values)
    if axis.name in BLOCK_AXES or not axis.name.startswith("size."):
        order = {v: float(i) for i, v in enumerate(sorted(axis.values))}
        return Scale(axis.title, tuple(order[v] for v in axis.values), words)
    low, high = min(axis.values), max(axis.values)
    if low > 0 and high > low * LOG_ABOVE:
        return Scale(axis.title, tuple(math.log10(v) for v in axis.values), words)
    return Scale(axis.title, tuple(float(v) for v in axis.values), words)


def _places(space: Space, axes: Sequence[Axis]) -> list[int]:
    at = {axis.name: number for number, axis in enumerate(space.axes)}
    return [at[axis.name] for axis in axes]


def _mark(index: int, cell: Cell, value: float | None, x: float, row: int = 0) -> Mark:
    low, high = _interval(cell, value)
    return Mark(
        index=index,
        x=x,
        y=value if value is not None and value > 0 and math.isfinite(value) else None,
        row=row,
        low=low,
        high=high,
        skipped=cell.skipped is not None,
        suspect=cell.result is not None and not cell.ranked,
    )


def _bars(
    space: Space,
    layout: Layout,
    cells: Sequence[Cell],
    values: Sequence[float | None],
    combined: Sequence[Key],
) -> Facet:
    at = _places(space, layout.by_line)
    rows = {key: row for row, key in enumerate(combined[:MAX_BARS])}
    marks = []
    for index, (cell, value) in enumerate(zip(cells, values, strict=True)):
        row = rows.get(tuple(cell.point.place[i] for i in at))
        if row is not None:
            marks.append(_mark(index, cell, value, float(row)))
    return Facet("", (Line("", 0, tuple(sorted(marks, key=lambda m: m.x))),))


def _facets(
    space: Space,
    layout: Layout,
    cells: Sequence[Cell],
    values: Sequence[float | None],
    x: Scale,
    combined: Sequence[Key],
) -> tuple[tuple[Facet, ...], str]:
    assert layout.x is not None
    (at_x,) = _places(space, [layout.x])
    at_y = _places(space, [layout.y])[0] if layout.y is not None else None
    rows = _scale(layout.y).positions if layout.y is not None else ()
    at_line, at_panel = _places(space, layout.by_line), _places(space, layout.by_panel)
    slots = {key: slot for slot, key in enumerate(combined)}
    panels = _combinations(layout.by_panel)
    found: dict[Key, list[list[Mark]]] = {
        key: [[] for _ in combined] for key in panels[:MAX_FACETS]
    }
    for index, (cell, value) in enumerate(zip(cells, values, strict=True)):
        place = cell.point.place
        lines = found.get(tuple(place[i] for i in at_panel))
        if lines is not None:
            row = int(rows[place[at_y]]) if at_y is not None else 0
            mark = _mark(index, cell, value, x.positions[place[at_x]], row)
            lines[slots[tuple(place[i] for i in at_line)]].append(mark)
    facets = tuple(
        Facet(
            title=_names(layout.by_panel, key),
            lines=tuple(
                Line(_names(layout.by_line, combined[slot]), slot,
                     tuple(sorted(marks, key=lambda m: m.x)))
                for slot, marks in enumerate(lines)
            ),
        )
        for key, lines in found.items()
    )  # fmt: skip
    more = len(panels) - len(facets)
    note = f"The first {MAX_FACETS} of {len(panels)} panels are drawn; the table has all."
    return facets, note if more else ""


def _interval(cell: Cell, value: float | None) -> tuple[float | None, float | None]:
    """Return the 95 % interval in the measure drawn; None where there is none."""
    if cell.result is None or value is None:
        return None, None
    timing = cell.result.timing
    low, high, median = timing.ci95_low_s, timing.ci95_high_s, timing.median_s
    if low is None or high is None or low <= 0 or median <= 0:
        return None, None
    if value == median:
        return low, high
    return value * median / high, value * median / low


def cell_words(cell: Cell, values: Mapping[str, Any] | None = None) -> str:
    """Return what a configuration came to, in a line."""
    words = values_words(values if values is not None else cell.point.values)
    if cell.skipped is not None:
        return f"{words}: cannot run: {cell.skipped}"
    if cell.result is None:
        return f"{words}: not measured yet"
    parts = [median_words(cell.result)]
    speed = cell.result.throughput
    if speed.flop_per_s:
        parts.append(quantity(speed.flop_per_s, "FLOP/s"))
    if speed.bandwidth_B_per_s:
        parts.append(quantity(speed.bandwidth_B_per_s, "B/s"))
    if cell.result.timing.suspect is not None:
        parts.append(f"SUSPECT: {cell.result.timing.suspect}")
    return f"{words}: {', '.join(parts)}"


def value_text(measure: Measure, value: float | None, digits: int = 3) -> str:
    """Return a drawn value with its unit; the share of the best as a percentage."""
    if value is None:
        return "–"
    if measure.unit == "%":
        return percent(value / 100, 2)
    return quantity(value, measure.unit, digits)
