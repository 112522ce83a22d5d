"""A list in the order of time in which a sweep, map, tuning, comparison or study is one row."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Select,
    and_,
    case,
    cast,
    func,
    or_,
    select,
)

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.units import plural
from gpuexplorer.history.documents import clean, unpack_document
from gpuexplorer.history.model import BEST_RUN, FOLDED, Folded, Query, Row, Timeline
from gpuexplorer.history.sql import search
from gpuexplorer.history.sql.runs import AT_ONCE, begins_one
from gpuexplorer.history.sql.tables import groups, runs

MOST_UNFOLDED = 2000
"""Runs of one group that are shown below its row."""

WITH_A_BEST = ("block map", "tuning")
"""Kinds of groups that name the best of their runs."""

_PHRASES = {
    "workload": ("{number} workload", "{number} workloads"),
    "variant": ("{number} variant", "{number} variants"),
    "size_words": ("{number} size", "{number} sizes"),
    "block_words": ("{number} block", "{number} blocks"),
    "precision": ("{number} format", "{number} formats"),
    "device": ("{number} device", "{number} devices"),
    "device_name": ("{number} device", "{number} devices"),
    "switch_words": ("{number} setting", "{number} settings"),
}
"""What is said of a field in which a group's runs differ."""


def timeline(
    connection: Connection,
    query: Query,
    wanted: Sequence[int],
    size: int,
    *,
    descending: bool,
    total: bool,
    unfolded: Sequence[str],
) -> Timeline:
    """Return pages of the runs that a query is for, the groups among them folded."""
    listing = _listing(connection, query, descending)
    pages = {page: _with_groups(connection, listing, listing.page(page, size)) for page in wanted}
    return Timeline(
        pages,
        listing.rows if total else None,
        listing.runs if total else None,
        [
            _unfolded(connection, listing, group, lead)
            for group in unfolded
            if (lead := listing.lead(group)) is not None
        ],
    )


_FOLDED = groups.alias("folded")


def _folded() -> Select[tuple[str]]:
    """Return a selection of the ids of the groups that are one row."""
    return select(_FOLDED.c.id).where(_FOLDED.c.kind.in_(FOLDED))


class _Listing:
    """The rows of a list: runs of their own, and of each group the one that was stored last."""

    def __init__(self, connection: Connection, query: Query, descending: bool) -> None:
        self._connection, self._query, self.descending = connection, query, descending
        group, latest = runs.c.group_id, func.max(runs.c.seq)
        self._hidden: int | None = None
        leading: Any
        if query == Query():  # the index of groups has each one's latest run at its end
            last = select(latest).where(group == _FOLDED.c.id, self._held).correlate(_FOLDED)
            leading = select(last.scalar_subquery()).where(_FOLDED.c.kind.in_(FOLDED))
        else:  # from the index of what is asked for, for which groups may be many
            grouped = and_(self._held, func.coalesce(group, group).in_(_folded()))
            by_group = select(latest, func.count()).where(grouped).group_by(group)
            found = connection.execute(by_group).all()
            self._hidden = sum(number - 1 for _, number in found)
            leading = [run for run, _ in found]
            if len(leading) > AT_ONCE:
                leading = select(latest).where(grouped).group_by(group)
        # The index of times has the groups, so that it answers this alone.
        alone = or_(group.is_(None), group.not_in(_folded()))
        self._listed = and_(self._held, or_(alone, runs.c.seq.in_(leading)))

    @cached_property
    def _held(self) -> ColumnElement[bool]:
        """What the query asks for, as a condition."""
        return search.condition(self._connection, self._query)

    @cached_property
    def runs(self) -> int:
        """How many runs the rows stand for."""
        return search.count(self._connection, self._query)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        if self._hidden is None:
            number = select(func.count().label("number")).where(
                runs.c.group_id == _FOLDED.c.id, self._held
            )
            of_each = number.correlate(_FOLDED).scalar_subquery()
            counted = select(of_each.label("number")).where(_FOLDED.c.kind.in_(FOLDED)).subquery()
            hidden = select(func.sum(counted.c.number - 1)).where(counted.c.number > 0)
            self._hidden = int(self._connection.scalar(hidden) or 0)
        return self.runs - self._hidden

    def lead(self, group: str) -> int | None:
        """Return the run by which a group has its place; None where it has no row."""
        folded = self.of([group]), runs.c.group_id.in_(_folded())
        found = self._connection.scalar(select(func.max(runs.c.seq)).where(*folded))
        return int(found) if found is not None else None

    def of(self, wanted: Sequence[str]) -> ColumnElement[bool]:
        """Return that a run is one of the list's, and of one of some groups."""
        return and_(self._held, runs.c.group_id.in_(wanted))

    def page(self, page: int, size: int) -> list[int]:
        """Return the numbers of the runs on a page."""
        number = select(runs.c.seq).where(self._listed).order_by(*self.order)
        return list(self._connection.scalars(number.offset(page * size).limit(size)))

    @property
    def order(self) -> list[ColumnElement[Any]]:
        """The order of time."""
        columns = (runs.c.time_s, runs.c.seq)
        return [c.desc() if self.descending else c.asc() for c in columns]

    def place(self, number: int) -> int:
        """Return the place of a run that has a row."""
        time_s = self._connection.scalar(select(runs.c.time_s).where(runs.c.seq == number))
        time, seq = runs.c.time_s, runs.c.seq
        if self.descending:
            before = or_(time > time_s, and_(time == time_s, seq > number))
        else:
            before = or_(time < time_s, and_(time == time_s, seq < number))
        found = select(func.count()).select_from(runs).where(self._listed, before)
        return int(self._connection.scalar(found) or 0)


