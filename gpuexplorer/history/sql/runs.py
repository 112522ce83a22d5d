"""Put runs in and take them out again, bit for bit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice, takewhile
from typing import Any, TypeVar

import msgspec
import numpy as np
from sqlalchemy import Connection, Select, Table, and_, delete, insert, or_, select, update

from gpuexplorer.core.chunked import as_list
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import RunResult
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.history.documents import (
    Document,
    Floats,
    chunks,
    clean,
    columns_of,
    decode,
    pack_document,
    pack_samples,
    take_apart,
    unpack_document,
    unpack_samples,
)
from gpuexplorer.history.model import INTERRUPTED
from gpuexplorer.history.sql.tables import documents, live, runs, samples, tags
from gpuexplorer.history.unreadable import name_of, number_of, run_damaged

T = TypeVar("T")
AT_ONCE = 500
"""Ids or rows of one statement."""
BULK = 200
"""Runs of one statement when many are added."""
TOLD = 10
"""Characters of an id that tell it from every other in practice."""
NEW = {"deleted": 0, "starred": False, "note": ""}
"""What a user has said of a run that was just stored."""


def batched(items: Iterable[T], size: int = AT_ONCE) -> Iterator[list[T]]:
    """Yield items in lists of at most ``size``."""
    iterator = iter(items)
    while part := list(islice(iterator, size)):
        yield part


def insert_new(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows, but none whose key is there already."""
    if not rows:
        return
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as insert_on_server

        connection.execute(insert_on_server(table).on_conflict_do_nothing(), rows)
    else:
        from sqlalchemy.dialects.sqlite import insert as insert_in_file

        connection.execute(insert_in_file(table).on_conflict_do_nothing(), rows)


def add_all(
    connection: Connection, results: Iterable[RunRecord | RunResult | bytes], group: str | None
) -> int:
    """Store runs, as documents or as their JSON, as ``add`` does; return how many came."""
    came = 0
    for part in batched(map(take_apart, results), BULK):
        add(connection, part, group)
        came += len(part)
    return came


def add(connection: Connection, found: Sequence[Document], group: str | None) -> None:
    """Store finished runs; those that are there stay as they are.

    Deleted ones come back, and where they come with a group they are in that one from now on.
    A run that is going is finished by it, and so is one that was taken for interrupted although
    its program was still there, where that could not be told. One that comes again with the group
    it is in has gone on: its document and samples are the new ones.
    """
    known = _known(connection, [d.result.id for d in found], group)
    fresh: dict[str, Document] = {}
    for document in found:
        run_id = clean(document.result.id)
        if run_id not in known:
            fresh.setdefault(run_id, document)
        elif known[run_id][1] and document.result.timing.stopped_by != INTERRUPTED:
            finish(connection, known[run_id][0], document, group)
    back: dict[str, Any] = {"deleted": 0} if group is None else {"deleted": 0, "group_id": group}
    connection.execute(
        update(runs).where(runs.c.id.in_(list(known)), runs.c.deleted != 0).values(back)
    )
    if not fresh:
        return
    insert_new(
        connection,
        runs,
        [
            {**columns_of(d.result, len(d.samples_s)), **NEW, "group_id": group}
            for d in fresh.values()
        ],
    )
    numbers = {run_id: seq for run_id, (seq, _) in _known(connection, list(fresh), None).items()}
    insert_new(
        connection, documents, [_document(numbers[run_id], d) for run_id, d in fresh.items()]
    )
    rows = [row for run_id, d in fresh.items() for row in _samples(numbers[run_id], d.samples_s)]
    insert_new(connection, samples, rows)


def _known(
    connection: Connection, ids: Sequence[str], group: str | None
) -> dict[str, tuple[int, bool]]:
    """Return the number of each run that is there, and whether a later document replaces it."""
    open_ = or_(runs.c.running, runs.c.stopped_by == INTERRUPTED)
    if group is not None:
        open_ = or_(open_, runs.c.group_id == clean(group))
    found = connection.execute(
        select(runs.c.id, runs.c.seq, open_).where(runs.c.id.in_(map(clean, ids)))
    )
    return {run_id: (seq, bool(goes_on)) for run_id, seq, goes_on in found}


def listed(connection: Connection, ids: Sequence[str]) -> set[str]:
    """Return the ids that are in the list of runs, the deleted ones left out."""
    wanted = select(runs.c.id).where(runs.c.id.in_(map(clean, ids)), runs.c.deleted == 0)
    return set(connection.execute(wanted).scalars())


def _document(number: int, document: Document) -> dict[str, Any]:
    return {
        "run": number,
        "config_key": clean(document.result.config.key),
        "data": pack_document(document.json),
    }


def _samples(number: int, samples_s: Floats) -> Iterator[dict[str, Any]]:
    for index, chunk in enumerate(chunks(samples_s)):
        yield {
            "run": number, "chunk": index, "count": len(chunk), "data": pack_samples(chunk),
            "batch": None,
        }  # fmt: skip


def finish(
    connection: Connection, number: int, document: Document, group: str | None = None
) -> None:
    """Make a run that was going a finished one; its samples are those of the document."""
    columns = columns_of(document.result, len(document.samples_s))
    if group is not None:
        columns["group_id"] = group
    del columns["words"]  # they hold tags and note by now; the configuration is the same
    connection.execute(update(runs).where(runs.c.seq == number).values(columns))
    connection.execute(delete(live).where(live.c.run == number))
    connection.execute(delete(documents).where(documents.c.run == number))
    connection.execute(insert(documents), _document(number, document))
    connection.execute(delete(samples).where(samples.c.run == number))
    rows = list(_samples(number, document.samples_s))
    if rows:
        connection.execute(insert(samples), rows)


# ---- out again


