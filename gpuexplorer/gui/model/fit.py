"""Knobs that fit a workload: its defaults, whether remembered ones still do, and near ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import msgspec

from gpuexplorer.core.change import Change
from gpuexplorer.core.config import OWN_FILL, RunConfig
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.knobs import TRANSFERS
from gpuexplorer.core.units import listed, plural
from gpuexplorer.gui.model.knobs import Knobs
from gpuexplorer.gui.model.switches import own_switches
from gpuexplorer.workloads.change import with_values
from gpuexplorer.workloads.choose import default_block, default_tunables
from gpuexplorer.workloads.manifest import FILLS, OVERFLOW_FILL, VariantSpec
from gpuexplorer.workloads.switches import SWITCHES
from gpuexplorer.workloads.workload import Workload


def first_knobs(workload: Workload, name: str | None = None) -> Knobs:
    """Return how the knobs of a variant, by default the first, stand at first."""
    name = name or workload.manifest.first_variant
    variant = workload.variant(name)
    offered = workload.precisions_of(name)
    return Knobs(
        workload=workload.name,
        variant=name,
        size=_first_sizes(workload),
        precision="fp32" if "fp32" in offered else offered[0],
        block=default_block(variant),
        tunables=default_tunables(variant),
    )


def at_start(knobs: Knobs, variant: VariantSpec, device: DeviceInfo | None) -> Knobs:
    """Return knobs with block and tunables as they begin in precision and size on a device."""
    return msgspec.structs.replace(
        knobs,
        block=default_block(variant, knobs.precision, device, knobs.size),
        tunables=default_tunables(variant, knobs.precision, device, knobs.size),
    )


def _first_sizes(workload: Workload) -> dict[str, int]:
    return {symbol: spec.default for symbol, spec in workload.manifest.sizes.items()}


def knobs_of(config: RunConfig, variant: VariantSpec) -> Knobs:
    """Return the knobs that lead to a run's configuration."""
    own = default_tunables(variant)  # the others follow from the block
    fields = {name: getattr(config, name) for name in Knobs.__struct_fields__}
    fields["tunables"] = {name: one for name, one in config.tunables.items() if name in own}
    fields["switches"] = own_switches(config.switches, variant)
    return Knobs(**fields)


def exists(knobs: Knobs, workload: Workload | None) -> bool:
    """Return whether a workload has everything that knobs name."""
    if workload is None or knobs.variant not in workload.manifest.variants:
        return False
    manifest, variant = workload.manifest, workload.manifest.variants[knobs.variant]
    return (
        knobs.size.keys() == manifest.sizes.keys()
        and knobs.precision in manifest.precisions
        and knobs.fill in (OWN_FILL, *FILLS, OVERFLOW_FILL)
        and knobs.tunables.keys() == default_tunables(variant).keys()
        and (knobs.block is None) == (not variant.launch)
        and knobs.switches == own_switches(knobs.switches, variant)
        and all(manifest.sizes[s].min <= v <= manifest.sizes[s].max for s, v in knobs.size.items())
    )


def near(knobs: Knobs, workload: Workload) -> Iterator[Knobs]:
    """Yield knobs with other switches, block, precision or size, what changes least first."""
    written = workload.precisions_of(knobs.variant)
    blocks = list(dict.fromkeys([knobs.block, default_block(workload.variant(knobs.variant))]))
    precisions = [knobs.precision, *(p for p in ("fp32", *written) if p != knobs.precision)]
    sizes = [knobs.size, _first_sizes(workload)]
    all_but_one = (
        {n: v for n, v in knobs.switches.items() if n != left} for left in knobs.switches
    )
    switched = [knobs.switches, *all_but_one, *([{}] if len(knobs.switches) > 1 else [])]
    for size, precision, block, switches in itertools.product(sizes, precisions, blocks, switched):
        if precision in written:
            yield msgspec.structs.replace(
                knobs, precision=precision, block=block, size=size, switches=switches
            )


def moved_words(before: Knobs, after: Knobs) -> str:
    """Return what has changed, as the beginning of a sentence."""
    parts = []
    if after.precision != before.precision:
        parts.append(f"precision is {after.precision} now")
    if after.block != before.block:
        shape = "×".join(str(b) for b in (after.block or ()))
        parts.append(f"the block is {shape.removesuffix('×1')} now")
    if after.size != before.size:
        parts.append("the size is back at its default")
    back = [SWITCHES[n].title for n in before.switches if n not in after.switches]
    if back:
        parts.append(
            plural(
                len(back),
                "switch {names} is as usual",
                "switches {names} are as usual",
                names=listed(back),
            )
        )
    text = ", ".join(parts)
    return text[:1].upper() + text[1:]


def because(problem: ExplorerError) -> str:
    """Return the reason inside an error's sentence."""
    return problem.what.partition(": ")[2] or problem.what


def with_change(knobs: Knobs, change: Change, workload: Workload) -> Knobs:
    """Return the knobs with ``change`` made; threads are the engine's, not a knob's.

    Another variant keeps the block where it has as many block axes, and takes its own tunables.
    """
    request = with_values(knobs.request(), change.values, workload)
    variant = workload.variant(change.variant or knobs.variant)
    first = default_tunables(variant)
    return msgspec.structs.replace(
        knobs,
        variant=change.variant or knobs.variant,
        size=request.size,
        precision=change.precision or knobs.precision,
        block=(request.block if variant.launch else None) or default_block(variant),
        tunables=first | {n: value for n, value in request.tunables.items() if n in first},
        cache=request.cache,
        include_transfers=bool(request.switches.get(TRANSFERS)),
        switches=own_switches(request.switches, variant),
    )
