"""The block map as the window shows it: which map belongs to the knobs, and what is known of it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import msgspec

from gpuexplorer.charts.caption import Caption
from gpuexplorer.core.config import Block, RunConfig
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.sweep import SweepDocument
from gpuexplorer.core.units import quantity
from gpuexplorer.gui.model.experiment import Experiment
from gpuexplorer.gui.model.job import State
from gpuexplorer.gui.model.map_file import HeldMap
from gpuexplorer.gui.model.map_look import Look, step_words
from gpuexplorer.gui.model.map_surface import MapOf, Surface, map_caption
from gpuexplorer.history.keeping import Keeping
from gpuexplorer.history.model import BEST_RUN
from gpuexplorer.search.block_grid import Fineness, Grid, make_grid
from gpuexplorer.search.blockmap import BlockMap, MapCell, MapStep, map_points, map_space
from gpuexplorer.search.document import sweep_document
from gpuexplorer.search.space import Point
from gpuexplorer.workloads.workload import Workload

MOST_MAPS = 6
"""Maps that are kept, of a megabyte each, so that a knob can be turned back; the store has all."""
SCHEMA = "gpuexplorer/block-map/1"

Planned = tuple["MapRequest", list[Point] | ExplorerError]
"""A map's blocks with what can run, or why none can."""


class MapRequest(MapOf, frozen=True):
    """Which map belongs to the knobs as they stand."""

    base: str
    """Equal for equal experiments, whatever the block along x and y."""
    problem: str
    """The same whatever the device."""
    workload: Workload
    devices: DeviceList
    host: str
    """The machine that has the devices; empty for this one."""

    @property
    def caption(self) -> Caption:
        """What all its blocks are measured with."""
        return map_caption(self.request, self.device, [self.workload.sha256])

    @property
    def key(self) -> tuple[str, Grid]:
        """What tells one map from another."""
        return self.base, self.grid

    def planned(self) -> Planned:
        """Find out, in any thread, which of its blocks can run."""
        try:
            return self, map_points(self.request, self.grid, self.workload, self.devices)
        except ExplorerError as error:
            return self, error


class MeasurableMap(Surface, kw_only=True):
    """A map that can be measured here."""

    wanted: MapRequest
    map: BlockMap
    engine: str | None = None
    """The word for the engine that measured it."""
    keeping: Keeping | None = None
    """Keeps its runs in the store, once it is measured."""

    @property
    def group(self) -> str | None:
        """The group of its runs in the store, as soon as the store has made one."""
        return self.keeping.group if self.keeping is not None else None

    @property
    def done(self) -> bool:
        """Whether the best was found."""
        return self.map.done and self.best is not None

    def document(self) -> dict[str, Any]:
        """Return what the group of its runs says of it, in the thread that measures it."""
        grid = self.wanted.grid
        return {
            "schema": SCHEMA,
            "request": msgspec.to_builtins(self.wanted.request),
            "x": grid.x,
            "y": grid.y,
            "z": grid.z,
            "best": self.map.best if self.map.done else None,
            BEST_RUN: self.map.best_run,
            "ties": sorted(self.map.ties),
            "beside": [
                {
                    "block": cell.block,
                    "looked_s": cell.looked_s,
                    "turns": cell.turns,
                    "ratio": msgspec.to_builtins(cell.ratio),
                }
                for cell in self.map.cells
                if cell.looked_s is not None
            ],
        }

    @property
    def best_config(self) -> RunConfig | None:
        """What the best block was measured with; None while there is none."""
        number = self.wanted.grid.number(self.best) if self.best is not None else None
        return self.map.points[number].config if number is not None else None

    def afresh(self) -> MeasurableMap:
        """Return it with nothing measured; a cell shows what it was until it is."""
        made = BlockMap(self.map.points, self.wanted.grid, self.wanted.workload)
        return MeasurableMap(wanted=self.wanted, map=made, cells=list(self.cells), best=self.best)

    def take(self, step: MapStep) -> None:
        """Take in what a look found."""
        number = self.wanted.grid.number(step.cell.block)
        assert number is not None
        self.cells[number] = step.cell
        self.step = step
        self.best = step.best


class MapEnd(msgspec.Struct, frozen=True):
    """A map after its race: all that the cells are found to be."""

    cells: list[MapCell]
    best: Block | None
    ties: frozenset[Block]


