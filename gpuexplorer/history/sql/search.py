"""Find runs: conditions, order and pages, each answered from an index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Connection, Select, and_, cast, func, or_, select

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.language import tr
from gpuexplorer.history.documents import MAX_NAME, clean, whose, whose_words
from gpuexplorer.history.model import CHOOSE_THEIR_OWN, INTERRUPTED, NO_GROUP, SORTS, Query, Row
from gpuexplorer.history.searching import DAY_S, Term, offsets_s, terms_of
from gpuexplorer.history.sql.runs import batched
from gpuexplorer.history.sql.tables import groups, runs, tags
from gpuexplorer.history.unreadable import row_of

FEW = 1000
"""Runs that are sooner put in order than looked for in that order."""
MANY = 200_000
"""Runs with a text whose numbers are sooner kept than looked for once more."""
_ORDER: dict[str, tuple[ColumnElement[Any], ...]] = {
    "time": (runs.c.time_s,),
    "workload": (runs.c.workload,),
    "variant": (runs.c.variant,),
    "size": (runs.c.size_order,),
    "block": (runs.c.block_order, runs.c.block_words),
    "precision": (runs.c.precision,),
    "device": (runs.c.device_name, runs.c.device),
    "median": (runs.c.median_s,),
    "error": (runs.c.relative_error,),
    "flops": (runs.c.flop_per_s,),
    "bandwidth": (runs.c.bandwidth_B_per_s,),
    "starred": (runs.c.starred, runs.c.time_s),
    "note": (runs.c.note,),
}
_UNKNOWN = {"block", "median", "error", "flops", "bandwidth"}
"""What some runs have no value of: they come last, whichever way one sorts."""
_SHOWN = (
    "id", "time_utc", "workload", "variant", "size_words", "block_words", "precision", "device",
    "device_name", "median_s", "relative_error", "flop_per_s", "bandwidth_B_per_s", "samples",
    "verified", "suspect", "starred", "note", "fingerprint", "running", "stopped_by",
    "switch_words",
)  # fmt: skip
LISTED = select(
    runs.c.seq, runs.c.time_s, runs.c.group_id, runs.c.words, *(runs.c[name] for name in _SHOWN)
)
"""What a row is made from."""
_NAMES = (*_SHOWN, "group", "tags", "machine", "person")


def find(
    connection: Connection, query: Query, *, sort: str, descending: bool, offset: int, limit: int
) -> list[Row]:
    """Return one page of the runs that a query is for."""
    wanted, _ = few(connection, query)
    return page(connection, wanted, sort, descending, offset, limit)


def few(connection: Connection, query: Query) -> tuple[ColumnElement[bool], int | None]:
    """Return a query as a condition; where it is for few runs by a text, which, and how many."""
    wanted = condition(connection, query)
    if query.text:  # few runs are found at once in the index of words, and then put in order
        hits = list(connection.scalars(select(runs.c.seq).where(wanted).limit(FEW + 1)))
        if len(hits) <= FEW:
            return runs.c.seq.in_(hits), len(hits)
    return wanted, None


def page(
    connection: Connection,
    wanted: ColumnElement[bool],
    sort: str,
    descending: bool,
    offset: int,
    limit: int,
) -> list[Row]:
    """Return one page of the runs that a condition holds for."""
    if sort not in SORTS:
        raise InputError(f"runs cannot be sorted by '{sort}'", remedy=f"use {', '.join(SORTS)}")
    order = _order(sort, descending)
    # The page's rows are looked up once it is known which they are: skipping reads the index only.
    numbers = select(runs.c.seq).where(wanted).order_by(*order)
    numbers = numbers.offset(max(0, offset)).limit(max(0, limit))
    return shown(connection, LISTED.where(runs.c.seq.in_(numbers)).order_by(*order))


def in_time(
    connection: Connection,
    wanted: ColumnElement[bool],
    descending: bool,
    most: int,
    *also: ColumnElement[Any],
) -> list[Any] | None:
    """Return time, number and what is wanted also of the runs that a condition holds for, in order.

    None where there are more than ``most``. Of words only their index is read.
    """
    look = select(runs.c.time_s, runs.c.seq, *also).where(wanted).limit(most + 1)
    hits = plain(connection, look)
    if len(hits) > most:
        return None
    try:
        hits.sort(reverse=descending)
    except TypeError:  # times that cannot be read
        hits.sort(key=_moment, reverse=descending)
    return hits


def plain(connection: Connection, query: Select[Any]) -> list[Any]:
    """Return many rows as the driver gives them, which takes half as long as rows with names."""
    with connection.execute(query) as found:
        return list(found.cursor.fetchall()) if found.cursor is not None else []


def _moment(hit: Sequence[Any]) -> tuple[bool, float, int]:
    """Return what a run is sorted by, its time; one that cannot be read comes last, as in SQL."""
    time_s, number = hit[:2]
    known = isinstance(time_s, int | float)
    return not known, time_s if known else 0.0, number


def numbered(connection: Connection, numbers: Sequence[int]) -> list[Row]:
    """Return the rows of runs in the order of their numbers."""
    if not numbers:
        return []
    place = {number: at for at, number in enumerate(numbers)}
    found = connection.execute(LISTED.where(runs.c.seq.in_(numbers))).all()
    return made(connection, sorted(found, key=lambda row: place[row[0]]))


def rows(connection: Connection, ids: Sequence[str]) -> list[Row]:
    """Return the rows of runs by their ids, the deleted ones left out."""
    wanted = and_(runs.c.id.in_(map(clean, ids)), runs.c.deleted == 0)
    return shown(connection, LISTED.where(wanted).order_by(runs.c.seq))


def one(connection: Connection, number: int) -> Row:
    """Return one run as a list shows it, whether it is deleted or not."""
    return shown(connection, LISTED.where(runs.c.seq == number))[0]


def shown(connection: Connection, query: Select[Any]) -> list[Row]:
    """Return the rows of the runs that a selection of ``LISTED`` gives."""
    return made(connection, connection.execute(query).all())


def made(connection: Connection, found: Sequence[Any]) -> list[Row]:
    """Return rows made from what was ``LISTED``."""
    marked = _tags(connection, [row[0] for row in found])
    return [
        row_of(
            number,
            dict(zip(_NAMES, (*values, group, marked[number], *whose(words)), strict=True)),
        )
        for number, _, group, words, *values in found
    ]


def _order(sort: str, descending: bool) -> list[ColumnElement[Any]]:
    columns: list[ColumnElement[Any]] = [
        c.desc() if descending else c.asc() for c in (*_ORDER[sort], runs.c.seq)
    ]
    if sort in _UNKNOWN:
        columns[0] = columns[0].nulls_last()
    return columns


def _tags(connection: Connection, numbers: list[int]) -> defaultdict[int, list[str]]:
    marked: defaultdict[int, list[str]] = defaultdict(list)
    for part in batched(numbers):
        for row in connection.execute(select(tags).where(tags.c.run.in_(part))):
            marked[row.run].append(row.tag)
    for names in marked.values():
        names.sort(key=str)
    return marked


def count(connection: Connection, query: Query) -> int:
    """Return how many runs a query is for."""
    number = select(func.count()).select_from(runs)
    if query != Query():
        return int(connection.scalar(number.where(condition(connection, query))) or 0)
    # SQLite knows how many a page of an index has, so that all are counted sooner than some.
    gone = number.where(or_(runs.c.deleted > 0, runs.c.deleted < 0)).scalar_subquery()
    return int(connection.scalar(select(number.scalar_subquery() - gone)) or 0)


def condition(
    connection: Connection, query: Query, *, on_rows: bool = False
) -> ColumnElement[bool]:
    """Return a query as a condition; ``on_rows`` where rows are read whatever they hold."""
    parts: list[ColumnElement[bool]] = [
        runs.c.deleted != 0 if query.deleted else runs.c.deleted == 0
    ]
    terms = terms_of(clean(query.text))
    kinds = _kinds(connection) if terms else []
    parts += [_asked(connection, term, kinds, on_rows) for term in terms]
    for column, wanted in (
        (runs.c.workload, query.workload),
        (runs.c.variant, query.variant),
        (runs.c.precision, query.precision),
    ):
        if wanted is not None:
            parts.append(column == clean(wanted)[:MAX_NAME])
    parts += [_holds(connection, word) for word in whose_words(query.machine, query.person)]
    if query.device is not None:
        device = clean(query.device)[:MAX_NAME]
        parts.append(or_(*(c == device for c in (
            runs.c.device, runs.c.device_name, runs.c.hardware_id))))  # fmt: skip
    if query.tag is not None:
        parts.append(runs.c.seq.in_(select(tags.c.run).where(tags.c.tag == clean(query.tag))))
    if query.starred is not None:
        parts.append(runs.c.starred if query.starred else ~runs.c.starred)
    if query.group is not None:
        group = runs.c.group_id
        parts.append(group.is_(None) if query.group == NO_GROUP else group == clean(query.group))
    if query.since is not None:
        since = query.since if query.since.tzinfo else query.since.replace(tzinfo=UTC)
        parts.append(runs.c.time_s >= since.timestamp())
    return and_(*parts)


FEWEST_LETTERS = 3
"""Of a word that may be part of what a list says in place of a block, or of a group; two of a
language's own signs are a word, too."""
FEWEST_DIGITS = 6
"""Of a word that may begin an id."""


