"""A list in the order of time in which a sweep, map, tuning, comparison or study is one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Integer, and_, case, cast, func, or_, select

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.units import plural
from gpuexplorer.history.documents import clean, unpack_document
from gpuexplorer.history.model import BEST_RUN, FOLDED, Folded, Query, Row, Timeline
from gpuexplorer.history.sql import search
from gpuexplorer.history.sql.runs import AT_ONCE
from gpuexplorer.history.sql.tables import groups, runs

MOST_UNFOLDED = 2000
"""Runs of one group that are shown below its row."""

WITH_A_BEST = ("block map", "tuning")
"""Kinds of groups that name the best of their runs."""

Known = Mapping[str, tuple[str, bool]]
"""Kinds of groups by their ids, and whether they are finished."""

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
    known = _known(connection)
    if not known:
        found, number = search.pages(
            connection, query, wanted, size, sort="time", descending=descending, total=total
        )
        return Timeline(found, number, number, [])
    listing = _listing(connection, query, descending)
    pages = {
        page: _with_groups(connection, listing, listing.page(page, size), known) for page in wanted
    }
    return Timeline(
        pages,
        listing.rows if total else None,
        listing.runs if total else None,
        [_unfolded(connection, listing, group) for group in unfolded if group in listing.leads],
    )


def _known(connection: Connection) -> Known:
    found = connection.execute(
        select(groups.c.id, groups.c.kind, groups.c.finished).where(groups.c.kind.in_(FOLDED))
    )
    return {group: (kind, bool(finished)) for group, kind, finished in found}


class _Listing:
    """The rows of a list: runs of their own, and of each group the one that was stored last."""

    def __init__(self, connection: Connection, query: Query, descending: bool) -> None:
        self._connection, self._query, self.descending = connection, query, descending
        self.held = search.condition(connection, query)
        folded = select(groups.c.id).where(groups.c.kind.in_(FOLDED))
        group, number = runs.c.group_id, runs.c.seq
        # All grouped runs come from the index of groups, some from that of what is asked for.
        key = group if query in (Query(), Query(deleted=True)) else func.coalesce(group, "")
        grouped = and_(self.held, key.in_(folded))
        found = connection.execute(
            select(group, func.max(number), func.count()).where(grouped).group_by(group)
        ).all()
        self.leads: dict[str, int] = {row[0]: row[1] for row in found}
        """The run by which a group has its place."""
        self._hidden = sum(row[2] for row in found) - len(found)
        # By their numbers, which every index has, so that the one of times answers it alone.
        latest: Any = list(self.leads.values())
        if len(latest) > AT_ONCE:
            latest = select(func.max(number)).where(grouped).group_by(group)
        hidden = select(number).where(grouped, number.not_in(latest))
        self._listed = and_(self.held, number.not_in(hidden))

    @cached_property
    def runs(self) -> int:
        """How many runs the rows stand for."""
        return search.count(self._connection, self._query)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.runs - self._hidden)

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


class _TextListing(_Listing):
    """The rows of a list for a text, whose words are looked through once."""

    def __init__(
        self, connection: Connection, held: ColumnElement[bool], numbers: Sequence[int],
        descending: bool,
    ) -> None:  # fmt: skip
        self._connection, self.held, self.descending = connection, held, descending
        self.runs = len(numbers)
        groups_by_run = _grouped(connection, numbers)
        among = set(numbers)
        self.leads = {
            group: number for number, group in sorted(groups_by_run.items()) if number in among
        }
        leading = set(self.leads.values())
        self._numbers = [n for n in numbers if n not in groups_by_run or n in leading]
        self._hidden = len(numbers) - len(self._numbers)

    def page(self, page: int, size: int) -> list[int]:
        return self._numbers[page * size : (page + 1) * size]

    def place(self, number: int) -> int:
        return self._numbers.index(number)


def _listing(connection: Connection, query: Query, descending: bool) -> _Listing:
    """Return the rows; those for a text are looked through here unless they are too many."""
    if not query.text:
        return _Listing(connection, query, descending)
    numbers = search.in_time(connection, search.condition(connection, query), descending)
    if numbers is None:
        return _Listing(connection, query, descending)
    held = search.condition(connection, query, on_rows=True)  # of the groups on a page
    return _TextListing(connection, held, numbers, descending)


def _grouped(connection: Connection, numbers: Sequence[int]) -> dict[int, str]:
    """Return the groups of the runs that are folded, at least of those among ``numbers``.

    The index of groups tells it of all runs sooner than their rows tell it of many.
    """
    group, folded = runs.c.group_id, select(groups.c.id).where(groups.c.kind.in_(FOLDED))
    found = select(runs.c.seq, group).where(group.in_(folded))
    if len(numbers) <= search.FEW:
        found = found.where(runs.c.seq.in_(numbers))
    return dict(search.plain(connection, found))


def _unfolded(connection: Connection, listing: _Listing, group: str) -> tuple[int, list[Row]]:
    """Return where a group's row is, and its runs."""
    wanted = select(runs.c.seq).where(listing.held, runs.c.group_id == group)
    numbers = list(connection.scalars(wanted.order_by(*listing.order).limit(MOST_UNFOLDED)))
    return listing.place(listing.leads[group]), search.numbered(connection, numbers)


