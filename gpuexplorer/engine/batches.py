"""The batches of a run as columns, and the state of the device during each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
from msgspec import UNSET

from gpuexplorer.core.result import BatchSummary
from gpuexplorer.core.sample import Reading
from gpuexplorer.core.sample_block import Samples
from gpuexplorer.core.series.throttle import Mask, throttled_batches
from gpuexplorer.core.statistics import middle
from gpuexplorer.core.telemetry import at_own_limit, is_fault, slowdowns

CHUNK = 16_384
"""Samples sorted at once, a group more or less."""
NEAR_NS = 1_000_000_000
"""A reading further from a batch than this says nothing of its clock."""


class Batches:
    """Columns of consecutive batches: samples, start on the engine's clock, median, state."""

    def __init__(self, batches: Sequence[Samples], readings: Sequence[Reading]) -> None:
        self.counts = np.array([c for b in batches for c in b.counts], dtype=np.int64)
        self.starts_ns = np.array([t for b in batches for t in b.starts_ns], dtype=np.int64)
        durations_s = [b.durations_s for b in batches]
        self.samples_s = np.concatenate(durations_s) if batches else np.empty(0)
        self.medians_s = _medians(self.samples_s, self.counts)
        self._counted_Hz = [
            clock for b in batches for clock in (b.clocks_Hz or (None,) * len(b.counts))
        ]
        self._launches = [n for b in batches for n in (b.launches or (1,) * len(b.counts))]
        self._all_readings = readings

    def summaries(self, highest_Hz: float | None) -> list[BatchSummary]:
        """Return the batches as they stand in the document; ``highest_Hz`` as in ``held_down``."""
        return [
            BatchSummary(
                start_s=start_ns * 1e-9,
                samples=count,
                median_s=median_s,
                sm_clock_Hz=counted_Hz or (reading.sm_clock_Hz if reading else None),
                power_W=reading.power_W if reading else None,
                throttled=held or UNSET,
                launches=launches if launches > 1 else UNSET,
            )
            for start_ns, count, median_s, counted_Hz, reading, held, launches in zip(
                self.starts_ns.tolist(),
                self.counts.tolist(),
                self.medians_s.tolist(),
                self._counted_Hz,
                self._beside,
                self.held_down(highest_Hz).tolist(),
                self._launches,
                strict=True,
            )
        ]

    def throttled(self, highest_Hz: float | None) -> Mask:
        """Return which samples were taken while the clock was held down, one flag a sample."""
        return np.repeat(self.held_down(highest_Hz), self.counts)

    def held_down(self, highest_Hz: float | None) -> Mask:
        """Return during which batches the clock was held down, one flag a batch.

        The clock counted during the batch decides, else the one read nearest in time; the
        driver's reasons are those read just before and just after its start. Readings from before
        the first batch do not count: the device was idle then.
        """
        clocks_Hz, counted = self._clocks_Hz
        limited, faulty = held_by(self.readings, self.starts_ns)
        return throttled_batches(
            clocks_Hz,
            self.medians_s,
            counted=counted,
            limited=limited,
            faulty=faulty,
            highest_Hz=highest_Hz,
        )

    def clock_Hz(self) -> float | None:
        """Return the median clock of the batches, None when none is known."""
        clocks_Hz, _ = self._clocks_Hz
        known = clocks_Hz[np.isfinite(clocks_Hz)]
        return middle(known) if len(known) else None

    @cached_property
    def _clocks_Hz(self) -> tuple[npt.NDArray[np.float64], Mask]:
        """Return each batch's clock, NaN for one that is not known, and whether it was counted."""
        counted_Hz = np.array([np.nan if c is None else c for c in self._counted_Hz], np.float64)
        counted = np.isfinite(counted_Hz)
        read_Hz = [None if reading is None else reading.sm_clock_Hz for reading in self._beside]
        beside_Hz = np.array([np.nan if c is None else c for c in read_Hz], np.float64)
        return np.where(counted, counted_Hz, beside_Hz), counted

    @cached_property
    def _beside(self) -> list[Reading | None]:
        """Return the reading nearest in time to each batch's start; None where none is near."""
        nearest = _nearest(self.readings, self.starts_ns)
        return [
            reading if reading is not None and abs(reading.t_ns - start_ns) <= NEAR_NS else None
            for reading, start_ns in zip(nearest, self.starts_ns.tolist(), strict=True)
        ]

    @cached_property
    def readings(self) -> list[Reading]:
        """Return the readings from the first batch on."""
        first_ns = int(self.starts_ns[0]) if len(self.starts_ns) else 0
        return [reading for reading in self._all_readings if reading.t_ns >= first_ns]


