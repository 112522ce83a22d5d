"""This window's own runs as rows of the history, before the store holds them or while they run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import msgspec

from gpuexplorer.charts.words import block_words, switch_words
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.gui.model.history import Entry
from gpuexplorer.gui.model.history_pages import View
from gpuexplorer.history.documents import searched, whose, whose_words
from gpuexplorer.history.fingerprint import fingerprint
from gpuexplorer.history.model import INTERRUPTED, NO_GROUP, Query, Row
from gpuexplorer.history.searching import Term, terms_of


def row_of(entry: Entry, record: RunRecord) -> Row:
    """Return a run of this window as a row."""
    config, device = entry.config, record.prepared.device
    environment = record.prepared.environment
    machine, person = whose(" ".join(whose_words(environment.machine, environment.person)))
    return Row(
        id=entry.id,
        time_utc=entry.time_utc,
        workload=config.workload,
        variant=config.variant,
        size_words=", ".join(f"{symbol} = {value}" for symbol, value in config.size.items()),
        block_words=block_words(config.block) if config.block else "",
        switch_words=switch_words(config),
        machine=machine,
        person=person,
        precision=config.precision,
        device=config.device,
        device_name=device.name,
        median_s=entry.summary.median_s,
        relative_error=entry.summary.relative_error,
        flop_per_s=entry.flop_per_s,
        bandwidth_B_per_s=entry.bandwidth_B_per_s,
        samples=record.samples,
        verified=entry.verified,
        suspect=entry.suspect,
        starred=False,
        tags=(),
        note="",
        group=None,
        fingerprint=fingerprint(environment, device, config).digest,
        running=entry.running,
        stopped_by=record.stopped_by,
    )


def with_marks(figures: Row, marks: Row) -> Row:
    """Return the figures of one row with what a user said of the run in the other."""
    return msgspec.structs.replace(
        figures, starred=marks.starred, tags=marks.tags, note=marks.note, group=marks.group
    )


def matches(query: Query, terms: Sequence[Term], row: Row) -> bool:
    """Return whether a query finds a row, as the store would judge it once it holds it.

    ``terms`` are those of the query's text.
    """
    if query.deleted or query.group not in (None, NO_GROUP, row.group):
        return False
    exact = (
        (query.workload, (row.workload,)),
        (query.variant, (row.variant,)),
        (query.precision, (row.precision,)),
        (query.device, (row.device, row.device_name)),
    )
    if any(wanted is not None and wanted not in values for wanted, values in exact):
        return False
    if query.tag is not None and query.tag not in row.tags:
        return False
    if query.starred is not None and query.starred != row.starred:
        return False
    if query.since is not None and _moment(row) < query.since:
        return False
    return not terms or _has_all(terms, row)


def _has_all(terms: Sequence[Term], row: Row) -> bool:
    """Return whether a row has every term of a text, in any of its meanings."""
    parts = (
        row.workload, row.variant, row.size_words, row.block_words, row.precision, row.device,
        row.device_name, row.note, row.switch_words, row.switch_words.replace(" ", "_"), *row.tags,
        row.id, row.launch_words,
    )  # fmt: skip
    words, began = searched(" ".join(parts)), _moment(row)
    local = began.astimezone()
    clock_s = local.hour * 3600 + local.minute * 60 + local.second
    states = {
        "wrong": row.verified is False,
        "suspect": row.suspect is not None,
        "running": row.running,
        "interrupted": row.stopped_by == INTERRUPTED,
        "verified": row.verified is True and row.suspect is None,
        "not verified": row.verified is None,
        "starred": row.starred,
    }

    def has(term: Term) -> bool:
        figure = getattr(row, term.field) if term.field else None
        return (
            all(word in words for word in term.words)
            or any(low <= began.timestamp() < high for low, high in term.moments)
            or (term.clock is not None and term.clock[0] <= clock_s < term.clock[1])
            or states.get(term.state, False)
            or (figure is not None and term.within[0] <= figure < term.within[1])
        )

    return all(map(has, terms))


def _moment(row: Row) -> datetime:
    found = datetime.fromisoformat(row.time_utc)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def ordered(rows: Iterable[Row], view: View) -> tuple[Row, ...]:
    """Return those rows that a view wants, in its order."""
    terms = terms_of(view.query.text)
    found = [row for row in rows if matches(view.query, terms, row)]
    found.sort(key=lambda row: row.time_utc, reverse=True)
    field = {"median": "median_s", "workload": "workload", "variant": "variant"}.get(view.sort)
    if field is not None:
        found.sort(key=lambda row: getattr(row, field), reverse=view.descending)
    elif view.sort == "time" and not view.descending:
        found.reverse()
    return tuple(found)
