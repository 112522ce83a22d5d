"""A sweep as a table: every configuration with its figures, or why it has none.

The marks of its chart are the configurations' numbers, in row-major order of the axes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from gpuexplorer.charts.words import median_words, unverified_words
from gpuexplorer.core.axis_words import axis_title, is_number_axis, value_words, values_words
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.knobs import BLOCK_AXES
from gpuexplorer.core.language import tr
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sheet import EMPTY, Cell, Column, MadeRows, Medium, Role, Row, Sheet
from gpuexplorer.core.sweep import Outcome, SweepDocument, SweptRun, values_at
from gpuexplorer.core.units import count, percent, quantity
from gpuexplorer.exchange.table import size_words, switches_text, tunables_text

WINDOW, TERMINAL, KEPT = Medium.WINDOW, Medium.TERMINAL, Medium(0)
TIMING = {n: n for n in ("samples", "median_s", "ci95_low_s", "ci95_high_s", "min_s")}
SPEED = {n: n for n in ("flop_per_s", "bandwidth_B_per_s")}
ERRORS = {n: n for n in ("max_rel_error", "rms_rel_error")}
CONFIGURATION = (
    "run", "workload", "variant", "size", "block_x", "block_y", "block_z", "precision", "tunables",
    "switches", "device", "cache", "fill", "threads",
)  # fmt: skip
COLUMNS = (
    *(Column(name, fields={name: ""}, media=KEPT) for name in CONFIGURATION),
    Column("configuration", "configuration", words=True, media=TERMINAL),
    Column("time", "median", unit="s", media=TERMINAL),
    Column("speed", "throughput", media=TERMINAL),
    Column("median", "median", "Median time of one launch", "s", fields=TIMING, media=WINDOW),
    Column("error", "± 95 %", "Half the 95 % confidence interval over the median", media=WINDOW,
           gives_way=2),
    Column("throughput", "throughput", "Useful operations over the median", "FLOP/s",
           fields=SPEED, media=WINDOW, most_first=True, gives_way=4),
    Column("bandwidth", "bandwidth", "Bytes needed (compulsory) over the median", "B/s",
           media=WINDOW, most_first=True, gives_way=1),
    Column("compile_s", fields={"compile_s": ""}, media=KEPT),
    Column("errors", fields=ERRORS, media=KEPT),
    Column("suspect", fields={"suspect": ""}, media=KEPT),
    Column("skipped", fields={"skipped": ""}, media=KEPT),
    Column("result", "result", "Whether it was verified, or why it has no figure", words=True,
           media=WINDOW, gives_way=3),
)  # fmt: skip
WAITING = "waiting"
SHOWN = 10
"""Configurations of one size that a terminal lists."""


def sheet_of(document: SweepDocument) -> Sheet:
    """Return a sweep as a table for a file: a row for each configuration that was tried."""
    return Sheet(document.title, COLUMNS, MadeRows(_entry_row, document.runs))


def fastest_sheet(document: SweepDocument) -> Sheet:
    """Return the fastest configurations; of several sizes, whose times are no race, one each."""
    found = [(one, one.run) for one in document.runs if one.run is not None]
    found = [(one, run) for one, run in found if run.timing.suspect is None]
    ranked = [one for one, _ in sorted(found, key=lambda pair: pair[1].timing.median_s)]
    fastest = {size_words(one.config): one for one in reversed(ranked)}
    if len(fastest) > 1:
        sizes = dict.fromkeys(size_words(one.config) for one, _ in found)
        shown, what = [fastest[size] for size in sizes], "the fastest of each size, of"
    else:
        shown, what = ranked[:SHOWN], "the fastest of"
    title = f"{document.title}: {what} {count(len(ranked))}"
    left = unverified_words([run for _, run in found])
    notes = () if left is None else (left,)
    return Sheet(title, COLUMNS, tuple(map(_entry_row, shown)), notes)


def _entry_row(entry: SweptRun) -> Row:
    """Return a row for terminal and file."""
    run, config, title = entry.run, entry.config, values_words(entry.values)
    values = configuration_values(config) | {"skipped": entry.skipped}
    cells = {"configuration": Cell(title)}
    if run is not None:
        speed = run.throughput
        rate, unit = (
            (speed.flop_per_s, "FLOP/s") if speed.flop_per_s else (speed.bandwidth_B_per_s, "B/s")
        )
        values |= {"run": run.id, "compile_s": run.phases_s.compile, "suspect": run.timing.suspect}
        cells |= _figures(run)
        cells["time"] = Cell(median_words(run), run.timing.median_s)
        cells["speed"] = Cell(quantity(rate, unit), rate)
        cells["errors"] = Cell(record=run.verification)
    return Row(title, cells | {name: Cell(value=value) for name, value in values.items()})


def configuration_values(config: RunConfig) -> dict[str, object]:
    """Return the raw values of a configuration, by the names of ``CONFIGURATION`` but the run."""
    x, y, z = config.block or (None, None, None)
    return {
        "workload": config.workload, "variant": config.variant, "size": size_words(config),
        "block_x": x, "block_y": y, "block_z": z, "precision": config.precision,
        "tunables": tunables_text(config), "switches": switches_text(config),
        "device": config.device, "cache": config.cache, "fill": config.fill,
        "threads": config.threads,
    }  # fmt: skip


def _figures(run: RunResult) -> dict[str, Cell]:
    """Return a run's figures; what cannot be true has none to be sorted by."""
    timing, speed = run.timing, run.throughput
    low, high, median_s = timing.ci95_low_s, timing.ci95_high_s, timing.median_s
    error = None
    if low is not None and high is not None and median_s > 0:
        error = (high - low) / 2 / median_s
    flop_per_s, bytes_per_s = speed.flop_per_s, speed.bandwidth_B_per_s
    ranked = timing.suspect is None
    return {
        "median": Cell(
            quantity(median_s, "s") if median_s else "", median_s if ranked else None, timing
        ),
        "error": Cell(percent(error) if error is not None else "", error),
        "throughput": Cell(
            quantity(flop_per_s, "FLOP/s") if flop_per_s else "",
            flop_per_s if ranked else None,
            speed,
        ),
        "bandwidth": Cell(
            quantity(bytes_per_s, "B/s") if bytes_per_s else "", bytes_per_s if ranked else None
        ),
    }


