"""A sweep as the window holds it: what was asked for, what came of each configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal

import msgspec
from msgspec.structs import replace

from gpuexplorer.charts.caption import Caption
from gpuexplorer.charts.spec import ChartSpec
from gpuexplorer.charts.sweep import chart_of_sweep, sweep_caption
from gpuexplorer.charts.sweep_points import Figure
from gpuexplorer.charts.words import median_words
from gpuexplorer.core.axis_words import values_words
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.sweep import PASSING, SweepDocument, SweepOutcomes, read_sweep, sweep_json
from gpuexplorer.core.units import count, quantity
from gpuexplorer.gui.model.part_file import check_texts, origin_words
from gpuexplorer.history.model import Group
from gpuexplorer.search.document import sweep_document, swept_runs
from gpuexplorer.search.measuring import Measuring
from gpuexplorer.search.outcome import SweepCell, fastest
from gpuexplorer.search.space import MAX_POINTS, Axis, Point, Space
from gpuexplorer.workloads.workload import Workload

State = Literal["empty", "running", "paused", "stopped", "done", "file"]
NOT_REACHED = "not measured before the file was saved"
ODD_VALUE = "an axis of the sweep has an odd value"

Value = bool | int | str | Annotated[tuple[int, ...], msgspec.Meta(min_length=1, max_length=3)]
"""What an axis may take; a block is the threads along x, y, z."""
Values = dict[str, tuple[Value, ...]]


class HeldSweep(msgspec.Struct, frozen=True, dict=True):
    """A sweep's outcome at a moment; ``file`` is there for one that a file brought.

    It is the file's document without its entries, which the cells hold.
    """

    space: Space
    workload: Workload | None
    cells: tuple[SweepCell, ...]
    measuring: Measuring
    group: str | None
    title: str
    origin: str = ""
    file: SweepDocument | None = None

    def to_document(self) -> SweepDocument:
        """Return it as a sweep's document; InputError while nothing is done."""
        if self.file is not None:
            read = [cell for cell in self.cells if cell.point.config is not None]
            return msgspec.structs.replace(self.file, runs=swept_runs(self.space, None, read))
        if self.workload is None or all(cell.waiting for cell in self.cells):
            raise InputError("nothing of the sweep is done yet", remedy="let it measure first")
        return sweep_document(self.space, self.workload, self.cells, group=self.group)

    def chart(self, figure: Figure | None = None) -> ChartSpec:
        """Return the chart of what is known so far; keys are the cells' numbers."""
        return chart_of_sweep(self.outcomes, figure=figure, waiting=True)

    @property
    def caption(self) -> Caption | None:
        """What its runs have in common; None before the first."""
        return sweep_caption(self.outcomes)

    @cached_property
    def outcomes(self) -> SweepOutcomes:
        """What came of each cell so far."""
        found = [
            None if cell.skipped is NOT_REACHED else cell.result or cell.skipped
            for cell in self.cells
        ]
        return SweepOutcomes(self.title, len(found), self.space.values, found)

    @property
    def best(self) -> int | None:
        """The fastest cell's number, where all solve the same problem; None otherwise."""
        if any(a.name.startswith("size.") and len(a.values) > 1 for a in self.space.axes):
            return None
        found = fastest(self.cells)
        return next((i for i, cell in enumerate(self.cells) if cell is found), None)