def _with_groups(
    connection: Connection, listing: _Listing, numbers: Sequence[int], known: Known
) -> list[Row]:
    """Return the rows of runs, in place of those that stand for a group the group's."""
    found = search.numbered(connection, numbers)
    of_groups = [row.group for row in found if row.group in known]
    if not of_groups:
        return found
    wanted = [group for group in of_groups if group]
    summed = _summed(connection, listing.held, wanted)
    best = _best(connection, listing.held, [g for g in wanted if known[g][0] in WITH_A_BEST])
    return [
        _group_row(row, summed[row.group], known[row.group], best.get(row.group))
        if row.group in summed
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


def best_run(connection: Connection, beginning: str) -> str | None:
    """Return the best run of a group by the beginning of its id; see ``Store.best_run``."""
    about = select(groups.c.id, groups.c.document).where(
        groups.c.id.startswith(clean(beginning), autoescape=True)
    )
    group = connection.execute(about.limit(1)).first()
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


def _best(
    connection: Connection, held: ColumnElement[bool], wanted: Sequence[str]
) -> dict[str, Row]:
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
    numbers = select(runs.c.seq).where(held, runs.c.id.in_(groups_by_run), runs.c.suspect.is_(None))
    found_runs = search.numbered(connection, list(connection.scalars(numbers)))
    return {groups_by_run[row.id]: row for row in found_runs}


def _summed(
    connection: Connection, held: ColumnElement[bool], wanted: Sequence[str]
) -> dict[str, Any]:
    """Return what groups' runs have in common, and the best of them."""

    def number_of(holds: ColumnElement[bool], name: str) -> ColumnElement[Any]:
        return func.sum(case((holds, 1), else_=0)).label(name)

    believed = case((runs.c.suspect.is_(None), runs.c.median_s))
    columns: list[ColumnElement[Any]] = [
        runs.c.group_id,
        func.count().label("runs"),
        func.min(believed).label("median_s"),
        func.max(case((runs.c.suspect.is_(None), runs.c.flop_per_s))).label("flop_per_s"),
        func.max(case((runs.c.suspect.is_(None), runs.c.bandwidth_B_per_s))).label("bandwidth"),
        func.sum(runs.c.samples).label("samples"),
        number_of(runs.c.verified.is_(True), "right"),
        number_of(runs.c.verified.is_(False), "wrong"),
        number_of(runs.c.running, "running"),
        func.min(cast(runs.c.starred, Integer)).label("starred"),
    ]
    columns += [func.count(runs.c[name].distinct()).label(name) for name in _PHRASES]
    query = select(*columns).where(held, runs.c.group_id.in_(wanted)).group_by(runs.c.group_id)
    return {row.group_id: row for row in connection.execute(query)}


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
