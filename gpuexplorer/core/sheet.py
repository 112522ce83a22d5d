"""A result as a table, in plain data: the window, the terminal, a page and a file show the same.

A column has a title for readers, and for files the names of its raw values, each with its SI unit.
A row has a cell for each column it fills, and the keys of the chart's marks that stand for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Flag, auto
from functools import cached_property
from typing import Any, Literal, overload

import msgspec

from gpuexplorer.core import language
from gpuexplorer.core.language import tr

Role = Literal[
    "",
    "best",
    "reference",
    "wrong",
    "skipped",
    "faster",
    "slower",
    "same",
    "can't tell",
    "passed",
    "failed",
]


class Medium(Flag):
    """Where a table is shown."""

    WINDOW = auto()
    TERMINAL = auto()
    PAGE = auto()
    FILE = auto()
    SHOWN = WINDOW | TERMINAL | PAGE
    ALL = SHOWN | FILE


class Column(msgspec.Struct, frozen=True):
    """One column; ``name`` is how rows speak of it."""

    name: str
    title: str = ""
    tip: str = ""
    unit: str = ""
    """The SI unit of its cells' values; empty for words and plain numbers."""
    words: bool = False
    """Whether its cells are words, which stand at the left; figures stand at the right."""
    names: bool = False
    """Whether its cells are names, such as an option's values, which no language changes."""
    fields: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Its columns in a file, each with the attribute of a cell's ``record`` that stands there;
    an empty attribute is the cell's ``value``. Without any, no file has it."""
    media: Medium = Medium.SHOWN
    """Where readers see it."""
    most_first: bool = False
    """Whether a first click on its title puts the largest first."""
    gives_way: int = 0
    """Its turn, from 1 on, to be left out where a window has no room for all; 0: never."""


class Cell(msgspec.Struct, frozen=True):
    """One cell: what a reader sees, its raw value, and what else of it a file holds."""

    text: str = ""
    value: object = None
    """In the column's unit; rows are sorted by it. None where it is not known."""
    record: object = None
    role: Role = ""


EMPTY = Cell()


@dataclass(frozen=True, slots=True)
class Row:
    """One row; ``note`` says why it has no figures, or what it lacks."""

    title: str
    """What it is, in a few words that stand for themselves."""
    cells: Mapping[str, Cell]
    tip: str = ""
    marks: Mapping[str, str] = field(default_factory=dict)
    """The keys of the chart's marks that stand for it, each with words; the first is its own."""
    note: str = ""
    role: Role = ""
    part: str = ""
    """The title of the part of the table that it stands in; empty in a table of one part."""
    media: Medium = Medium.ALL

    @property
    def key(self) -> str:
        """The key of its own mark; empty where it has none."""
        return next(iter(self.marks), "")

    def marked(self, key: str) -> bool:
        """Whether a mark of the chart stands for it."""
        return key in self.marks

    def cell(self, column: Column) -> Cell:
        """Return its cell in a column; an empty one where it has none."""
        return self.cells.get(column.name, EMPTY)

    def texts(self, columns: Sequence[Column]) -> list[str]:
        """Return its words in some columns; its note in the last one where that is for words."""
        found = [self.cell(column).text for column in columns]
        if self.note and columns and columns[-1].words:
            found[-1] = self.note
        return found

    def told(self, names: Collection[str]) -> Row:
        """Return it in the language of the process; cells in the columns ``names`` stay.

        So does its title where it is one of them.
        """
        is_name = any(self.title == self.cells[one].text for one in names if one in self.cells)
        cells = {
            column: cell if column in names else msgspec.structs.replace(cell, text=tr(cell.text))
            for column, cell in self.cells.items()
        }
        marks = {key: tr(words) for key, words in self.marks.items()}
        return replace(
            self, title=self.title if is_name else tr(self.title), cells=cells, marks=marks,
            tip=tr(self.tip), note=tr(self.note), part=tr(self.part),
        )  # fmt: skip


@dataclass(frozen=True)
class MadeRows(Sequence[Row]):
    """Rows that are made each time they are asked for: a wide table has a hundred thousand."""

    make: Callable[[Any], Row]
    of: Sequence[Any]
    """What each is made of."""

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.of)

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> MadeRows: ...

    def __getitem__(self, index: int | slice) -> Row | MadeRows:
        """Return a row, or some."""
        of = self.of[index]
        return MadeRows(self.make, of) if isinstance(index, slice) else self.make(of)


class Sheet(msgspec.Struct, frozen=True, dict=True):
    """A result as a table."""

    title: str = ""
    columns: tuple[Column, ...] = ()
    rows: Sequence[Row] = ()
    notes: tuple[str, ...] = ()
    """What the table comes to, a sentence each."""

    def columns_on(self, medium: Medium) -> tuple[Column, ...]:
        """Return the columns that a medium shows."""
        if medium is Medium.FILE:
            return tuple(column for column in self.columns if column.fields)
        return tuple(column for column in self.columns if column.media & medium)

    def rows_on(self, medium: Medium) -> tuple[Row, ...]:
        """Return the rows that a medium shows."""
        return tuple(self._on(medium))

    def _on(self, medium: Medium) -> Iterator[Row]:
        return (r for r in self.rows if r.media is Medium.ALL or r.media & medium)

    def parts_on(self, medium: Medium) -> dict[str, list[Row]]:
        """Return the rows that a medium shows by the titles of their parts, in order."""
        found: dict[str, list[Row]] = {}
        for row in self.rows_on(medium):
            found.setdefault(row.part, []).append(row)
        return found

    def texts(self, row: Row, medium: Medium) -> list[str]:
        """Return a row's words."""
        return row.texts(self.columns_on(medium))

    def records(self) -> tuple[tuple[str, ...], Iterator[tuple[object, ...]]]:
        """Return a file's columns, and its rows: raw values, None for what is not known."""
        columns = [(c, n, a) for c in self.columns_on(Medium.FILE) for n, a in c.fields.items()]
        rows = (
            tuple(_raw(row.cell(column), attribute) for column, _, attribute in columns)
            for row in self._on(Medium.FILE)
        )
        return tuple(name for _, name, _ in columns), rows

    @cached_property
    def marks(self) -> dict[str, str]:
        """The words of every mark of the chart that has a row, by its key."""
        found: dict[str, str] = {}
        for row in self.rows:
            for key, words in row.marks.items():
                found.setdefault(key, words)
        return found

    def row_of(self, key: str) -> Row | None:
        """Return the first row that a mark of the chart stands for; None where there is none."""
        return next((row for row in self.rows if row.marked(key)), None)


def told(sheet: Sheet) -> Sheet:
    """Return a table for readers with its words as the language of the process says them.

    Names of columns, keys of marks and values are the same; a file takes the table as it is.
    """
    if not language.changes():
        return sheet
    names = {column.name for column in sheet.columns if column.names}
    return Sheet(
        tr(sheet.title),
        tuple(
            msgspec.structs.replace(one, title=tr(one.title), tip=tr(one.tip))
            for one in sheet.columns
        ),
        tuple(row.told(names) for row in sheet.rows),
        tuple(map(tr, sheet.notes)),
    )


def _raw(cell: Cell, attribute: str) -> object:
    if not attribute:
        return cell.value
    return getattr(cell.record, attribute) if cell.record is not None else None
