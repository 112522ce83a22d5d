"""A context without an engine: it answers with made-up runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import msgspec
import numpy as np

from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import CannotRunHere
from gpuexplorer.core.result import BatchSummary, RunResult
from gpuexplorer.core.statistics import summarize
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.selftest.context import SelfTestContext, SelfTestOptions
from gpuexplorer.selftest.task import Skipped
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.workload import Workload
from tests.support.problems import device
from tests.support.results import made_result

Answer = Callable[[RunConfig], RunResult]


class MadeContext:
    """What the sections use of a context; ``answer`` stands for the engine."""

    def __init__(self, answer: Answer, on: DeviceInfo | None = None, *, quick: bool = True) -> None:
        self.device = on or device()
        self.devices = DeviceList(devices=(self.device,))
        self.options = SelfTestOptions(device=self.device.id, quick=quick)
        self.quick = quick
        self.is_gpu = self.device.kind == "gpu"
        self.shipped = self.workloads = load()
        self.answer = answer
        self.measured: list[RunConfig] = []
        self.steps: list[str] = []
        self.on_step = self.steps.append
        self.session = cast(EngineSession, self)
        self.pid = 1

    def config(self, workload: Workload, **wanted: Any) -> RunConfig:
        request = RunRequest(workload=workload.name, device=self.device.id, **wanted)
        try:
            return complete(request, workload, self.devices)
        except CannotRunHere as error:
            raise Skipped(error.what) from None

    def measure(
        self, config: RunConfig, *, seconds: float, workload: Workload | None = None
    ) -> RunResult:
        self.measured.append(config)
        return self.answer(config)

    @property
    def context(self) -> SelfTestContext:
        """This context as the sections' functions want it."""
        return cast(SelfTestContext, self)


def timed(
    config: RunConfig,
    median_s: float,
    *,
    samples: int = 200,
    seed: int = 1,
    noise: float = 0.01,
    gaps: float = 0.1,
    resolution_s: float = 1e-9,
) -> RunResult:
    """Return a run whose samples lie about ``median_s``, with ``gaps`` of their time between."""
    values = median_s * (1 + noise * np.random.default_rng(seed).standard_normal(samples))
    values = np.round(values / resolution_s) * resolution_s
    summary = summarize(values)
    each = 10
    starts = np.arange(samples // each) * each * median_s * (1 + gaps)
    batches = [
        BatchSummary(start_s=float(start), samples=each, median_s=median_s) for start in starts
    ]
    result = made_result(samples=20)
    timing = msgspec.structs.replace(
        result.timing, samples=samples, median_s=summary.median_s, mean_s=summary.mean_s,
        min_s=summary.min_s, ci95_low_s=summary.ci95_low_s, ci95_high_s=summary.ci95_high_s,
        resolution_s=resolution_s,
    )  # fmt: skip
    return msgspec.structs.replace(
        result, config=config, timing=timing, samples_s=values.tolist(), batches=batches
    )
