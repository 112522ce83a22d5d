"""What is known of a block map's cells, be it measured here or come from a file."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from gpuexplorer.charts.caption import Caption, asked_for
from gpuexplorer.core.config import Block, RunRequest
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.sweep import SweepDocument
from gpuexplorer.search.block_grid import Grid
from gpuexplorer.search.blockmap import MapCell, MapStep


class MapOf(msgspec.Struct, frozen=True):
    """Which configuration a map is of, and over which blocks."""

    words: str
    request: RunRequest
    grid: Grid
    device: DeviceInfo

    @property
    def caption(self) -> Caption:
        """What all its blocks were measured with."""
        return map_caption(self.request, self.device)


def map_caption(
    request: RunRequest, device: DeviceInfo, sources: Iterable[str | None] = ()
) -> Caption:
    """Return what the blocks of a map have in common, which is all of ``request`` but a block."""
    return Caption([asked_for(request, device.id, device.threads)], ("block",), sources)


class Surface(msgspec.Struct):
    """A map's cells; the main thread's own copy."""

    wanted: MapOf
    cells: list[MapCell] = msgspec.field(default_factory=list)
    best: Block | None = None
    ties: frozenset[Block] = frozenset()
    step: MapStep | None = None
    """The latest look, while it is measured."""
    finished: bool = False
    """Whether the best was found, of one that a file brought."""
    origin: str = ""
    """The file that brought it; empty for one measured here."""
    runs: SweepDocument | None = None
    """Its runs as the document of a sweep, as far as a file brought them."""

    @property
    def measured(self) -> bool:
        """Whether any cell has a time."""
        return any(cell.time_s is not None for cell in self.cells)

    @property
    def done(self) -> bool:
        """Whether the best was found."""
        return self.finished and self.best is not None

    @property
    def able(self) -> int:
        """How many cells can be measured at all."""
        return sum(cell.state != "cannot" for cell in self.cells)
