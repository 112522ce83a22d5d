"""Launches queued ahead, and three ways to time them.

Each between two events, which is right from some 20 µs on; groups of them between two events, for
shorter ones; or each kernel by its own record, where CUPTI is installed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import nullcontext

import msgspec
import numpy as np

from gpuexplorer.backends.base import MAX_QUEUED_LAUNCHES, Batch, TimingChoice, TimingLost
from gpuexplorer.backends.cuda.activity import SWITCH, KernelRecords
from gpuexplorer.backends.cuda.gate import MAX_OPERATIONS
from gpuexplorer.backends.cuda.session import CudaSession

GATED = "CUDA events around launches queued behind a blocking kernel"
GROUPED = "CUDA events around {} launches at a time queued behind a blocking kernel, their mean"
RECORDED = "CUPTI records of the kernels alone, queued behind a blocking kernel"
PLAIN = "CUDA events around launches, not held back until queued"
RESOLUTION_S = 0.5e-6
"""CUDA's events tell times apart by half a microsecond."""
SHORT_S = 20e-6
"""A shorter launch is not timed by two events of its own."""
UNLIKELY_SHORT_S = 0.2
"""A first launch that took this long, loading its code included, is not tried again."""
PROBES = 16
"""Launches that tell how short a short launch is."""
GROUP_S = 200e-6
"""A group of launches lasts about this long, so that the events' step is 0.25 % of it."""
ATTEMPTS = 2


class Work(msgspec.Struct, frozen=True):
    """What is timed: ``prepare`` is queued before each launch outside of the timed part."""

    launch: Callable[[], None]
    prepare: Callable[[], None] | None
    operations: int
    """Stream operations of one launch and its preparation."""


def border_s(earlier: TimingChoice | None) -> float:
    """Return below what a launch is short, which was not found short in an earlier run if any.

    What lies near the border stays what it was. A launch that takes half as long after all, for
    the clock had not risen, is timed coarsely by two events, and so otherwise from then on.
    """
    return SHORT_S if earlier is None else SHORT_S / 2


def long_launch(first_s: float) -> TimingChoice | None:
    """Return that a launch is not short; None where it may only have waited for its code."""
    return None if first_s >= UNLIKELY_SHORT_S else TimingChoice()


def short_launch_s(
    first_s: float, timed: Callable[[int], Batch], below_s: float = SHORT_S
) -> float | None:
    """Return the median of a few launches when they are shorter than ``below_s``, else None.

    ``first_s`` is what the first launch took, which may have waited for its code to be loaded;
    ``timed`` runs so many launches.
    """
    if first_s >= UNLIKELY_SHORT_S or float(timed(1).seconds[0]) >= 5 * SHORT_S:
        return None
    launch_s = float(np.median(timed(PROBES).seconds))
    return launch_s if launch_s < below_s else None


def group_size(launch_s: float, operations: int) -> int:
    """Return how many launches of ``launch_s`` stand between two events; 1 for long ones.

    As many as last ``GROUP_S``, and no more than one gate holds back with their events and its end.
    """
    if launch_s >= SHORT_S:
        return 1
    wanted = math.ceil(GROUP_S / max(launch_s, 1e-7))
    return max(1, min(wanted, (MAX_OPERATIONS - 3) // max(1, operations)))


def time_launches(
    session: CudaSession,
    work: Work,
    count: int,
    *,
    gated: bool,
    group: int = 1,
    records: KernelRecords | None = None,
    once: bool = False,
) -> Batch:
    """Run ``count`` launches and return the device's seconds for each, or for each group's mean.

    With ``gated`` they are held back until queued, as long as the session has a gate. A batch whose
    gate opened by itself, because the host was held up for a second, is taken once more, unless it
    is to run ``once``; ``gate.took_late`` tells whether that happened again. ``count`` is rounded
    up to whole groups. ``records`` give the seconds where they are passed; a batch of which they
    miss a kernel is taken once more, too; TimingLost when they miss one again.
    """
    if not 1 <= count <= MAX_QUEUED_LAUNCHES:
        raise ValueError(f"a batch has 1 to {MAX_QUEUED_LAUNCHES} launches, not {count}")
    if group > 1 and work.prepare is not None:
        raise ValueError("launches with something between them cannot be timed as a group")
    samples = min(-(-count // group), max(1, MAX_QUEUED_LAUNCHES // group))
    gate = session.gate if gated else None
    for _ in range(1 if once else ATTEMPTS):
        with records.collected(samples) if records is not None else nullcontext():
            batch = _queue(session, work, samples, group, gated=gate is not None)
        late = gate is not None and gate.take_late()
        if not late and (records is None or records.complete):
            break
    if records is None:
        return batch
    if not records.complete:
        raise TimingLost(
            "CUPTI did not record every kernel of a batch",
            remedy=f"set {SWITCH}=0 to time by events instead",
        )
    return Batch(batch.start_ns, records.seconds, clock_Hz=batch.clock_Hz)


def _queue(session: CudaSession, work: Work, samples: int, group: int, *, gated: bool) -> Batch:
    runtime, stream = session.api.runtime, session.stream
    events = session.events(2 * samples)
    gate = session.gate if gated else None
    together = max(1, (MAX_OPERATIONS - 1) // (group * work.operations + 2))
    start_ns = time.perf_counter_ns()
    for first in range(0, samples, together):
        with gate.closed() if gate is not None else nullcontext():
            for index in range(first, min(first + together, samples)):
                if work.prepare is not None:
                    work.prepare()
                runtime.eventRecord(events[2 * index], stream)
                for _ in range(group):
                    work.launch()
                runtime.eventRecord(events[2 * index + 1], stream)
    session.wait()
    elapsed_ms = [
        runtime.eventElapsedTime(events[2 * index], events[2 * index + 1])
        for index in range(samples)
    ]
    return Batch(
        start_ns=start_ns,
        seconds=np.array(elapsed_ms, np.float64) * (1e-3 / group),
        launches=group,
        clock_Hz=gate.take_clock_Hz() if gate is not None else None,
    )
