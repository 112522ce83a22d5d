"""Steps on a GPU timed by CUDA events, queued while the GPU spins."""

from __future__ import annotations

import math
from collections.abc import Callable
from time import perf_counter, perf_counter_ns
from typing import Any

import numpy as np

from gpuexplorer.backends.base import Batch, TimingChoice
from gpuexplorer.backends.cuda.timing import GROUP_S, border_s, long_launch, short_launch_s
from gpuexplorer.backends.host import Call

TIMED_BY = "CUDA events around each call, queued behind a spinning kernel"
GROUPED = "CUDA events around {} calls at a time queued behind a spinning kernel, their mean"
RESOLUTION_S = 0.5e-6
MAX_SPIN_S = 0.030
"""Longest time a GPU spins so that calls queue up behind it."""
MAX_QUEUED = 128
"""Calls queued at once: below the thousand or so operations at which the host has to wait."""
SMALL_CALL_S = 2e-5
"""What queueing a call of one or two operations takes the host; longer ones have more of them."""


class CudaClock:
    """Times calls on one GPU; remembers how long queueing takes and how many stand in a group."""

    def __init__(self, torch: Any, place: str) -> None:
        properties = torch.cuda.get_device_properties(place)
        self._cuda = torch.cuda
        self._spin_Hz = float(getattr(properties, "clock_rate", 0) or 2e6) * 1e3
        self.queue_s = SMALL_CALL_S
        """What queueing one call takes the host, as last seen."""
        self.group = 1
        """Calls between two events; a sample is their mean."""

    @property
    def words(self) -> str:
        """How calls are timed."""
        return GROUPED.format(self.group) if self.group > 1 else TIMED_BY

    @property
    def resolution_s(self) -> float:
        """The finest difference between two samples that can be told."""
        return RESOLUTION_S / self.group

    def settle(
        self,
        first_s: float,
        launch: Callable[[int], Batch],
        earlier: TimingChoice | None = None,
        *,
        apart: bool,
    ) -> TimingChoice | None:
        """Time short calls in groups; ``apart``: something is done between them, so never.

        Returns what was chosen, or ``earlier`` where that stays.
        """
        self.group = 1
        if apart:
            return None
        if earlier is not None and earlier.short:
            self.group = earlier.group
            return earlier
        call_s = short_launch_s(first_s, launch, border_s(earlier))
        if call_s is None:
            return long_launch(first_s)
        self.group = min(math.ceil(GROUP_S / max(call_s, 1e-7)), MAX_QUEUED)
        return TimingChoice(group=self.group, short=True)

    def time(self, call: Call, before: Call | None, count: int) -> tuple[Batch, Any]:
        """Queue ``count`` calls in stretches; return the device's times and the last result.

        ``count`` is rounded up to whole groups. ``before`` comes before each call and is not timed.
        """
        start_ns = perf_counter_ns()
        samples = -(-count // self.group)
        parts, result, done = [], None, 0
        while done < samples:
            result = None  # an earlier result is let go of before the next ones are made
            part, result = self._stretch(call, before, min(self._together(), samples - done))
            parts.append(part)
            done += len(part)
        seconds = np.concatenate(parts)
        return Batch(start_ns=start_ns, seconds=seconds, launches=self.group), result

    def _together(self) -> int:
        """Return how many samples are queued at once: fewer of those that take long to queue."""
        calls = int(MAX_QUEUED * min(1.0, SMALL_CALL_S / self.queue_s))
        return max(1, calls // self.group)

    def _stretch(
        self, call: Call, before: Call | None, samples: int
    ) -> tuple[np.ndarray[Any, np.dtype[np.float64]], Any]:
        """Time calls that are all queued before the first runs, as far as the spin lasts."""
        cuda, count = self._cuda, samples * self.group
        events = [
            (cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)) for _ in range(samples)
        ]
        last = cuda.Event(blocking=True)
        spin_s = min(MAX_SPIN_S, 1.5 * self.queue_s * count)
        cuda._sleep(math.ceil(spin_s * self._spin_Hz))
        result = None
        started = perf_counter()
        for begin, end in events:
            if before is not None:
                before()
            begin.record()
            for _ in range(self.group):
                result = None
                result = call()
            end.record()
        self.queue_s = (perf_counter() - started) / count
        last.record()
        last.synchronize()
        whole_ms = np.array([begin.elapsed_time(end) for begin, end in events])
        return whole_ms * (1e-3 / self.group), result
