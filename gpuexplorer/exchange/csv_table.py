"""Tables as CSV; of runs every sample, or one row a run.

A spreadsheet reads a cell that begins with ``=``, ``+``, ``-`` or ``@`` as a formula. Words (names,
notes, reasons) that do so are written behind an apostrophe; numbers are never touched.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sheet import Sheet
from gpuexplorer.core.text import visible
from gpuexplorer.exchange.files import atomic_file
from gpuexplorer.exchange.table import (
    CSV_COLUMNS,
    RUN_COLUMNS,
    Label,
    run_row,
    sample_rows,
)

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\n")


def write_csv(results: Iterable[RunResult], path: Path) -> None:
    """Write every sample of some runs as one table; InputError when the file cannot be written.

    One row a launch, in order. The leading columns repeat the configuration, so that the tables of
    several runs can be stacked and nothing but the file is needed to read it. ``batch_start_s`` is
    the time from the run's first batch to the one that holds the sample, and ``throttled`` whether
    its clock was held down, so that no figure has it; both are empty when unknown.
    """
    write_table(path, CSV_COLUMNS, (row for result in results for row in sample_rows(result)))


def write_run_csv(
    results: Sequence[RunResult], path: Path, labels: Mapping[str, Label] | None = None
) -> None:
    """Write one row a run: configuration, figures, state, and what a user noted on it.

    A figure that is not known is an empty cell. InputError when the file cannot be written.
    """
    labels = labels or {}
    rows = (run_row(result, labels.get(result.id)) for result in results)
    write_table(path, tuple(RUN_COLUMNS), (tuple(row[c] for c in RUN_COLUMNS) for row in rows))


def write_sheet(sheet: Sheet, path: Path) -> None:
    """Write the raw values of a sheet; InputError when the file cannot be written."""
    write_table(path, *sheet.records())


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write any table; what is not known (None) is empty. InputError when that fails."""
    with atomic_file(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=False)
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([cell(value) for value in row] for row in rows)
        text.flush()
        text.detach()


def cell(value: object) -> object:
    """Return a cell that no spreadsheet takes for a formula, and no terminal for an order.

    Ends of lines are one character, which the writer quotes; it does not quote another. A list is
    one of JSON, so that its texts can be told apart whatever is in them.
    """
    if isinstance(value, list):
        value = msgspec.json.encode(value).decode()
    if not isinstance(value, str):
        return value
    words = visible(value.replace("\r\n", "\n").replace("\r", "\n"))
    return "'" + words if words.startswith(FORMULA_STARTS) else words
