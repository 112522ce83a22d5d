"""What a user says of runs, beside their documents: stars, tags, notes; and deletions."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable

from sqlalchemy import Connection, and_, bindparam, delete, func, insert, or_, select, update

from gpuexplorer.core.errors import InputError
from gpuexplorer.history.documents import clean, searched
from gpuexplorer.history.model import MAX_NOTE, MAX_TAG, Deletion
from gpuexplorer.history.processes import is_running, this_host
from gpuexplorer.history.sql.runs import batched, erase, insert_new, numbers_of
from gpuexplorer.history.sql.tables import deletions, live, runs, tags

LINE = "\n"


def star(connection: Connection, ids: Iterable[str], on: bool) -> None:
    """Star runs, or take their stars away."""
    for part in batched(numbers_of(connection, ids).values()):
        connection.execute(update(runs).where(runs.c.seq.in_(part)).values(starred=on))


def tag(connection: Connection, ids: Iterable[str], name: str, on: bool) -> None:
    """Give runs a tag, or take it away."""
    wanted = tag_name(name)
    for part in batched(numbers_of(connection, ids).values()):
        if on:
            insert_new(connection, tags, [{"tag": wanted, "run": number} for number in part])
        else:
            connection.execute(delete(tags).where(tags.c.tag == wanted, tags.c.run.in_(part)))
        _search_again(connection, part)


def tag_name(name: str) -> str:
    """Return a tag as it is stored; InputError when it cannot be one."""
    wanted = " ".join(clean(name).split())
    if not wanted:
        raise InputError("a tag needs a name")
    if len(wanted) > MAX_TAG:
        raise InputError(f"a tag has at most {MAX_TAG} characters", remedy="put more into the note")
    return wanted


def note(connection: Connection, run_id: str, text: str) -> None:
    """Set a run's note; an empty one takes it away."""
    if len(text) > MAX_NOTE:
        raise InputError(f"a note has at most {MAX_NOTE} characters", remedy="shorten it")
    numbers = list(numbers_of(connection, [run_id]).values())
    said = clean(text).strip()
    connection.execute(update(runs).where(runs.c.seq.in_(numbers)).values(note=said))
    _search_again(connection, numbers)


def _search_again(connection: Connection, numbers: list[int]) -> None:
    """Write down anew what is searched of some runs' tags and notes."""
    found: defaultdict[int, list[str]] = defaultdict(list)
    for row in connection.execute(select(tags).where(tags.c.run.in_(numbers))):
        found[row.run].append(row.tag)
    said = connection.execute(
        select(runs.c.seq, runs.c.words, runs.c.note).where(runs.c.seq.in_(numbers))
    )
    rows = [
        {
            "number": seq,
            "said": f"{_text(words).partition(LINE)[0]}{LINE}"
            + searched(" ".join([*sorted(map(_text, found[seq])), _text(note)])),
        }
        for seq, words, note in said
    ]
    if rows:
        connection.execute(
            update(runs).where(runs.c.seq == bindparam("number")).values(words=bindparam("said")),
            rows,
        )


def _text(stored: object) -> str:
    return stored if isinstance(stored, str) else ""


# ---- deletions


def remove(connection: Connection, ids: Iterable[str], *, unmarked: bool = False) -> Deletion:
    """Take runs out of the list; they stay in the store until they are purged, or are going.

    With ``unmarked`` only those of which a user has said nothing.
    """
    numbers = numbers_of(connection, ids)
    key = connection.execute(insert(deletions).values(time_s=time.time())).inserted_primary_key
    assert key is not None
    token, removed = int(key[0]), 0
    free = or_(~runs.c.running, runs.c.seq.not_in(_going(connection)))
    for part in batched(numbers.values()):
        wanted = and_(runs.c.seq.in_(part), runs.c.deleted == 0, free)
        if unmarked:
            tagged = select(tags.c.run).where(tags.c.run.in_(part))
            plain = and_(~runs.c.starred, runs.c.note == "", runs.c.seq.not_in(tagged))
            wanted = and_(wanted, plain)
        removed += connection.execute(update(runs).where(wanted).values(deleted=token)).rowcount
    return Deletion(token=token, runs=removed)


def _going(connection: Connection) -> list[int]:
    """Return the runs that may still be sampled.

    Of a program that is gone, runs that go on are those whose beginning cannot be read.
    """
    here = this_host()
    return [
        row.run
        for row in connection.execute(select(live.c.run, live.c.host, live.c.process))
        if row.host != here or is_running(row.process)
    ]


def bring_back(connection: Connection, token: int) -> int:
    """Put the runs of a deletion back; return how many."""
    return int(
        connection.execute(
            update(runs).where(runs.c.deleted == token, runs.c.deleted != 0).values(deleted=0)
        ).rowcount
    )


def latest(connection: Connection) -> int | None:
    """Return the latest deletion of which runs could be brought back."""
    known = select(deletions.c.token)  # any other number is of no deletion
    token = connection.scalar(select(func.max(runs.c.deleted)).where(runs.c.deleted.in_(known)))
    return int(token) if token is not None else None


def purge(connection: Connection) -> int:
    """Remove the deleted runs for good; return how many."""
    numbers = list(connection.scalars(select(runs.c.seq).where(runs.c.deleted != 0)))
    erase(connection, numbers)
    return len(numbers)
