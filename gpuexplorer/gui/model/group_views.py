"""Groups of the history as what the views show: a sweep, map, tuning, comparison or study again.

Each is brought into the form that a session file has and read back, so that what a store holds is
looked at as closely as what a file brings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import msgspec

from gpuexplorer.core.comparison import Comparison
from gpuexplorer.core.config import Block, RunRequest
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.fields import Count, Seconds
from gpuexplorer.core.result import RunResult, not_verified
from gpuexplorer.core.studies import STUDY_GROUP
from gpuexplorer.core.sweep import SweepDocument, sweep_json
from gpuexplorer.gui.model import compare_file, lab_file, map_file, sweep, tried
from gpuexplorer.gui.model.compare_file import HeldComparison, ListedContestant
from gpuexplorer.gui.model.ghosts import device_of
from gpuexplorer.gui.model.job import Held
from gpuexplorer.gui.model.map_file import HeldMap
from gpuexplorer.gui.model.map_surface import MapOf, Surface, map_caption
from gpuexplorer.gui.model.part_file import HISTORY
from gpuexplorer.history.errors import StoreDamaged
from gpuexplorer.history.grouped import document_of, ids_of
from gpuexplorer.history.model import Group
from gpuexplorer.history.store import Store
from gpuexplorer.report.whole import axes_of, comparison_of, grouped_runs
from gpuexplorer.search.block_grid import Grid
from gpuexplorer.search.blockmap import MapCell
from gpuexplorer.search.contestants import engine_of
from gpuexplorer.studies import study_of

NO_RUN = "the history has no run of it"
LEFT = "it was not measured before the map was left"


class OpenedGroup(msgspec.Struct, frozen=True):
    """A group as a view shows it."""

    part: str
    """The view, as session files name it."""
    held: Any
    """What its tab's ``open_held`` takes."""


class WholeGroup(msgspec.Struct, frozen=True):
    """A group with its runs."""

    group: Group
    document: Mapping[str, Any]
    runs: list[RunResult]


def opened_group(store: Store, group_id: str) -> OpenedGroup:
    """Return a group as its view shows it; takes long for many runs, so it belongs in a thread.

    Raises InputError where it cannot be shown, with the reason.
    """
    group = store.group(group_id)
    if group.kind not in _READERS:
        raise InputError("this has no view of its own", remedy="unfold it to see its runs")
    found = [
        run
        for run in store.get_all(ids_of(store, group), listed=False)
        if not isinstance(run, StoreDamaged)
    ]
    if not found:
        raise InputError(f"none of the runs of this {group.kind} is in the history any more")
    part, read = _READERS[group.kind]
    return OpenedGroup(part, read(WholeGroup(group, document_of(group), found)))


def _cannot(whole: WholeGroup, why: str) -> InputError:
    return InputError(
        f"this {whole.group.kind} cannot be shown again: {why}", remedy="unfold it to see its runs"
    )


def _comparison(whole: WholeGroup) -> HeldComparison:
    result = comparison_of([whole.document], whole.runs)
    if result is None:
        raise _cannot(whole, "its verdicts are missing, or some of its runs")
    contestants = tuple(
        ListedContestant(one.run.config, engine=engine_of(one.run.environment))
        for one in result.contestants
    )
    held = HeldComparison(contestants, result.reference, result.tolerance, result)
    return compare_file.decode(compare_file.encode(held), HISTORY)


def _study(whole: WholeGroup) -> Any:
    study = study_of([whole.document], whole.runs)
    if study is None:
        raise _cannot(whole, "it is of another version, or some of its runs are missing")
    return lab_file.decode(lab_file.encode((Held(study),)), HISTORY)


def _tuning(whole: WholeGroup) -> Any:
    found = tried.decode(msgspec.json.encode(whole.document), HISTORY)
    if not found.result.evaluations:
        raise _cannot(whole, "it was ended before it could say what it had tried")
    return found


