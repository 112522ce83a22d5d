"""A comparison as a table: a row for each that takes part, held against the reference."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import msgspec

from gpuexplorer.charts.comparison import APART, ON_SEVERAL, Line, lines_of, on_several_devices
from gpuexplorer.charts.words import config_words, median_words, unverified_words
from gpuexplorer.core.compared import ComparisonResult
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.sheet import EMPTY, Cell, Column, Medium, Role, Row, Sheet
from gpuexplorer.core.units import quantity
from gpuexplorer.results.conditions import conditions

COLUMNS = (
    Column("reference", "", "The reference: the others' times are divided by its. Click another "
           "to take that one", media=Medium.WINDOW),
    Column("configuration", "configuration", "What tells it from the others; the whole is its "
           "tooltip", words=True, fields={"configuration": ""}),
    Column("median", "median", "Median time of one launch", "s", fields={"median_s": ""}),
    Column("ratio", "speed", "How many times faster or slower than the reference, with the "
           "factor's 95 % interval", fields={"ratio": "", "ci95_low": "low", "ci95_high": "high"}),
    Column("verdict", "verdict", "What the interval says: faster, slower, same, or that it cannot "
           "be told", words=True, fields={"verdict": ""}),
    Column("turns", "turns", "Turns it took; one whose verdict is clear takes no more. Eight tell "
           "where all agree, and one where times are ten times apart",
           fields={"turns": ""}, gives_way=1),
    Column("too_slow", "too slow", "Whether it is slower by more than the limit", words=True,
           media=Medium.PAGE),
    Column("warnings", "to know", "What differs beside the configuration: source, compiler, "
           "driver, device", words=True, media=Medium.WINDOW, fields={"to_know": ""},
           gives_way=2),
)  # fmt: skip


class Entry(msgspec.Struct, frozen=True):
    """One that takes part, as far as it was measured; without a ratio there are too few rounds."""

    line: Line
    reference: bool
    median: Cell = EMPTY
    warnings: tuple[str, ...] = ()
    too_slow: bool | None = None
    tip: str = ""
    """What else to know of it."""
    turns: int = 0


def told_of(
    config: RunConfig, stored_id: str | None = None, stored_median_s: float | None = None
) -> str:
    """Return a configuration in full, and what the stored run that it repeats took."""
    words = config_words(config)
    if stored_id is None:
        return words
    median = quantity(stored_median_s, "s")
    return f"{words}\nstored as {stored_id[:8]}, median {median}"


def sheet_of(result: ComparisonResult) -> Sheet:
    """Return a comparison as a table; the marks of its chart are the places of the rows."""
    entries = [
        Entry(
            line, place == result.reference, Cell(median_words(one.run), one.run.timing.median_s),
            one.warnings, one.too_slow, told_of(one.run.config, one.stored_id, one.stored_median_s),
            sum(turn_s is not None for turn_s in one.turns_s),
        )
        for place, (line, one) in enumerate(zip(lines_of(result), result.contestants, strict=True))
    ]  # fmt: skip
    left = unverified_words([one.run for one in result.contestants])
    warnings = tuple(f"{one.line.label}: {w}" for one in entries for w in one.warnings)
    warnings += () if left is None else (left,)
    notes = (ON_SEVERAL, *warnings) if on_several_devices(result) else warnings
    sheet = sheet_of_entries(entries, notes, limited=result.fail_if_slower is not None)
    return sheet if result.interleaved else _with_conditions(sheet, result)


def _with_conditions(sheet: Sheet, result: ComparisonResult) -> Sheet:
    """Return a table of runs that took no turns, with the conditions of each."""
    columns, cells = conditions([one.run for one in result.contestants])
    kept = [column for column in sheet.columns if column.name != "turns"]
    rows = tuple(
        replace(row, cells={**row.cells, **more})
        for row, more in zip(sheet.rows, cells, strict=True)
    )
    notes = (APART, *sheet.notes)
    return msgspec.structs.replace(
        sheet, columns=(*kept[:-1], *columns, kept[-1]), rows=rows, notes=notes
    )


def sheet_of_entries(
    entries: Iterable[Entry], notes: tuple[str, ...] = (), *, limited: bool = False
) -> Sheet:
    """Return those who take part as a table; ``limited``: whether any can be too slow."""
    columns = tuple(one for one in COLUMNS if limited or one.name != "too_slow")
    return Sheet("Verdicts", columns, tuple(map(_row, entries)), notes)


def _row(one: Entry) -> Row:
    line = one.line
    verdict = "reference" if one.reference else line.verdict or ""
    role: Role = "reference" if one.reference else line.verdict or ""
    factor = ""
    if line.ratio is not None and line.low and line.high:
        factor = line.words
    cells = {
        "reference": Cell("◉" if one.reference else "○", one.reference),
        "configuration": Cell(line.label, line.label),
        "median": one.median,
        "ratio": Cell(factor, line.ratio, line),
        "verdict": Cell(verdict, verdict, role=role),
        "turns": Cell(str(one.turns), one.turns) if one.turns else EMPTY,
        "too_slow": Cell({True: "yes", False: "no", None: "–"}[one.too_slow], one.too_slow),
        "warnings": Cell(" ".join(one.warnings), " ".join(one.warnings), role="wrong"),
    }
    tip = "\n".join((line.label, *([one.tip] if one.tip else []), *one.warnings))
    return Row(line.label, cells, tip, {line.key: line.label}, role=role)