def resolve(connection: Connection, text: str) -> tuple[int, str, bool]:
    """Return number, id and whether it is going of the run whose id begins with ``text``.

    Raises InputError when there is none, or more than one. A whole id is always that run.
    """
    wanted = clean(text.strip())
    row = runs.c.seq, runs.c.id, runs.c.running
    exact = connection.execute(select(*row).where(runs.c.id == wanted)).first()
    number = number_of(wanted) if exact is None else None
    if number is not None:
        exact = connection.execute(select(*row).where(runs.c.seq == number)).first()
    if exact is not None:
        return exact.seq, wanted, exact.running
    found = connection.execute(_beginning(select(*row), wanted).limit(2)).all() if wanted else []
    if not found:
        raise InputError(f"the history has no run '{text}'", remedy="see 'gpuexplorer history'")
    if len(found) > 1:
        first, second = (str(one.id) for one in found)
        raise InputError(f"more than one run begins with '{text}'", remedy=either(first, second))
    [one] = found
    return one.seq, one.id if isinstance(one.id, str) else name_of(one.seq), one.running


def either(first: str, second: str) -> str:
    """Return what to do where two ids begin as was said, with as much of them as tells which."""
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    shown = max(TOLD, len(list(alike)) + 1)
    return f"give more characters of the id, as {first[:shown]} or {second[:shown]} has"


def begins_so(connection: Connection, text: str) -> str | None:
    """Return the id of a run that begins with ``text``; None for none."""
    found = connection.execute(_beginning(select(runs.c.id), text).limit(1)).first()
    return None if found is None else str(found.id)


def _beginning(query: Select[Any], text: str) -> Select[Any]:
    return query.where(runs.c.id >= text, runs.c.id < text + "\U0010ffff")


def numbers_of(connection: Connection, ids: Iterable[str]) -> dict[str, int]:
    """Return the number of each run, in the order of numbers; InputError when one is not there."""
    wanted = list(dict.fromkeys(map(clean, ids)))
    found: dict[str, int] = {}
    for part in batched(wanted):
        rows = connection.execute(select(runs.c.id, runs.c.seq).where(runs.c.id.in_(part)))
        found |= {row.id: row.seq for row in rows}
    for run_id in wanted:
        number = number_of(run_id) if run_id not in found else None
        if number is not None and connection.scalar(select(runs.c.seq).where(runs.c.seq == number)):
            found[run_id] = number
        if run_id not in found:
            raise InputError(
                f"the history has no run '{run_id}'", remedy="see 'gpuexplorer history'"
            )
    return dict(sorted(found.items(), key=lambda item: item[1]))


def json_of(connection: Connection, run_id: str, number: int) -> bytes:
    """Return a finished run's document without its samples, which is one of a run."""
    data = connection.scalar(select(documents.c.data).where(documents.c.run == number))
    if data is None:
        raise run_damaged(run_id, "it has no document")
    try:
        return unpack_document(data)
    except ValueError as error:
        raise run_damaged(run_id, f"its document: {error}") from None


def samples_of(connection: Connection, run_id: str, number: int) -> Floats:
    """Return a run's samples in seconds."""
    rows = connection.execute(
        select(samples.c.data).where(samples.c.run == number).order_by(samples.c.chunk)
    )
    try:
        return _joined(unpack_samples(row.data) for row in rows)
    except ValueError as error:
        raise run_damaged(run_id, f"its samples: {error}") from None


def readable(
    connection: Connection, ids: Sequence[str], with_samples: bool, listed: bool
) -> dict[str, RunResult]:
    """Return those of some finished runs that can be read, by id; ``ids`` fit one statement.

    Their samples are lists, or unless they shall be ``listed`` arrays.
    """
    finished = and_(runs.c.id.in_(map(clean, ids)), ~runs.c.running)
    numbers = {
        row.id: row.seq for row in connection.execute(select(runs.c.id, runs.c.seq).where(finished))
    }
    wanted = list(numbers.values())
    packed = {
        row.run: row.data
        for row in connection.execute(
            select(documents.c.run, documents.c.data).where(documents.c.run.in_(wanted))
        )
    }
    sampled: defaultdict[int, list[bytes]] = defaultdict(list)
    if with_samples:
        for row in connection.execute(
            select(samples.c.run, samples.c.data)
            .where(samples.c.run.in_(wanted))
            .order_by(samples.c.run, samples.c.chunk)
        ):
            sampled[row.run].append(row.data)
    found = {}
    for run_id, number in numbers.items():
        with suppress(KeyError, ValueError, InputError):
            result = decode(unpack_document(packed[number]))
            if with_samples:
                values = _joined(unpack_samples(data) for data in sampled[number])
                samples_s = as_list(values) if listed else values
                result = msgspec.structs.replace(result, samples_s=samples_s)
            found[run_id] = result
    return found


def _joined(found: Iterable[Floats]) -> Floats:
    pieces_s = list(found)
    return np.concatenate(pieces_s) if pieces_s else np.empty(0)


def keys_of(connection: Connection, group: str) -> set[str]:
    """Return the keys of the configurations that a group has a finished run of."""
    rows = connection.execute(
        select(documents.c.config_key)
        .join(runs, runs.c.seq == documents.c.run)
        .where(runs.c.group_id == group, runs.c.deleted == 0, ~runs.c.running)
    )
    return {row.config_key for row in rows}


def any_going(connection: Connection) -> bool:
    """Whether any run is going, or was when its program ended."""
    return connection.scalar(select(live.c.run).limit(1)) is not None


def erase(connection: Connection, numbers: Sequence[int]) -> None:
    """Remove runs for good."""
    for part in batched(numbers):
        for column in (samples.c.run, documents.c.run, live.c.run, tags.c.run, runs.c.seq):
            connection.execute(delete(column.table).where(column.in_(part)))
