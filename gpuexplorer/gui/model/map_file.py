"""A block map in a session file: its cells as they are drawn, and their runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Annotated

import msgspec

from gpuexplorer.core.config import Block, RunRequest
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.sweep import SweepDocument, read_sweep, sweep_json
from gpuexplorer.gui.model.map_surface import MapOf, Surface
from gpuexplorer.gui.model.part_file import check_texts, decode_part
from gpuexplorer.search.block_grid import Grid
from gpuexplorer.search.blockmap import MapCell

SCHEMA = "gpuexplorer/block-map-view/1"
MOST_CELLS = 20_000

Threads = Annotated[int, msgspec.Meta(ge=1, lt=2**31)]
Counts = Annotated[tuple[Threads, ...], msgspec.Meta(min_length=1)]


class HeldMap(msgspec.Struct, frozen=True):
    """A block map at a moment; nothing changes ``surface`` any more."""

    surface: Surface
    document: Callable[[], SweepDocument | None]
    """Makes the document of its runs, in any thread; None where they are being measured."""
    source: object = None
    """What the model goes on with, when this is shown again in the same window."""


class _Document(msgspec.Struct, kw_only=True):
    schema: str = ""
    words: str
    request: RunRequest
    device: DeviceInfo
    x: Counts
    y: Counts
    z: Threads
    cells: list[MapCell]
    best: Block | None = None
    ties: list[Block] = []
    finished: bool = False
    runs: msgspec.Raw = msgspec.Raw(b"null")
    """The runs as the document of a sweep over the blocks."""


def encode(held: HeldMap) -> bytes:
    """Return a map as JSON."""
    surface, document = held.surface, held.document()
    wanted = surface.wanted
    return msgspec.json.encode(
        _Document(
            schema=SCHEMA,
            words=wanted.words,
            request=wanted.request,
            device=wanted.device,
            x=wanted.grid.x,
            y=wanted.grid.y,
            z=wanted.grid.z,
            cells=surface.cells,
            best=surface.best,
            ties=sorted(surface.ties),
            finished=surface.done,
            runs=msgspec.Raw(sweep_json(document) if document is not None else b"null"),
        )
    )


def decode(data: bytes, origin: str) -> HeldMap:
    """Return the map that a file holds; InputError when it does not hold together."""
    found = decode_part(data, _Document, SCHEMA, "the block map")
    grid = _grid(found)
    blocks = [grid.block(number) for number in range(grid.count)]
    if [cell.block for cell in found.cells] != blocks:
        raise InputError("the block map's cells are not those of its grid")
    if not {found.best, *found.ties} - {None} <= set(blocks):
        raise InputError("the block map's best lies beside its grid")
    for cell in found.cells:
        _check_cell(cell)
    known = {cell.block for cell in found.cells if cell.time_s is not None}
    if not known or (found.best is not None and found.best not in known):
        raise InputError("the block map has no times, or none of its best")
    surface = Surface(
        MapOf(found.words, found.request, grid, found.device),
        cells=found.cells,
        best=found.best,
        ties=frozenset(found.ties),
        finished=found.finished,
        origin=origin,
        runs=_runs(found),
    )
    return HeldMap(surface, lambda: surface.runs)


def _grid(found: _Document) -> Grid:
    rises = all(a < b for counts in (found.x, found.y) for a, b in itertools.pairwise(counts))
    if not rises or len(found.x) * len(found.y) > MOST_CELLS:
        raise InputError("the block map has impossible thread counts")
    return Grid(found.x, found.y, found.z)


def _check_cell(cell: MapCell) -> None:
    timed = cell.time_s is not None or cell.state == "measured"
    occupancy = cell.resources.occupancy if cell.resources is not None else None
    if (timed and not cell.time_s) or (occupancy is not None and not 0 <= occupancy <= 1):
        raise InputError("a cell of the block map has impossible figures")


def _runs(found: _Document) -> SweepDocument | None:
    if bytes(found.runs) == b"null":
        return None
    document = read_sweep(bytes(found.runs), "the block map's runs")
    check_texts(document)
    return document
