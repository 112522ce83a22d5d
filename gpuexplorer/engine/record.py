"""What a client gathers of one run, and the document it makes of it.

The document is made from what was received, so an engine that dies takes nothing with it.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from copy import copy
from datetime import UTC, datetime

import msgspec
import numpy as np
import numpy.typing as npt

from gpuexplorer.analysis.plausible import Work, suspicion
from gpuexplorer.core.accesses import AccessProfile
from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.chunked import as_list
from gpuexplorer.core.memory import MemoryUse
from gpuexplorer.core.result import (
    DeviceSummary,
    Phases,
    RunResult,
    TelemetrySummary,
    Throughput,
    Timing,
    Traffic,
)
from gpuexplorer.core.sample import Reading
from gpuexplorer.core.sample_block import Samples, packed
from gpuexplorer.core.series.examine import examine, in_figures
from gpuexplorer.core.statistics import Summary, middle
from gpuexplorer.core.telemetry import Counters
from gpuexplorer.engine.batches import Batches
from gpuexplorer.engine.protocol import MAX_NOISE, Prepared
from gpuexplorer.engine.readings import Readings
from gpuexplorer.engine.state import (
    device_state,
    latest,
    limit_remark,
    sampled_until_ns,
    while_sampled,
)

MAX_SAMPLES = 4_000_000
"""Samples kept of one run (32 MB); beyond, the oldest go and ``dropped`` counts them."""
MAX_BATCHES = 1_000_000
"""Batches kept of one run (32 MB at most): a slow kernel has few samples, each a batch."""
MAX_READINGS = 36_000
"""Readings kept: an hour at ten a second."""
PACK = 64
"""Messages of samples joined at a time, and as many of the latest that stay as they came."""
BLOCK_SAMPLES, BLOCK_BATCHES = 1 << 16, 1 << 12
"""Most of a block of joined messages: half a megabyte, for which the C library takes pages that go
back to the system with it. A run that is let go leaves holes wherever its messages lay."""


class RunRecord:
    """Samples and readings of one run, in order of arrival."""

    def __init__(self, prepared: Prepared, *, max_noise: float | None = None) -> None:
        """``max_noise``: the error down to which the median counts as known; None: the usual."""
        self.prepared = prepared
        self.max_noise = MAX_NOISE if max_noise is None else max_noise
        self.id = uuid.uuid4().hex
        self.time_utc = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.stopped_by = "running"
        self.dropped = 0
        self.lost_until_ns: int | None = None
        """When a batch began before which samples were lost on their way, the latest such."""
        self.phases_s: Phases = prepared.phases_s
        self.memory: MemoryUse | None = prepared.memory
        """The memory it takes: predicted from the start, and counted once that was done."""
        self._batches: list[Samples] = []
        self._samples = 0
        self._parts = 0
        self._packed = 0
        self._readings = Readings()
        self._in_turns = False
        """Whether something else ran between what it sampled."""
        self.ceilings: Ceilings | None = None
        """What the device was measured to do at most, where it was calibrated."""
        self.idle_power_W: float | None = None
        """The device's power at rest, where it was read before this run."""
        self.missing: dict[str, str] = {}
        """Why fields of the readings are not there."""
        self.counters: Counters | None = None
        """What a profiler counted in one launch, apart from this run."""
        self.accesses: tuple[AccessProfile, ...] = ()
        """What a warp of each launch asks for, counted apart from this run."""

    @property
    def samples(self) -> int:
        """Number of samples kept."""
        return self._samples

    @property
    def batches(self) -> Sequence[Samples]:
        """The batches kept, in order of arrival."""
        return self._batches

    @property
    def readings(self) -> list[Reading]:
        """The readings kept, in order of arrival; older ones are unpacked for it."""
        return self._readings.all()

    def readings_while_sampled(self) -> list[Reading]:
        """Return those that tell of the launches, and of no rest before or after them."""
        return while_sampled(self._batches, self.readings)

    def add(self, batch: Samples, *, dropped: int = 0) -> None:
        """Take in samples, before which ``dropped`` were lost on their way.

        The oldest go when there are more than ``MAX_SAMPLES``, or than ``MAX_BATCHES`` batches.
        """
        self.dropped += dropped
        if dropped:
            self.lost_until_ns = batch.starts_ns[0]
        self._batches.append(batch)
        self._samples += sum(batch.counts)
        self._parts += len(batch.counts)
        while len(self._batches) > 1 and (self._samples > MAX_SAMPLES or self._parts > MAX_BATCHES):
            oldest = self._batches.pop(0)
            gone = sum(oldest.counts)
            self._packed = max(0, self._packed - 1)
            self._samples -= gone
            self._parts -= len(oldest.counts)
            self.dropped += gone

    def pack(self) -> None:
        """Join messages into blocks, but for the latest; some at a time, so that it is brief.

        One that holds a single sample takes 500 bytes, of which 8 are the sample.
        """
        while len(self._batches) - self._packed >= 2 * PACK:
            block = self._packed - 1
            if block >= 0:
                end = block + _fitting(self._batches[block : self._packed + PACK])
                if end > self._packed:
                    self._batches[block:end] = [packed(self._batches[block:end])]
                    return
            begun = packed([self._batches[self._packed]])  # the next message begins a block
            self._batches[self._packed] = begun
            self._packed += 1

    def add_reading(self, reading: Reading) -> None:
        """Take in one look at the device's state."""
        self._readings.add(reading, MAX_READINGS)
        self.missing.update(reading.missing)

    def extend(self, later: RunRecord) -> None:
        """Take in what another run of the same configuration sampled after this one.

        What was read between the two is of neither. Where the way to time it stopped working, or
        the engine is another one, both ways are named, and the coarser clock's steps count.
        """
        mine, others = self.prepared, later.prepared
        if self._batches and others.method not in mine.method:
            self.prepared = msgspec.structs.replace(
                mine,
                method=f"{mine.method}; in other turns: {others.method}",
                resolution_s=max(mine.resolution_s, others.resolution_s),
            )
        if self._batches:
            self._readings.drop_after(sampled_until_ns(self._batches[-1]))
            self._in_turns = True
        for batch in later._batches:
            self.add(batch)
        for reading in while_sampled(later._batches, later.readings):
            self.add_reading(reading)
        self.missing.update(later.missing)
        self.dropped += later.dropped
        if later.lost_until_ns is not None:
            self.lost_until_ns = later.lost_until_ns
        if later.memory is not None and later.memory.peak_B is not None:
            self.memory = later.memory

    def found_wrong(self) -> None:
        """Note that a later launch gave another result than the one that was found right."""
        found = self.prepared.verification
        if found is not None and found.ok:
            method = f"{found.method}; a later launch gave another result"
            found = msgspec.structs.replace(found, ok=False, method=method)
            self.prepared = msgspec.structs.replace(self.prepared, verification=found)

    def end(self, stopped_by: str, phases_s: Phases | None = None) -> None:
        """Note what ended the run."""
        self.stopped_by = stopped_by
        if phases_s is not None:
            self.phases_s = phases_s

    def snapshot(self) -> RunRecord:
        """Return a copy that later additions leave alone, for use in another thread."""
        made = copy(self)
        made._batches = list(self._batches)
        made._readings = self._readings.copy()
        made.missing = dict(self.missing)
        return made

    def samples_s(self) -> npt.NDArray[np.float64]:
        """Return the durations in seconds, in order."""
        if not self._batches:
            return np.empty(0)
        return np.concatenate([b.durations_s for b in self._batches])

    def state(self, latest_s: float | None = None) -> tuple[TelemetrySummary, Traffic | None]:
        """Return the device's state over the run, and a launch's DRAM bytes if they were counted.

        With ``latest_s`` only over so much of the latest time.
        """
        batches = self._batches
        if latest_s is None or not batches:
            readings = self.readings
        else:
            batches = latest(batches, latest_s)
            readings = self._readings.since(batches[0].starts_ns[0])
        state, dram = device_state(
            self.prepared,
            batches,
            readings,
            self.idle_power_W,
            self.missing,
            in_turns=self._in_turns,
            lost=bool(batches) and batches[0].starts_ns[0] < (self.lost_until_ns or 0),
        )
        if self.counters is not None and state.occupancy is None:
            sources = ", ".join(name for name in (state.source, "ncu") if name)
            state = msgspec.structs.replace(
                state, occupancy=self.counters.occupancy, source=sources
            )
        return state, dram

    def count(self, counters: Counters | None) -> None:
        """Take in what a profiler counted in one launch of this configuration."""
        self.counters = counters

    def counted(self, dram: Traffic | None) -> list[Traffic]:
        """Return the bytes that were counted of a launch: ``dram``, of ``state``, and a profiler's.

        Of two words on the same bytes ``measured`` chooses one.
        """
        exact = self.counters.traffic() if self.counters is not None else []
        return [dram, *exact] if dram is not None else exact

    def _phases(self, median_s: float) -> Phases:
        """Return the phases; with transfers included, the medians over the samples."""
        rows = [batch.phases for batch in self._batches if batch.phases_s]
        if not rows:
            return msgspec.structs.replace(self.phases_s, kernel=median_s)
        allocate, upload, kernel, download, free = (
            float(v) for v in np.median(np.concatenate(rows), axis=0)
        )
        return msgspec.structs.replace(
            self.phases_s,
            allocate=allocate,
            host_to_device=upload,
            kernel=kernel,
            device_to_host=download,
            free=free,
        )

    def throughput(self, median_s: float) -> Throughput:
        """Return the useful work of one launch over ``median_s``."""
        prepared = self.prepared
        compulsory = sum(t.total_B for t in prepared.traffic if t.kind == "compulsory")
        return Throughput(
            flop_per_s=_rate(prepared.flops, median_s),
            bandwidth_B_per_s=_rate(compulsory, median_s),
        )

    def suspect(self, summary: Summary) -> str | None:
        """Return why the figure of these samples cannot be true; None when it can."""
        slow_s = summary.p95_s if summary.ci95_high_s is None else summary.ci95_high_s
        return self.suspect_at(slow_s)

    def suspect_at(self, slow_s: float) -> str | None:
        """Return why a launch cannot take ``slow_s``; a longer one is not more suspect."""
        prepared = self.prepared
        compulsory = [t for t in prepared.traffic if t.kind == "compulsory"]
        work = Work(
            flops=0.0 if prepared.fewer_flops else prepared.flops,
            read_B=sum((t.read_B or 0.0) + (t.combined_B or 0.0) for t in compulsory),
            write_B=sum(t.write_B or 0.0 for t in compulsory),
            slow_s=slow_s,
        )
        return suspicion(
            work,
            prepared.config,
            self.ceilings,
            peak_bandwidth_B_per_s=prepared.device.peak_bandwidth_B_per_s,
            last_level_cache_B=prepared.device.last_level_cache_B,
        )

    def summary(self) -> Summary:
        """Return the figures that its document has; ValueError when it has no samples."""
        return self._examined(Batches(self._batches, self.readings))

    def figures_s(self) -> npt.NDArray[np.float64]:
        """Return the samples that its document's figures are of, in order; it has some."""
        batches = Batches(self._batches, self.readings)
        throttled = batches.throttled(self.prepared.device.nominal_clock_Hz)
        return in_figures(batches.samples_s, throttled)

    def median_s(self) -> float:
        """Return the median that its document has, and nothing else; it has samples."""
        return middle(self.figures_s())

    def _examined(self, batches: Batches) -> Summary:
        prepared = self.prepared
        return examine(
            batches.samples_s,
            resolution_s=prepared.resolution_s,
            throttled=batches.throttled(prepared.device.nominal_clock_Hz),
        )

    def result(self, *, listed: bool = True) -> RunResult:
        """Return the run's document; ValueError when it has no samples.

        Unless they shall be ``listed``, its samples are an array, for what draws, writes or stores
        them.
        """
        samples_s = self.samples_s()
        return msgspec.structs.replace(
            self.figures(), samples_s=as_list(samples_s) if listed else samples_s
        )

    def figures(self) -> RunResult:
        """Return the run's document with an empty ``samples_s``; ValueError without samples.

        For what takes the samples apart.
        """
        prepared = self.prepared
        batches = Batches(self._batches, self.readings)
        highest_Hz = prepared.device.nominal_clock_Hz
        summary = self._examined(batches)
        during = self.readings_while_sampled()
        remark = limit_remark(during, batches.clock_Hz(), highest_Hz)
        telemetry, dram = self.state()
        asked = requested_of(self.accesses)
        error = summary.relative_error
        return RunResult(
            id=self.id,
            time_utc=self.time_utc,
            config=prepared.config,
            device=DeviceSummary.of(prepared.device),
            environment=prepared.environment,
            timing=Timing(
                samples=len(batches.samples_s),
                median_s=summary.median_s,
                mean_s=summary.mean_s,
                min_s=summary.min_s,
                p05_s=summary.p05_s,
                p95_s=summary.p95_s,
                stdev_s=summary.stdev_s,
                ci95_low_s=summary.ci95_low_s,
                ci95_high_s=summary.ci95_high_s,
                method=prepared.method,
                resolution_s=prepared.resolution_s,
                stopped_by=self.stopped_by,
                converged=error is not None and error <= self.max_noise,
                max_noise=self.max_noise,
                marked_throttled=summary.marked_throttled,
                outliers=summary.outliers,
                dropped=self.dropped,
                warnings=(*summary.warnings, remark) if remark else summary.warnings,
                suspect=self.suspect(summary),
            ),
            samples_s=[],
            batches=batches.summaries(highest_Hz),
            phases_s=self._phases(summary.median_s),
            throughput=self.throughput(summary.median_s),
            traffic=[
                *prepared.traffic,
                *([asked] if asked else []),
                *self.counted(dram),
            ],
            verification=prepared.verification,
            not_verified=prepared.not_verified,
            printed=prepared.printed,
            arithmetic=prepared.arithmetic,
            resources=prepared.resources,
            telemetry=telemetry,
            memory=self.memory,
        )


def requested_of(accesses: Sequence[AccessProfile]) -> Traffic | None:
    """Return the bytes that all threads ask for, as counted; None where that is not known."""
    reads = [one.requested_B("read") for one in accesses]
    writes = [one.requested_B("written") for one in accesses]
    known_reads, known_writes = ([b for b in found if b is not None] for found in (reads, writes))
    if not accesses or len(known_reads) != len(reads) or len(known_writes) != len(writes):
        return None
    return Traffic(
        kind="requested", read_B=sum(known_reads), write_B=sum(known_writes), source="counted"
    )


def _rate(amount: float, seconds: float) -> float | None:
    """Return an amount a second; None for no amount, or a time below the clock's resolution."""
    return amount / seconds if amount and seconds > 0 else None


def _fitting(batches: Sequence[Samples]) -> int:
    """Return how many of the first messages fit into a block."""
    samples = parts = 0
    for number, batch in enumerate(batches):
        samples += len(batch.seconds) // 8
        parts += len(batch.counts)
        if samples > BLOCK_SAMPLES or parts > BLOCK_BATCHES:
            return number
    return len(batches)