class SweepModel:
    """The latest sweep; views read it, the job's steps change it."""

    def __init__(self) -> None:
        self.state: State = "empty"
        self.held: HeldSweep | None = None
        self.cells: list[SweepCell] = []
        self.waiting = 0
        """How many configurations are still to be measured."""
        self._skipped = 0
        self.current: int | None = None
        """The cell that is being measured."""
        self.left = ""
        """How long the rest takes, in words."""
        self.resumed = 0
        """Configurations that an earlier try had finished."""

    def begin(
        self,
        space: Space,
        workload: Workload,
        cells: Iterable[SweepCell],
        measuring: Measuring,
        resumed: int = 0,
    ) -> None:
        """Start a sweep over a space."""
        self._set_cells(cells)
        self.held = HeldSweep(space, workload, (), measuring, None, workload.manifest.title)
        self.state, self.current, self.left, self.resumed = "running", None, "", resumed

    def take(
        self, changed: Sequence[tuple[int, SweepCell]], current: int | None, left: str
    ) -> None:
        """Take in what was measured since the last time, and which cell is measured now."""
        for index, cell in changed:
            before, self.cells[index] = self.cells[index], cell
            self.waiting += cell.waiting - before.waiting
            self._skipped += (cell.skipped is not None) - (before.skipped is not None)
        self.current, self.left = current, left

    def _set_cells(self, cells: Iterable[SweepCell]) -> None:
        self.cells = list(cells)
        self.waiting = sum(cell.waiting for cell in self.cells)
        self._skipped = sum(cell.skipped is not None for cell in self.cells)

    def entered(self, group: str | None) -> None:
        """Note the sweep's id in the store."""
        if self.held is not None:
            self.held = replace(self.held, group=group)

    def end(self) -> None:
        """Note that nothing is measured any more; what may be repeated is not done."""
        self.current = None
        self.state = "stopped" if self.waiting or self.unfinished else "done"

    @property
    def unfinished(self) -> int:
        """How many have no figure for a reason that passes; going on repeats them."""
        return sum(cell.why in PASSING for cell in self.cells)

    @property
    def running(self) -> bool:
        """Whether its job goes on, be it paused."""
        return self.state in ("running", "paused")

    @property
    def words(self) -> str:
        """How far it is, in a line."""
        if self.held is None:
            return ""
        total, waiting, skipped = len(self.cells), self.waiting, self._skipped
        measured = total - waiting - skipped
        parts = [f"{count(measured)} measured"]
        if skipped:
            of_file = self.state == "file"
            lost = 0 if of_file else sum(cell.why == "lost" for cell in self.cells)
            short = 0 if of_file else sum(cell.why == "short" for cell in self.cells)
            cannot = skipped - lost - short
            why = "without a figure" if of_file else "cannot run"
            parts += [f"{count(cannot)} {why}"] if cannot else []
            parts += [f"{count(lost)} lost with the engine"] if lost else []
            parts += [f"{count(short)} short of memory"] if short else []
        if self.resumed:
            parts.append(f"{count(self.resumed)} of them before")
        if waiting:
            parts.append(f"{count(waiting)} to go")
        text = ", ".join(parts)
        if self.held.origin:
            return f"{origin_words(self.held.origin)}: {text}"
        if self.running:
            done = f"{count(total - waiting)} of {count(total)}"
            if self.state == "paused":
                return f"Paused at {done}"
            return f"{done}, {self.left} left" if self.left and waiting else done
        return text

    def snapshot(self) -> HeldSweep | None:
        """Return the outcome so far, unchangeable from now on; None without a sweep."""
        if self.held is None:
            return None
        return replace(self.held, cells=tuple(self.cells))

    # ---- in a session file

    def show(self, held: HeldSweep | None) -> None:
        """Show another outcome instead; None: nothing."""
        self.held = held
        self._set_cells(held.cells if held is not None else ())
        self.current, self.left, self.resumed = None, "", 0
        if held is None:
            self.state = "empty"
        else:
            self.state = "file" if held.origin else "stopped"
            if not held.origin and not self.waiting:
                self.state = "done"


def encode(held: HeldSweep) -> bytes:
    """Return a sweep's outcome as JSON; InputError while nothing is done."""
    return sweep_json(held.to_document())


