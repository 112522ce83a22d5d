"""What a kernel's threads ask for, counted where its manifest does not say it."""

from __future__ import annotations

from gpuexplorer.core.accesses import AccessLook, AccessProfile
from gpuexplorer.core.errors import CannotRunHere, InputError, WorkFailed
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.workloads.planning import launch_steps
from gpuexplorer.workloads.workload import Workload


def count_requests(
    session: EngineSession, record: RunRecord, workload: Workload
) -> tuple[AccessProfile, ...]:
    """Return what a warp of each launch of a run asks for, from the block in the grid's middle.

    Nothing where the manifest says the requested bytes, on other devices than the CPU device, and
    for a source whose accesses cannot be followed.
    """
    config, device = record.prepared.config, record.prepared.device
    said = any(traffic.kind == "requested" for traffic in record.prepared.traffic)
    if said or config.block is None or device.backend != "opencl" or device.kind != "cpu":
        return ()
    found = []
    try:
        _, steps = launch_steps(workload, config, device)
        for number, step in enumerate(steps):
            x, y, z = (blocks // 2 for blocks in step.grid)
            look = AccessLook(launch=number, block=(x, y, z))
            found.append(session.accesses(config, workload, look))
    except (CannotRunHere, InputError, WorkFailed):
        return ()
    return tuple(found)
