"""Knobs after a change that was suggested."""

from __future__ import annotations

import msgspec

from gpuexplorer.core.change import Change
from gpuexplorer.core.knobs import TRANSFERS
from gpuexplorer.gui.model.fit import first_tunables
from gpuexplorer.gui.model.knobs import Knobs
from gpuexplorer.gui.model.switches import own_switches
from gpuexplorer.workloads.change import with_values
from gpuexplorer.workloads.choose import default_block
from gpuexplorer.workloads.workload import Workload


def with_change(knobs: Knobs, change: Change, workload: Workload) -> Knobs:
    """Return the knobs with ``change`` made; threads are the engine's, not a knob's.

    Another variant keeps the block where it has as many block axes, and takes its own tunables.
    """
    request = with_values(knobs.request(), change.values, workload)
    variant = workload.variant(change.variant or knobs.variant)
    first = first_tunables(variant)
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
