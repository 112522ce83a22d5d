"""Knobs after a change that was suggested."""

from __future__ import annotations

import msgspec

from gpuexplorer.core.change import Change
from gpuexplorer.gui.model.fit import first_tunables
from gpuexplorer.gui.model.knobs import Knobs
from gpuexplorer.gui.model.switches import own_switches
from gpuexplorer.workloads.choose import default_block
from gpuexplorer.workloads.workload import Workload


def with_change(knobs: Knobs, change: Change, workload: Workload) -> Knobs:
    """Return the knobs with ``change`` made; threads are the engine's, not a knob's.

    Another variant keeps the block where it has as many block axes, and takes its own tunables.
    """
    name = change.variant or knobs.variant
    variant, before = workload.variant(name), workload.variant(knobs.variant)
    tunables = first_tunables(variant)
    if name == knobs.variant:
        tunables |= knobs.tunables
    tunables |= {n: value for n, value in change.tunables.items() if n in tunables}
    block = change.block or knobs.block
    other_axes = variant.dimensions != before.dimensions or block is None
    if not variant.launch or (change.block is None and other_axes):
        block = default_block(variant)
    transfers = change.include_transfers
    return msgspec.structs.replace(
        knobs,
        variant=name,
        size={**knobs.size, **change.size},
        precision=change.precision or knobs.precision,
        block=block,
        tunables=tunables,
        cache=change.cache or knobs.cache,
        include_transfers=knobs.include_transfers if transfers is None else transfers,
        switches=own_switches({**knobs.switches, **change.switches}, variant),
    )
