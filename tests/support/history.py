"""Runs for tests of the history in the window."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.engine.record import RunRecord
from tests.support.prepared import prepared
from tests.support.results import made_result


def numbered_run(number: int, *, samples: int = 40, **changes: Any) -> RunResult:
    """Return the run with this number: later ones are later, and slower by a millisecond each."""
    config = {k: v for k, v in changes.items() if k not in RunResult.__struct_fields__}
    fields = {k: v for k, v in changes.items() if k in RunResult.__struct_fields__}
    run = made_result(samples, 1e-3 * (number + 1), peak=4e10, **config)
    day, minute = divmod(number, 1440)
    time_utc = f"2026-01-{1 + day:02d}T{minute // 60:02d}:{minute % 60:02d}:00.000+00:00"
    return msgspec.structs.replace(
        run, **{"id": f"{number * 2654435761 % 2**128:032x}", "time_utc": time_utc, **fields}
    )


def made_batch(seconds: list[float], start_ns: int = 0) -> SampleBatch:
    """Return one message of samples."""
    return SampleBatch(
        seconds=np.array(seconds, "<f8").tobytes(), counts=(len(seconds),), starts_ns=(start_ns,)
    )


def made_record(*messages: list[float]) -> RunRecord:
    """Return a run that has sampled these messages."""
    record = RunRecord(prepared())
    for number, seconds in enumerate(messages):
        record.add(made_batch(seconds, number * 1_000_000_000))
    return record
