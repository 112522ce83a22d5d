"""Count what one warp asks of memory, apart from any timed run."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from gpuexplorer.backends.base import build_deadline_s
from gpuexplorer.core.accesses import AccessLook, AccessProfile
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.result import DeviceSummary
from gpuexplorer.measure.job import COPY_DEADLINE_S, Sink
from gpuexplorer.measure.laboratory import Laboratory
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.workload import Workload

COUNT_DEADLINE_S = 120.0
"""Compiling the kernel that takes notes, and running one block of it, twice at most."""


def count_accesses(
    laboratory: Laboratory, workload: Workload, config: RunConfig, sink: Sink, look: AccessLook
) -> AccessProfile:
    """Run one block of a configuration with notes taken, and sum up what a warp of it asks for.

    Raises what building and launching raise, CannotRunHere where nothing tells the accesses.
    """
    laboratory.release()
    plan = make_plan(workload, config, laboratory.device(config.device))
    sink.stage("build", build_deadline_s(plan) + COPY_DEADLINE_S)
    with laboratory.held(workload, config) as runner:
        sink.stage("accesses", COUNT_DEADLINE_S)
        trace = runner.accesses(look)
        return AccessProfile(
            time_utc=datetime.now(UTC).isoformat(timespec="milliseconds"),
            config=runner.plan.config,
            device=DeviceSummary.of(runner.device),
            environment=laboratory.environment(runner.plan, runner.device),
            **msgspec.structs.asdict(trace),
        )
