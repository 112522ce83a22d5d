"""The order in which a search is measured: cheap to go through, and blind to the machine's drift.

Neighbouring points share arrays, so that nothing is allocated or copied between them. Within such a
group the order is chance's: a machine that slows down then slows all of them alike, and the drift
does not look like a trend along an axis. Kernels stay built in the engine, up to a number; where a
group needs more builds than that, it is gone through build by build.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec

from gpuexplorer.core.config import RunConfig

MOST_BUILDS = 64
"""Builds that an engine surely keeps at once (OpenCL keeps 128 programs, CUDA as many modules)."""

Key = tuple[object, ...]


def arrays_key(config: RunConfig) -> Key:
    """Return what two configurations must share for one to take over the other's arrays."""
    return (
        config.threads,
        config.device,
        msgspec.json.encode(config.size, order="sorted"),
        config.precision,
        config.fill,
        config.seed,
    )


def build_key(config: RunConfig) -> Key:
    """Return what two configurations must share to run the same compiled kernel."""
    tunables = msgspec.json.encode(config.tunables, order="sorted")
    return config.device, config.variant, config.precision, tunables


def measuring_order(configs: Sequence[RunConfig], seed: int) -> list[int]:
    """Return the indices of ``configs`` in the order to measure them; ``seed`` repeats it.

    Engines with another number of CPU threads and devices follow each other, and so do the groups
    that share arrays, in the order of their first points.
    """
    chance = random.Random(seed)
    groups: dict[Key, list[int]] = {}
    for index, config in enumerate(configs):
        groups.setdefault(arrays_key(config), []).append(index)
    first_of: dict[Key, int] = {}
    for key, members in groups.items():
        first_of.setdefault(key[:2], members[0])
    order: list[int] = []
    for key in sorted(groups, key=lambda k: (first_of[k[:2]], groups[k][0])):
        order += _shuffled(groups[key], configs, chance)
    return order


def _shuffled(members: list[int], configs: Sequence[RunConfig], chance: random.Random) -> list[int]:
    by_build: dict[Key, list[int]] = {}
    for index in members:
        by_build.setdefault(build_key(configs[index]), []).append(index)
    if len(by_build) <= MOST_BUILDS:
        return chance.sample(members, len(members))
    builds = list(by_build.values())
    chance.shuffle(builds)
    return [index for build in builds for index in chance.sample(build, len(build))]
