"""The latest samples of a live run, and their figures."""

from __future__ import annotations

import numpy as np

from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.core.series.examine import examine
from gpuexplorer.core.series.throttle import throttled_batches
from gpuexplorer.core.statistics import Summary
from gpuexplorer.gui.model.trace import SLACK, Growing

SAMPLES = 1 << 20
"""Latest samples that live figures rest on."""


class Tally:
    """Durations in seconds and the clock of each, where it was counted."""

    def __init__(self, resolution_s: float = 0.0) -> None:
        self.resolution_s = resolution_s
        self._durations_s = Growing(2 * SAMPLES + SLACK)
        self._clocks_Hz: Growing | None = None

    def __len__(self) -> int:
        return len(self._durations_s)

    def extend(self, batch: SampleBatch) -> None:
        """Take in samples; those that no figure rests on any more go."""
        before = len(self._durations_s)
        self._durations_s.extend(batch.durations_s)
        if any(clock is not None for clock in batch.clocks_Hz):
            if self._clocks_Hz is None:
                self._clocks_Hz = Growing(2 * SAMPLES + SLACK)
                self._clocks_Hz.extend(np.full(before, np.nan))
            clocks = [np.nan if clock is None else clock for clock in batch.clocks_Hz]
            self._clocks_Hz.extend(np.repeat(clocks, batch.counts))
        elif self._clocks_Hz is not None:
            self._clocks_Hz.extend(np.full(sum(batch.counts), np.nan))
        if len(self) > 2 * SAMPLES:
            gone = len(self) - SAMPLES
            self._durations_s.cut(gone)
            if self._clocks_Hz is not None:
                self._clocks_Hz.cut(gone)

    def summary(self) -> Summary:
        """Return the figures of the latest samples; ValueError when there are none."""
        latest = self._durations_s.view[-SAMPLES:]
        throttled = None
        if self._clocks_Hz is not None:
            clocks_Hz = self._clocks_Hz.view[-SAMPLES:]
            none = np.zeros(len(latest), dtype=np.bool_)
            throttled = throttled_batches(clocks_Hz, latest, during=True, slowed=none)
        return examine(latest, resolution_s=self.resolution_s, throttled=throttled)
