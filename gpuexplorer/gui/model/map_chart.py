"""The block map as a chart for a file: the cells, best and ties that its canvas shows."""

from __future__ import annotations

import math
from collections.abc import Collection

from gpuexplorer.charts.spec import Axis, ChartSpec, Panel, Role, Series, series
from gpuexplorer.charts.sweep_panels import CELL_HEIGHT
from gpuexplorer.core.config import Block
from gpuexplorer.core.units import count
from gpuexplorer.gui.model.map_look import LEAST_RATIO, Colouring, Look
from gpuexplorer.gui.model.map_surface import Surface
from gpuexplorer.search.blockmap import MapCell

LABELS: dict[Colouring, str] = {
    "time": "time per launch",
    "throughput": "throughput",
    "best": "share of the best's speed",
}
METHOD = (
    "A time is the median of a block's launches, or, where the machine's pace has changed "
    "meanwhile, the best's time by the ratio at which both stood side by side, never below it. "
    "Such ratios decide."
)
TIE_COLOUR = 1


def map_chart(held: Surface, colouring: Colouring) -> ChartSpec:
    """Return the chart of a map with times; keys are blocks, such as ``16x4x1``."""
    grid, look = held.wanted.grid, Look(held, colouring)
    values = [_value(look, cell) for cell in held.cells]
    known = [v for v in values if math.isfinite(v)] or [1.0]
    places = [divmod(number, len(grid.x)) for number in range(grid.count)]
    low, high = (min(known), max(known)) if colouring == "time" else (0.0, max(known))
    if colouring == "time":
        high = max(high, low * LEAST_RATIO)
    unit = {"time": "s", "throughput": look.rate_unit, "best": "%"}[colouring]
    cells = series(
        "", "heat", "measured",
        x=[column for _, column in places], y=[row for row, _ in places], z=values,
        labels=tuple(look.text(cell) if cell.state == "measured" else "" for cell in held.cells),
        keys=tuple("x".join(map(str, cell.block)) for cell in held.cells),
    )  # fmt: skip
    best = frozenset() if held.best is None else frozenset({held.best})
    frames = (
        _frames(held, "cannot be told from the best", held.ties - best, "model"),
        _frames(held, f"best: {look.best_words}", best, "ceiling"),
    )
    panel = Panel(
        x=Axis(label="threads in x", categories=tuple(map(str, grid.x))),
        y=Axis(label="threads in y", categories=tuple(map(str, grid.y))),
        z=Axis(
            label=LABELS[colouring], unit=unit, scale="log" if colouring == "time" else "linear",
            low=low, high=high,
        ),
        series=(cells, *(one for one in frames if one is not None)),
        height=max(1.0, 0.42 + CELL_HEIGHT * len(grid.y)),
    )  # fmt: skip
    device = held.wanted.device
    return ChartSpec(
        title=f"Block map of {held.wanted.request.workload}",
        subtitle=f"{held.wanted.caption.words}\n{device.name}, {device.driver}",
        rows=((panel,),),
        notes=(f"{look.map_words()}.", METHOD, *_missing(held)),
    )


def _value(look: Look, cell: MapCell) -> float:
    """Return a cell's value; NaN for none, infinite for one that is still to be measured."""
    if cell.state != "measured" or not cell.time_s:
        return math.inf if cell.state == "waiting" else math.nan
    if look.colouring == "best":
        return 100 * look.fraction(cell)
    value = look.time_s(cell) if look.colouring == "time" else look.rate(cell)
    return math.nan if value is None else value


def _frames(held: Surface, name: str, blocks: Collection[Block], role: Role) -> Series | None:
    """Return frames around some blocks; None for none."""
    grid = held.wanted.grid
    found = [number for b in blocks if (number := grid.number(b)) is not None]
    if not found:
        return None
    places = [divmod(number, len(grid.x)) for number in sorted(found)]
    return series(
        name, "outline", role, colour=TIE_COLOUR,
        x=[column for _, column in places], y=[row for row, _ in places],
    )  # fmt: skip


def _missing(held: Surface) -> list[str]:
    """Say how many blocks have no time for good, and why."""
    reasons = {"cannot": "cannot run", "long": "take too long", "failed": "failed",
               "suspect": "are not believed"}  # fmt: skip
    counted = {words: sum(cell.state == state for cell in held.cells)
               for state, words in reasons.items()}  # fmt: skip
    parts = [f"{count(number)} {words}" for words, number in counted.items() if number]
    return [f"Hatched: {', '.join(parts)}."] if parts else []
