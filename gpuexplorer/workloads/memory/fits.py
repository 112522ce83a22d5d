"""Refuse what cannot fit before anything is allocated, with the numbers and what would fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import ExplorerError, InputError, MemoryTaken
from gpuexplorer.core.memory import MemoryParts
from gpuexplorer.core.units import percent, quantity
from gpuexplorer.workloads.manifest import SizeSpec
from gpuexplorer.workloads.memory.predict import held_parts, predict, reference_B
from gpuexplorer.workloads.plan import Plan

MEMORY_SHARE = 0.9
"""Share of a device's memory that one run may fill."""
BATCH = "B"
"""The size that is made smaller first where a workload has it: nothing is learnt from less."""


class Need(msgspec.Struct, frozen=True):
    """What one run takes of a device's memory."""

    parts: MemoryParts
    host_B: float = 0.0
    """On a CPU: the host's own copies of inputs and outputs, and the check against float64."""

    @property
    def total_B(self) -> float:
        """All of it, in bytes."""
        return self.parts.total_B + self.host_B

    @property
    def words(self) -> str:
        """Its parts, the largest first."""
        parts = self.parts.named()
        if self.host_B:
            parts.append(("the host's copies and the check", self.host_B))
        parts.sort(key=lambda part: -part[1])
        return ", ".join(f"{title} {quantity(nbytes, 'B')}" for title, nbytes in parts)


def need(plan: Plan, device: DeviceInfo) -> Need:
    """Return what a run takes of a device; where no formula is known, its arrays alone."""
    parts = predict(plan) or held_parts(plan)
    if device.kind != "cpu":
        return Need(parts)
    inputs_B = sum(a.nbytes for a in plan.inputs)
    outputs_B = sum(a.nbytes for a in plan.outputs)
    # The check begins when the launch is over: then the arrays are held, and no activation is.
    checking_B = held_parts(plan).total_B + outputs_B + reference_B(plan)
    return Need(parts, inputs_B + max(outputs_B, checking_B - parts.total_B))


def check_fits(
    plan: Plan,
    device: DeviceInfo,
    sizes: Mapping[str, SizeSpec],
    plan_of: Callable[[dict[str, int]], Plan],
    *,
    free_B: float | None = None,
) -> None:
    """Raise InputError when a run cannot fit, naming its parts and the largest size that would.

    ``free_B`` is what can be taken now; None: the device's memory as a whole. What fits that and
    not ``free_B`` is MemoryTaken. ``plan_of`` makes the plan of another size.
    """
    limits = device.limits
    room_B = limits.memory_B if free_B is None else free_B
    wanted = need(plan, device)
    largest = max(plan.arrays, key=lambda a: a.nbytes, default=None)

    def can_allocate(other: Plan) -> bool:
        most_B = max((a.nbytes for a in other.arrays), default=0)
        return limits.max_allocation_B is None or most_B <= limits.max_allocation_B

    def fits_with(size: dict[str, int]) -> bool:
        try:
            other = plan_of(size)
        except ExplorerError:  # a size that the workload cannot have
            return False
        if room_B is not None and need(other, device).total_B > room_B * MEMORY_SHARE:
            return False
        return can_allocate(other)

    if room_B is not None and wanted.total_B > room_B * MEMORY_SHARE:
        needed, room, share = quantity(wanted.total_B, "B"), quantity(room_B, "B"), MEMORY_SHARE
        remedy = _remedy(plan, sizes, fits_with)
        if free_B is None:
            raise InputError(
                f"this size needs {needed} of memory, and {device.id} has {room}, of which a run "
                f"may take {percent(share)} ({wanted.words})",
                remedy=remedy,
            )
        raise MemoryTaken(
            f"this size needs {needed} of memory, and {device.id} now has free {room}, of which a "
            f"run may take {percent(share)} ({wanted.words})",
            remedy=remedy,
        )
    if largest is not None and not can_allocate(plan):
        raise InputError(
            f"the array '{largest.name}' needs {quantity(largest.nbytes, 'B')}, and {device.id} "
            f"allocates at most {quantity(limits.max_allocation_B, 'B')} at once",
            remedy=_remedy(plan, sizes, fits_with),
        )


def _remedy(
    plan: Plan, sizes: Mapping[str, SizeSpec], fits: Callable[[dict[str, int]], bool]
) -> str:
    """Say how small one size has to be, the others as they are: the batch, or else the first."""
    present = plan.config.size
    for symbol in sorted(present, key=lambda name: name != BATCH):
        best = largest_fit(
            sizes[symbol].min,
            present[symbol],
            lambda n, symbol=symbol: fits({**present, symbol: n}),  # type: ignore[misc]
        )
        if best is not None:
            return f"{symbol} = {best} is the largest that fits, the other sizes as they are"
    return "choose smaller sizes"


def largest_fit(least: int, most: int, fits: Callable[[int], bool]) -> int | None:
    """Return the largest whole number from ``least`` to below ``most`` that fits, None for none.

    What fits must fit for every smaller number as well.
    """
    if least >= most or not fits(least):
        return None
    low, high = least, most
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low
