"""A machine to race on: known times, noise that only makes them longer, and bursts of load."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from gpuexplorer.core.config import Block, RunConfig
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.measure.stop import Slower
from gpuexplorer.workloads.workload import Workload
from tests.support.situations import made_prepared


class Machine:
    """Launches that take their true time, a little noise, and now and then much longer."""

    def __init__(self, seed: int, *, bursts: bool = True, noise: float = 0.01) -> None:
        self._chance = np.random.default_rng(seed)
        self._bursts, self._noise = bursts, noise
        self.now_s = 0.0
        self._until_s = 0.0
        self.factor = 1.0

    def launch(self, true_s: float) -> float:
        """Return the seconds of one launch."""
        if self._bursts and self.now_s >= self._until_s:
            quiet = self.factor != 1.0
            self.factor = 1.0 if quiet else self._chance.uniform(1.2, 3.0)
            self._until_s = self.now_s + self._chance.exponential(2.0 if quiet else 0.3)
        spike = self._chance.exponential() if self._chance.random() < 0.03 else 0.0
        noise = abs(self._chance.normal(0, self._noise))
        seconds = true_s * self.factor * (1 + noise) * (1 + spike)
        self.now_s += seconds
        return float(seconds)

    def look(
        self,
        true_s: float,
        samples: int,
        seconds: float,
        overhead_s: float = 0.008,
        slower_than_s: float | None = None,
    ) -> Any:
        """Return the samples of one run, which verifies with a launch before it samples."""
        self.now_s += overhead_s
        first_s = self.launch(true_s)
        slower = Slower(slower_than_s) if slower_than_s is not None else None
        if slower is not None and slower.by_far(first_s):
            return np.array([first_s])
        found: list[float] = []
        while len(found) < samples and sum(found) < seconds:
            found.append(self.launch(true_s))
            if slower is not None and slower.met(np.array(found), sum(found)):
                break
        return np.array(found)


class Bench:
    """Stands for a session: measures a configuration in the time that ``true_s`` gives its block.

    ``fails`` names an error of some blocks; ``runs`` lists what was asked for, in order.
    """

    def __init__(
        self,
        on: DeviceInfo,
        true_s: Callable[[Block], float],
        *,
        machine: Machine | None = None,
        fails: dict[Block, Callable[[], ExplorerError]] | None = None,
        registers: int = 32,
    ) -> None:
        self.on, self.true_s = on, true_s
        self.machine = machine or Machine(1, bursts=False)
        self.fails = fails or {}
        self.registers = registers
        self.runs: list[Block] = []

    def measure(
        self,
        config: RunConfig,
        workload: Workload,
        options: RunOptions,
    ) -> RunRecord:
        """Return a record as an engine's samples would make it."""
        samples, seconds = options.samples, options.seconds
        block = config.block
        assert block is not None and samples is not None and seconds is not None
        self.runs.append(block)
        error = self.fails.get(block)
        if error is not None:
            raise error()
        prepared, _ = made_prepared(
            workload.name,
            self.on,
            registers=self.registers,
            block=block,
            size=config.size,
            variant=config.variant,
        )
        record = RunRecord(msgspec.structs.replace(prepared, config=config))
        taken = self.machine.look(
            self.true_s(block), samples, seconds, slower_than_s=options.slower_than_s
        )
        record.add(
            SampleBatch(seconds=taken.astype("<f8").tobytes(), counts=(len(taken),), starts_ns=(0,))
        )
        record.end("samples")
        return record
