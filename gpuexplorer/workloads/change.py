"""Knobs after a change: what to ask for instead of a configuration."""

from __future__ import annotations

from gpuexplorer.core.change import Change
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.workloads.manifest import VariantSpec
from gpuexplorer.workloads.switches import TRANSFERS, kept, without_defaults
from gpuexplorer.workloads.workload import Workload


def changed(config: RunConfig, change: Change, workload: Workload) -> RunRequest:
    """Return the request that makes ``change`` and keeps everything else where it can.

    Raises InputError for a variant that the workload does not have.
    """
    name = change.variant or config.variant
    variant = workload.variant(name)
    own = free_tunables(variant)
    same = name == config.variant
    tunables = {n: v for n, v in config.tunables.items() if same and n in own}
    block = change.block or config.block
    other_axes = variant.dimensions != workload.variant(config.variant).dimensions
    if variant.call is not None or (change.block is None and other_axes):
        block = None
    transfers = change.include_transfers
    switches = {**kept(config.switches, variant), **change.switches}
    if transfers is not None:
        switches[TRANSFERS] = transfers
    return RunRequest(
        workload=config.workload,
        variant=name,
        size={**config.size, **change.size},
        block=block,
        precision=change.precision or config.precision,
        device=config.device,
        tunables={**tunables, **change.tunables},
        cache=change.cache or config.cache,
        fill=config.fill,
        seed=config.seed,
        threads=change.threads or config.threads,
        switches=without_defaults(switches),
    )


def free_tunables(variant: VariantSpec) -> dict[str, tuple[int, ...]]:
    """Return the values of the tunables that are the user's to choose, not tied to the block."""
    return {
        name: tuple(tunable.values)
        for name, tunable in variant.tunables.items()
        if tunable.formula is None
    }
