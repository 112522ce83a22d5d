"""Tiles that do not divide the size: the last block of an axis has threads without an element."""

from __future__ import annotations

from dataclasses import dataclass

from gpuexplorer.analysis.advice.situation import Launch, Situation


@dataclass(frozen=True)
class Edge:
    """One axis of a grid that covers a size with tiles of ``extent`` elements."""

    axis: int
    symbol: str
    size: int
    extent: int
    tunable: str | None = None
    """The tunable that ``extent`` is; None when it is the block's own."""

    @property
    def used(self) -> float:
        """Share of the elements covered that exist."""
        return self.size / (self.extent * -(-self.size // self.extent))


def edges(situation: Situation, launch: Launch) -> list[Edge]:
    """Return the axes of a launch whose grid is a size over the block or over a tunable.

    A grid of another formula, such as a fixed number of blocks, covers no size with tiles. Where
    two sizes would give the same grid, the first one is meant.
    """
    if launch.block is None or launch.grid is None or situation.dimensions == 0:
        return []
    found = []
    for axis in range(3):
        for symbol, size in situation.config.size.items():
            extent, tunable = _extent(situation, launch, axis, size)
            if extent > 1:
                found.append(Edge(axis, symbol, size, extent, tunable))
                break
    return found


def _extent(situation: Situation, launch: Launch, axis: int, size: int) -> tuple[int, str | None]:
    """Return the tile's length along an axis that covers ``size``, and its tunable; 1 for none."""
    assert launch.block is not None and launch.grid is not None
    blocks = launch.grid[axis]
    if axis < situation.dimensions and _covers(blocks, launch.block[axis], size):
        return launch.block[axis], None
    for name, value in situation.config.tunables.items():
        if name in situation.tunables and _covers(blocks, value, size):
            return value, name
    return 1, None


def _covers(blocks: int, extent: int, size: int) -> bool:
    """Whether so many tiles cover a size; a tunable may be a switch, and then none do."""
    return extent > 0 and blocks == -(-size // extent)
