"""A block map in a session file: its cells as they are drawn, and their runs."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable

import msgspec

from gpuexplorer.core.config import Block, RunRequest
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.sweep import SweepDocument, read_sweep, sweep_json
from gpuexplorer.gui.model.bench import check_texts
from gpuexplorer.gui.model.map_surface import MapOf, Surface
from gpuexplorer.search.block_grid import Grid
from gpuexplorer.search.blockmap import MapCell

SCHEMA = "gpuexplorer/block-map-view/1"
MOST_CELLS = 20_000
MOST_THREADS = 1 << 31
LONGEST_S = 1e9


@dataclasses.dataclass(frozen=True)
class HeldMap:
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
    x: tuple[int, ...]
    y: tuple[int, ...]
    z: int
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
    try:
        found = msgspec.json.decode(data, type=_Document)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InputError(f"the block map cannot be read: {error}") from None
    if found.schema != SCHEMA:
        raise InputError("the block map is of an unknown format")
    check_texts(msgspec.to_builtins((found.words, found.request, found.device, found.cells)))
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
    for counts in (found.x, found.y):
        rises = all(a < b for a, b in itertools.pairwise(counts))
        if not counts or not rises or not 1 <= counts[0] <= counts[-1] < MOST_THREADS:
            raise InputError("the block map has impossible thread counts")
    if not 1 <= found.z < MOST_THREADS or len(found.x) * len(found.y) > MOST_CELLS:
        raise InputError("the block map has impossible thread counts")
    return Grid(found.x, found.y, found.z)


def _check_cell(cell: MapCell) -> None:
    figures = [cell.flops, cell.compulsory_B, float(cell.samples)]
    if cell.error is not None:
        figures.append(cell.error)
    fits = all(0 <= f < 1e30 for f in figures)
    if cell.time_s is not None:
        fits = fits and 0 < cell.time_s < LONGEST_S
    elif cell.state == "measured":
        fits = False
    if cell.ratio is not None:
        shares = (cell.ratio.ratio, cell.ratio.ci95_low, cell.ratio.ci95_high)
        fits = fits and all(0 < s < 1e12 and math.isfinite(s) for s in shares)
    if cell.resources is not None and cell.resources.occupancy is not None:
        fits = fits and 0 <= cell.resources.occupancy <= 1
    if not fits:
        raise InputError("a cell of the block map has impossible figures")


def _runs(found: _Document) -> SweepDocument | None:
    if bytes(found.runs) == b"null":
        return None
    document = read_sweep(bytes(found.runs), "the block map's runs")
    check_texts([document.title, document.workload, document.id, document.time_utc, document.axes])
    for entry in document.runs:
        check_texts(msgspec.to_builtins(msgspec.structs.replace(entry, run=None)))
        if entry.run is not None:
            run = msgspec.structs.replace(entry.run, samples_s=[], batches=[])
            check_texts(msgspec.to_builtins(run))
    return document
