"""Record the operators of one launch, apart from any timed run."""

from __future__ import annotations

from datetime import UTC, datetime

from gpuexplorer.backends.base import build_deadline_s
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.operators import OperatorProfile
from gpuexplorer.core.result import DeviceSummary
from gpuexplorer.measure.job import COPY_DEADLINE_S, Sink
from gpuexplorer.measure.laboratory import Laboratory
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.workload import Workload

RECORD_DEADLINE_S = 300.0
"""Three launches, and reading what the profiler recorded of the last."""


def record_operators(
    laboratory: Laboratory, workload: Workload, config: RunConfig, sink: Sink, *, shapes: bool
) -> OperatorProfile:
    """Build a configuration, launch it under the framework's profiler and sum up what it called.

    Raises what building and launching raise, CannotRunHere where nothing tells the operators.
    """
    laboratory.release()
    plan = make_plan(workload, config, laboratory.device(config.device))
    sink.stage("build", build_deadline_s(plan) + COPY_DEADLINE_S)
    with laboratory.held(workload, config) as runner:
        sink.stage("operators", RECORD_DEADLINE_S)
        recorded = runner.operators(shapes=shapes)
        device = runner.device
        return OperatorProfile(
            time_utc=datetime.now(UTC).isoformat(timespec="milliseconds"),
            config=runner.plan.config,
            device=DeviceSummary.of(device),
            environment=laboratory.environment(runner.plan, device),
            method=recorded.method,
            iteration_s=recorded.iteration_s,
            plain_s=recorded.plain_s,
            operators=recorded.operators,
            operators_total=recorded.operators_total,
            names=recorded.names,
            tracks=recorded.tracks,
            calls=recorded.calls,
            calls_total=recorded.calls_total,
        )