class MapModel:
    """The maps of the knobs and how they are measured; which blocks can run is found elsewhere."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self.fineness: Fineness = "octaves"
        self.center: Block = (16, 16, 1)
        """The block around which the fine grid lies."""
        self.z: int | None = None
        """Threads along z; None follows the knob."""
        self.reason = "The devices are not known yet."
        """Why there is no map."""
        self._maps: OrderedDict[tuple[str, Grid], MeasurableMap] = OrderedDict()
        self._wanted: MapRequest | None = None
        self.state: State = "empty"
        """How the job stands, of the map that was measured last."""
        self._last: Surface | None = None
        """The map that was measured last, or that a file brought."""

    # ---- what is shown

    @property
    def current(self) -> MeasurableMap | None:
        """The map of the knobs as they stand; None while it is planned, or cannot be."""
        return self._maps.get(self._wanted.key) if self._wanted is not None else None

    @property
    def planning(self) -> bool:
        """Whether it is being found out which blocks of the knobs' map can run."""
        return self._wanted is not None and self._wanted.key not in self._maps

    @property
    def shown(self) -> Surface | None:
        """The map to show: the current one, or the last one measured while that has no times."""
        current, last = self.current, self._last
        if last is None or (current is not None and current.measured):
            return current
        if not isinstance(last, MeasurableMap):
            return last
        same = current is not None and current.wanted.base == last.wanted.base
        return current if same or self._wanted is None else last

    def on_devices(self) -> list[MeasurableMap]:
        """Return what is shown and the same problem's latest map on each other device.

        Only those with a best block, that which is shown first; empty where it has none.
        """
        shown = self.shown
        if not isinstance(shown, MeasurableMap) or shown.best is None:
            return []
        found = {shown.wanted.device.hardware_id: shown}
        for held in reversed(self._maps.values()):
            if held.wanted.problem == shown.wanted.problem and held.best is not None:
                found.setdefault(held.wanted.device.hardware_id, held)
        return list(found.values())

    def elsewhere_words(self, block: Block) -> str:
        """Return what other devices took for a block, each in its own map."""
        parts = []
        held_on = self.on_devices()
        for held in held_on[1:]:
            number = held.wanted.grid.number(block)
            cell = held.cells[number] if number is not None else None
            if cell is not None and cell.time_s:
                time = quantity(Look(held, "time").time_s(cell), "s")
                device = held.wanted.device.name
                if held.wanted.host != held_on[0].wanted.host:
                    device = f"{device} of {held.wanted.host or 'this machine'}"
                parts.append(f"{device} took {time}, in a map of its own")
        return "; ".join(parts)

    @property
    def stale(self) -> bool:
        """Whether what is shown is of another configuration than the knobs'."""
        shown = self.shown
        return shown is not None and shown is not self.current

    @property
    def block(self) -> Block | None:
        """Where the sliders stand."""
        return self._experiment.knobs.block

    @property
    def dimensions(self) -> int:
        """Axes of the variant's blocks."""
        return self._experiment.dimensions

    def z_choices(self) -> list[int]:
        """Return the threads along z to choose from: powers of two."""
        if self.dimensions < 3:
            return [1]
        limits = self._experiment.limits
        most = min(limits.max_block[2], limits.max_threads_per_block)
        return [1 << k for k in range(most.bit_length())]

    @property
    def words(self) -> str:
        """How far the map is, or what it found; empty without one."""
        shown = self.shown
        if shown is None:
            return ""
        if shown.step is not None:
            return step_words(shown, paused=self.state == "paused")
        return Look(shown, "time").map_words()

    # ---- following the knobs

    def follow(self) -> MapRequest | None:
        """Look at the knobs; return the map to be ``planned``, None where there is none."""
        wanted, before = self._look(), self._wanted
        if wanted is not None and before is not None and wanted.key == before.key:
            return None
        self._wanted = wanted
        return wanted if wanted is not None and wanted.key not in self._maps else None

    def _look(self) -> MapRequest | None:
        experiment = self._experiment
        knobs, device, devices = experiment.knobs, experiment.device, experiment.devices
        if devices is None or device is None:
            self.reason = "There is no device yet."
            return None
        if knobs.block is None or not experiment.dimensions:
            kernels = any(v.dimensions for v in experiment.workload.manifest.variants.values())
            own = f"{experiment.variant.title} chooses its own blocks: there is no map of them."
            self.reason = " ".join(
                (
                    own,
                    "Choose a variant with block sliders."
                    if kernels
                    else "Choose a workload with block sliders.",
                )
            )
            return None
        z = 1
        if experiment.dimensions > 2:
            z = self.z if self.z is not None else knobs.block[2]
        request = msgspec.structs.replace(knobs.request(), device=device.id, block=None)
        problem = (msgspec.structs.replace(request, device=""), experiment.workload.sha256, z)
        hardware = (request.device, device.hardware_id, device.driver)
        base = (*hardware, device.threads, *problem)
        return MapRequest(
            base=msgspec.json.encode(base, order="sorted").decode(),
            problem=msgspec.json.encode(problem, order="sorted").decode(),
            words=map_caption(request, device).words,
            request=request,
            grid=make_grid(self.fineness, device.limits, experiment.dimensions, self.center, z),
            workload=experiment.workload,
            devices=devices,
            device=device,
            host=experiment.host,
        )

    def take_planned(self, wanted: MapRequest, points: list[Point] | ExplorerError) -> None:
        """Take in a map that was planned."""
        if isinstance(points, ExplorerError):
            if self._wanted is not None and wanted.key == self._wanted.key:
                self._wanted, self.reason = None, str(points)
            return
        if wanted.key in self._maps:
            return
        before = self._same_experiment(wanted)
        grid = wanted.grid
        made = BlockMap(
            points, grid, wanted.workload, before=before.map if before is not None else None
        )
        held = MeasurableMap(wanted=wanted, map=made)
        held.cells = [
            MapCell(grid.block(n), "waiting" if p.config is not None else "cannot", p.skipped or "")
            for n, p in enumerate(points)
        ]
        if before is not None:
            _take_over(held, before)
        for key, other in list(self._maps.items()):
            if not other.measured and other is not self._last:  # planned anew in no time
                del self._maps[key]
        self._maps[wanted.key] = held
        while len(self._maps) > MOST_MAPS:
            self._maps.popitem(last=False)

    def _same_experiment(self, wanted: MapRequest) -> MeasurableMap | None:
        """Return the map over another grid that knows most of this experiment."""
        same = [h for h in self._maps.values() if h.wanted.base == wanted.base and h.measured]
        return max(same, key=lambda h: h.map.race.looks, default=None)

    # ---- measuring

    def begin(self, held: MeasurableMap) -> None:
        """Note that a map is measured now."""
        self.state, held.step, self._last = "running", None, held
        self._maps[held.wanted.key] = held
        self._maps.move_to_end(held.wanted.key)

    def end(self, held: MeasurableMap, end: MapEnd | None) -> None:
        """Take in how the race ended; None when it was left."""
        held.step = None
        self.state = "done" if end is not None else "stopped"
        if end is not None:
            held.cells, held.best, held.ties = end.cells, end.best, end.ties

    # ---- in a session file

    def snapshot(self) -> HeldMap | None:
        """Return the map that is shown, unchangeable from now on; None while it has no times.

        Its runs are with it unless they are being measured.
        """
        shown = self.shown
        if shown is None or not shown.measured:
            return None
        surface = Surface(
            wanted=shown.wanted,
            cells=list(shown.cells),
            best=shown.best,
            ties=shown.ties,
            finished=shown.done,
            origin=shown.origin,
        )
        return HeldMap(
            surface,
            (lambda: None) if self.state in ("running", "paused") else runs_of(shown),
            (self._maps.copy(), self._last),
        )

    def show(self, held: HeldMap | None) -> None:
        """Show another map; None: that of the knobs alone."""
        self._maps, self._last = OrderedDict(), None
        self._wanted = None
        if held is None:
            return
        if isinstance(held.source, tuple):  # it was here before
            maps, self._last = held.source
            self._maps = maps.copy()
        else:
            self._last = held.surface


def runs_of(surface: Surface) -> Callable[[], SweepDocument | None]:
    """Return what makes the document of a map's runs as they are now, in any thread.

    It is that of a sweep over threads x and y; None where a file brought the cells alone.
    """
    if not isinstance(surface, MeasurableMap):
        runs = surface.runs
        return lambda: runs
    wanted, group, recorded = surface.wanted, surface.group, surface.map.recorded()
    space = map_space(wanted.request, wanted.grid)

    def made() -> SweepDocument:
        return sweep_document(space, wanted.workload, [r.outcome() for r in recorded], group=group)

    return made


def _take_over(held: MeasurableMap, before: MeasurableMap) -> None:
    """Show the times of the other grid's cells at once; who ties is for the new race to say."""
    for number, cell in enumerate(held.cells):
        there = before.wanted.grid.number(cell.block)
        if there is not None and cell.state == "waiting":
            held.cells[number] = msgspec.structs.replace(before.cells[there], out=False, ratio=None)
    held.best = before.best if before.best in {c.block for c in held.cells} else None
