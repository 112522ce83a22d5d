"""Runs while they go: samples in chunks, and a document for those whose program ended first."""

from __future__ import annotations

import msgspec
import numpy as np
from sqlalchemy import Connection, func, insert, select, update

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.engine.protocol import Prepared
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.history.documents import (
    Floats,
    head_columns,
    pack_samples,
    take_apart,
    unpack_samples,
)
from gpuexplorer.history.errors import StoreDamaged
from gpuexplorer.history.fingerprint import fingerprint
from gpuexplorer.history.model import INTERRUPTED
from gpuexplorer.history.processes import is_running, this_host, this_process
from gpuexplorer.history.sql import runs as stored
from gpuexplorer.history.sql.tables import live, runs, samples
from gpuexplorer.history.unreadable import run_damaged


def begin(connection: Connection, record: RunRecord, group: str | None) -> None:
    """Enter a run that is about to be sampled."""
    prepared = record.prepared
    columns = head_columns(
        record.id, record.time_utc, prepared.config, prepared.device, prepared.environment
    )
    columns |= {
        "fingerprint": fingerprint(prepared.environment, prepared.device, prepared.config).digest,
        "samples": 0,
        "verified": prepared.verification.whole if prepared.verification else None,
        "running": True,
        "stopped_by": record.stopped_by,
        "group_id": group,
    }
    number = connection.execute(insert(runs).values(**columns, **stored.NEW)).inserted_primary_key
    assert number is not None
    connection.execute(
        insert(live).values(
            run=number[0],
            prepared=encode_prepared(prepared),
            host=this_host(),
            process=this_process(),
        )
    )


def encode_prepared(prepared: Prepared) -> bytes:
    """Return what a run's document is made from, beside its samples."""
    return msgspec.json.encode(prepared)


def append(connection: Connection, run_id: str, batch: SampleBatch | Floats) -> None:
    """Add samples to a run that is going."""
    number, _, running = stored.resolve(connection, run_id)
    if not running:
        raise InputError(f"the run '{run_id}' is finished and takes no more samples")
    if isinstance(batch, SampleBatch):
        values = batch.durations_s
        said = msgspec.json.encode(msgspec.structs.replace(batch, seconds=b""))
    else:
        values, said = np.asarray(batch, np.float64), None
    last = connection.scalar(select(func.max(samples.c.chunk)).where(samples.c.run == number))
    connection.execute(
        insert(samples).values(
            run=number,
            chunk=0 if last is None else last + 1,
            count=len(values),
            data=pack_samples(values),
            batch=said,
        )
    )
    connection.execute(
        update(runs).where(runs.c.seq == number).values(samples=runs.c.samples + len(values))
    )


def result_of(connection: Connection, number: int, run_id: str) -> RunResult | None:
    """Return the document of what a run that is going has so far; None before its first sample."""
    head = connection.execute(
        select(live.c.prepared, runs.c.time_utc)
        .join(runs, runs.c.seq == live.c.run)
        .where(live.c.run == number)
    ).first()
    if head is None:
        raise run_damaged(run_id, "its beginning is missing")
    rows = connection.execute(
        select(samples.c.data, samples.c.batch)
        .where(samples.c.run == number)
        .order_by(samples.c.chunk)
    )
    try:
        record = RunRecord(msgspec.json.decode(head.prepared, type=Prepared))
        record.id, record.time_utc = run_id, head.time_utc
        timed = True
        for row in rows:
            values = unpack_samples(row.data).astype("<f8", copy=False)
            said = (
                SampleBatch(seconds=b"", counts=(len(values),), starts_ns=(0,))
                if row.batch is None
                else msgspec.json.decode(row.batch, type=SampleBatch)
            )
            timed = timed and row.batch is not None
            record.add(msgspec.structs.replace(said, seconds=values.tobytes()))
    except (msgspec.DecodeError, ValueError, TypeError) as error:
        raise run_damaged(run_id, f"its beginning: {error}") from None
    if not record.samples:
        return None
    result = record.result(listed=False)
    # When the samples were taken is not known of bare numbers.
    return result if timed else msgspec.structs.replace(result, batches=[])


# ---- after a program ended without a word


def close_interrupted(connection: Connection) -> None:
    """Finish the runs of programs that are gone, with what they had sampled.

    Programs on other machines are left alone: whether they still run cannot be told from here. So
    are runs that this program cannot read.
    """
    gone = [
        row
        for row in connection.execute(
            select(live.c.run, live.c.process, runs.c.id)
            .join(runs, runs.c.seq == live.c.run)
            .where(live.c.host == this_host())
        )
        if not is_running(row.process)
    ]
    for row in gone:
        try:
            result = result_of(connection, row.run, row.id)
        except StoreDamaged:
            continue
        if result is None:
            stored.erase(connection, [row.run])
            continue
        timing = msgspec.structs.replace(result.timing, stopped_by=INTERRUPTED)
        ended = msgspec.structs.replace(result, timing=timing)
        stored.finish(connection, row.run, take_apart(ended))
