"""The rows of the history table as far as they are known: pages of what the store answered.

A store of 100,000 runs is never read as a whole. The table knows how many rows there are and holds
the pages around what is seen; the rest is asked for when it is scrolled to. Runs that the store
does not hold yet stand above its rows.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from gpuexplorer.history.model import Query, Row

PAGE = 100
"""Rows of one page."""
MAX_PAGES = 60
"""Pages kept; beyond, those that were not looked at for longest go."""


class View(msgspec.Struct, frozen=True):
    """Which runs are wanted, and in which order."""

    query: Query = msgspec.field(default_factory=Query)
    sort: str = "time"
    descending: bool = True
    unfolded: frozenset[str] = frozenset()
    """Groups whose runs are shown below their row."""

    @property
    def folds(self) -> bool:
        """Whether a group is one row: only in the order of time, for it has no other figure."""
        return self.sort == "time"

    def toggled(self, group: str) -> View:
        """Return the view with the runs of a group shown, or no more."""
        return replace(self, unfolded=self.unfolded ^ {group})

    def alike(self, other: View) -> bool:
        """Whether another one is of the same rows, but for what is unfolded."""
        return self == replace(other, unfolded=self.unfolded)

    @property
    def by_time(self) -> bool:
        """Whether the newest come first, so that a run of now belongs at the top."""
        return self.sort == "time" and self.descending


class Ask(msgspec.Struct, frozen=True):
    """What the table wants to know: pages it does not have, and those to show if all changed."""

    view: View
    known: int | None
    """The state of the store that the table's pages are of."""
    missing: tuple[int, ...]
    visible: tuple[int, ...]


class Answer(msgspec.Struct, frozen=True):
    """What the store held at one moment, ``state``."""

    view: View
    state: int
    total: int | None
    """Rows there are; None where the table knows it, because the store has not changed."""
    pages: Mapping[int, Sequence[Row]]
    held: frozenset[str]
    """Runs of this window that the store holds."""
    baselines: Mapping[tuple[str, str, str], Row]
    """The latest starred run of each workload, size and precision."""
    runs: int | None = None
    """Runs that the rows stand for; None where each is one, or the table knows it."""
    unfolded: Sequence[tuple[int, Sequence[Row]]] | None = None
    """Of each group that is unfolded the place of its row among the store's, and its runs."""


class Change(msgspec.Struct, frozen=True):
    """How the rows differ from before: not at all, by ``count`` above or below, or otherwise.

    Below there can also be fewer: ``count`` is negative then.
    """

    kind: Literal["same", "above", "below", "other"]
    count: int = 0


