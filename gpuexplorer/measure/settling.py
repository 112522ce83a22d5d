"""Around samples: launches until a GPU's clock has settled, waits while it is held down."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from gpuexplorer.core.series.throttle import HELD_BELOW, usual_clock_Hz
from gpuexplorer.core.statistics import middle
from gpuexplorer.core.telemetry import at_own_limit, slowdowns
from gpuexplorer.measure.job import (
    FIRST_BATCH_S,
    WARM_UP_S,
    Job,
    batch_size,
    check_cancelled,
    launch,
)

SEARCH_WARM_UP_S = 0.02
"""Longest warm-up of a CPU in a search: it has just built, and has no clock to wait for."""
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
    wanted_s = job.warm_up_s
    if job.in_search and job.runner.device.kind == "cpu":
        wanted_s = min(wanted_s, SEARCH_WARM_UP_S)
    least_s = wanted_s - job.warmed_up_s if first_s < wanted_s else 0.0
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
        launch_s, launched = middle(batch.seconds), True
        if batch.clock_Hz is not None:
            clocks.append((time.perf_counter(), batch.clock_Hz))


def _has_settled(clocks: list[tuple[float, float]]) -> bool:
    """Return whether the newest clock is that of some time ago; a climbing one moves in steps."""
    if not clocks:
        return False
    now_s, clock_Hz = clocks[-1]
    before_Hz = [Hz for at_s, Hz in clocks if now_s - at_s >= SETTLING_S]
    return bool(before_Hz) and abs(clock_Hz - before_Hz[-1]) <= SETTLED * before_Hz[-1]


# ---- a clock that is held down
# Waiting for a device whose clock is held down, as NVBench does.


FIRST_PAUSE_S = 0.050
GROWTH = 1.5
MOST_AT_ONCE_S = 1.0
MOST_S = 5.0
"""A clock that is still low after so much waiting is low for good, and the run goes on with it."""
LATEST = 256
"""Batches whose clocks tell the usual one."""
STEP_S = 0.010
"""How long a cancel may have to wait for a pause."""


class Cooling:
    """Tells after each batch how long to pause: not at all, unless its clock was held down.

    Neither where a limit of the device's own holds it, such as its power cap: a rest would only
    bring back for a moment what the device cannot hold.
    """

    def __init__(self) -> None:
        self._clocks_Hz: deque[float] = deque(maxlen=LATEST)
        self._pause_s = FIRST_PAUSE_S
        self._limited = False
        self.waited_s = 0.0

    def pause_s(self, clock_Hz: float | None, reasons: Sequence[str] = ()) -> float:
        """Return the pause after a batch at ``clock_Hz``, None for a clock that is not known.

        ``reasons`` are the driver's, as last read. That its own limit holds the device is
        remembered, since a pause makes the reason go away; a slowdown ends that.
        """
        self._limited = (self._limited or at_own_limit(reasons)) and not slowdowns(reasons)
        if clock_Hz is None:
            return 0.0
        self._clocks_Hz.append(clock_Hz)
        usual_Hz = usual_clock_Hz(np.array(self._clocks_Hz))
        if self._limited or usual_Hz is None or clock_Hz >= HELD_BELOW * usual_Hz:
            self._pause_s = FIRST_PAUSE_S
            return 0.0
        pause_s = min(self._pause_s, MOST_S - self.waited_s)
        self._pause_s = min(self._pause_s * GROWTH, MOST_AT_ONCE_S)
        self.waited_s += pause_s
        return pause_s


def pause(seconds: float, cancelled: Callable[[], bool]) -> None:
    """Let the device rest for ``seconds``, or until the run is cancelled."""
    until = time.perf_counter() + seconds
    while not cancelled() and (left_s := until - time.perf_counter()) > 0:
        time.sleep(min(STEP_S, left_s))
