"""The newest runs of a store in a file, read before SQLAlchemy is imported.

A window shows them at once: the import takes several times as long as reading a page. It is only a
first look. Whatever is unusual about the file is left to ``Store.open``, which says what it is.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing

import msgspec

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.history.documents import whose
from gpuexplorer.history.model import FOLDED, Folded, Row
from gpuexplorer.history.place import find_place

VERSION = 3
"""Grows by one whenever the tables change; ``sql.migrations`` says how each comes of the last."""


PATIENCE_S = 0.05
_ELSEWHERE = ("tags", "group", "damaged", "folded", "machine", "person")
"""Fields that are no columns of their own."""
_COLUMNS = [name for name in Row.__struct_fields__ if name not in _ELSEWHERE]
_NAMES = (*_COLUMNS, "group", "tags", "machine", "person")
_OF_GROUPS = (
    f"SELECT id FROM gpuexplorer_groups WHERE kind IN ({', '.join(repr(kind) for kind in FOLDED)})"
)
_OF_GROUP = "FROM gpuexplorer_runs r WHERE r.group_id = g.id AND r.deleted = 0"
_GROUPS = (
    f"SELECT g.id, g.kind, g.finished, (SELECT count(*) {_OF_GROUP}) FROM gpuexplorer_groups g "
    f"WHERE g.id IN ({_OF_GROUPS})"
)
_RUNS = (
    "SELECT (SELECT count(*) FROM gpuexplorer_runs) - "
    "(SELECT count(*) FROM gpuexplorer_runs WHERE deleted > 0 OR deleted < 0)"
)
_NEWEST = (
    f"SELECT seq, group_id, words, {', '.join(_COLUMNS)} FROM gpuexplorer_runs WHERE deleted = 0 "
    f"AND (group_id IS NULL OR group_id NOT IN ({_OF_GROUPS}) OR seq IN (SELECT "
    f"(SELECT max(r.seq) {_OF_GROUP}) FROM gpuexplorer_groups g WHERE g.id IN ({_OF_GROUPS}))) "
    "ORDER BY time_s DESC, seq DESC LIMIT ?"
)
"""The runs of a list in which a group stands by its latest run, as ``sql.folding`` has it."""
_DIFFERING = ("variant", "size_words", "block_words", "switch_words", "precision", "device")
"""What a group's runs may differ in: it comes once the store is open."""


class Peek(msgspec.Struct, frozen=True):
    """What a store held at one moment: its state, how many runs there are, the newest rows."""

    state: int
    runs: int
    total: int
    """How many rows they have."""
    rows: list[Row]


def newest(limit: int) -> Peek | None:
    """Return the newest runs of the store that is opened by default.

    None where it is no file, is not there yet, or is not as this program would leave it.
    """
    try:
        path = find_place().path
        if path is None or not path.is_file():
            return None
        uri = f"{path.as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=PATIENCE_S)) as connection:
            return _read(connection, limit)
    except (ExplorerError, OSError, sqlite3.Error, msgspec.ValidationError):
        return None


def _read(connection: sqlite3.Connection, limit: int) -> Peek | None:
    connection.execute("BEGIN")  # all of it as of one moment
    version, state = connection.execute(
        "SELECT version, generation FROM gpuexplorer_store"
    ).fetchone() or (None, 0)
    if version != VERSION:
        return None
    groups = {group: about for group, *about in connection.execute(_GROUPS) if about[-1]}
    (runs,) = connection.execute(_RUNS).fetchone()
    found = connection.execute(_NEWEST, (limit,)).fetchall()
    marked: dict[int, list[str]] = {row[0]: [] for row in found}
    places = ", ".join("?" * len(marked))
    for number, tag in connection.execute(
        f"SELECT run, tag FROM gpuexplorer_tags WHERE run IN ({places})", list(marked)
    ):
        marked[number].append(tag)
    rows = [
        msgspec.convert(
            dict(zip(_NAMES, (*values, group, sorted(marked[number]), *whose(words)), strict=True)),
            Row,
            strict=False,  # SQLite knows no booleans
        )
        for number, group, words, *values in found
    ]
    rows = [
        _first_look(row, *groups[row.group]) if row.group is not None and row.group in groups
        else row
        for row in rows
    ]  # fmt: skip
    total = runs - sum(number - 1 for _, _, number in groups.values())
    return Peek(state, runs, total, rows)


def _first_look(row: Row, kind: str, finished: bool, runs: int) -> Row:
    """Return the row of a group as far as its latest run tells it."""
    return msgspec.structs.replace(
        row, id=row.group, folded=Folded(kind=kind, runs=runs, finished=bool(finished)),
        median_s=None, relative_error=None, flop_per_s=None, bandwidth_B_per_s=None,
        suspect=None, starred=False, tags=(), note="",
        **dict.fromkeys((*_DIFFERING, "machine", "person"), ""),
    )  # fmt: skip
