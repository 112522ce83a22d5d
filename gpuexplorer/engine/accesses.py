"""What a kernel's threads ask of memory, counted where its manifest does not say it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from gpuexplorer.core.accesses import AccessLook, AccessProfile, Sectors, sectors_of
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.engine.errors import EngineGone
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.session import EngineSession, RunProgress
from gpuexplorer.workloads.plan import KernelLaunch
from gpuexplorer.workloads.planning import launch_steps, make_plan
from gpuexplorer.workloads.workload import Workload

LONGEST_BLOCK_S = 0.02
"""Of a kernel that is timed: with notes taken a block takes a hundred times as long and more."""
MOST_ARRAYS_B = 1 << 28
"""Filling more takes longer than a GPU takes to be measured."""


@runtime_checkable
class CountsAccesses(Protocol):
    """Something with an engine that counts: an ``EngineSession``, or a job of the window."""

    def accesses(self, config: RunConfig, workload: Workload, look: AccessLook) -> AccessProfile:
        """Count what a warp asks of memory."""


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
        if not soon_counted(record.summary().median_s * (config.threads or 1), steps):
            return ()
        return tuple(
            session.accesses(config, workload, look, on_progress=on_progress)
            for look in middle_looks(steps)
        )
    except (ExplorerError, KeyboardInterrupt):
        return ()


def count_sectors(
    session: CountsAccesses,
    config: RunConfig,
    workload: Workload,
    devices: DeviceList,
    work_s: float | None = None,
) -> Sectors | None:
    """Return what all warps of a kernel fetch, from a warp of each launch on the CPU device.

    That is also done for a configuration of a GPU, with the same block. ``work_s`` is what the
    work takes on one thread of the CPU device, where that is known. None where there is no such
    device or the variant does not run there, where counting would take long, and where the
    accesses cannot be followed.
    """
    cpu = next((d for d in devices.devices if d.backend == "opencl" and d.kind == "cpu"), None)
    if cpu is None or config.block is None:
        return None
    counted = msgspec.structs.replace(config, device=cpu.id, threads=None, grid=None)
    try:
        plan = make_plan(workload, counted, cpu)
        slow = work_s is not None and not soon_counted(work_s, plan.steps)
        if plan.memory_B > MOST_ARRAYS_B or slow:
            return None
        return sectors_of(
            [
                session.accesses(plan.config, workload, look)
                for look in middle_looks(plan.steps, alone=True)
            ]
        )
    except EngineGone:
        raise
    except ExplorerError:
        return None


def soon_counted(work_s: float, steps: Sequence[KernelLaunch]) -> bool:
    """Return whether a block of launches that take ``work_s`` on one thread is a short one."""
    return work_s <= sum(math.prod(step.grid) for step in steps) * LONGEST_BLOCK_S


def middle_looks(steps: Sequence[KernelLaunch], *, alone: bool = False) -> Iterator[AccessLook]:
    """Yield a warp of the block in the middle of each launch's grid, which stands for all.

    ``alone``: nobody wants to know what the rest of its block asks for.
    """
    for number, step in enumerate(steps):
        x, y, z = (blocks // 2 for blocks in step.grid)
        yield AccessLook(launch=number, block=(x, y, z), alone=alone)
