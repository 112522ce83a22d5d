"""What a file holds comes into the store: the runs that are not there yet, and a group of all."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select, update

from gpuexplorer.core.result import RunResult
from gpuexplorer.history.documents import clean
from gpuexplorer.history.model import ELSEWHERE, named_of, said_of
from gpuexplorer.history.sql import groups
from gpuexplorer.history.sql import runs as stored
from gpuexplorer.history.sql.tables import runs

ONE_AT_A_TIME = 0x6770_7569
"""What imports lock on a server; SQLite has one program write at a time anyway."""


def add(
    connection: Connection,
    kind: str,
    document: Mapping[str, Any] | None,
    results: Mapping[str, RunResult | bytes],
    *,
    whole: bool,
) -> tuple[list[str], str | None]:
    """Store what is new of a file's runs; return their ids, and that of the group of all.

    None where the file has no ``document``, or brings nothing: no run that is new, and unless it is
    more than its runs, a ``whole``, or no group says what it says, nothing else.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(ONE_AT_A_TIME)))
    known = {i for part in stored.batched(results) for i in stored.listed(connection, part)}
    fresh = {i: one for i, one in results.items() if clean(i) not in known}
    group = None
    if document is not None and (
        fresh or (whole and not _is_held(connection, kind, document, known))
    ):
        group = _put(connection, kind, document, [i for i in map(clean, results) if i in known])
    stored.add_all(connection, fresh.values(), group)
    return list(fresh), group


def _put(
    connection: Connection, kind: str, document: Mapping[str, Any], known: Collection[str]
) -> str:
    """Enter a group and return its id; it has those of the ``known`` runs that are of no other.

    The others stay where they are, and are named in its document.
    """
    grouped = set(_of(connection, known, runs.c.id, runs.c.group_id.is_not(None)))
    if elsewhere := [run_id for run_id in known if run_id in grouped]:
        document = {**document, ELSEWHERE: elsewhere}
    group = groups.put(connection, None, kind, document, finished=True)
    for part in stored.batched(known):
        free = runs.c.id.in_(part), runs.c.group_id.is_(None)
        connection.execute(update(runs).where(*free).values(group_id=group))
    return group


def _is_held(
    connection: Connection, kind: str, document: Mapping[str, Any], known: Collection[str]
) -> bool:
    """Whether a group has all the runs of a file and is what the file is, by schema and id."""
    of_runs = set(_of(connection, known, runs.c.group_id, runs.c.group_id.is_not(None)))
    mine = said_of(document)
    for group in groups.some(connection, of_runs, kind):
        said = said_of(group.document)
        same = said.get("schema") == mine.get("schema")
        if same and said.get("id", mine.get("id")) == mine.get("id"):
            members = select(runs.c.id).where(runs.c.group_id == clean(group.id))
            if set(known) <= {*connection.scalars(members), *named_of(group.document)}:
                return True
    return False


def _of(
    connection: Connection, ids: Collection[str], column: Any, wanted: ColumnElement[bool]
) -> Iterator[str]:
    """Yield what stands in a column of some runs, of those that a condition holds for."""
    for part in stored.batched(ids):
        yield from connection.scalars(select(column).where(runs.c.id.in_(part), wanted).distinct())
