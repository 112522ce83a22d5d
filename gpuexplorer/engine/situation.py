"""What a client gathers of one run for advice; see ``analysis.advice``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

import msgspec

from gpuexplorer.analysis.advice.situation import Edge, Launch, Measured, Sibling, Situation
from gpuexplorer.analysis.measured_traffic import measured
from gpuexplorer.core.accesses import AccessProfile
from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.change import Change
from gpuexplorer.core.config import Block, RunConfig
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.result import Phases, RunResult, Traffic
from gpuexplorer.core.sample import Reading
from gpuexplorer.core.series.examine import is_most
from gpuexplorer.core.statistics import Summary
from gpuexplorer.core.telemetry import frequent
from gpuexplorer.engine.protocol import Prepared
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.state import MOSTLY
from gpuexplorer.workloads import formulas
from gpuexplorer.workloads.change import changed, free_tunables
from gpuexplorer.workloads.choose import complete, device_for_variant, find_device
from gpuexplorer.workloads.planning import block_names, launch_steps, make_plan
from gpuexplorer.workloads.rungs import rungs_below
from gpuexplorer.workloads.workload import Workload

RECENT_READINGS = 100
"""Readings that tell the device's state: ten seconds at ten a second."""
OFTEN = 0.1
"""A reason for a low clock counts when this share of the recent readings had it."""


class Gatherer:
    """Puts a run's facts together; what only depends on the configuration is worked out once.

    ``devices`` are all that were found, for variants that belong to another backend.
    """

    def __init__(self, prepared: Prepared, workload: Workload, devices: DeviceList) -> None:
        self._prepared = prepared
        self._workload = workload
        self._devices = devices
        self._look = looker(prepared.config, workload, devices)
        self._launch = self._look(Change()) or Launch(prepared.config.block, prepared.config.grid)
        self._siblings = siblings(prepared.config.variant, workload, devices, prepared.device)

    def situation(
        self,
        summary: Summary,
        *,
        phases_s: Phases | None = None,
        readings: Sequence[Reading] = (),
        traffic: Sequence[Traffic] = (),
        suspect: str | None = None,
        ceilings: Ceilings | None = None,
        others: Sequence[Measured] = (),
        accesses: Sequence[AccessProfile] = (),
    ) -> Situation:
        """Return the situation of the run as it is now; ``traffic`` may hold counted bytes."""
        prepared = self._prepared
        config, device = prepared.config, prepared.device
        variant = self._workload.variant(config.variant)
        recent = readings[-RECENT_READINGS:]
        clocks = [r.sm_clock_Hz for r in recent if r.sm_clock_Hz is not None]
        occupancies = [r.occupancy for r in recent if r.occupancy is not None]
        looks = [r.throttle_reasons for r in recent]
        counted = measured(traffic)
        return Situation(
            config=config,
            device=device,
            launch=self._launch,
            median_s=summary.median_s,
            relative_error=summary.relative_error,
            resolution_s=prepared.resolution_s,
            dimensions=variant.dimensions,
            neighbours=variant.neighbours,
            resources=prepared.resources,
            suspect=suspect,
            marked_throttled=summary.marked_throttled,
            mostly_throttled=summary.mostly_throttled,
            phases=phases_s or prepared.phases_s,
            throttle_reasons=frequent(looks, OFTEN),
            lasting_reasons=frequent(looks, MOSTLY),
            clock_Hz=median(clocks) if clocks else None,
            clock_high_Hz=device.nominal_clock_Hz or max(clocks, default=None),
            dram_B=counted.total_B if counted is not None else None,
            achieved_occupancy=median(occupancies) if occupancies else None,
            ceilings=ceilings,
            siblings=self._siblings,
            others=tuple(others),
            accesses=tuple(accesses),
            tunables=free_tunables(variant),
            largest_size={s: spec.max for s, spec in self._workload.manifest.sizes.items()},
            look=self._look,
        )