class _FoundListing(_Listing):
    """The rows of a list whose runs are few or hard to find: they are looked for once."""

    def __init__(
        self,
        connection: Connection,
        query: Query,
        numbers: Sequence[int],
        grouped: dict[int, str],
        descending: bool,
    ) -> None:
        self._connection, self._query, self.descending = connection, query, descending
        self.runs = len(numbers)
        self._grouped = grouped
        self._leads = {group: number for number, group in sorted(grouped.items())}
        leading = set(self._leads.values())
        self._numbers = [n for n in numbers if n not in grouped or n in leading]

    @cached_property
    def _held(self) -> ColumnElement[bool]:  # of the groups on a page
        return search.condition(self._connection, self._query, on_rows=True)

    @property
    def rows(self) -> int:
        return len(self._numbers)

    def lead(self, group: str) -> int | None:
        return self._leads.get(group)

    def of(self, wanted: Sequence[str]) -> ColumnElement[bool]:
        if self.runs > search.FEW:
            return super().of(wanted)
        return runs.c.seq.in_([n for n, group in self._grouped.items() if group in wanted])

    def page(self, page: int, size: int) -> list[int]:
        return self._numbers[page * size : (page + 1) * size]

    def place(self, number: int) -> int:
        return self._numbers.index(number)


def _listing(connection: Connection, query: Query, descending: bool) -> _Listing:
    """Return the rows; those that a query leaves are looked for here unless they are too many."""
    if query == Query():
        return _Listing(connection, query, descending)
    held = search.condition(connection, query)
    if query.text or query.machine or query.person:
        hits = search.in_time(connection, held, descending, search.MANY)
        numbers = [number for _, number in hits or ()]
        grouped = _grouped(connection, numbers)
    else:
        group = runs.c.group_id
        folded = case((func.coalesce(group, group).in_(_folded()), group))
        hits = search.in_time(connection, held, descending, search.FEW, folded)
        numbers = [number for _, number, _ in hits or ()]
        grouped = {number: group for _, number, group in hits or () if group is not None}
    if hits is None:
        return _Listing(connection, query, descending)
    return _FoundListing(connection, query, numbers, grouped, descending)


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


def _unfolded(
    connection: Connection, listing: _Listing, group: str, lead: int
) -> tuple[int, list[Row]]:
    """Return where a group's row is, and its runs."""
    wanted = select(runs.c.seq).where(listing.of([group]))
    numbers = list(connection.scalars(wanted.order_by(*listing.order).limit(MOST_UNFOLDED)))
    return listing.place(lead), search.numbered(connection, numbers)


def _with_groups(connection: Connection, listing: _Listing, numbers: Sequence[int]) -> list[Row]:
    """Return the rows of runs, in place of those that stand for a group the group's."""
    found = search.numbered(connection, numbers)
    wanted = [row.group for row in found if row.group is not None]
    if not wanted:
        return found
    about = select(groups.c.id, groups.c.kind, groups.c.finished)
    folded = connection.execute(about.where(groups.c.id.in_(wanted), groups.c.kind.in_(FOLDED)))
    known = {group: (kind, bool(finished)) for group, kind, finished in folded}
    if not known:
        return found
    summed = _summed(connection, listing.of(list(known)))
    with_a_best = [group for group, (kind, _) in known.items() if kind in WITH_A_BEST]
    best = _best(connection, listing, with_a_best)
    return [
        _group_row(row, summed[row.group], known[row.group], best.get(row.group))
        if row.group is not None and row.group in summed
        else row
        for row in found
    ]


class _Finalist(msgspec.Struct):
    run: str | None = None


class _Found(msgspec.Struct):
    """What the document of a map or a tuning says of the best."""

    best_run: str | None = msgspec.field(default=None, name=BEST_RUN)
    finalists: list[_Finalist] = []


def _named(document: Any) -> str | None:
    """Return the id of the run that a group's document names as the best; None where none is."""
    try:
        found = msgspec.json.decode(unpack_document(document), type=_Found)
    except (ValueError, msgspec.MsgspecError):  # its runs are shown all the same
        return None
    return found.finalists[0].run if found.finalists else found.best_run


