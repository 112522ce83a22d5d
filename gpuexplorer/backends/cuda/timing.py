"""Launches queued ahead, each between two events."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from gpuexplorer.backends.base import MAX_QUEUED_LAUNCHES, Batch
from gpuexplorer.backends.cuda.gate import MAX_OPERATIONS
from gpuexplorer.backends.cuda.session import Session

GATED = "CUDA events around launches queued behind a blocking kernel"
PLAIN = "CUDA events around launches, not held back until queued"
RESOLUTION_S = 0.5e-6
ATTEMPTS = 2


@dataclass(frozen=True)
class Work:
    """What is timed: ``prepare`` is queued before each launch outside of the timed part."""

    launch: Callable[[], None]
    prepare: Callable[[], None] | None
    operations: int
    """Stream operations of one launch and its preparation."""


def time_launches(session: Session, work: Work, count: int, *, gated: bool) -> Batch:
    """Run ``count`` launches and return the device's seconds for each.

    With ``gated`` they are held back until queued, as long as the session has a gate. A batch whose
    gate opened by itself, because the host was held up for a second, is taken once more.
    """
    if not 1 <= count <= MAX_QUEUED_LAUNCHES:
        raise ValueError(f"a batch has 1 to {MAX_QUEUED_LAUNCHES} launches, not {count}")
    gate = session.gate if gated else None
    for _ in range(ATTEMPTS if count > 1 else 1):  # a single one may be counted on to run once
        batch = _queue(session, work, count, gated=gate is not None)
        if gate is None or not gate.take_late():
            break
    return batch


def _queue(session: Session, work: Work, count: int, *, gated: bool) -> Batch:
    runtime, stream = session.api.runtime, session.stream
    events = session.events(2 * count)
    gate = session.gate if gated else None
    together = max(1, MAX_OPERATIONS // (work.operations + 2))
    start_ns = time.perf_counter_ns()
    for first in range(0, count, together):
        with gate.closed() if gate is not None else nullcontext():
            for index in range(first, min(first + together, count)):
                if work.prepare is not None:
                    work.prepare()
                runtime.eventRecord(events[2 * index], stream)
                work.launch()
                runtime.eventRecord(events[2 * index + 1], stream)
    runtime.eventSynchronize(events[2 * count - 1])
    elapsed_ms = [
        runtime.eventElapsedTime(events[2 * index], events[2 * index + 1]) for index in range(count)
    ]
    return Batch(start_ns=start_ns, seconds=np.array(elapsed_ms, np.float64) * 1e-3)
