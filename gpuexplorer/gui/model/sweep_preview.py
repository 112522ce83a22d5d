"""What a space comes to before it is measured: how many, which cannot run, how long."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.units import count
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.gui.model.sweep import grouped_reasons
from gpuexplorer.search.estimate import Estimator
from gpuexplorer.search.least_launch import least_launch_s
from gpuexplorer.search.measuring import Measuring
from gpuexplorer.search.outcome import cells_of
from gpuexplorer.search.space import Space
from gpuexplorer.workloads.workload import Workload

MOST_CHECKED = 20_000
"""Larger spaces are checked when they start."""


@dataclass(frozen=True)
class Preview:
    """What a space comes to before it is measured."""

    space: Space
    total: str
    estimate: str
    reasons: tuple[tuple[str, int], ...]
    runs: int
    """Configurations that can run, as far as it was checked."""


def preview(
    space: Space,
    workload: Workload,
    devices: DeviceList,
    measuring: Measuring,
    ceilings: Callable[[DeviceInfo], Ceilings | None],
    live: RunRecord | None,
) -> Preview:
    """Return what a space comes to; ``live`` is a run whose cost is known. Raises InputError."""
    if space.count > MOST_CHECKED:
        text = f"{count(space.count)} configurations; which can run is checked at the start"
        return Preview(space, text, "", (), space.count)
    cells = cells_of(space.points(workload, devices))
    waiting = [cell.point.config for cell in cells if cell.point.config is not None]
    reasons = grouped_reasons(cells)
    total = f"{count(len(cells))} configurations"
    if len(cells) - len(waiting):
        total += f", {count(len(cells) - len(waiting))} cannot run:"
    estimator = Estimator(
        workload,
        measuring,
        waiting,
        least_s=least_launch_s(workload, devices, ceilings),
    )
    if live is not None and live.samples and live.prepared.config.workload == workload.name:
        result = live.figures()
        launches = min(measuring.samples or live.samples, live.samples)
        same = [result.timing.median_s] * launches
        estimator.learn(msgspec.structs.replace(result, samples_s=same))
    estimate = f"Takes {estimator.left().words}" if waiting else ""
    return Preview(space, total, estimate, tuple(reasons), len(waiting))
