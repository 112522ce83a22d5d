"""An engine for tests of searches: it knows what every configuration takes, and fails on order."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.engine.protocol import Prepared
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.workloads.workload import Workload
from tests.support.prepared import prepared


class MadeEngine:
    """Measures nothing: ``launch_s`` gives a configuration's time, or raises what goes wrong."""

    def __init__(self, launch_s: Callable[[RunConfig], float] | None = None) -> None:
        self.launch_s = launch_s or (lambda config: 1e-3)
        self.asked: list[RunConfig] = []
        self.limits: list[tuple[int | None, float | None]] = []

    def measure(
        self,
        config: RunConfig,
        workload: Workload,
        options: RunOptions,
    ) -> RunRecord:
        """Return a run of equal samples."""
        assert options.keep_arrays
        self.asked.append(config)
        self.limits.append((options.samples, options.seconds))
        launch_s = self.launch_s(config)
        start: Prepared = msgspec.structs.replace(prepared(), config=config)
        record = RunRecord(start)
        values = np.full(options.samples or 10, launch_s)
        record.add(
            SampleBatch(
                seconds=values.tobytes(), counts=(len(values),), starts_ns=(0,), launches=(1,)
            )
        )
        record.end("samples")
        return record