def _kinds(connection: Connection) -> list[str]:
    """Return the kinds of groups that there are."""
    found = connection.scalars(select(groups.c.kind).distinct())
    return [kind for kind in found if isinstance(kind, str)]


def _asked(
    connection: Connection, term: Term, kinds: Sequence[str], on_rows: bool
) -> ColumnElement[bool]:
    """Return one term of a text as a condition: its words, or what else it may mean.

    Times stand in the index of words. What does not is looked up by itself, so that the index
    answers the rest, unless the rows are at hand.
    """
    held = and_(*(_holds(connection, word) for word in term.words))
    ways = [held, *(_between(runs.c.time_s, *ends) for ends in term.moments)]
    if term.clock is not None:
        ways += [_at_clock(offset_s, *term.clock) for offset_s in offsets_s()]
    others = []
    nearly_all = []
    if term.state == "verified" and not on_rows:
        # Most runs are, and the few that are not make the shorter list.
        nearly_all.append(runs.c.seq.not_in(select(runs.c.seq).where(~_STATES["verified"])))
    elif term.state:
        others.append(_STATES[term.state])
    if term.field:
        others.append(_between(runs.c[term.field], *term.within))
    if len(term.words) == 1:
        others += _of_word(term.words[0], kinds)
    if others and not on_rows:
        others = [runs.c.seq.in_(select(runs.c.seq).where(or_(*others)))]
    return or_(*nearly_all, *others, *ways)  # a run's words are looked through last