class SweepRows:
    """The rows of a sweep that goes on: those of what has not changed since are kept."""

    def __init__(self, axes: Mapping[str, Sequence[Any]]) -> None:
        self._axes = axes
        self._columns = (*(_axis_column(name) for name in axes), *COLUMNS)
        self._values = {
            name: {value: _axis_cell(name, value, n) for n, value in enumerate(values)}
            for name, values in axes.items()
        }
        self._rows: list[Row] = []
        self._outcomes: list[Outcome] = []

    def sheet(self, outcomes: Iterable[Outcome]) -> Sheet:
        """Return the table of all configurations, in row-major order of the axes."""
        for number, outcome in enumerate(outcomes):
            if number == len(self._rows):
                self._rows.append(self._row(number, outcome))
                self._outcomes.append(outcome)
            elif self._outcomes[number] is not outcome:
                self._rows[number] = self._row(number, outcome)
                self._outcomes[number] = outcome
        return Sheet("", self._columns, tuple(self._rows))

    def _row(self, number: int, outcome: Outcome) -> Row:
        if isinstance(outcome, RunResult):
            return self.row(number, _outcome(outcome), _figures(outcome))
        return _EmptyRow(self, number, outcome)

    def row(self, number: int, outcome: str, figures: dict[str, Cell], role: Role = "") -> Row:
        """Return a configuration's row, with what came of it in words."""
        values = values_at(self._axes, number)
        cells = {name: self._values[name][value] for name, value in values.items()} | figures
        cells["result"] = Cell(outcome, outcome)
        title = values_words(values)
        return Row(title, cells, f"{title}: {outcome}", {str(number): title}, role=role)

    def cell(self, number: int, axis: str) -> Cell | None:
        """Return a configuration's cell in an axis' column; None for another column."""
        cells = self._values.get(axis)
        return cells[values_at(self._axes, number)[axis]] if cells is not None else None


class _EmptyRow(Row):
    """The row of a configuration without a figure, in words only while it is looked at.

    A wide sweep has thousands, of which a window shows a dozen.
    """

    __slots__ = ("_number", "_rows", "_skipped")
    _number: int
    _rows: SweepRows
    _skipped: str | None

    def __init__(self, rows: SweepRows, number: int, skipped: str | None) -> None:
        role: Role = "" if skipped is None else "skipped"
        for name, value in (
            ("_number", number), ("_rows", rows), ("_skipped", skipped),
            ("role", role), ("note", ""), ("part", ""), ("media", Medium.ALL),
        ):  # fmt: skip
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        """Return what else a row has, in the language of the process."""
        outcome = self._skipped or WAITING
        row = self._rows.row(self._number, outcome, {}, self.role)
        return getattr(row.told(()), name)

    @property
    def key(self) -> str:
        """The number of its configuration."""
        return str(self._number)

    def marked(self, key: str) -> bool:
        """Whether a mark of the chart stands for it."""
        return key == self.key

    def cell(self, column: Column) -> Cell:
        """Return its cell in a column, as a table that is sorted asks of each row."""
        cell = self._rows.cell(self._number, column.name)
        if cell is not None:
            return Cell(tr(cell.text), cell.value)
        if column.name != "result":
            return EMPTY
        outcome = self._skipped or WAITING
        return Cell(tr(outcome), outcome)

    def told(self, names: Collection[str]) -> Row:
        """Return the row itself, which is told when it is looked at."""
        return self


def _outcome(run: RunResult) -> str:
    if run.timing.suspect is not None:
        return f"⚠ suspect: {run.timing.suspect}"
    check = run.verification
    if check is None:
        return "not verified"
    return f"✓ {check.words}" if check.ok else f"✗ {check.words}"


def _axis_column(name: str) -> Column:
    title = axis_title(name)
    short = name[-1] if name in BLOCK_AXES else title
    words = not is_number_axis(name)
    return Column(name, short, f"{title}: an axis of the sweep", words=words, media=WINDOW)


def _axis_cell(name: str, value: Any, place: int) -> Cell:
    """Return a value of an axis; what is no number is sorted by its place there."""
    return Cell(value_words(name, value), value if isinstance(value, (int, float)) else place)
