"""A sheet on the terminal: a table for each of its parts, and sentences below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpuexplorer.core.sheet import Medium, Row, Sheet, told
from gpuexplorer.core.text import columns as columns_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

SPACE = 2
"""Characters between two columns."""
STYLES = {
    "skipped": "dim", "best": "bold", "reference": "dim", "can't tell": "dim", "faster": "green",
    "slower": "red", "same": "cyan", "passed": "green", "failed": "bold red",
}  # fmt: skip
WORDS = 8
"""Characters that a column of words has at the least, before figures go on in a next line."""


def plain_table(*titles: str, figures: Sequence[str] = ()) -> Table:
    """Return an empty table that looks as each one here does; ``figures`` stand at the right."""
    from rich.table import Table

    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, SPACE, 0, 0))
    for title in titles:
        right = title in figures
        table.add_column(title, justify="right" if right else "left", overflow="fold")
    return table


def print_sheet(sheet: Sheet, console: Console) -> None:
    """Print a sheet; a part without any figure is a list of its rows' reasons."""
    from rich.text import Text

    sheet = told(sheet)
    last_has_notes = sheet.columns_on(Medium.TERMINAL)[-1].words
    for number, (part, rows) in enumerate(sheet.parts_on(Medium.TERMINAL).items()):
        if number:
            console.print()
        if part and all(row.note for row in rows):
            console.print(Text(f"{part}:", style="dim"))
            for row in rows:
                console.print(Text(f"  {row.title}: {row.note}", style="dim"))
            continue
        if part:
            console.print(Text(part, style="bold"))
        console.print(_table(sheet, rows, console.width))
        for row in () if last_has_notes else rows:
            if row.note:
                console.print(Text(f"{row.title}: {row.note}", style="dim"))
    if sheet.notes:
        console.print()
    for note in sheet.notes:
        console.print(Text(note))


def _table(sheet: Sheet, rows: Sequence[Row], width: int) -> Table:
    """Return some rows as a table; figures are in one line each where the terminal is wide enough.

    Where it is not they go on in the next line: none is cut off.
    """
    from gpuexplorer.cli.told import AsIs  # for the sheet is told, and its names stay

    columns = sheet.columns_on(Medium.TERMINAL)
    texts = [sheet.texts(row, Medium.TERMINAL) for row in rows]
    needed = [
        WORDS if column.words else max(columns_of(text) for text in (column.title, *cells)) + SPACE
        for column, *cells in zip(columns, *texts, strict=True)
    ]
    table = plain_table()
    for number, column in enumerate(columns):
        table.add_column(
            AsIs(column.title),
            justify="right" if number and not column.words else "left",
            no_wrap=not column.words and (number == 0 or sum(needed) <= width),
            overflow="fold",
        )
    for row, line in zip(rows, texts, strict=True):
        cells = [
            AsIs(text, style=STYLES.get(row.cell(column).role, ""))
            for text, column in zip(line, columns, strict=True)
        ]
        table.add_row(*cells, style=STYLES.get(row.role, ""))
    return table
