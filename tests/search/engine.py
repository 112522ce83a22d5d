"""An engine for tests of searches: it knows what every configuration takes, and fails on order."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from gpuexplorer.core.config import RunConfig
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

    def measure_record(
        self,
        config: RunConfig,
        workload: Workload,
        *,
        seconds: float | None,
        max_noise: float | None = None,
        samples: int | None = None,
        warm_up_s: float | None = None,
        keep_arrays: bool = False,
        allow_long: bool = False,
    ) -> RunRecord:
        """Return a run of equal samples."""
        assert keep_arrays
        self.asked.append(config)
        self.limits.append((samples, seconds))
        launch_s = self.launch_s(config)
        start: Prepared = msgspec.structs.replace(prepared(), config=config)
        record = RunRecord(start)
        values = np.full(samples or 10, launch_s)
        record.add(
            SampleBatch(
                seconds=values.tobytes(), counts=(len(values),), starts_ns=(0,), launches=(1,)
            )
        )
        record.end("samples")
        return record
