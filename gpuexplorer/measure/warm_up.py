"""Launches before the first sample: until time has passed, and a GPU's clock has settled."""

from __future__ import annotations

import time

import numpy as np

from gpuexplorer.measure.job import (
    FIRST_BATCH_S,
    WARM_UP_S,
    Job,
    batch_size,
    check_cancelled,
    launch,
)

MOST_WARM_UP_S = 1.0
"""Longest wait for a GPU's clock to settle."""
SETTLED = 0.02
SETTLING_S = 0.050
"""The clocks of two batches so far apart differ by no more than that share once it has settled."""


def warm_up(job: Job, first_s: float) -> float:
    """Launch without keeping a sample; return the last launch's seconds.

    For ``warm_up_s``, and on a GPU that tells its clock, where a whole warm-up is asked for, on
    until that has settled: from idle it may climb for several times as long. A first launch longer
    than the warm-up was one itself.
    """
    started = time.perf_counter()
    least_s = job.warm_up_s - job.warmed_up_s if first_s < job.warm_up_s else 0.0
    watched = job.warm_up_s >= WARM_UP_S and job.runner.device.kind == "gpu"
    clocks: list[tuple[float, float]] = []
    """When each batch ended, and the clock that it held in Hz."""
    launch_s, launched = first_s, False
    while True:
        elapsed_s = time.perf_counter() - started
        done = not watched or (launched and not clocks) or _has_settled(clocks)
        if elapsed_s >= least_s and (done or elapsed_s + launch_s > MOST_WARM_UP_S):
            return launch_s
        check_cancelled(job)
        batch = launch(job, batch_size(max(launch_s, job.whole_s), FIRST_BATCH_S))
        launch_s, launched = float(np.median(batch.seconds)), True
        if batch.clock_Hz is not None:
            clocks.append((time.perf_counter(), batch.clock_Hz))


def _has_settled(clocks: list[tuple[float, float]]) -> bool:
    """Return whether the newest clock is that of some time ago; a climbing one moves in steps."""
    if not clocks:
        return False
    now_s, clock_Hz = clocks[-1]
    before_Hz = [Hz for at_s, Hz in clocks if now_s - at_s >= SETTLING_S]
    return bool(before_Hz) and abs(clock_Hz - before_Hz[-1]) <= SETTLED * before_Hz[-1]
