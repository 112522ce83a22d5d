"""Bring a store's tables up to date by numbered steps, each in one transaction or not at all.

A new store gets the tables as they are in ``tables``. When they change, ``VERSION`` grows by one
and ``STEPS`` gains what makes them so out of the version before; a step adds and fills, and never
drops what an older program stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy import Connection, insert, inspect, select, text, update

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.limits import shown
from gpuexplorer.history.errors import StoreForeign, StoreReadOnly, StoreTooNew
from gpuexplorer.history.peek import VERSION as VERSION
from gpuexplorer.history.place import Place
from gpuexplorer.history.sql.failures import damaged
from gpuexplorer.history.sql.tables import metadata, store


def _add_switch_words(connection: Connection) -> None:
    """Let the list of runs name their switches; the only one there was included the transfers."""
    words = 'TEXT COLLATE "C"' if connection.dialect.name == "postgresql" else "TEXT"
    runs = "gpuexplorer_runs"
    connection.execute(
        text(f"ALTER TABLE {runs} ADD COLUMN switch_words {words} DEFAULT '' NOT NULL")
    )
    connection.execute(
        text(
            f"UPDATE {runs} SET switch_words = 'include transfers' WHERE seq IN (SELECT run FROM "
            "gpuexplorer_documents WHERE config_key LIKE :said)"
        ),
        {"said": '%"include_transfers":true%'},
    )


def _name_groups_in_indexes(connection: Connection) -> None:
    """Let a list in which groups are folded be paged and counted in indexes alone."""
    wanted = {name: f"deleted, {name}, seq, group_id" for name in (
        "time_s", "workload", "variant", "precision",
    )} | {"group": "group_id, deleted, seq"}  # fmt: skip
    for name, columns in wanted.items():
        index = f"gpuexplorer_runs_by_{name}"
        connection.execute(text(f"DROP INDEX {index}"))
        connection.execute(text(f"CREATE INDEX {index} ON gpuexplorer_runs ({columns})"))


STEPS: Mapping[int, Callable[[Connection], None]] = {
    2: _add_switch_words,
    3: _name_groups_in_indexes,
}
"""What makes a store of each version out of one of the version before."""
LOCK_NUMBER = 0x67707565
"""Of the server's lock that lets one program at a time change the tables."""


def version_of(connection: Connection, place: Place) -> int:
    """Return the version of a store's tables, 0 for none; refuse what cannot be used.

    Raises StoreTooNew for a newer program's store, StoreForeign for another program's file, and
    StoreDamaged for a version that no program has written.
    """
    names = set(inspect(connection).get_table_names())
    if store.name not in names:
        if connection.dialect.name == "sqlite" and names:
            raise StoreForeign(
                f"{place.words} is a database of another program",
                remedy="name another file with --history FILE",
            )
        return 0
    version = connection.scalar(select(store.c.version))
    if version is None:
        return 0
    if not isinstance(version, int) or version < 1:
        raise damaged(place, f"its version is {shown(version)}")
    if version > VERSION:
        raise StoreTooNew(
            f"the history in {place.words} was made by a newer GPU Explorer (version {version} of "
            f"the store; this one knows {VERSION})",
            remedy="update GPU Explorer, or name another store with --history",
        )
    return version


def migrate(connection: Connection, place: Place) -> None:
    """Make or update the tables, in the transaction that ``connection`` is in."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": LOCK_NUMBER})
    found = version_of(connection, place)
    if found == VERSION:  # another program was faster
        return
    if found == 0:
        metadata.create_all(connection)
        connection.execute(insert(store).values(one=1, version=VERSION, generation=0))
        return
    for number in range(found + 1, VERSION + 1):
        STEPS[number](connection)
        connection.execute(update(store).values(version=number))


def too_old(place: Place) -> ExplorerError:
    """Return that a store must be updated before it can be read."""
    return StoreReadOnly(
        f"the history in {place.words} was made by an older GPU Explorer and cannot be updated "
        "because it is read-only",
        remedy="open it once where it can be written",
    )
