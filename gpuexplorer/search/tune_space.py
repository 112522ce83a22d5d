"""What may be tuned: block shapes and tunables that a device can launch, and how near they lie."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product

import msgspec

from gpuexplorer.core.config import Block, RunConfig, RunRequest
from gpuexplorer.core.device import DeviceLimits, DeviceList
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.text import brief
from gpuexplorer.search.space import Axis, Space
from gpuexplorer.workloads.choose import complete, find_device
from gpuexplorer.workloads.manifest import VariantSpec
from gpuexplorer.workloads.workload import Workload

Place = tuple[int, ...]
"""Where a configuration stands: the index of its value along each dimension."""
DIMENSIONS = ("block.x", "block.y", "block.z")


class Ranges(msgspec.Struct, frozen=True):
    """The values to choose among; whatever is missing takes all there are.

    ``block`` holds the threads along x, y and z by ``block.x``, ``block.y``, ``block.z``, and
    ``tunables`` the values by the tunable's name.
    """

    block: Mapping[str, tuple[int, ...]]
    tunables: Mapping[str, tuple[int, ...]]


EVERYTHING = Ranges({}, {})


class TuningSpace(msgspec.Struct, frozen=True):
    """Every configuration that can be launched, by its place; the others are never proposed.

    ``names`` and ``values`` are the dimensions that have a choice: threads along each axis of the
    block, and tunables. ``start`` is what one would get without tuning.
    """

    names: tuple[str, ...]
    values: tuple[tuple[int, ...], ...]
    legal: dict[Place, RunConfig]
    refused: int
    """How many combinations cannot be launched, by the manifest's or the device's word."""
    start: RunConfig
    start_refused: str | None = None
    """Why ``start`` cannot be launched here; None where it can."""

    @property
    def start_place(self) -> Place | None:
        """Where ``start`` stands; None when it is not among the choices."""
        return next((p for p, c in self.legal.items() if c.key == self.start.key), None)

    def nearest(self, place: Sequence[int], taken: Collection[Place]) -> Place | None:
        """Return the configuration nearest to ``place`` that is not taken; None when all are.

        Near means few steps along the dimensions; among equals the first in their order.
        """
        if (exact := tuple(place)) in self.legal and exact not in taken:
            return exact
        free = (p for p in self.legal if p not in taken)
        return min(free, key=lambda p: _steps(p, place), default=None)


def tuning_space(
    request: RunRequest,
    workload: Workload,
    devices: DeviceList,
    ranges: Ranges = EVERYTHING,
) -> TuningSpace:
    """Return what may be tuned of a request.

    Raises InputError when there is nothing to choose or nothing that can be launched, and what
    ``workloads.choose.complete`` raises.
    """
    space = combinations(request, workload, devices, ranges)
    configs = list(launchable(space, workload, devices))
    names, values = _dimensions(configs, space.axes)
    start, start_refused = _launched(complete(request, workload, devices), workload, devices)
    return TuningSpace(
        names=names,
        values=values,
        legal={_place(config, names, values): config for config in configs},
        refused=space.count - len(configs),
        start=start,
        start_refused=start_refused,
    )


def combinations(
    request: RunRequest,
    workload: Workload,
    devices: DeviceList,
    ranges: Ranges = EVERYTHING,
) -> Space:
    """Return every combination of what may be tuned, those that cannot be launched as well.

    Threads go by powers of two up to the device's limits, tunables over the manifest's values,
    unless ``ranges`` names others. Raises InputError when there is nothing to choose, and what
    ``workloads.choose.complete`` raises.
    """
    start = complete(request, workload, devices)
    variant = workload.variant(start.variant)
    if variant.call is not None:
        raise InputError(
            f"variant '{start.variant}' is no kernel of its own: there is nothing to tune",
            remedy="choose a variant that is a kernel of its own",
        )
    axes = _axes(variant, find_device(devices, start.device).limits, ranges)
    if not axes:
        raise InputError(
            f"variant '{start.variant}' has neither a block to choose nor tunables",
            remedy="choose another variant, or give this one tunables in its manifest",
        )
    base = msgspec.structs.replace(request, variant=start.variant, device=start.device)
    return Space(base=base, axes=axes)


def launchable(space: Space, workload: Workload, devices: DeviceList) -> Iterator[RunConfig]:
    """Yield the configurations that can be launched; InputError at the end if there was none."""
    some, why = False, ""
    for point in space.walk(workload, devices):
        if point.config is not None:
            some = True
            yield point.config
        why = why or point.skipped or ""
    if not some:
        why = why or "the ranges are empty"
        raise InputError(
            f"none of the {space.count} configurations can be launched, the first because {why}",
            remedy="allow more values, or choose another size",
        )


def block_shapes(dimensions: int, limits: DeviceLimits, ranges: Ranges) -> tuple[Block, ...]:
    """Return every block of powers of two, or of the named threads, within the device's limits."""
    choices: list[tuple[int, ...]] = []
    for axis, name in enumerate(DIMENSIONS):
        if axis >= dimensions:
            choices.append((1,))
            continue
        most = min(limits.max_block[axis], limits.max_threads_per_block)
        powers = tuple(1 << k for k in range(most.bit_length()) if 1 << k <= most)
        choices.append(ranges.block.get(name, powers))
    return tuple(
        (x, y, z) for x, y, z in product(*choices) if x * y * z <= limits.max_threads_per_block
    )