def _sweep(whole: WholeGroup) -> Any:
    axes = axes_of(whole.document)
    if not axes:
        raise _cannot(whole, "its axes are missing")
    return sweep.decode(sweep_json(_sweep_document(whole, axes)), HISTORY)


def _sweep_document(whole: WholeGroup, axes: Mapping[str, list[Any]]) -> SweepDocument:
    """Return the runs of a group as a sweep over some axes."""
    try:
        entries = grouped_runs(axes, whole.document, whole.runs)
    except msgspec.MsgspecError as error:
        raise _cannot(whole, f"what it says of skipped configurations: {error}") from None
    name = whole.runs[0].config.workload
    return SweepDocument(
        id=whole.group.id, time_utc=whole.group.time_utc, workload=name, title=name,
        points=prod(len(values) for values in axes.values()), axes=dict(axes), runs=entries,
    )  # fmt: skip


class _Beside(msgspec.Struct):
    """How a block stood beside the best."""

    block: Block
    looked_s: Seconds | None = None
    turns: Count = 0
    ratio: Comparison | None = None


class _MapDocument(msgspec.Struct):
    """What the group of a block map says of it."""

    request: RunRequest
    x: tuple[int, ...]
    y: tuple[int, ...]
    z: int
    best: Block | None = None
    ties: tuple[Block, ...] = ()
    beside: tuple[_Beside, ...] = ()


def _map(whole: WholeGroup) -> HeldMap:
    try:
        said = msgspec.convert(whole.document, _MapDocument)
    except msgspec.ValidationError as error:
        raise _cannot(whole, str(error)) from None
    grid, device = Grid(said.x, said.y, said.z), device_of(whole.runs[-1])
    by_block = {run.config.block: run for run in whole.runs}
    beside = {one.block: one for one in said.beside}
    leads = {said.best, *said.ties}
    cells = []
    for number in range(grid.count):
        block = grid.block(number)
        run = by_block.get(block)
        if run is not None:
            out = said.best is not None and block not in leads
            cells.append(_cell(block, run, beside.get(block, _Beside(block)), out=out))
        elif said.best is None:
            cells.append(MapCell(block, "waiting", LEFT))
        else:
            cells.append(MapCell(block, "cannot", NO_RUN))
    axes = {"block.z": [said.z], "block.y": list(said.y), "block.x": list(said.x)}
    surface = Surface(
        MapOf(map_caption(said.request, device).words, said.request, grid, device),
        cells=cells,
        best=said.best if said.best in by_block else None,
        ties=frozenset(said.ties),
        finished=said.best is not None,
        runs=_sweep_document(whole, axes),
    )
    return map_file.decode(map_file.encode(HeldMap(surface, lambda: surface.runs)), HISTORY)


def _cell(block: Block, run: RunResult, beside: _Beside, *, out: bool) -> MapCell:
    timing = run.timing
    return MapCell(
        block=block,
        state="measured" if timing.suspect is None else "suspect",
        reason=timing.suspect or "",
        time_s=timing.median_s,
        ci95_low_s=timing.ci95_low_s,
        ci95_high_s=timing.ci95_high_s,
        samples=timing.samples,
        looked_s=beside.looked_s,
        turns=beside.turns,
        ratio=beside.ratio,
        flops=(run.throughput.flop_per_s or 0.0) * timing.median_s,
        compulsory_B=sum(t.total_B for t in run.traffic if t.kind == "compulsory"),
        out=out,
        resources=run.resources,
        not_verified=not_verified(run.verification),
    )


_READERS: dict[str, tuple[str, Callable[[WholeGroup], Any]]] = {
    "comparison": ("comparison", _comparison),
    STUDY_GROUP: ("lab", _study),
    "sweep": ("sweep", _sweep),
    "tuning": ("tuning", _tuning),
    "block map": ("block-map", _map),
}
"""By the kind of group: the view that shows it, and what brings it into its form."""