def situation_of(
    record: RunRecord, result: RunResult, workload: Workload, devices: DeviceList
) -> Situation:
    """Return the situation of a run that is over; ``result`` is the record's own document."""
    timing = result.timing
    mostly_throttled = is_most(timing.marked_throttled, timing.samples)
    summary = Summary(
        samples=timing.samples - (0 if mostly_throttled else timing.marked_throttled),
        median_s=timing.median_s,
        mean_s=timing.mean_s,
        min_s=timing.min_s,
        p05_s=timing.p05_s,
        p95_s=timing.p95_s,
        stdev_s=timing.stdev_s,
        ci95_low_s=timing.ci95_low_s,
        ci95_high_s=timing.ci95_high_s,
        marked_throttled=timing.marked_throttled,
        mostly_throttled=mostly_throttled,
    )
    return Gatherer(record.prepared, workload, devices).situation(
        summary,
        phases_s=result.phases_s,
        readings=record.readings_while_sampled(),
        traffic=result.traffic,
        suspect=timing.suspect,
        ceilings=record.ceilings,
        accesses=record.accesses,
    )


def looker(
    config: RunConfig, workload: Workload, devices: DeviceList
) -> Callable[[Change], Launch | None]:
    """Return a function that tells what a change would launch, None when it cannot be launched."""
    known_launches: dict[bytes, Launch | None] = {}
    block_alone = Change(block=config.block)

    def work_out(change: Change) -> Launch | None:
        try:
            if config.block is not None and change.block is not None:
                if msgspec.structs.replace(change, block=config.block) == block_alone:
                    return _other_block(config, change.block, workload, devices)
            wanted = complete(changed(config, change, workload), workload, devices)
            plan = make_plan(workload, wanted, find_device(devices, wanted.device))
        except ExplorerError:
            return None
        asked = (plan.requested_read_B, plan.requested_write_B)
        known = [amount for amount in asked if amount is not None]
        return Launch(
            block=plan.config.block,
            grid=plan.config.grid,
            shared_B=max((step.shared_B for step in plan.steps), default=0),
            requested_B=sum(known) if known else None,
            flops=plan.flops,
            compulsory_B=plan.compulsory_read_B + plan.compulsory_write_B,
            written_B=plan.compulsory_write_B,
            edges=_edges(workload, plan.config),
        )

    def look(change: Change) -> Launch | None:
        key = msgspec.msgpack.encode(change)
        if key not in known_launches:
            known_launches[key] = work_out(change)
        return known_launches[key]

    return look


def _other_block(
    config: RunConfig, block: Block, workload: Workload, devices: DeviceList
) -> Launch:
    """Return the launch with another block; what its threads ask for is not worked out."""
    device = find_device(devices, config.device)
    wanted = msgspec.structs.replace(config, block=block, tunables=_own(config, workload))
    tunables, steps = launch_steps(workload, wanted, device)
    grid = steps[workload.variant(config.variant).main_launch].grid
    edges = _edges(workload, msgspec.structs.replace(wanted, tunables=tunables))
    return Launch(block, grid, max(step.shared_B for step in steps), edges=edges)


def _edges(workload: Workload, config: RunConfig) -> tuple[Edge, ...]:
    """Return the axes of the grid that a manifest has as a size over the block or a tunable.

    Threads that take several elements each are left out, in a formula or by a tunable along an
    axis that the block does not have: they share what is missing at the end.
    """
    variant = workload.variant(config.variant)
    if config.block is None or not variant.dimensions:
        return ()
    threads = block_names(config.block)
    lengths = {**config.tunables, **threads}
    found = []
    for axis, formula in enumerate(variant.launch[variant.main_launch].grid[:3]):
        parts = formulas.tiling(formula) if isinstance(formula, str) else None
        symbol, length = parts or ("", "")
        extent = int(lengths.get(length, 1))
        across = axis < variant.dimensions or length in threads
        if across and symbol in config.size and extent > 1:
            found.append(Edge(axis, symbol, config.size[symbol], extent))
    return tuple(found)


def _own(config: RunConfig, workload: Workload) -> dict[str, int]:
    own = free_tunables(workload.variant(config.variant))
    return {name: value for name, value in config.tunables.items() if name in own}


def siblings(
    name: str, workload: Workload, devices: DeviceList, device: DeviceInfo
) -> tuple[Sibling, ...]:
    """Return the other variants that compute the same, where the same silicon offers them."""
    found = []
    for other, spec in workload.manifest.variants.items():
        same = workload.work_of(other) == workload.work_of(name)
        if other == name or not same or workload.reference_of(other) != workload.reference_of(name):
            continue
        view = device_for_variant(devices, spec, device)
        if view.hardware_id == device.hardware_id:
            later = name in rungs_below(workload, other)
            found.append(Sibling(other, spec.call is not None, spec.neighbours, later))
    return tuple(found)
