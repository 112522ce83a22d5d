"""Lists of runs by pages: those that were asked for lately are kept until the store changes."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Hashable, Iterable, Sequence
from datetime import date
from operator import ge, gt, le, lt
from typing import Any, Protocol

from sqlalchemy import ColumnElement, Connection, Select, and_, case, func, or_, select, tuple_

from gpuexplorer.history.model import FOLDED, Query, Row, Timeline
from gpuexplorer.history.sql import search
from gpuexplorer.history.sql.folding import MOST_UNFOLDED, with_groups
from gpuexplorer.history.sql.runs import AT_ONCE
from gpuexplorer.history.sql.tables import groups, runs

KEPT = 4
"""Lists that are kept while the store does not change."""


class Lists:
    """The lists that were asked for lately, with what was found out about each.

    A list is kept as long as the store is in the state that it is of: to page through one is then
    to read a page, however far down that is.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state: int | None = None
        self._kept: dict[Hashable, _List] = {}

    def clear(self) -> None:
        """Keep none."""
        with self._lock:
            self._kept.clear()

    def timeline(
        self,
        connection: Connection,
        state: int,
        query: Query,
        wanted: Iterable[int],
        size: int,
        *,
        sort: str,
        descending: bool,
        known: int | None,
        missing: Iterable[int],
        unfolded: Iterable[str],
    ) -> Timeline:
        """Return what ``Store.timeline`` does; ``connection`` reads the store in ``state``."""
        same = state == known
        with self._lock:
            found = self._list(connection, state, query, sort, descending)
            pages: dict[int, list[Row]] = {}
            for first, end in _stretches(missing if same else wanted, max(1, AT_ONCE // size)):
                rows = found.rows(connection, first * size, (end - first) * size)
                for page in range(first, end):
                    pages[page] = rows[(page - first) * size : (page + 1 - first) * size]
            if same:
                return Timeline(state, pages, None, None, [])
            below = [found.unfolded(connection, group) for group in unfolded]
            return Timeline(
                state, pages, found.number, found.of_runs, [one for one in below if one is not None]
            )

    def _list(
        self, connection: Connection, state: int, query: Query, sort: str, descending: bool
    ) -> _List:
        """Return a list, which is the latest of those that are kept then."""
        if state != self._state:
            self._kept.clear()
            self._state = state
        key = query, sort, descending, date.today()  # a text may name a day as that day does
        found = self._kept.pop(key, None) or _made(connection, query, sort, descending)
        self._kept[key] = found
        while len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]
        return found


def _stretches(pages: Iterable[int], most: int) -> list[tuple[int, int]]:
    """Return pages as stretches of at most so many: the first, and the one behind the last."""
    found: list[tuple[int, int]] = []
    for page in sorted(set(pages)):
        first, end = found[-1] if found else (page, -1)
        if end == page and end - first < most:
            found[-1] = first, page + 1
        else:
            found.append((page, page + 1))
    return found


class _List(Protocol):
    """The rows that a query is for, in an order."""

    number: int
    """How many rows there are."""
    of_runs: int
    """How many runs they stand for."""

    def rows(self, connection: Connection, begin: int, count: int) -> list[Row]:
        """Return the rows at some places."""

    def unfolded(self, connection: Connection, group: str) -> tuple[int, list[Row]] | None:
        """Return where a group's row is, and its runs; None where it has no row."""


def _made(connection: Connection, query: Query, sort: str, descending: bool) -> _List:
    """Return a list; what few rows or a text are in, is looked for here."""
    if sort != "time":
        return _Sorted(connection, query, sort, descending)
    if query == Query():
        return _Folded(connection, query, descending)
    held = search.condition(connection, query)
    if query.text or query.machine or query.person:
        hits = search.in_time(connection, held, descending, search.MANY)
        numbers = [number for _, number in hits or ()]
        grouped = _grouped(connection, numbers)
    else:  # the index of times has the groups, and of what is tagged nothing is found sooner
        group = runs.c.group_id
        folded = case((func.coalesce(group, group).in_(_folded()), group))
        most = search.FEW if query.tag is None else search.MANY
        hits = search.in_time(connection, held, descending, most, folded)
        numbers = [number for _, number, _ in hits or ()]
        grouped = {number: group for _, number, group in hits or () if group is not None}
    if hits is None:
        return _Folded(connection, query, descending)
    return _Found(connection, query, numbers, grouped, descending)


class _Sorted:
    """Runs in another order than that of time, none of them folded."""

    def __init__(self, connection: Connection, query: Query, sort: str, descending: bool) -> None:
        self._sort, self._descending = sort, descending
        self._wanted, few = search.few(connection, query)
        self.number = self.of_runs = search.count(connection, query) if few is None else few

    def rows(self, connection: Connection, begin: int, count: int) -> list[Row]:
        return search.page(connection, self._wanted, self._sort, self._descending, begin, count)

    def unfolded(self, connection: Connection, group: str) -> tuple[int, list[Row]] | None:
        return None


_FOLDED = groups.alias("folded")
_PLACE = tuple_(runs.c.time_s, runs.c.seq)
"""By which the runs of a list in the order of time stand in it."""


def _folded() -> Select[tuple[str]]:
    """Return a selection of the ids of the groups that are one row."""
    return select(_FOLDED.c.id).where(_FOLDED.c.kind.in_(FOLDED))


class _Folded:
    """In the order of time: runs of their own, and of each group the one that was stored last."""

    def __init__(self, connection: Connection, query: Query, descending: bool) -> None:
        self._descending, self._held = descending, search.condition(connection, query)
        self._marks: dict[int, tuple[float, int] | None] = {0: None}
        """What stands at places that were looked at, from which others are counted."""
        group, latest = runs.c.group_id, func.max(runs.c.seq)
        leading: Any
        if query == Query():  # the index of groups has each one's latest run at its end
            last = select(latest).where(group == _FOLDED.c.id, self._held).correlate(_FOLDED)
            lasts = select(last.scalar_subquery()).where(_FOLDED.c.kind.in_(FOLDED))
            leading = [run for run in connection.scalars(lasts) if run is not None]
            of_groups = select(func.count()).where(self._held, group.in_(_folded()))
            grouped = int(connection.scalar(of_groups) or 0)
        else:  # from the index of what is asked for, for which groups may be many
            within = and_(self._held, func.coalesce(group, group).in_(_folded()))
            lasts = select(latest).where(within).group_by(group)
            found = connection.execute(lasts.add_columns(func.count())).all()
            leading = [run for run, _ in found]
            grouped = sum(number for _, number in found)
        # The index of times has the groups, so that it answers this alone.
        alone = or_(group.is_(None), group.not_in(_folded()))
        leads = runs.c.seq.in_(leading if len(leading) <= AT_ONCE else lasts)
        self._listed = and_(self._held, or_(alone, leads))
        self.of_runs = search.count(connection, query)
        self.number = self.of_runs - grouped + len(leading)

    def rows(self, connection: Connection, begin: int, count: int) -> list[Row]:
        """Return the rows at some places, which are counted from the nearest that is known."""
        end = min(begin + count, self.number)
        if begin >= end:
            return []
        above = max(place for place in self._marks if place <= begin)
        below = min(place for place in (*self._marks, self.number) if place >= end)
        if begin - above <= below - end:
            query = self._from(self._marks[above], back=False).offset(begin - above)
            found = connection.execute(query.limit(end - begin)).all()
        else:
            query = self._from(self._marks.get(below), back=True).offset(below - end)
            found = connection.execute(query.limit(end - begin)).all()[::-1]
        if found and isinstance(found[0].time_s, int | float):
            self._marks[begin] = found[0].time_s, found[0].seq
        return with_groups(connection, self, search.made(connection, found))

    def _from(self, mark: tuple[float, int] | None, *, back: bool) -> Select[Any]:
        """Return the runs from a mark on, or back from the one before it."""
        query = search.LISTED.where(self._listed).order_by(*_order(self._descending != back))
        if mark is None:
            return query
        return query.where(_BEYOND[self._descending, back](_PLACE, tuple_(*mark)))

    def several(self, group: str) -> bool:
        """Whether a group has more than one of the runs; unless that is known, it may."""
        return True

    def of(self, wanted: Sequence[str]) -> ColumnElement[bool]:
        """Return that a run is one of the list's, and of one of some groups."""
        return and_(self._held, runs.c.group_id.in_(wanted))

    def unfolded(self, connection: Connection, group: str) -> tuple[int, list[Row]] | None:
        lead = self._lead(connection, group)
        if lead is None:
            return None
        runs_below = search.LISTED.where(self.of([group])).order_by(*_order(self._descending))
        below = search.shown(connection, runs_below.limit(MOST_UNFOLDED))
        return self._place(connection, lead), below

    def _lead(self, connection: Connection, group: str) -> int | None:
        """Return the run by which a group has its place; None where it has no row."""
        folded = self.of([group]), runs.c.group_id.in_(_folded())
        lead: int | None = connection.scalar(select(func.max(runs.c.seq)).where(*folded))
        return lead

    def _place(self, connection: Connection, number: int) -> int:
        """Return the place of a run that has a row."""
        mark = select(runs.c.time_s, runs.c.seq).where(runs.c.seq == number)
        operator = _BEYOND[self._descending, True]
        before = operator(_PLACE, tuple_(*connection.execute(mark).one()))
        found = select(func.count()).select_from(runs).where(self._listed, before)
        return int(connection.scalar(found) or 0)


_BEYOND = {(True, False): le, (True, True): gt, (False, False): ge, (False, True): lt}
"""How runs compare that stand at a place and below it, or above it, by the order and the way."""


def _order(descending: bool) -> list[ColumnElement[Any]]:
    return [c.desc() if descending else c.asc() for c in (runs.c.time_s, runs.c.seq)]


class _Found(_Folded):
    """The rows of a list whose runs are few or hard to find: they are looked for once."""

    def __init__(
        self,
        connection: Connection,
        query: Query,
        numbers: Sequence[int],
        grouped: dict[int, str],
        descending: bool,
    ) -> None:
        self._descending = descending
        self._held = search.condition(connection, query, on_rows=True)  # of the groups on a page
        self._runs_of: dict[str, array[int]] = {}
        for number, group in grouped.items():
            self._runs_of.setdefault(group, array("q")).append(number)
        leading = set(map(max, self._runs_of.values()))
        listed = (n for n in numbers if n not in grouped or n in leading)
        self._numbers = array("q", listed)
        self.number, self.of_runs = len(self._numbers), len(numbers)

    def rows(self, connection: Connection, begin: int, count: int) -> list[Row]:
        found = search.numbered(connection, self._numbers[begin : begin + count])
        return with_groups(connection, self, found)

    def several(self, group: str) -> bool:
        return len(self._runs_of.get(group, ())) > 1

    def of(self, wanted: Sequence[str]) -> ColumnElement[bool]:
        numbers = [number for group in wanted for number in self._runs_of.get(group, ())]
        return runs.c.seq.in_(numbers) if len(numbers) <= search.FEW else super().of(wanted)

    def _lead(self, connection: Connection, group: str) -> int | None:
        return max(self._runs_of.get(group, ()), default=None)

    def _place(self, connection: Connection, number: int) -> int:
        return self._numbers.index(number)


def _grouped(connection: Connection, numbers: Sequence[int]) -> dict[int, str]:
    """Return the groups of those runs that are folded.

    The index of groups tells it of all runs sooner than their rows tell it of many.
    """
    if not numbers:
        return {}
    group, among = runs.c.group_id, set(numbers)
    found = select(runs.c.seq, group)
    if len(numbers) > search.FEW:
        found = found.where(group.in_(_folded()))
    else:
        found = found.where(runs.c.seq.in_(numbers), func.coalesce(group, group).in_(_folded()))
    return {n: group for n, group in search.plain(connection, found) if n in among}
