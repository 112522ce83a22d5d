"""Sweeps and tunings as groups of runs, and what tunings found."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, func, insert, or_, select, update

from gpuexplorer.core.errors import InputError
from gpuexplorer.history.documents import clean, pack_document, unpack_document
from gpuexplorer.history.errors import StoreDamaged
from gpuexplorer.history.holder import FIELD, Holder, holder_of
from gpuexplorer.history.model import Group, TunedEntry
from gpuexplorer.history.sql.runs import either, insert_new
from gpuexplorer.history.sql.tables import groups, runs, tuned


def put(
    connection: Connection, group: str | None, kind: str, document: Any, *, finished: bool
) -> str:
    """Enter a group and return its id; of one that is there, what is None or False stays."""
    if group is not None and connection.scalar(
        select(groups.c.id).where(groups.c.id == clean(group)).with_for_update()
    ):
        if document is not None or finished:
            change(connection, group, document, True if finished else None)
        return group
    made = group or uuid.uuid4().hex
    connection.execute(
        insert(groups).values(
            id=clean(made),
            kind=clean(kind),
            time_utc=datetime.now(UTC).isoformat(timespec="milliseconds"),
            finished=finished,
            document=pack_document(msgspec.json.encode(document)),
        )
    )
    return made


def change(connection: Connection, group: str, document: Any, finished: bool | None) -> None:
    """Change a group's document, or whether it is finished; None leaves it."""
    values: dict[str, Any] = {}
    if document is not None:
        values["document"] = pack_document(msgspec.json.encode(document))
    if finished is not None:
        values["finished"] = finished
    changed = connection.execute(
        update(groups).where(groups.c.id == clean(group)).values(**values)
    ).rowcount
    if not changed:
        raise _unknown(group)


def hold(connection: Connection, group: str, holder: Holder) -> Holder | None:
    """Have ``holder`` work on a group; return who does already, None once it is ours.

    Who is gone is taken over from. Everything happens under the lock of a transaction that writes.
    """
    wanted = select(groups.c.document).where(groups.c.id == clean(group)).with_for_update()
    packed = connection.scalar(wanted)
    if packed is None:
        raise _unknown(group)
    document, why = _document(packed)
    if not isinstance(document, dict):
        raise StoreDamaged(
            f"the group '{group}' in the history cannot be read ({why})",
            remedy="begin anew; its runs are unharmed",
        )
    before = holder_of(document)
    if before is not None and before.token != holder.token and before.is_there:
        return before
    change(connection, group, {**document, FIELD: holder}, None)
    return None


def one(connection: Connection, group: str) -> Group:
    """Return a group by its id; InputError when there is none."""
    found = _read(connection, groups.c.id == clean(group))
    if not found:
        raise _unknown(group)
    return found[0]


def called(connection: Connection, text: str) -> Sequence[Any]:
    """Return id and document of the group with the id ``text``, or of two that begin so at most."""
    about = select(groups.c.id, groups.c.document)
    exact = connection.execute(about.where(groups.c.id == text)).all()
    if exact or not text:
        return exact
    return connection.execute(
        about.where(groups.c.id.startswith(text, autoescape=True)).limit(2)
    ).all()


def resolve(connection: Connection, text: str) -> str:
    """Return the id of the one group that begins so; InputError for none and for several."""
    wanted = clean(text.strip())
    found = called(connection, wanted)
    if not found:
        raise _unknown(text)
    if len(found) > 1:
        raise not_one(text, *(str(one.id) for one in found))
    return str(found[0].id)


def not_one(text: str, first: str, second: str) -> InputError:
    """Return what a user is told of the beginning of several ids, of which it names two."""
    return InputError(
        f"more than one entry of the history begins with '{text}'", remedy=either(first, second)
    )


def of_kind(connection: Connection, kind: str | None) -> list[Group]:
    """Return the groups of a kind, or all, the latest first."""
    return _read(connection, groups.c.kind == clean(kind) if kind is not None else None)


def some(connection: Connection, ids: Iterable[str], kind: str) -> list[Group]:
    """Return groups by their ids, those that are there, and all of a kind; the latest first."""
    return _read(connection, or_(groups.c.id.in_(list(ids)), groups.c.kind == clean(kind)))


def _read(connection: Connection, wanted: ColumnElement[bool] | None) -> list[Group]:
    number = (
        select(func.count())
        .select_from(runs)
        .where(runs.c.group_id == groups.c.id, runs.c.deleted == 0)
        .scalar_subquery()
    )
    query = select(groups, number.label("runs")).order_by(groups.c.time_utc.desc(), groups.c.id)
    return [
        _group(row)
        for row in connection.execute(query.where(wanted) if wanted is not None else query)
        if isinstance(row.id, str)  # nothing else can be asked for
    ]


def _group(row: Any) -> Group:
    document, damaged = _document(row.document)
    return Group(
        id=row.id,
        kind=row.kind if isinstance(row.kind, str) else "",
        time_utc=row.time_utc if isinstance(row.time_utc, str) else "",
        document=document,
        finished=row.finished,
        runs=row.runs,
        damaged=damaged,
    )


def _document(packed: bytes) -> tuple[Any, str | None]:
    """Return a group's document, or None and why it cannot be read."""
    try:
        return msgspec.json.decode(unpack_document(packed)), None
    except (msgspec.DecodeError, ValueError) as error:
        return None, f"its document: {error}"


def _unknown(group: str) -> InputError:
    return InputError(f"the history has no group '{group}'")


# ---- what tunings found


def save_tuned(connection: Connection, entry: TunedEntry) -> None:
    """Keep an entry in place of the last one for the same problem and hardware."""
    config = entry.config
    key = tuned_key(
        entry.workload_sha256, config.variant, config.size, config.precision, entry.hardware_id
    )
    values = {"time_utc": clean(entry.time_utc), "entry": msgspec.json.encode(entry)}
    insert_new(connection, tuned, [{"key": key, **values}])
    connection.execute(update(tuned).where(tuned.c.key == key).values(**values))


def find_tuned(connection: Connection, key: str) -> TunedEntry | None:
    """Return the entry of a key."""
    data = connection.scalar(select(tuned.c.entry).where(tuned.c.key == key))
    try:
        return msgspec.json.decode(data, type=TunedEntry) if data is not None else None
    except (msgspec.DecodeError, TypeError) as error:
        raise StoreDamaged(
            f"what a tuning found for this cannot be read in the history ({error})",
            remedy="tune it again, which takes its place",
        ) from None


def tuned_key(
    workload_sha256: str, variant: str, size: Mapping[str, int], precision: str, hardware_id: str
) -> str:
    """Return what a tuned entry is found by."""
    parts = [workload_sha256, variant, dict(sorted(size.items())), precision, hardware_id]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()
