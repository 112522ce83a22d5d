"""Every failure of a database as one sentence with a remedy."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from sqlalchemy import exc

from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.history.errors import (
    StoreDamaged,
    StoreFailed,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
)
from gpuexplorer.history.place import Place


@contextmanager
def explained(place: Place) -> Iterator[None]:
    """Raise an ExplorerError in place of whatever a database raises."""
    try:
        yield
    except exc.DBAPIError as error:
        raise failure(place, error.orig or error) from error
    except sqlite3.Error as error:
        raise failure(place, error) from error
    except exc.TimeoutError as error:
        raise locked(place) from error
    except msgspec.ValidationError as error:  # SQLite keeps any value in any column
        raise damaged(place, f"a value in it cannot be: {error}") from error


def failure(place: Place, error: BaseException) -> ExplorerError:
    """Return what a user should be told of a database's error."""
    if isinstance(error, sqlite3.Error):
        return _sqlite_failure(place, error)
    return _server_failure(place, error)


def _sqlite_failure(place: Place, error: sqlite3.Error) -> ExplorerError:
    code = getattr(error, "sqlite_errorcode", None)
    match code & 0xFF if code is not None else None:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return locked(place)
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return read_only(place)
        case sqlite3.SQLITE_FULL:
            return full(place)
        case sqlite3.SQLITE_IOERR:
            return StoreFailed(
                f"the history in {place.words} cannot be read or written ({error})",
                remedy="look whether the disk is full, over its quota or failing; what was "
                "stored before is untouched",
            )
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return damaged(place, str(error))
        case sqlite3.SQLITE_CANTOPEN:
            return StoreFailed(
                f"the history in {place.words} cannot be opened",
                remedy="check that its folder exists and that you may read and write it, or name "
                "another with --history FILE",
            )
    return StoreFailed(f"the history in {place.words} failed: {error}")


def locked(place: Place) -> StoreLocked:
    """Return that another program holds the store."""
    return StoreLocked(
        f"the history in {place.words} is locked by another program",
        remedy="wait until it is done or end it, then try again",
    )


def read_only(place: Place) -> StoreReadOnly:
    """Return that the store cannot be written."""
    return StoreReadOnly(
        f"the history in {place.words} cannot be written: it is read-only",
        remedy="allow writing to the file and its folder, or name another with --history FILE",
    )


def full(place: Place) -> StoreFull:
    """Return that there is no room."""
    return StoreFull(
        f"the history in {place.words} cannot be written: the disk is full",
        remedy="free some space, then try again; what was stored before is untouched",
    )


def damaged(place: Place, why: str) -> StoreDamaged:
    """Return that the store cannot be read; a file is left where it is."""
    if place.path is None:
        return StoreDamaged(f"the history in {place.words} is damaged ({why})")
    aside = place.path.with_name(place.path.name + ".damaged")
    return StoreDamaged(
        f"the history in {place.words} is damaged ({why}) and was left as it is",
        remedy=f"set it aside by renaming it to {aside.name} (with its -wal and -journal files, "
        "if any) to start a new one; 'sqlite3 FILE .recover' may get its runs back",
    )


_SERVER: dict[str, tuple[type[ExplorerError], str, str]] = {
    "53100": (StoreFull, "its disk is full", "free some space on the server, then try again"),
    "53": (StoreFailed, "the server is out of resources", "try again later"),
    "55P03": (StoreLocked, "another program has locked it", "wait until it is done, try again"),
    "57014": (StoreLocked, "it took too long", "wait until others are done, then try again"),
    "40": (StoreLocked, "another program was writing at the same time", "try again"),
    "25006": (StoreReadOnly, "it is read-only", "connect to the primary server, as its owner"),
    "42501": (StoreReadOnly, "you may not write to it", "ask its owner for the right to"),
    "28": (InputError, "the server refused the user or the password", "check the URL"),
    "3D000": (InputError, "there is no such database", "create it, or check the URL"),
    "3F000": (InputError, "there is no such schema", "create it, or check the URL"),
    "XX": (StoreDamaged, "the server found damaged data", "see the server's log"),
}


def _server_failure(place: Place, error: BaseException) -> ExplorerError:
    state = getattr(error, "sqlstate", None) or ""
    words = " ".join(str(error).split())
    for code in (state, state[:2]):
        if code and code in _SERVER:
            kind, why, remedy = _SERVER[code]
            return kind(f"the history at {place.words} cannot be used: {why}", remedy=remedy,
                        detail=words)  # fmt: skip
    refused = words.rpartition("FATAL: ")[2].strip() if "FATAL: " in words else ""
    if not state and refused:
        return InputError(
            f"the history at {place.words} cannot be used: the server says: {refused}",
            remedy="check the URL: the user, the password and the database",
        )
    if not state or state.startswith(("08", "57P")):
        return StoreFailed(
            f"the history at {place.words} cannot be reached",
            remedy="check the URL and that the server runs",
            detail=words,
        )
    return StoreFailed(f"the history at {place.words} failed: {words}")
