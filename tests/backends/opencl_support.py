"""Small workloads made in the test, and one OpenCL backend for all tests of a process."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuexplorer.backends.base import Runner
from gpuexplorer.backends.opencl import OpenCLBackend
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList, Unavailable
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.fills import make_inputs
from gpuexplorer.workloads.plan import Plan
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.references import Reference
from gpuexplorer.workloads.workload import Workload, WorkloadSource

MANIFEST = """
format = 1
name = "made"
title = "Made"
summary = "Made in a test."
[sizes.N]
max = 1048576
default = 256
[precisions]
fp32 = {{ tolerance = 1e-5 }}
fp64 = {{ tolerance = 1e-12 }}
bf16 = {{ tolerance = 3e-2 }}
fp16 = {{ tolerance = 5e-3 }}
[arrays]
{arrays}
[work]
flops = "N"
read_bytes = "N * itemsize"
write_bytes = "N * itemsize"
[reference]
outputs = {{ B = "{reference}" }}
[variants.only]
title = "Only"
teaches = "Nothing."
{variant}
[[variants.only.launch]]
source = "made.cu"
entry = "{entry}"
block = {block}
grid = {grid}
shared_bytes = "{shared}"
args = {args}
"""
ARRAYS = 'A = { shape = ["N"], role = "in" }\nB = { shape = ["N"], role = "out" }'


def made_workload(
    source: str,
    *,
    entry: str = "made",
    arrays: str = ARRAYS,
    reference: str = "A",
    block: str = "[64]",
    grid: str = '["ceil_div(N, block_x)"]',
    shared: str = "0",
    args: str = '["A", "B", "N"]',
    variant: str = "",
    files: dict[str, str] | None = None,
) -> Workload:
    """Return a workload of one array ``A`` and one result ``B`` around a kernel's source."""
    manifest = MANIFEST.format(
        entry=entry, arrays=arrays, reference=reference, block=block, grid=grid, shared=shared,
        args=args, variant=variant,
    )  # fmt: skip
    return Workload(WorkloadSource(manifest=manifest, files={"made.cu": source, **(files or {})}))


@functools.cache
def backend() -> OpenCLBackend:
    """Return the process's backend, with one CPU thread."""
    return OpenCLBackend(threads=1)


@functools.cache
def device() -> DeviceInfo:
    """Return the CPU device."""
    found = backend().discover()
    assert not isinstance(found, Unavailable), found
    return next(d for d in found if d.kind == "cpu")


def plan_for(workload: Workload, **request: Any) -> Plan:
    """Return the plan of a request on the CPU device."""
    devices = DeviceList(devices=(device(),))
    wanted = RunRequest(workload=workload.name, device=device().id, **request)
    return make_plan(workload, complete(wanted, workload, devices), device())


def ready_runner(workload: Workload, **request: Any) -> tuple[Runner, dict[str, npt.NDArray[Any]]]:
    """Return a runner that is built, allocated, uploaded and poisoned, and its inputs."""
    plan = plan_for(workload, **request)
    runner = backend().runner(plan, device())
    runner.build()
    runner.allocate()
    inputs = make_inputs(plan)
    runner.upload(inputs)
    runner.poison()
    return runner, dict(inputs)


def run_once(workload: Workload, **request: Any) -> npt.NDArray[Any]:
    """Run a workload once and return ``B``."""
    runner, _ = ready_runner(workload, **request)
    try:
        runner.launch(1)
        runner.check_guards()
        result: npt.NDArray[Any] = runner.download(("B",))["B"]
        return result
    finally:
        runner.free()


def verify(workload: Workload, **request: Any) -> None:
    """Run a workload once and fail when float64 disagrees."""
    runner, inputs = ready_runner(workload, **request)
    try:
        runner.launch(1)
        runner.check_guards()
        outputs = runner.download(tuple(a.name for a in runner.plan.outputs))
        verification = Reference(workload, runner.plan, inputs).verify(outputs)
        assert verification.ok, (request, verification)
    finally:
        runner.free()


def near(actual: npt.NDArray[Any], expected: npt.NDArray[Any]) -> bool:
    """Whether two arrays agree as float32 sums may."""
    return np.allclose(actual, expected, rtol=1e-5, atol=1e-5)
