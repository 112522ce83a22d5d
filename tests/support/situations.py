"""Situations for tests of advice: real workloads on devices described by hand, nothing is run."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from gpuexplorer.analysis.advice.situation import Situation
from gpuexplorer.analysis.occupancy import LIMITS, occupancy
from gpuexplorer.core.ceilings import Ceiling, Ceilings
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceLimits, DeviceList
from gpuexplorer.core.result import Environment, Phases, Resources, Traffic, Verification
from gpuexplorer.core.statistics import summarize
from gpuexplorer.engine.protocol import Prepared
from gpuexplorer.engine.situation import Gatherer
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.workload import Workload
from tests.support.problems import device

H100 = device(
    "cuda:0",
    hardware_id="GPU-1",
    name="H100",
    kind="gpu",
    driver="580.0",
    compute_units=132,
    compute_capability=(9, 0),
    features=("cuda", "c++", "shuffle", "fp64", "fp16", "sm_90"),
    limits=DeviceLimits(max_shared_B=227 * 1024, memory_B=80 * 10**9),
)
INTEL = device(driver="Intel(R) OpenCL 2026", threads=1)
POCL = device(driver="PoCL 3.1", threads=1)


@lru_cache(maxsize=1)
def shipped() -> dict[str, Workload]:
    """Return the product's own workloads."""
    return load([])


def made_prepared(
    workload: str, on: DeviceInfo, *, registers: int = 32, **request: Any
) -> tuple[Prepared, DeviceList]:
    """Return what an engine would say of a request before it is timed."""
    chosen = shipped()[workload]
    devices = DeviceList(devices=(on,))
    asked = RunRequest(workload=workload, device=on.id, **request)
    plan = make_plan(chosen, complete(asked, chosen, devices), on)
    resources = Resources()
    if on.compute_capability is not None and plan.steps:
        step = plan.steps[0]
        limits = LIMITS[on.compute_capability]
        found = occupancy(limits, step.threads_per_block, registers, step.shared_B)
        resources = Resources(
            registers_per_thread=registers,
            shared_B=step.shared_B,
            local_B=0,
            occupancy=found.occupancy,
            occupancy_limiter=found.limiter,
        )
    read_B, write_B = plan.compulsory_read_B, plan.compulsory_write_B
    prepared = Prepared(
        generation=1,
        config=plan.config,
        device=on,
        verification=Verification(ok=True, max_rel_error=0.0, tolerance=1e-5, method="full"),
        resources=resources,
        phases_s=Phases(),
        traffic=[Traffic(kind="compulsory", read_B=read_B, write_B=write_B, source="model")],
        environment=Environment(gpuexplorer="0", python="3"),
        flops=plan.flops,
        predicted_s=None,
        method="made",
        resolution_s=1e-9,
    )
    return prepared, devices


def situation(
    workload: str = "matmul",
    on: DeviceInfo = INTEL,
    *,
    median_s: float = 1e-2,
    registers: int = 32,
    gathered: dict[str, Any] | None = None,
    **request: Any,
) -> Situation:
    """Return the situation of a run of ``request`` that took ``median_s`` a launch."""
    prepared, devices = made_prepared(workload, on, registers=registers, **request)
    gatherer = Gatherer(prepared, shipped()[workload], devices)
    return gatherer.situation(summarize(np.full(50, median_s)), **(gathered or {}))


def made_ceilings(memory: float | None = 1e11, compute: float | None = 1e13) -> Ceilings:
    """Return ceilings in B/s and, in every precision, FLOP/s."""
    found = []
    if memory is not None:
        found.append(Ceiling(kind="copy", value=memory))
    if compute is not None:
        found += [Ceiling(kind="fma", precision=p, value=compute) for p in ("fp64", "fp32", "fp16")]
    return Ceilings(
        device="made", hardware_id="made", name="made", driver="1",
        time_utc="2026-01-01T00:00:00Z", ceilings=tuple(found),
    )  # fmt: skip
