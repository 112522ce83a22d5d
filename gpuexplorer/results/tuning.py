"""A tuning as a table: the leaders of a search that goes on, and the finalists of one that ended.

The marks of its chart are the evaluations, by their numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from gpuexplorer.charts.tuning import (
    conclusions,
    evaluation_words,
    standing_words,
)
from gpuexplorer.charts.words import knob_words
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.sheet import Cell, Column, Medium, Role, Row, Sheet
from gpuexplorer.core.tuning import Evaluation, Finalist, Tuning, leading
from gpuexplorer.core.units import quantity, speed
from gpuexplorer.results.sweep import CONFIGURATION, configuration_values

LEADERS = 12
"""Configurations that are listed while the search goes on."""
COLUMNS = (
    Column("configuration", "configuration", "Block and tunables", words=True),
    Column("time", "time", "Median time of one launch", "s"),
    Column(
        "ratio",
        "speed",
        "How many times slower than the fastest in turns, with the factor's 95 % interval",
        gives_way=1,
    ),
    Column(
        "standing",
        "beside the best",
        "Whether it can be told from the fastest",
        words=True,
        gives_way=2,
    ),
)
TRIED = ("number", "outcome", "median_s", "min_s", "samples", "reason", "time_s")
"""Of an evaluation, in a file."""


def sheet_of(tuning: Tuning) -> Sheet:
    """Return the finalists, the fastest first; the chosen one is the best.

    Of a tuning that was broken off they are the leaders of its search.
    """
    if not tuning.finalists:
        leaders = leaders_sheet(tuning.evaluations)
        return replace(leaders, notes=tuple(conclusions(tuning)))
    tried = _by_config(tuning.evaluations)
    rows = tuple(_finalist(one, tuning, tried.get(one.config.key, ())) for one in tuning.finalists)
    return Sheet("The fastest configurations", COLUMNS, rows, tuple(conclusions(tuning)))


def leaders_sheet(evaluations: Sequence[Evaluation]) -> Sheet:
    """Return the fastest of a search that goes on."""
    tried = _by_config(evaluations)
    leaders = leading(evaluations)[:LEADERS]
    best_s = leaders[0].median_s if leaders else None
    rows = []
    for one in leaders:
        time_s = one.median_s
        ratio = time_s / best_s if time_s and best_s else None
        apart = speed(ratio) if ratio != 1.0 else ""
        standing = Cell("not decided in turns")
        rows.append(_row(one.config, time_s, Cell(apart, ratio), standing, tried[one.config.key]))
    return Sheet("The fastest configurations so far", COLUMNS, tuple(rows))


def tried_sheet(tuning: Tuning) -> Sheet:
    """Return everything that was tried, in order, as a table for a file."""
    names = (TRIED[0], *CONFIGURATION[1:], *TRIED[1:])
    rows = []
    for one in tuning.evaluations:
        values = configuration_values(one.config) | {name: getattr(one, name) for name in TRIED}
        cells = {name: Cell(value=value) for name, value in values.items()}
        rows.append(Row(knob_words(one.config), cells))
    columns = tuple(Column(name, fields={name: ""}, media=Medium(0)) for name in names)
    return Sheet("Every configuration that was tried", columns, tuple(rows))


def _by_config(evaluations: Iterable[Evaluation]) -> dict[str, list[Evaluation]]:
    found: dict[str, list[Evaluation]] = {}
    for one in evaluations:
        found.setdefault(one.config.key, []).append(one)
    return found


def _finalist(one: Finalist, tuning: Tuning, tried: Sequence[Evaluation]) -> Row:
    beside: Role = "best" if one.config == tuning.best else one.verdict or ""
    standing = Cell(standing_words(one, tuning), role=beside)
    role: Role = "best" if one.config == tuning.chosen else ""
    own = speed(one.ratio, one.ci95_low, one.ci95_high, one.verdict)
    apart = "" if one.config == tuning.best else own
    return _row(one.config, one.median_s, Cell(apart, one.ratio), standing, tried, role)


def _row(
    config: RunConfig,
    time_s: float | None,
    ratio: Cell,
    standing: Cell,
    tried: Iterable[Evaluation],
    role: Role = "",
) -> Row:
    words = knob_words(config)
    cells = {
        "configuration": Cell(words),
        "time": Cell(quantity(time_s, "s"), time_s),
        "ratio": ratio,
        "standing": standing,
    }
    marks = {str(e.number): evaluation_words(e) for e in tried}
    return Row(words, cells, words, {**marks, config.key: words}, role=role)
