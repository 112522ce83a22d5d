"""Connections and transactions: SQLite's file as it is safest where it lies, or a server."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, select, update
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import QueuePool, StaticPool

from gpuexplorer.core.errors import CannotRunHere, InputError
from gpuexplorer.core.frozen import to_get
from gpuexplorer.core.interrupts import interrupts_held
from gpuexplorer.exchange import write_error
from gpuexplorer.history.errors import StoreForeign
from gpuexplorer.history.place import Place, on_network
from gpuexplorer.history.sql import migrations
from gpuexplorer.history.sql.failures import explained, locked, read_only
from gpuexplorer.history.sql.tables import store
from gpuexplorer.history.unreadable import text_of

# An interrupt while a connection is closed is raised again, and needs no traceback of the pool's.
logging.getLogger("sqlalchemy.pool").addHandler(logging.NullHandler())
CACHE_KIB = 64 * 1024
"""Pages SQLite keeps of a large store, so that a search reads the file once."""
KEPT_STATEMENTS = 64
"""Compiled statements that are kept until the store rests; each takes some 30 KiB."""
PREPARED_STATEMENTS = 32
"""Those that a connection to SQLite keeps, each of some 12 KiB: lists of another length are others.
"""
CONNECT_S = 5
RETRY_S = 0.02
_NO_INDEX = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
"""What SQLite says where it may not make the index of a log."""


class Database:
    """A store's connections; safe to use from several threads at once."""

    def __init__(self, place: Place, *, can_write: bool, busy_s: float) -> None:
        """Open a store and bring its tables up to date; an ExplorerError when that fails."""
        self.place = place
        self.can_write = can_write
        self._busy_s = busy_s
        self._as_of_one_moment = {"isolation_level": "REPEATABLE READ"} if place.url else {}
        self._unseen = (-1, -1)
        """The number of a change that no list here shows, and of the last one before that may."""
        # One connection is all that a store in memory has.
        self._one_at_a_time = threading.RLock() if not (place.path or place.url) else None
        with explained(place):
            self.engine = self._server() if place.url else self._sqlite()
            try:
                self._prepare()
            except BaseException:
                self.engine.dispose()
                raise

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()

    @property
    def dialect(self) -> str:
        """``sqlite`` or ``postgresql``."""
        return self.engine.dialect.name

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Read in one transaction: everything is seen as of one moment."""
        with (
            self._alone(),
            explained(self.place),
            self.engine.connect() as connection,
            connection.execution_options(**self._as_of_one_moment).begin(),
        ):
            yield connection

    @contextmanager
    def write(self, *, seen: bool = True) -> Iterator[Connection]:
        """Write in one transaction that other programs see whole or not at all.

        Unless it is ``seen`` in the lists of this one, their state stays the same for it. An
        interrupt waits until it is over: cut short, it could leave the store locked.
        """
        if not self.can_write:
            raise read_only(self.place)
        with interrupts_held(), self._alone(), explained(self.place):
            with self._writing() as connection:
                yield connection
                # Last, because on a server every writer waits for this row.
                connection.execute(update(store).values(generation=store.c.generation + 1))
                now = None if seen else _generation(connection)
            if now is not None:
                self._unseen = now, self._unseen[1] if self._unseen[0] == now - 1 else now - 1

    def state(self, connection: Connection) -> int:
        """Return the number of the last change that this program's lists may show."""
        now = _generation(connection)
        latest, before = self._unseen
        return before if now == latest else now

    def give_back(self) -> None:
        """Give the room of what was removed back to the disk; a server does so by itself."""
        if self.dialect != "sqlite":
            return
        with self._alone(), explained(self.place), self.engine.connect() as connection:
            # Past SQLAlchemy's own BEGIN: within a transaction nothing is given back.
            raw: Any = connection.connection.dbapi_connection
            raw.execute("PRAGMA incremental_vacuum").fetchall()

    def rest(self) -> None:
        """Free what searches left: pages of idle connections and compiled statements.

        The next search reads the file again and compiles what it asks, within some milliseconds.
        """
        self.engine.clear_compiled_cache()
        pool = self.engine.pool
        if self.dialect != "sqlite" or not isinstance(pool, QueuePool):
            return
        with explained(self.place), ExitStack() as idle:
            for _ in range(pool.checkedin()):
                connection = idle.enter_context(self.engine.connect())
                raw: Any = connection.connection.dbapi_connection
                raw.execute("PRAGMA shrink_memory")

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with (
            self.engine.connect().execution_options(writes=True) as connection,
            connection.begin(),
        ):
            yield connection

    def _alone(self) -> AbstractContextManager[Any]:
        return self._one_at_a_time or nullcontext()

    # ---- opening

    def _prepare(self) -> None:
        """Refuse what is not ours, then make or update the tables."""
        with self.engine.connect() as connection, connection.begin():
            version = migrations.version_of(connection, self.place)
        if version == migrations.VERSION:
            return
        if not self.can_write:
            raise migrations.too_old(self.place)
        with self._writing() as connection:
            migrations.migrate(connection, self.place)

    def _server(self) -> Engine:
        try:
            import psycopg  # noqa: F401
        except ImportError:
            raise CannotRunHere(
                "a history on a PostgreSQL server needs psycopg, which is not installed",
                remedy=to_get("gpuexplorer[postgres]", in_an_engine=False),
            ) from None
        options = f"-c lock_timeout={int(self._busy_s * 1000)} -c timezone=UTC"
        if not self.can_write:
            options = f"{options} -c default_transaction_read_only=on"
        try:
            url = make_url(str(self.place.url))
        except (ArgumentError, ValueError):
            raise InputError(
                f"{self.place.words} is not a database's URL",
                remedy="write it as postgresql://USER@HOST/DATABASE",
            ) from None
        own = url.query.get("options", "")
        return create_engine(
            url.difference_update_query(["options"]),
            query_cache_size=KEPT_STATEMENTS,
            pool_pre_ping=True,
            pool_size=2,
            max_overflow=8,
            connect_args={
                "connect_timeout": CONNECT_S,
                "application_name": "gpuexplorer",
                "options": " ".join([*((own,) if isinstance(own, str) else own), options]).strip(),
            },
        )

    def _sqlite(self) -> Engine:
        path = self.place.path
        if path is None:
            engine = create_engine(
                "sqlite://",
                query_cache_size=KEPT_STATEMENTS,
                creator=self._connect_memory,
                poolclass=StaticPool,
            )
        else:
            self._look(path)
            engine = create_engine(
                "sqlite://",
                query_cache_size=KEPT_STATEMENTS,
                creator=lambda: self._connect(path),
                poolclass=QueuePool,
                pool_size=2,
                max_overflow=8,
            )

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            # Writers queue up here, with the time-out; a later change from reading to writing
            # would fail at once.
            writes = connection.get_execution_options().get("writes", False)
            connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

        return engine

    @staticmethod
    def _connect_memory() -> sqlite3.Connection:
        return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)

    def _look(self, path: Path) -> None:
        """Make the file's folder, and look at the file before anything in it is touched."""
        if self.can_write:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise write_error(path.parent, error) from None
        connection = self._open(path)
        try:
            names = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
            if names and store.name not in names:
                raise StoreForeign(
                    f"{path} is a database of another program",
                    remedy="name another file with --history FILE",
                )
        finally:
            connection.close()

    def _open(self, path: Path) -> sqlite3.Connection:
        if path.is_dir():
            raise InputError(f"{path} is a folder", remedy="give a file's name")
        uri = path.as_uri()
        if self.can_write:
            return self._uri(f"{uri}?mode=rwc")
        connection = self._uri(f"{uri}?mode=ro")
        try:
            connection.execute("SELECT count(*) FROM sqlite_schema")
        except sqlite3.OperationalError as error:
            connection.close()
            log = path.with_name(path.name + "-wal")
            no_index = error.sqlite_errorcode & 0xFF in _NO_INDEX
            if not no_index or not path.is_file() or (log.exists() and log.stat().st_size):
                raise
            # In a folder where nothing can be written, no other program has the file open either:
            # its index of the log would stand beside it.
            return self._uri(f"{uri}?mode=ro&immutable=1")
        return connection

    def _uri(self, uri: str) -> sqlite3.Connection:
        return sqlite3.connect(
            uri, uri=True, timeout=self._busy_s, isolation_level=None, check_same_thread=False,
            cached_statements=PREPARED_STATEMENTS,
        )  # fmt: skip

    def _connect(self, path: Path) -> sqlite3.Connection:
        connection = self._open(path)
        connection.text_factory = text_of
        try:
            connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
            connection.execute("PRAGMA temp_store = MEMORY")
            if self.can_write:
                # Before the first page is written; later it changes nothing.
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
                self._journal(connection, shared=on_network(path))
        except BaseException:
            connection.close()
            raise
        return connection

    def _journal(self, connection: sqlite3.Connection, *, shared: bool) -> None:
        """Choose the journal: a write-ahead log needs memory that all its readers map.

        With it, a commit is in the file's log when it returns, which outlives this process; the
        disk is waited for at checkpoints. A power cut may therefore take the latest commits, those
        of as long as the system keeps pages to itself, and leaves the file as it was before them: a
        run can be measured again, and a wait for the disk after each would disturb the next. A
        rollback journal waits at each commit.
        """
        wanted = "delete" if shared else "wal"
        ends = time.monotonic() + self._busy_s
        while True:
            try:
                (found,) = connection.execute(f"PRAGMA journal_mode = {wanted}").fetchone()
                break
            except sqlite3.OperationalError as error:
                # Two programs that change it at once do not wait for each other by themselves.
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
                if time.monotonic() > ends:
                    raise locked(self.place) from error
                time.sleep(RETRY_S)
        synchronous = "NORMAL" if found == "wal" else "FULL"
        connection.execute(f"PRAGMA synchronous = {synchronous}")


def _generation(connection: Connection) -> int:
    found = connection.scalar(select(store.c.generation))
    return found if isinstance(found, int) else 0
