"""A comparison as a table: a row for each that was measured, held against the reference."""

from __future__ import annotations

from gpuexplorer.charts.comparison import interval_words, ratio_words
from gpuexplorer.charts.words import median_words
from gpuexplorer.core.compared import ComparisonResult, Contestant
from gpuexplorer.core.sheet import Cell, Column, Medium, Role, Row, Sheet


def sheet_of(result: ComparisonResult) -> Sheet:
    """Return a comparison as a table; the marks of its chart are the places of the rows."""
    columns = [
        Column("configuration", "configuration", "What tells it from the others", words=True),
        Column("median", "median", "Median time of one launch", "s"),
        Column("ratio", "time ratio", "Its time over the reference's: below 1 it is faster"),
        Column("interval", "95 % interval", "Of the ratio"),
        Column("verdict", "verdict", "What the interval says", words=True),
    ]
    if result.fail_if_slower is not None:
        tip = "Whether it is slower by more than the limit"
        columns.append(Column("too_slow", "too slow", tip, words=True, media=Medium.PAGE))
    rows = tuple(
        _row(one, place, reference=place == result.reference)
        for place, one in enumerate(result.contestants)
    )
    warnings = tuple(f"{one.label}: {w}" for one in result.contestants for w in one.warnings)
    return Sheet("Verdicts", tuple(columns), rows, warnings)


def _row(one: Contestant, place: int, *, reference: bool) -> Row:
    low, high = one.ci95_low, one.ci95_high
    verdict = "reference" if reference else one.verdict or ""
    role: Role = "reference" if reference else one.verdict or ""
    cells = {
        "configuration": Cell(one.label, one.label),
        "median": Cell(median_words(one.run), one.run.timing.median_s),
        "ratio": Cell(ratio_words(one.ratio) if one.ratio is not None else "", one.ratio),
        "interval": Cell(
            interval_words(low, high) if low is not None and high is not None else "", one.ratio
        ),
        "verdict": Cell(verdict, verdict, role=role),
        "too_slow": Cell({True: "yes", False: "no", None: "–"}[one.too_slow], one.too_slow),
    }
    return Row(one.label, cells, "\n".join((one.label, *one.warnings)), {str(place): one.label})
