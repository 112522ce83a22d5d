"""Models in PyTorch on the CPU, for tests: plans, runners, and runs by the engine's own recipe."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpuexplorer.backends import registry
from gpuexplorer.backends.torch.model import TorchModel
from gpuexplorer.backends.torch.model_runner import TorchModelRunner
from gpuexplorer.core.device import DeviceInfo, Unavailable
from gpuexplorer.core.memory import MemoryUse
from gpuexplorer.core.result import Verification
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.measure.job import Job, Ready
from gpuexplorer.measure.problems import ProblemCache
from gpuexplorer.measure.recipe import run_job
from gpuexplorer.measure.stop import Enough
from gpuexplorer.workloads.fills import make_inputs
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.plan import Plan
from tests.support.problems import plan_of

SHIPPED = load()
SMALL: dict[str, dict[str, int]] = {
    "matmul": {"N": 48},
    "mlp": {"B": 8, "D": 32, "H": 48, "C": 10},
    "mlp_training": {"B": 8, "D": 32, "H": 48, "C": 10},
    "conv2d": {"B": 2, "C": 3, "K": 8, "H": 9, "R": 3},
    "attention": {"B": 2, "H": 2, "S": 40, "D": 16},
    "softmax": {"B": 16, "D": 33},
    "layer_norm": {"B": 2, "S": 5, "D": 48},
    "transformer_block": {"B": 2, "S": 12, "D": 32, "H": 4},
    "cnn": {"B": 3, "C": 3, "K": 4, "H": 13, "N": 10},
}
"""Sizes at which a model takes well under a millisecond, some of them odd."""


def cpu() -> DeviceInfo:
    """Return PyTorch's CPU; the test is skipped where PyTorch is not installed."""
    found = registry.create("torch", 1).discover()
    if isinstance(found, Unavailable):
        pytest.skip(found.reason)
    return found[0]


def plan_for(name: str, precision: str = "fp32", /, **request: Any) -> Plan:
    """Return the plan of a workload's PyTorch variant on the CPU; small unless a size is given."""
    request.setdefault("size", SMALL[name])
    return plan_of(SHIPPED[name], cpu(), variant="torch", precision=precision, **request)


def runner_of(plan: Plan) -> TorchModelRunner:
    """Return a runner, not yet built."""
    runner = registry.create("torch", 1).runner(plan, cpu())
    assert isinstance(runner, TorchModelRunner)
    return runner


def ready(name: str, precision: str = "fp32", /, **request: Any) -> TorchModelRunner:
    """Return a runner with its arrays filled."""
    plan = plan_for(name, precision, **request)
    runner = runner_of(plan)
    runner.build()
    runner.allocate()
    runner.upload(make_inputs(plan))
    return runner


def model_of(runner: TorchModelRunner) -> TorchModel:
    """Return the model of a runner that is built."""
    return runner.made


def outputs_of(runner: TorchModelRunner) -> dict[str, Any]:
    """Return every output of the last launch."""
    return runner.download(tuple(a.name for a in runner.plan.outputs))


class Diary:
    """A sink that remembers what a run reported."""

    def __init__(self) -> None:
        self.ready: Ready | None = None
        self.batches: list[SampleBatch] = []
        self.stages: list[str] = []

    def stage(self, name: str, deadline_s: float | None) -> None:
        """Note a stage."""
        self.stages.append(name)

    def prepared(self, ready: Ready) -> None:
        """Note that samples follow."""
        self.ready = ready

    def samples(self, batch: SampleBatch) -> None:
        """Note samples."""
        self.batches.append(batch)

    def memory(self, use: MemoryUse) -> None:
        """Take no note."""


def verified(plan: Plan, name: str, *, samples: int = 3) -> Verification:
    """Follow the engine's recipe for a plan of a shipped workload; return what its check found."""
    runner, diary = runner_of(plan), Diary()
    try:
        run_job(
            Job(
                runner=runner,
                problem=ProblemCache().get(SHIPPED[name], plan),
                stop_rules=[Enough(samples)],
                samples=samples,
                cancelled=lambda: False,
                allow_s=60.0,
                warm_up_s=0.0,
                include_transfers=plan.config.include_transfers,
            ),
            diary,
        )
    finally:
        runner.free()
    assert diary.ready is not None
    assert sum(sum(batch.counts) for batch in diary.batches) >= samples
    found = diary.ready.verification
    assert found is not None and found.ok
    return found


def operators_of(runner: TorchModelRunner) -> list[str]:
    """Return the names of the operators that one step calls, in order, nested ones too."""
    import torch

    model = runner.made
    with model.mode():
        step = model.step
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
            step()
    return [event.name for event in seen.events()]


def with_switches(plan: Plan, **switches: bool | str) -> Plan:
    """Return a plan with some of its switches set, checked by nobody."""
    return msgspec.structs.replace(plan, switches={**plan.switches, **switches})
