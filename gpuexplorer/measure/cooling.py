"""Waiting for a device whose clock is held down, as NVBench does."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from gpuexplorer.core.series.throttle import HELD_BELOW, usual_clock_Hz
from gpuexplorer.core.telemetry import at_own_limit, slowdowns

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
