"""A sweep, map, tuning, comparison or study as one row, and the best of its runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec
from sqlalchemy import ColumnElement, Connection, Integer, case, cast, func, select

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.units import plural
from gpuexplorer.history.documents import clean, unpack_document
from gpuexplorer.history.model import BEST_RUN, FOLDED, Folded, Query, Row
from gpuexplorer.history.sql import search
from gpuexplorer.history.sql.groups import called, not_one
from gpuexplorer.history.sql.runs import begins_so
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


class Listing(Protocol):
    """What a group's row has to know of the list that it is in."""

    def of(self, wanted: Sequence[str]) -> ColumnElement[bool]:
        """Return that a run is one of the list's, and of one of some groups."""

    def several(self, group: str) -> bool:
        """Whether a group has more than one of the list's runs; unless that is known, it may."""


def with_groups(connection: Connection, listing: Listing, found: list[Row]) -> list[Row]:
    """Return the rows of runs, in place of those that stand for a group the group's."""
    wanted = [row.group for row in found if row.group is not None]
    if not wanted:
        return found
    about = select(groups.c.id, groups.c.kind, groups.c.finished)
    folded = connection.execute(about.where(groups.c.id.in_(wanted), groups.c.kind.in_(FOLDED)))
    known = {group: (kind, bool(finished)) for group, kind, finished in folded}
    several = [group for group in known if listing.several(group)]
    summed = _summed(connection, listing.of(several)) if several else {}
    with_a_best = [group for group, (kind, _) in known.items() if kind in WITH_A_BEST]
    best = _best(connection, listing, with_a_best)
    return [
        _group_row(row, summed.get(row.group), *known[row.group], best.get(row.group))
        if row.group is not None and row.group in known
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


def group_called(connection: Connection, beginning: str) -> Any:
    """Return the id and the document of the group that a word names; None where none is.

    A whole id is always that group. Raises InputError where more than one group begins so, or a run
    does as well.
    """
    text = clean(beginning.strip())
    found = called(connection, text)
    if not found:
        return None
    ids = [str(one.id) for one in found]
    if ids != [text] and (run := begins_so(connection, text)) is not None:
        ids.append(run)
    if len(ids) > 1:
        raise not_one(text, *ids[:2])
    return found[0]


def best_run(connection: Connection, beginning: str) -> str | None:
    """Return the best run of a group by the beginning of its id; see ``Store.best_run``."""
    group = group_called(connection, beginning)
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


def _best(connection: Connection, listing: Listing, wanted: Sequence[str]) -> dict[str, Row]:
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
    found = search.LISTED.where(
        listing.of(wanted), runs.c.id.in_(groups_by_run), runs.c.suspect.is_(None)
    )
    return {groups_by_run[row.id]: row for row in search.shown(connection, found)}


def _number_of(holds: ColumnElement[bool], name: str) -> ColumnElement[Any]:
    return func.sum(case((holds, 1), else_=0)).label(name)


_SUMMED = select(
    runs.c.group_id,
    func.count().label("runs"),
    func.min(case((runs.c.suspect.is_(None), runs.c.median_s))).label("median_s"),
    func.max(case((runs.c.suspect.is_(None), runs.c.flop_per_s))).label("flop_per_s"),
    func.max(case((runs.c.suspect.is_(None), runs.c.bandwidth_B_per_s))).label("bandwidth_B_per_s"),
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


def _group_row(row: Row, summed: Any | None, kind: str, finished: bool, best: Row | None) -> Row:
    """Return a group as a row, out of that of its latest run and of the one it names best.

    The latest run is the only one where nothing is ``summed``.
    """
    found = _of_several(summed) if summed is not None else _of_one(row)
    if best is not None:
        found |= {name: getattr(best, name) for name in ("median_s", "relative_error", *_BEST)}
    return msgspec.structs.replace(
        row,
        id=row.group,
        folded=Folded(kind=kind, runs=summed.runs if summed is not None else 1, finished=finished),
        **{"relative_error": None, **found},
        suspect=None,
        tags=(),
        note="",
        stopped_by="",
        fingerprint="",
        machine="",
        person="",
        damaged=None,
    )


_BEST = ("flop_per_s", "bandwidth_B_per_s")
"""What is the highest among the runs of a group."""


def _of_one(row: Row) -> dict[str, Any]:
    """Return the figures of a group of one run: its own, where they are believed."""
    return {} if row.suspect is None else dict.fromkeys(("median_s", *_BEST))


def _of_several(summed: Any) -> dict[str, Any]:
    """Return what several runs have in common, and the best of their figures."""
    words = {
        name: plural(differing, *phrases)
        for name, phrases in _PHRASES.items()
        if (differing := getattr(summed, name)) > 1
    }
    one_problem = not words.keys() & {"workload", "size_words"}
    return {
        "median_s": _figure(summed.median_s) if one_problem else None,
        "flop_per_s": _figure(summed.flop_per_s),
        "bandwidth_B_per_s": _figure(summed.bandwidth_B_per_s),
        "samples": int(summed.samples),
        "verified": False if summed.wrong else True if summed.right == summed.runs else None,
        "running": bool(summed.running),
        "starred": bool(summed.starred),
        **words,
    }


def _figure(value: object) -> float | None:
    """Return a figure; None for whatever else a file may hold in its place."""
    return float(value) if isinstance(value, int | float) else None
