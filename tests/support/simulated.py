"""A session whose launches take what a formula says, on a clock of its own, with noise."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.measure.stop import Slower
from gpuexplorer.workloads.workload import Workload
from tests.support.prepared import prepared

RUN_S = 0.001
"""What a run costs beside its launches."""


class SimulatedMachine:
    """Measures at once; ``now`` is its clock, which every launch moves on.

    ``launch_s`` says what a launch takes, ``fails`` which configuration cannot be measured, and
    ``load`` by how much the machine is slower at a moment.
    """

    def __init__(
        self,
        launch_s: Callable[[RunConfig], float],
        *,
        noise: float = 0.0,
        load: Callable[[float], float] = lambda now: 1.0,
        fails: Callable[[RunConfig], ExplorerError | None] = lambda config: None,
        seed: int = 1,
        clock_s: float = 0.0,
    ) -> None:
        """``clock_s`` are the steps in which times come; 0: as finely as may be."""
        self._launch_s, self._load, self._fails = launch_s, load, fails
        self._noise, self._clock_s = noise, clock_s
        self._chance = np.random.default_rng(seed)
        self.now = 1000.0
        self.runs: list[tuple[RunConfig, int]] = []
        """Each run's configuration and its samples."""

    def clock(self) -> float:
        """The time in seconds."""
        return self.now

    def measure(
        self,
        config: RunConfig,
        workload: Workload,
        options: RunOptions,
    ) -> RunRecord:
        """Return the samples at once."""
        samples, seconds = options.samples, options.seconds
        slower = Slower(options.slower_than_s) if options.slower_than_s is not None else None
        self.now += RUN_S
        failure = self._fails(config)
        if failure is not None:
            raise failure
        began, taken = self.now, []
        while True:
            noise = 1 + self._noise * abs(float(self._chance.standard_normal()))
            launch_s = self._launch_s(config) * self._load(self.now) * noise
            taken.append(launch_s)
            self.now += launch_s
            enough = samples is not None and len(taken) >= samples
            if slower is not None and slower.met(np.array(taken), self.now - began):
                break
            if enough or (seconds is not None and self.now - began >= seconds):
                break
        self.runs.append((config, len(taken)))
        said = msgspec.structs.replace(prepared(), config=config)
        if self._clock_s:
            said = msgspec.structs.replace(said, resolution_s=self._clock_s)
            taken = [self._clock_s * round(launch_s / self._clock_s) for launch_s in taken]
        record = RunRecord(said)
        record.add(
            SampleBatch(
                seconds=np.array(taken, "<f8").tobytes(),
                counts=(len(taken),),
                starts_ns=(int(began * 1e9),),
            )
        )
        record.end("samples")
        return record