def _axes(variant: VariantSpec, limits: DeviceLimits, ranges: Ranges) -> tuple[Axis, ...]:
    """Return the axes of the search, and refuse ranges of what the variant does not have."""
    for name in ranges.block:
        if DIMENSIONS.index(name) >= variant.dimensions:
            raise InputError(
                f"the variant's blocks have {variant.dimensions} dimensions, and {name} was given",
                remedy="leave it out",
            )
    axes = []
    if variant.dimensions:
        shapes = block_shapes(variant.dimensions, limits, ranges)
        if not shapes:
            raise InputError(
                "no block of these threads fits the device, which allows "
                f"{limits.max_threads_per_block} in all",
                remedy="allow smaller ones",
            )
        axes.append(Axis("block", shapes))
    free = {name: t for name, t in variant.tunables.items() if t.formula is None}
    for name in ranges.tunables:
        if name not in free:
            known = ", ".join(free) or "none"
            raise InputError(f"the variant has no tunable '{name}' to choose: it has {known}")
    for name, tunable in free.items():
        axes.append(Axis(f"tunable.{name}", ranges.tunables.get(name, tuple(tunable.values))))
    return tuple(axes)


def _dimensions(
    configs: Sequence[RunConfig], axes: Sequence[Axis]
) -> tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]:
    """Return the dimensions along which the configurations differ, with their values in order."""
    names = [n for a in axes for n in (DIMENSIONS if a.name == "block" else (a.name,))]
    found = {name: sorted({value_of(config, name) for config in configs}) for name in names}
    kept = {name: tuple(values) for name, values in found.items() if len(values) > 1}
    if not kept:  # a single configuration: it is still a place
        kept = {names[0]: tuple(found[names[0]])}
    return tuple(kept), tuple(kept.values())


def value_of(config: RunConfig, name: str) -> int:
    """Return a configuration's value along a dimension such as ``block.x`` or ``tunable.TILE``."""
    if name in DIMENSIONS:
        return (config.block or (1, 1, 1))[DIMENSIONS.index(name)]
    return config.tunables[name.partition(".")[2]]


def _place(config: RunConfig, names: Sequence[str], values: Sequence[tuple[int, ...]]) -> Place:
    return tuple(v.index(value_of(config, n)) for n, v in zip(names, values, strict=True))


def _steps(place: Sequence[int], other: Sequence[int]) -> int:
    return sum((a - b) ** 2 for a, b in zip(place, other, strict=True))


def _launched(
    start: RunConfig, workload: Workload, devices: DeviceList
) -> tuple[RunConfig, str | None]:
    """Return ``start`` with its grid and tunables; as it is, and why, where it cannot launch."""
    from gpuexplorer.core.errors import ExplorerError
    from gpuexplorer.workloads.planning import make_plan

    try:
        return make_plan(workload, start, find_device(devices, start.device)).config, None
    except ExplorerError as error:
        return start, brief(error.what)
