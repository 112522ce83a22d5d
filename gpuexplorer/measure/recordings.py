"""Record what one launch does, apart from any timed run: its operators, or a warp's accesses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import msgspec

from gpuexplorer.backends.base import Runner, build_deadline_s
from gpuexplorer.core.accesses import AccessLook, AccessProfile
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.deadline import at_least_s, devices_deadline_s
from gpuexplorer.core.operators import OperatorProfile
from gpuexplorer.core.result import DeviceSummary
from gpuexplorer.measure.job import COPY_DEADLINE_S, Sink
from gpuexplorer.measure.laboratory import Laboratory
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.workload import Workload

COUNT_DEADLINE_S = 120.0
"""Compiling the kernel that takes notes, and running one block of it, twice at most."""
OPERATORS_DEADLINE_S = 300.0
"""Three launches, and reading what the profiler recorded of the last."""


def count_accesses(
    laboratory: Laboratory, workload: Workload, config: RunConfig, sink: Sink, look: AccessLook
) -> AccessProfile:
    """Run one block of a configuration with notes taken, and sum up what a warp of it asks for.

    Raises what building and launching raise, CannotRunHere where nothing tells the accesses.
    """
    with _built(laboratory, workload, config, sink) as runner:
        sink.stage("accesses", at_least_s(COUNT_DEADLINE_S))
        trace = runner.accesses(look)
        return AccessProfile(
            time_utc=_now_utc(),
            config=runner.plan.config,
            device=DeviceSummary.of(runner.device),
            environment=laboratory.environment(runner.plan, runner.device),
            **msgspec.structs.asdict(trace),
        )


def record_operators(
    laboratory: Laboratory, workload: Workload, config: RunConfig, sink: Sink, *, shapes: bool
) -> OperatorProfile:
    """Build a configuration, launch it under the framework's profiler and sum up what it called.

    Raises what building and launching raise, CannotRunHere where nothing tells the operators.
    """
    with _built(laboratory, workload, config, sink) as runner:
        sink.stage("operators", at_least_s(OPERATORS_DEADLINE_S))
        recorded = runner.operators(shapes=shapes)
        return OperatorProfile(
            time_utc=_now_utc(),
            config=runner.plan.config,
            device=DeviceSummary.of(runner.device),
            environment=laboratory.environment(runner.plan, runner.device),
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


@contextmanager
def _built(
    laboratory: Laboratory, workload: Workload, config: RunConfig, sink: Sink
) -> Iterator[Runner]:
    sink.stage("check", devices_deadline_s())
    laboratory.release()
    plan = make_plan(workload, config, laboratory.device(config.device))
    sink.stage("build", build_deadline_s(plan) + COPY_DEADLINE_S)
    with laboratory.held(workload, config) as runner:
        yield runner


def _now_utc() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
