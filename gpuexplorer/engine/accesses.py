"""What a kernel's threads ask of memory, counted where its manifest does not say it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from gpuexplorer.core.accesses import AccessLook, AccessProfile
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.session import EngineSession, RunProgress
from gpuexplorer.workloads.plan import KernelLaunch
from gpuexplorer.workloads.planning import launch_steps
from gpuexplorer.workloads.workload import Workload

LONGEST_BLOCK_S = 0.02
"""Of a kernel that is timed: with notes taken a block takes a hundred times as long and more."""


def count_requests(
    session: EngineSession,
    record: RunRecord,
    workload: Workload,
    on_progress: Callable[[RunProgress], None] | None = None,
) -> tuple[AccessProfile, ...]:
    """Return what a warp of each launch of a run asks for, from the block in the grid's middle.

    Nothing where the manifest says the requested bytes, on other devices than the CPU device,
    where a block takes longer than ``LONGEST_BLOCK_S``, and where the accesses cannot be counted:
    the measurement stands without them. Ctrl-C ends the counting alone.
    """
    config, device = record.prepared.config, record.prepared.device
    known = any(traffic.kind == "requested" for traffic in record.prepared.traffic)
    if known or config.block is None or device.backend != "opencl" or device.kind != "cpu":
        return ()
    try:
        _, steps = launch_steps(workload, config, device)
        blocks = sum(math.prod(step.grid) for step in steps)
        if record.summary().median_s * (config.threads or 1) > blocks * LONGEST_BLOCK_S:
            return ()
        return tuple(
            session.accesses(config, workload, look, on_progress=on_progress)
            for look in middle_looks(steps)
        )
    except (ExplorerError, KeyboardInterrupt):
        return ()


def middle_looks(steps: Sequence[KernelLaunch]) -> Iterator[AccessLook]:
    """Yield a warp of the block in the middle of each launch's grid, which stands for all."""
    for number, step in enumerate(steps):
        x, y, z = (blocks // 2 for blocks in step.grid)
        yield AccessLook(launch=number, block=(x, y, z))
