"""The latest samples of a live run, and their figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuexplorer.core.sample import Reading
from gpuexplorer.core.sample_block import Samples
from gpuexplorer.core.series.examine import examine
from gpuexplorer.core.series.throttle import throttled_batches
from gpuexplorer.core.statistics import Summary
from gpuexplorer.engine.batches import held_by
from gpuexplorer.gui.model.trace import SLACK, Floats, Growing

SAMPLES = 1 << 20
"""Latest samples that live figures rest on."""
FREE, LIMITED, FAULTY = 0.0, 1.0, 2.0
"""What the driver says of a sample's clock: nothing, a limit of the device's own, a fault."""


class Tally:
    """Durations in seconds; and where clocks are counted, that of each and what held it."""

    def __init__(self, resolution_s: float = 0.0, highest_Hz: float | None = None) -> None:
        """``highest_Hz`` is the highest clock of the device."""
        self.resolution_s = resolution_s
        self.highest_Hz = highest_Hz
        self._durations_s = Growing(2 * SAMPLES + SLACK)
        self._clocks_Hz: Growing | None = None
        self._holds: Growing | None = None

    def __len__(self) -> int:
        return len(self._durations_s)

    def extend(self, batch: Samples, readings: Sequence[Reading] = ()) -> None:
        """Take in samples; those that no figure rests on any more go.

        ``readings`` are those of the device from about that time.
        """
        before = len(self._durations_s)
        self._durations_s.extend(batch.durations_s)
        if any(clock is not None for clock in batch.clocks_Hz):
            if self._clocks_Hz is None or self._holds is None:
                self._clocks_Hz = Growing(2 * SAMPLES + SLACK)
                self._holds = Growing(2 * SAMPLES + SLACK)
                self._extend_clocks(np.full(before, np.nan), np.full(before, FREE))
            clocks = [np.nan if clock is None else clock for clock in batch.clocks_Hz]
            limited, faulty = held_by(readings, np.asarray(batch.starts_ns, dtype=np.int64))
            holds = np.where(faulty, FAULTY, np.where(limited, LIMITED, FREE))
            self._extend_clocks(np.repeat(clocks, batch.counts), np.repeat(holds, batch.counts))
        else:
            samples = sum(batch.counts)
            self._extend_clocks(np.full(samples, np.nan), np.full(samples, FREE))
        if len(self) > 2 * SAMPLES:
            gone = len(self) - SAMPLES
            for kept in (self._durations_s, self._clocks_Hz, self._holds):
                if kept is not None:
                    kept.cut(gone)

    def _extend_clocks(self, clocks_Hz: Floats, holds: Floats) -> None:
        if self._clocks_Hz is not None and self._holds is not None:
            self._clocks_Hz.extend(clocks_Hz)
            self._holds.extend(holds)

    def summary(self) -> Summary:
        """Return the figures of the latest samples; ValueError when there are none."""
        latest = self._durations_s.view[-SAMPLES:]
        throttled = None
        if self._clocks_Hz is not None and self._holds is not None:
            holds = self._holds.view[-SAMPLES:]
            throttled = throttled_batches(
                self._clocks_Hz.view[-SAMPLES:],
                latest,
                counted=np.ones(len(latest), dtype=np.bool_),
                limited=holds == LIMITED,
                faulty=holds == FAULTY,
                highest_Hz=self.highest_Hz,
            )
        return examine(latest, resolution_s=self.resolution_s, throttled=throttled)