def decode(data: bytes, origin: str) -> HeldSweep:
    """Return the outcome that a file holds; InputError when it does not hold together."""
    document = read_sweep(data)
    check_texts(document)
    try:
        axes = _axes(msgspec.convert(document.axes, Values))
    except msgspec.ValidationError:
        raise InputError(ODD_VALUE) from None
    if not document.runs or not axes:
        raise InputError("the sweep holds no runs")
    first = document.runs[0].config
    space = Space(RunRequest(workload=document.workload, variant=first.variant), axes)
    if space.count != document.points:
        raise InputError("the sweep's axes do not span its configurations")
    found: dict[int, SweepCell] = {}
    for entry in document.runs:
        try:
            values = msgspec.convert(entry.values, dict[str, Value])
        except msgspec.ValidationError:
            raise InputError(ODD_VALUE) from None
        if set(values) != set(space.by_name):
            raise InputError("a run of the sweep lies beside its axes")
        number = 0
        for axis in axes:
            number = number * len(axis.values) + _place(axis, values[axis.name])
        point = Point(space.values, number, entry.config)
        if entry.run is None:
            found[number] = SweepCell(point, skipped=entry.skipped or NOT_REACHED, why=entry.why)
        elif entry.run.timing.median_s > 0:
            found[number] = SweepCell(point, result=entry.run)
        else:
            raise InputError("a run of the sweep took an impossible time")
    cells = [found.get(number) or _not_reached(space, number) for number in range(space.count)]
    return HeldSweep(
        space, None, tuple(cells), Measuring(), document.id, document.title, origin,
        msgspec.structs.replace(document, runs=[]),
    )  # fmt: skip


def _axes(axes: Mapping[str, tuple[Value, ...]]) -> tuple[Axis, ...]:
    return tuple(Axis(name, values) for name, values in axes.items())


def _place(axis: Axis, value: Any) -> int:
    if value not in axis.values:
        raise InputError("a run of the sweep lies beside its axes")
    return axis.values.index(value)


def _not_reached(space: Space, number: int) -> SweepCell:
    return SweepCell(Point(space.values, number, None, NOT_REACHED), skipped=NOT_REACHED)


# ---- sweeps that were interrupted


class Unfinished(msgspec.Struct, frozen=True):
    """A sweep of the store that was not brought to its end."""

    group: str
    time_utc: str
    space: Space
    measuring: Measuring
    runs: int
    """Runs that it has."""

    @property
    def words(self) -> str:
        """The sweep in a line."""
        axes = " × ".join(axis.title for axis in self.space.axes)
        moment = self.time_utc[:16].replace("T", " ")
        return (
            f"A sweep of {self.space.base.workload} over {axes} from {moment} UTC was not "
            f"finished: {count(self.runs)} of {count(self.space.count)} configurations are kept."
        )


def unfinished(groups: Iterable[Group], workloads: dict[str, Workload]) -> Unfinished | None:
    """Return the latest sweep that can be gone on with here; None when there is none.

    Its workload must be loaded, with the same sources.
    """
    for group in groups:
        found = _unfinished(group, workloads) if not group.finished else None
        if found is not None:
            return found
    return None


class _Asked(msgspec.Struct):
    base: RunRequest
    axes: Values
    measuring: dict[str, Any]
    workload_sha256: str


def _unfinished(group: Group, workloads: dict[str, Workload]) -> Unfinished | None:
    try:
        asked = msgspec.convert(group.document, _Asked)
        space = Space(asked.base, _axes(asked.axes))
        measuring = Measuring(**asked.measuring)
    except (msgspec.ValidationError, ExplorerError, TypeError):
        return None
    workload = workloads.get(space.base.workload)
    if workload is None or workload.sha256 != asked.workload_sha256 or space.count > MAX_POINTS:
        return None
    return Unfinished(group.id, group.time_utc, space, measuring, group.runs)


def cell_words(cell: SweepCell) -> str:
    """Return what a configuration came to, in a line."""
    words = values_words(cell.point.values)
    if cell.skipped is not None:
        return f"{words}: cannot run: {cell.skipped}"
    if cell.result is None:
        return f"{words}: not measured yet"
    parts = [median_words(cell.result)]
    speed = cell.result.throughput
    if speed.flop_per_s:
        parts.append(quantity(speed.flop_per_s, "FLOP/s"))
    if speed.bandwidth_B_per_s:
        parts.append(quantity(speed.bandwidth_B_per_s, "B/s"))
    if cell.result.timing.suspect is not None:
        parts.append(f"SUSPECT: {cell.result.timing.suspect}")
    return f"{words}: {', '.join(parts)}"
