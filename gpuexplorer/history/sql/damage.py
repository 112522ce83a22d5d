"""Find the runs of which something cannot be read."""

from __future__ import annotations

from sqlalchemy import Connection, select

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.history.documents import decode, unpack_document
from gpuexplorer.history.sql import search
from gpuexplorer.history.sql.tables import documents, runs

AT_ONCE = 1000
"""Runs that are looked at together."""


def find(connection: Connection) -> list[str]:
    """Return the ids of listed runs whose row or document cannot be read, in order of entry."""
    found: list[str] = []
    last = -1
    while numbers := list(
        connection.scalars(
            select(runs.c.seq)
            .where(runs.c.seq > last, runs.c.deleted == 0)
            .order_by(runs.c.seq)
            .limit(AT_ONCE)
        )
    ):
        last = numbers[-1]
        rows = search.numbered(connection, numbers)
        of_these = documents.c.run.in_(numbers)
        packed = {
            row.run: row.data
            for row in connection.execute(select(documents.c.run, documents.c.data).where(of_these))
        }
        found += [
            row.id
            for number, row in zip(numbers, rows, strict=True)
            if row.damaged is not None
            or not (row.running or (number in packed and _is_read(packed[number])))
        ]
    return found


def _is_read(packed: bytes) -> bool:
    try:
        decode(unpack_document(packed))
    except (ExplorerError, ValueError):
        return False
    return True
