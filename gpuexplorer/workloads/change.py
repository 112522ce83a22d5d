"""Knobs after a change: what to ask for instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from gpuexplorer.core.change import Change
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.knobs import TRANSFERS, request_from, request_like
from gpuexplorer.workloads.manifest import VariantSpec
from gpuexplorer.workloads.switches import kept, without_defaults
from gpuexplorer.workloads.workload import Workload


def changed(config: RunConfig, change: Change, workload: Workload) -> RunRequest:
    """Return the request that makes ``change`` and keeps everything else where it can.

    Raises InputError for a variant that the workload does not have.
    """
    own = free_tunables(workload.variant(config.variant))
    free = {name: value for name, value in config.tunables.items() if name in own}
    request = msgspec.structs.replace(request_like(config), tunables=free)
    return with_values(request, change.values, workload)


def with_values(base: RunRequest, values: Mapping[str, Any], workload: Workload) -> RunRequest:
    """Return a request with some values, by axis, in place of its own.

    Another variant keeps the block where it has as many axes, and the switches that it has too; it
    takes its own tunables. Raises InputError for a variant that the workload does not have.
    """
    before = base.variant or workload.manifest.first_variant
    name = values.get("variant", before)
    variant = workload.variant(name)
    same = name == before
    same_axes = variant.dimensions == workload.variant(before).dimensions
    block = base.block if same or (same_axes and variant.call is None) else None
    size = dict(base.size)
    if "" in size:  # the first symbol, which a value may name
        size[next(iter(workload.manifest.sizes))] = size.pop("")
    given = request_from(base.workload, values)
    switches = {**kept(base.switches, variant), **given.switches}
    if TRANSFERS in values:
        switches[TRANSFERS] = values[TRANSFERS]
    plain = {n: value for n, value in values.items() if n in base.__struct_fields__}
    merged = {
        "variant": name,
        "size": {**size, **given.size},
        "tunables": {**(base.tunables if same else {}), **given.tunables},
        "switches": without_defaults(switches),
    }
    return msgspec.structs.replace(base, **{"block": block, **plain, **merged})


def free_tunables(variant: VariantSpec) -> dict[str, tuple[int, ...]]:
    """Return the values of the tunables that are the user's to choose, not tied to the block."""
    return {
        name: tuple(tunable.values)
        for name, tunable in variant.tunables.items()
        if tunable.formula is None
    }