def _group_called(connection: Connection, text: str) -> Any:
    """Return the id and the document of the group that ``text`` names; None where none is.

    A whole id is always that group. Raises InputError where more than one group begins so, or a run
    does as well.
    """
    about = select(groups.c.id, groups.c.document)
    exact = connection.execute(about.where(groups.c.id == text)).first()
    if exact is not None or not text:
        return exact
    beginning = about.where(groups.c.id.startswith(text, autoescape=True))
    found = connection.execute(beginning.limit(2)).all()
    if not found:
        return None
    if len(found) > 1 or begins_one(connection, text):
        raise InputError(
            f"more than one entry of the history begins with '{text}'",
            remedy="give more characters of the id",
        )
    return found[0]


def best_run(connection: Connection, beginning: str) -> str | None:
    """Return the best run of a group by the beginning of its id; see ``Store.best_run``."""
    group = _group_called(connection, clean(beginning.strip()))
    if group is None:
        return None
    named = _named(group.document)
    if named is not None:
        return named
    query = Query(group=group.id)
    rows = search.find(
        connection, query, sort="median", descending=False, offset=0, limit=MOST_UNFOLDED
    )
    believed = [row for row in rows if row.suspect is None and row.median_s is not None]
    if len({(row.workload, row.size_words) for row in believed}) != 1:
        raise InputError(
            f"'{beginning}' has no best run: it holds no run, or runs of several problems",
            remedy="name one of its runs, see 'gpuexplorer history'",
        )
    return believed[0].id


def _best(connection: Connection, listing: _Listing, wanted: Sequence[str]) -> dict[str, Row]:
    """Return the runs that groups name as the best, by the group.

    It need not be the one with the shortest median: turns decide.
    """
    groups_by_run: dict[str, str] = {}
    about = select(groups.c.id, groups.c.document).where(groups.c.id.in_(wanted))
    for group, document in connection.execute(about) if wanted else ():
        run = _named(document)
        if run is not None:
            groups_by_run[run] = group
    if not groups_by_run:
        return {}
    numbers = select(runs.c.seq).where(
        listing.of(wanted), runs.c.id.in_(groups_by_run), runs.c.suspect.is_(None)
    )
    found_runs = search.numbered(connection, list(connection.scalars(numbers)))
    return {groups_by_run[row.id]: row for row in found_runs}


def _number_of(holds: ColumnElement[bool], name: str) -> ColumnElement[Any]:
    return func.sum(case((holds, 1), else_=0)).label(name)


_SUMMED = select(
    runs.c.group_id,
    func.count().label("runs"),
    func.min(case((runs.c.suspect.is_(None), runs.c.median_s))).label("median_s"),
    func.max(case((runs.c.suspect.is_(None), runs.c.flop_per_s))).label("flop_per_s"),
    func.max(case((runs.c.suspect.is_(None), runs.c.bandwidth_B_per_s))).label("bandwidth"),
    func.sum(runs.c.samples).label("samples"),
    _number_of(runs.c.verified.is_(True), "right"),
    _number_of(runs.c.verified.is_(False), "wrong"),
    _number_of(runs.c.running, "running"),
    func.min(cast(runs.c.starred, Integer)).label("starred"),
    *(func.count(runs.c[name].distinct()).label(name) for name in _PHRASES),
).group_by(runs.c.group_id)


def _summed(connection: Connection, wanted: ColumnElement[bool]) -> dict[str, Any]:
    """Return what groups' runs have in common, and the best of them."""
    return {row.group_id: row for row in connection.execute(_SUMMED.where(wanted))}


def _group_row(row: Row, summed: Any, about: tuple[str, bool], best: Row | None) -> Row:
    """Return a group as a row, out of that of its latest run and of the one it names best."""
    kind, finished = about
    number = int(summed.runs)
    words = {
        name: plural(differing, *phrases)
        for name, phrases in _PHRASES.items()
        if (differing := int(getattr(summed, name))) > 1
    }
    one_problem = not words.keys() & {"workload", "size_words"}
    median_s = _figure(summed.median_s) if one_problem else None
    if best is not None:
        median_s = best.median_s
    verified = False if summed.wrong else True if summed.right == number else None
    return msgspec.structs.replace(
        row,
        id=row.group,
        folded=Folded(kind=kind, runs=number, finished=finished),
        median_s=median_s,
        relative_error=best.relative_error if best is not None else None,
        flop_per_s=best.flop_per_s if best is not None else _figure(summed.flop_per_s),
        bandwidth_B_per_s=best.bandwidth_B_per_s if best is not None else _figure(summed.bandwidth),
        samples=int(summed.samples),
        verified=verified,
        suspect=None,
        running=bool(summed.running),
        starred=bool(summed.starred),
        tags=(),
        note="",
        stopped_by="",
        fingerprint="",
        machine="",
        person="",
        damaged=None,
        **words,
    )


def _figure(value: object) -> float | None:
    """Return a figure; None for whatever else a file may hold in its place."""
    return float(value) if isinstance(value, int | float) else None
