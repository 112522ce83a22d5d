"""How far each axis of a block may go on a device, and which blocks are near."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import msgspec

from gpuexplorer.core.config import Block
from gpuexplorer.core.device import DeviceLimits
from gpuexplorer.gui.model.knobs import power_below

AXES = "xyz"


def product_words(block: Block) -> str:
    """Return a block's shape and thread count, such as ``64 × 16 = 1024``."""
    x, y, z = block
    shape = f"{x} × {y}" if z == 1 else f"{x} × {y} × {z}"
    return f"{shape} = {x * y * z}"


def with_axis(block: Block, axis: int, value: int) -> Block:
    """Return a block with another number of threads along an axis."""
    changed = list(block)
    changed[axis] = value
    return (changed[0], changed[1], changed[2])


class BlockRoom(msgspec.Struct, frozen=True):
    """A block of ``dimensions`` axes within a device's limits."""

    block: Block
    dimensions: int
    limits: DeviceLimits

    def limit(self, axis: int) -> int:
        """Return the most threads the device allows along an axis, whatever the others are."""
        return min(self.limits.max_block[axis], self.limits.max_threads_per_block)

    def legal(self, axis: int) -> int:
        """Return the most threads along an axis while the other two stay as they are."""
        others = math.prod(self.block) // self.block[axis]
        return max(1, min(self.limit(axis), self.limits.max_threads_per_block // others))

    def reason(self, axis: int) -> str | None:
        """Return why an axis stops before its limit; None when it does not."""
        legal = self.legal(axis)
        return self.why_not(axis, 2 * legal) if legal < self.limit(axis) else None

    def why_not(self, axis: int, wanted: int) -> str:
        """Return where an axis stops, and the thread count that ``wanted`` would make."""
        return (
            f"{AXES[axis]} stops at {self.legal(axis)}: "
            f"{product_words(with_axis(self.block, axis, wanted))} threads, and this device allows "
            f"{self.limits.max_threads_per_block} in a block"
        )

    def ways_to_make_room(self, axis: int, wanted: int) -> Iterator[tuple[int, Block]]:
        """Yield another axis, longest first, and the block with room for ``wanted`` along one.

        Each shortens the axis yielded, on top of those before it.
        """
        block = with_axis(self.block, axis, wanted)
        others = [a for a in range(self.dimensions) if a != axis and block[a] > 1]
        for other in sorted(others, key=lambda a: -self.block[a]):
            room = self.limits.max_threads_per_block * block[other] // math.prod(block)
            if room >= 1:
                block = with_axis(block, other, power_below(room))
                yield other, block

    def near(self, axis: int, value: int) -> list[Block]:
        """Return the blocks with ``value`` along an axis that the device allows, nearest first."""
        choices: list[list[int]] = []
        for other in range(3):
            if other == axis:
                choices.append([value])
            elif other >= self.dimensions:
                choices.append([1])
            else:
                powers = [1 << k for k in range(self.limit(other).bit_length())]
                choices.append(sorted({*powers, value, self.block[other]}))
        most = self.limits.max_threads_per_block
        blocks = [(x, y, z) for x, y, z in itertools.product(*choices) if x * y * z <= most]
        return sorted(blocks, key=self._distance)

    def _distance(self, block: Block) -> float:
        return sum(abs(math.log2(a / b)) for a, b in zip(block, self.block, strict=True))