def _between(column: ColumnElement[Any], low: float, high: float) -> ColumnElement[bool]:
    return and_(column >= low, column < high)


def _at_clock(offset_s: float, low: float, high: float) -> ColumnElement[bool]:
    """Return that a run began at a time of day, where clocks are so far ahead of UTC."""
    local = runs.c.time_s + offset_s
    days = cast(local / DAY_S - 0.5, BigInteger)  # a server rounds, SQLite cuts
    within = local - days * DAY_S
    return or_(*(_between(within, low + day, high + day) for day in (-DAY_S, 0, DAY_S)))


def _of_word(word: str, kinds: Sequence[str]) -> list[ColumnElement[bool]]:
    """Return what a word may say of a run beside its words: its id, its group, who chose blocks."""
    found: list[ColumnElement[bool]] = []
    if len(word) >= FEWEST_DIGITS and not set(word) - set("0123456789abcdef-"):
        end = word + "\U0010ffff"
        found += [and_(c >= word, c < end) for c in (runs.c.id, runs.c.group_id)]
    if len(word) < FEWEST_LETTERS and word.isascii():
        return found
    told = {kind: tr(kind.replace("-", " ")) for kind in kinds}
    if meant := [kind for kind in kinds if word in f"{kind}\n{told[kind]}".casefold()]:
        found.append(runs.c.group_id.in_(select(groups.c.id).where(groups.c.kind.in_(meant))))
    for backend, name in CHOOSE_THEIR_OWN.items():
        if word in name.casefold():
            chosen = runs.c.device == backend, runs.c.device.startswith(f"{backend}:")
            found.append(and_(or_(*chosen), runs.c.block_words == ""))
    return found


_STATES: dict[str, ColumnElement[bool]] = {
    "wrong": runs.c.verified.is_(False),
    "suspect": runs.c.suspect.is_not(None),
    "running": runs.c.running,
    "interrupted": runs.c.stopped_by == INTERRUPTED,
    "verified": and_(runs.c.verified.is_(True), runs.c.suspect.is_(None)),
    "not verified": runs.c.verified.is_(None),
    "starred": runs.c.starred,
}


def _holds(connection: Connection, word: str) -> ColumnElement[bool]:
    """Return that a run's words hold ``word``; no character in it means anything but itself."""
    place = func.strpos if connection.dialect.name == "postgresql" else func.instr
    return place(runs.c.words, word) > 0


def choices(connection: Connection, field: str) -> list[str]:
    """Return the values that the runs have of a field, in order."""
    if field == "tag":
        column: Any = tags.c.tag
        rows: Iterable[Any] = connection.execute(
            select(column)
            .join(runs, runs.c.seq == tags.c.run)
            .where(runs.c.deleted == 0)
            .distinct()
            .order_by(column)
        )
    else:
        column = runs.c[field]
        rows = connection.execute(
            select(column).where(runs.c.deleted == 0).distinct().order_by(column)
        )
    return [row[0] for row in rows if isinstance(row[0], str)]
