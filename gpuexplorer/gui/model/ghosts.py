"""Runs of the history as ghosts: what a stored document says, drawn as if it had been pinned."""

from __future__ import annotations

import msgspec
import numpy as np
from msgspec.structs import replace

from gpuexplorer.charts.words import config_words
from gpuexplorer.core.chunked import as_array
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import RunResult, Verification
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.core.sample_block import packed
from gpuexplorer.core.text import visible
from gpuexplorer.engine.protocol import Prepared
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.gui.model.live import GHOST_COLUMNS, HISTOGRAM_SAMPLES, ghost_label
from gpuexplorer.gui.model.trace import SLACK, Drawing, Floats, Trace

NOT_CHECKED = Verification(ok=False, max_rel_error=0.0, tolerance=0.0, method="not checked")
"""Never shown: what is shown of a stored run is its own document."""


class StoredRun(RunRecord):
    """A run of the history where one of this session's is expected; its document stays as it is."""

    def __init__(self, result: RunResult) -> None:
        """Take a stored document; takes long for many samples, so it belongs in a thread."""
        timing = result.timing
        super().__init__(
            Prepared(
                generation=0,
                config=result.config,
                device=device_of(result),
                verification=result.verification or NOT_CHECKED,
                resources=result.resources,
                phases_s=result.phases_s,
                traffic=[t for t in result.traffic if t.source == "model"],
                environment=result.environment,
                flops=(result.throughput.flop_per_s or 0.0) * timing.median_s,
                predicted_s=None,
                method=timing.method,
                resolution_s=timing.resolution_s or 0.0,
                memory=result.memory,
            ),
            max_noise=timing.max_noise,
        )
        self.id, self.time_utc, self.stopped_by = result.id, result.time_utc, timing.stopped_by
        self._result = replace(result, samples_s=[])
        self.dropped = timing.dropped or 0
        if len(result.samples_s):
            self.add(packed([_batch(result)]))

    def figures(self) -> RunResult:
        """Return the document as it was stored, with an empty ``samples_s``."""
        return self._result


def device_of(result: RunResult) -> DeviceInfo:
    """Return a stored run's device, as far as its document tells of it."""
    device = result.device
    return DeviceInfo(
        id=device.id,
        hardware_id=device.hardware_id,
        name=device.name,
        backend=device.backend,
        kind="gpu" if result.config.threads is None else "cpu",
        driver=device.driver,
        compute_units=device.compute_units or 0,
        peak_bandwidth_B_per_s=device.peak_bandwidth_B_per_s,
        peak_source=device.peak_source,
        threads=result.config.threads,
    )


def _batch(result: RunResult) -> SampleBatch:
    counts = tuple(batch.samples for batch in result.batches)
    starts_s = [batch.start_s for batch in result.batches]
    clocks_Hz = tuple(batch.sm_clock_Hz for batch in result.batches)
    if sum(counts) != len(result.samples_s):
        counts, starts_s, clocks_Hz = (len(result.samples_s),), [0.0], (None,)
    return SampleBatch(
        seconds=as_array(result.samples_s).astype("<f8", copy=False).tobytes(),
        counts=counts,
        starts_ns=tuple(round(start * 1e9) for start in starts_s),
        clocks_Hz=clocks_Hz if any(c is not None for c in clocks_Hz) else (),
    )


class Ghost(msgspec.Struct, frozen=True):
    """What a ghost is made of."""

    record: RunRecord
    label: str
    words: str
    median_s: float
    drawing: Drawing
    samples_s: Floats


def ghost_of(result: RunResult) -> Ghost:
    """Return a stored run as a ghost; InputError when it cannot be one.

    Takes long for a long run, so it belongs in a thread.
    """
    if result.verification is None:
        raise InputError(
            "nobody checked the result of this run, so it cannot stand beside checked ones",
            remedy="export it for a chart of its own",
        )
    record = StoredRun(result)
    samples_s = record.samples_s()
    if not len(samples_s):
        raise InputError("this run has no samples, so there is nothing to draw")
    trace = Trace(len(samples_s) + SLACK)
    trace.extend(_times_s(result, samples_s), samples_s)
    drawing = trace.draw(-np.inf, np.inf, GHOST_COLUMNS)
    return Ghost(
        record=record,
        label=f"{ghost_label(result.config)} · {result.time_utc[:10]}",
        words=f"{config_words(result.config)}\nFrom the history: {visible(result.device.name)}, "
        f"{result.time_utc[:16].replace('T', ' ')} UTC",
        median_s=result.timing.median_s,
        drawing=drawing.outline(trace.start_s),
        samples_s=samples_s[-HISTOGRAM_SAMPLES:].copy(),
    )


def _times_s(result: RunResult, samples_s: Floats) -> Floats:
    """Return when each sample began: its batch's start, and inside it one after another."""
    ends = np.cumsum(samples_s)
    counts = np.array([batch.samples for batch in result.batches], dtype=np.int64)
    if counts.sum() != len(samples_s) or not counts.all():
        return ends - samples_s
    first = np.cumsum(counts) - counts
    starts = np.array([batch.start_s for batch in result.batches])
    times: Floats = np.repeat(starts - (ends - samples_s)[first], counts) + ends - samples_s
    return np.maximum.accumulate(times)