class Pages:
    """Rows by their place in the table; those that are not known are None."""

    def __init__(self) -> None:
        self.extras: tuple[Row, ...] = ()
        """Runs above the store's rows, because it does not hold them yet."""
        self.total = 0
        """Rows of the store."""
        self.runs = 0
        """Runs that they stand for."""
        self.unfolded: tuple[tuple[int, Sequence[Row]], ...] = ()
        """Places of groups' rows among the store's, rising, and the runs below each."""
        self.state: int | None = None
        self._pages: OrderedDict[int, Sequence[Row]] = OrderedDict()

    def __len__(self) -> int:
        return len(self.extras) + self.total + sum(len(rows) for _, rows in self.unfolded)

    def row(self, place: int) -> Row | None:
        """Return the row at a place; None when it is not known, or there is no such place."""
        if place < 0:
            return None
        if place < len(self.extras):
            return self.extras[place]
        at, below = self._in_store(place)
        if below:
            group = next(rows for header, rows in self.unfolded if header == at)
            return group[below - 1]
        page, within = divmod(at, PAGE)
        rows = self._pages.get(page)
        return rows[within] if rows is not None and within < len(rows) else None

    def _in_store(self, place: int) -> tuple[int, int]:
        """Return the store's place for a place below the extras.

        And of a run of an unfolded group how far below the group's row, whose place it is.
        """
        at = place - len(self.extras)
        for header, rows in self.unfolded:
            if at <= header:
                break
            if at <= header + len(rows):
                return header, at - header
            at -= len(rows)
        return at, 0

    def _shown_at(self, at: int) -> int:
        """Return the place of a row of the store."""
        above = sum(len(rows) for header, rows in self.unfolded if header < at)
        return len(self.extras) + at + above

    def pages_of(self, first: int, last: int) -> tuple[int, ...]:
        """Return the store's pages that the places ``first`` to ``last`` stand on."""
        above = len(self.extras)
        if last < above or not self.total:
            return ()
        begin, _ = self._in_store(max(first, above))
        end, _ = self._in_store(last)
        return tuple(range(begin // PAGE, min(end, self.total - 1) // PAGE + 1))

    def missing(self, pages: Iterable[int]) -> tuple[int, ...]:
        """Return those of ``pages`` that are not known; the others count as looked at."""
        found = []
        for page in pages:
            if page in self._pages:
                self._pages.move_to_end(page)
            else:
                found.append(page)
        return tuple(found)

    def known(self) -> dict[int, Row]:
        """Return every row that is known, by place."""
        found = dict(enumerate(self.extras))
        for page, rows in self._pages.items():
            begin = self._shown_at(page * PAGE)
            if self._shown_at(page * PAGE + len(rows)) == begin + len(rows):  # none unfolded in it
                found.update(zip(range(begin, begin + len(rows)), rows, strict=True))
            else:
                places = (self._shown_at(page * PAGE + within) for within in range(len(rows)))
                found.update(zip(places, rows, strict=True))
        for header, rows in self.unfolded:
            begin = self._shown_at(header) + 1
            found.update(zip(range(begin, begin + len(rows)), rows, strict=True))
        return found

    def find(self, run_id: str) -> int | None:
        """Return the place of a run among the known rows."""
        for place, row in enumerate(self.extras):
            if row.id == run_id:
                return place
        for page, rows in self._pages.items():
            for within, row in enumerate(rows):
                if row.id == run_id:
                    return self._shown_at(page * PAGE + within)
        for header, rows in self.unfolded:
            for below, row in enumerate(rows, start=1):
                if row.id == run_id:
                    return self._shown_at(header) + below
        return None

    def pages_at(self, places: Iterable[int]) -> tuple[int, ...]:
        """Return the store's pages that some places stand on."""
        below = [place for place in places if place >= len(self.extras)]
        return tuple(dict.fromkeys(self._in_store(place)[0] // PAGE for place in below))

    def after(self, answer: Answer) -> Pages:
        """Return the rows as an answer leaves them: pages of another state are of no use."""
        made = self.below(self.extras)
        made.state = answer.state
        if answer.total is not None:
            made.total = answer.total
            made.runs = answer.runs if answer.runs is not None else answer.total
            made._pages.clear()
        if answer.unfolded is not None:
            made.unfolded = tuple(sorted(answer.unfolded, key=lambda one: one[0]))
        for page, rows in answer.pages.items():
            made._pages[page] = rows
            made._pages.move_to_end(page)
        while len(made._pages) > MAX_PAGES:
            made._pages.popitem(last=False)
        return made

    def has_the_same_below(self, other: Pages) -> bool:
        """Whether the store's rows are those of others, as far as both know them."""
        return (self.total, self.unfolded) == (other.total, other.unfolded) and all(
            rows is mine or _ids(rows) == _ids(mine)
            for page, rows in other._pages.items()
            if (mine := self._pages.get(page)) is not None
        )

    def below(self, extras: Sequence[Row]) -> Pages:
        """Return the same pages below other rows on top."""
        made = Pages()
        made.extras, made.total, made.state = tuple(extras), self.total, self.state
        made.runs, made.unfolded = self.runs, self.unfolded
        made._pages = self._pages.copy()
        return made


def change(before: Pages, after: Pages) -> Change:
    """Return how the ids of the rows have changed, judged by those known on both sides.

    Where none is known on both, no row was seen to move.
    """
    grown = len(after) - len(before)
    if before.has_the_same_below(after):
        above = len(after.extras) - len(before.extras)
        if above >= 0 and _ids(after.extras[above:]) == _ids(before.extras):
            return Change("above", above) if above else Change("same")
    known = after.known()
    if _stand_in(before, known, 0):
        return Change("below", grown) if grown else Change("same")
    if grown > 0 and _stand_in(before, known, grown):
        return Change("above", grown)
    return Change("other")


def _ids(rows: Iterable[Row]) -> list[str]:
    return [row.id for row in rows]


def _stand_in(before: Pages, known: Mapping[int, Row], moved: int) -> bool:
    """Return whether rows that are known twice are the same, ``moved`` places further down."""
    found = ((before.row(place - moved), row) for place, row in known.items())
    return all(old is None or old.id == row.id for old, row in found)
