"""The least a launch can take on a device that was calibrated: what an estimate starts from."""

from __future__ import annotations

from collections.abc import Callable

from gpuexplorer.analysis.plausible import Work, least_time
from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.workloads import formulas
from gpuexplorer.workloads.planning import base_names
from gpuexplorer.workloads.workload import Workload


def least_launch_s(
    workload: Workload,
    devices: DeviceList,
    ceilings: Callable[[DeviceInfo], Ceilings | None],
) -> Callable[[RunConfig], float | None]:
    """Return a function that gives the least seconds of a launch; None where nothing is known.

    That is the useful work over the highest measured ceiling, of arithmetic or memory.
    """
    by_id = {device.id: device for device in devices}
    found: dict[str, Ceilings | None] = {}

    def least(config: RunConfig) -> float | None:
        if config.device not in found:
            device = by_id.get(config.device)
            found[config.device] = ceilings(device) if device is not None else None
        known = found[config.device]
        if known is None:
            return None
        spec, names = workload.work_of(config.variant), base_names(config.size, config.precision)
        flops, read_B, write_B = (
            float(formulas.number(f, names))
            for f in (spec.flops, spec.read_bytes, spec.write_bytes)
        )
        work = Work(flops=flops, read_B=read_B, write_B=write_B, slow_s=0.0)
        compute, memory = known.compute(config.precision), least_time(work, config, known)
        bounds = [] if memory is None else [memory[0]]
        if compute is not None and flops:
            bounds.append(flops / compute.value)
        return max(bounds, default=None)

    return least