def held_by(readings: Sequence[Reading], at_ns: npt.NDArray[np.int64]) -> tuple[Mask, Mask]:
    """Return for each moment whether a limit of the device's own held its clock, and a fault.

    The readings just before and just after it tell, as far as they are near.
    """
    if not any(reading.throttle_reasons for reading in readings):
        return np.zeros(len(at_ns), dtype=np.bool_), np.zeros(len(at_ns), dtype=np.bool_)
    ordered = sorted(readings, key=lambda r: r.t_ns)
    times = np.array([r.t_ns for r in ordered], dtype=np.int64)
    after = np.searchsorted(times, at_ns)

    def beside(holds: Callable[[tuple[str, ...]], bool]) -> Mask:
        told = np.array([holds(r.throttle_reasons or ()) for r in ordered], dtype=np.bool_)
        found: Mask = np.zeros(len(at_ns), dtype=np.bool_)
        for index in (after - 1, after):
            there = np.flatnonzero((index >= 0) & (index < len(times)))
            near = there[np.abs(times[index[there]] - at_ns[there]) <= NEAR_NS]
            found[near] |= told[index[near]]
        return found

    slowed = beside(lambda reasons: bool(slowdowns(reasons)))
    return beside(at_own_limit) & ~slowed, beside(is_fault)


def _nearest(readings: Sequence[Reading], at_ns: npt.NDArray[np.int64]) -> list[Reading | None]:
    """Return the reading nearest in time to each moment; None where there are none."""
    if not readings:
        return [None] * len(at_ns)
    ordered = sorted(readings, key=lambda r: r.t_ns)
    times = np.array([r.t_ns for r in ordered], dtype=np.int64)
    after = np.searchsorted(times, at_ns).clip(0, len(times) - 1)
    before = (after - 1).clip(0)
    closer = np.abs(times[before] - at_ns) <= np.abs(times[after] - at_ns)
    return [ordered[i] for i in np.where(closer, before, after).tolist()]


def _medians(
    samples_s: npt.NDArray[np.float64], counts: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Return the median of each of consecutive groups of ``counts`` samples.

    Some thousand samples are sorted at once: a sort holds the interpreter, and no other thread of
    the program runs meanwhile.
    """
    if len(samples_s) <= CHUNK:
        return _medians_at_once(samples_s, counts)
    ends = np.cumsum(counts)
    cuts = np.searchsorted(ends, np.arange(CHUNK, len(samples_s), CHUNK))
    parts = np.split(counts, np.unique(cuts))
    series = np.split(samples_s, np.cumsum([part.sum() for part in parts])[:-1])
    found = [_medians_at_once(s, part) for s, part in zip(series, parts, strict=True) if len(part)]
    return np.concatenate(found) if found else np.empty(0)


def _medians_at_once(
    samples_s: npt.NDArray[np.float64], counts: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    group = np.repeat(np.arange(len(counts)), counts)
    ordered = samples_s[np.lexsort((samples_s, group))]
    first = np.cumsum(counts) - counts
    middle: npt.NDArray[np.float64] = (
        ordered[first + (counts - 1) // 2] + ordered[first + counts // 2]
    ) / 2
    return middle
