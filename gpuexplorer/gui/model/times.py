"""When each launch of a batch began."""

from __future__ import annotations

import numpy as np

from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.gui.model.trace import Floats


def sample_times_s(batch: SampleBatch, offset_ns: int) -> Floats:
    """Return when each sample began, in seconds on the clock that ``offset_ns`` leads to.

    A batch's start is measured; inside a batch the launches are taken to follow each other.
    """
    counts = np.asarray(batch.counts, dtype=np.int64)
    launches = np.asarray(batch.launches or (1,) * len(counts), dtype=np.float64)
    spans = batch.durations_s * np.repeat(launches, counts)
    before = np.cumsum(spans) - spans
    held = counts > 0
    counts = counts[held]
    starts = (np.asarray(batch.starts_ns, dtype=np.int64)[held] + offset_ns) * 1e-9
    first = np.cumsum(counts) - counts
    times: Floats = before + np.repeat(starts - before[first], counts)
    return times
