"""The grid of a block map: which thread counts stand along x and y, and what comes first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from gpuexplorer.core.config import Block
from gpuexplorer.core.device import DeviceLimits

Fineness = Literal["octaves", "halves", "quarters", "around"]
FINENESS: dict[Fineness, str] = {
    "octaves": "Powers of two",
    "halves": "Half octaves",
    "quarters": "Quarter octaves",
    "around": "Fine, around the block",
}
"""Titles of the ways to choose thread counts."""
COARSEST = 4
"""Every so-manieth count along each axis gets the first looks."""
MOST_AROUND = 24
"""Counts along an axis around a block."""


class Grid(msgspec.Struct, frozen=True):
    """Thread counts along x and y, rising; every block has ``z`` threads along z."""

    x: tuple[int, ...]
    y: tuple[int, ...]
    z: int = 1

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return len(self.x) * len(self.y)

    def block(self, number: int) -> Block:
        """Return a block by its number: row-major, y before x."""
        row, column = divmod(number, len(self.x))
        return self.x[column], self.y[row], self.z

    def number(self, block: Block) -> int | None:
        """Return the number of a block; None when it is not on the grid."""
        x, y, z = block
        if z != self.z or x not in self.x or y not in self.y:
            return None
        return self.y.index(y) * len(self.x) + self.x.index(x)


def make_grid(
    fineness: Fineness, limits: DeviceLimits, dimensions: int, block: Block, z: int = 1
) -> Grid:
    """Return the grid within a device's limits for blocks of 1 to 3 ``dimensions``.

    ``around`` is that around ``block``: from half to twice its counts.
    """
    room = max(1, limits.max_threads_per_block // z)
    axes: list[tuple[int, ...]] = []
    for axis in (0, 1):
        most = min(limits.max_block[axis], room)
        if axis >= dimensions:
            axes.append((1,))
        elif fineness == "around":
            axes.append(around(block[axis], most))
        else:
            parts = {"octaves": 1, "halves": 2, "quarters": 4}[fineness]
            axes.append(octaves(most, parts))
    return Grid(axes[0], axes[1], z)


def octaves(most: int, parts: int = 1) -> tuple[int, ...]:
    """Return the counts up to ``most`` that cut each octave into ``parts`` equal steps.

    They are whole numbers with many small factors: 4 5 6 7 8 10 12 14 16 for four parts.
    """
    counts = set()
    power = 1
    while power <= most:
        counts |= {power + power * i // parts for i in range(parts) if power * i % parts == 0}
        power *= 2
    return tuple(sorted(c for c in counts if c <= most))


def around(count: int, most: int) -> tuple[int, ...]:
    """Return evenly spaced counts from half to twice ``count``, itself among them."""
    low, high = max(1, count // 2), min(most, 2 * count)
    step = 1 if high - low < MOST_AROUND else 2
    while (high - low) // step >= MOST_AROUND:
        step += 2
    return tuple(range(count - (count - low) // step * step, high + 1, step))


def heats(grid: Grid, legal: Sequence[bool]) -> list[list[int]]:
    """Return the legal cells by number in groups, coarse to fine."""
    stride = COARSEST
    while stride > max(len(grid.x), len(grid.y)):
        stride //= 2
    groups: list[list[int]] = []
    seen: set[int] = set()
    while stride:
        group = []
        for row in range(0, len(grid.y), stride):
            for column in range(0, len(grid.x), stride):
                number = row * len(grid.x) + column
                if legal[number] and number not in seen:
                    group.append(number)
        seen.update(group)
        if group:
            groups.append(group)
        stride //= 2
    return groups
