"""Tests on a real NVIDIA GPU. Without one they are skipped; with one, nothing else skips them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from gpuexplorer.backends.base import Runner
from gpuexplorer.backends.cuda import CudaBackend
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList, Unavailable
from gpuexplorer.core.memory import MemoryUse
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.measure.job import Ready
from gpuexplorer.measure.laboratory import Laboratory
from gpuexplorer.workloads import loader
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.workload import Workload
from tests.gpu.machine import why_no_gpu

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies in this folder, and skip it where there is no GPU."""
    reason = why_no_gpu()
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.gpu)
            # What is skipped need not be alone: three hundred of them would hold up all others.
            run = pytest.mark.alone if reason is None else pytest.mark.skip(reason=reason)
            item.add_marker(run)


@dataclass
class Measured:
    """One run as it was reported; it is a run's sink."""

    stages: list[str] = field(default_factory=list)
    ready: Ready | None = None
    parts: list[npt.NDArray[np.float64]] = field(default_factory=list)
    uses: list[MemoryUse] = field(default_factory=list)

    def stage(self, name: str, deadline_s: float | None) -> None:
        self.stages.append(name)

    def prepared(self, ready: Ready) -> None:
        self.ready = ready

    def samples(self, batch: SampleBatch) -> None:
        self.parts.append(batch.durations_s)

    def memory(self, use: MemoryUse) -> None:
        self.uses.append(use)

    @property
    def seconds(self) -> npt.NDArray[np.float64]:
        return np.concatenate(self.parts)

    @property
    def done(self) -> Ready:
        assert self.ready is not None
        return self.ready


@pytest.fixture(scope="session")
def backend() -> Iterator[CudaBackend]:
    made = CudaBackend(threads=1)
    yield made
    made.close()


@pytest.fixture(scope="session")
def gpu(backend: CudaBackend) -> DeviceInfo:
    found = backend.discover()
    assert not isinstance(found, Unavailable), f"{found.reason}: {found.remedy}"
    return found[0]


@pytest.fixture(scope="session")
def workloads() -> dict[str, Workload]:
    return loader.load()


@pytest.fixture(scope="session")
def laboratory() -> Iterator[Laboratory]:
    made = Laboratory(threads=1)
    yield made
    made.close()


Measure = Callable[..., Measured]


@pytest.fixture
def measure(laboratory: Laboratory, gpu: DeviceInfo, workloads: dict[str, Workload]) -> Measure:
    """Return what runs one request through the whole recipe: build, verify, sample."""

    def run(name: str, variant: str, *, seconds: float = 0.05, **request: object) -> Measured:
        workload = workloads[name]
        wanted = RunRequest(workload=name, variant=variant, device=gpu.id, **request)  # type: ignore[arg-type]
        config = complete(wanted, workload, DeviceList(devices=(gpu,)))
        measured = Measured()
        laboratory.run(
            workload, config, measured, lambda: False,
            seconds=seconds, max_noise=None, allow_s=60.0,
        )  # fmt: skip
        return measured

    return run


MakeRunner = Callable[..., Runner]


@pytest.fixture
def make_runner(
    backend: CudaBackend, gpu: DeviceInfo, workloads: dict[str, Workload]
) -> Iterator[MakeRunner]:
    """Return what builds, allocates and fills a runner of one configuration."""
    made: list[Runner] = []

    def make(name: str, variant: str, **request: object) -> Runner:
        workload = workloads[name]
        wanted = RunRequest(workload=name, variant=variant, device=gpu.id, **request)  # type: ignore[arg-type]
        config: RunConfig = complete(wanted, workload, DeviceList(devices=(gpu,)))
        plan = make_plan(workload, config, gpu)
        runner = backend.runner(plan, gpu)
        runner.build()
        runner.allocate()
        made.append(runner)
        generator = np.random.default_rng(1)
        runner.upload(
            {
                a.name: generator.standard_normal(a.shape).astype(
                    {2: np.float16, 4: np.float32, 8: np.float64}[a.itemsize_B]
                )
                for a in plan.inputs
            }
        )
        return runner

    yield make
    for runner in made:
        runner.free()
