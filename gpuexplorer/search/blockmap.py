"""The block map: one configuration with every block over threads x × threads y, raced to the best.

``BlockMap`` holds what is known of each cell and runs the race through any ``measure``: that of a
blocking session, or of the window's job. It can be left at any moment and gone on with.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
import numpy as np

from gpuexplorer.core.comparison import Comparison
from gpuexplorer.core.config import Block, RunConfig, RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.fields import Amount, Count, Seconds
from gpuexplorer.core.result import Resources, not_verified
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.statistics import Summary
from gpuexplorer.engine.errors import LongRun
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.search.block_grid import Grid, heats
from gpuexplorer.search.leaders import ROUNDS
from gpuexplorer.search.looking import Neighbourhood, Taken, take
from gpuexplorer.search.outcome import SweepCell
from gpuexplorer.search.racing import Race
from gpuexplorer.search.runner import Look, Runner
from gpuexplorer.search.space import Axis, Point, Space
from gpuexplorer.workloads.workload import Workload

STOPPED_BY = "race"
LEAST_TURNS_S = 10.0
"""The turns may last so long, or as long as all looks before, while it is not known who leads."""
PACE = 24
"""Looks over which the pace is taken."""

State = Literal["waiting", "measured", "cannot", "long", "failed", "suspect"]


Measure = Callable[[RunConfig, Workload, RunOptions], RunRecord]
"""Measures one configuration, as ``Session.measure`` does."""


class MapCell(msgspec.Struct, frozen=True):
    """What is known of one block at present."""

    block: Block
    state: State
    reason: str = ""
    """Why there is no time, or why it is not believed."""
    time_s: Seconds | None = None
    """The median of its launches, as its run has it."""
    ci95_low_s: Seconds | None = None
    """Ends of the median's 95 % interval; None for too few launches."""
    ci95_high_s: Seconds | None = None
    samples: Count = 0
    looked_s: Seconds | None = None
    """What its fastest launch typically took in looks; by this it was held against the best."""
    turns: Count = 0
    """Turns that it took beside the best; 0 for one that took none."""
    flops: Amount = 0.0
    compulsory_B: Amount = 0.0
    out: bool = False
    """Whether it was found to be slower than the best."""
    ratio: Comparison | None = None
    """Its time over the best's, of a finalist."""
    resources: Resources | None = None
    not_verified: Annotated[str, msgspec.Meta(max_length=200)] = ""
    """What nobody knows to be right of its result, in words; empty where all was verified."""


@dataclass(slots=True)
class _Entry:
    """One cell while it is measured."""

    point: Point
    record: RunRecord | None = None
    """Its run."""
    own: bool = False
    """Whether further looks go on with it; one that another map measured stays as it is."""
    skipped: str = ""
    state: State = "waiting"
    summary: Summary | None = None
    """The figures of its run, as the history and files have them."""

    def add(self, record: RunRecord) -> None:
        """Take in a look."""
        if self.record is not None and self.own:
            self.record.extend(record)
        else:
            self.record, self.own = record, True
        self.record.end(STOPPED_BY)
        self.summary = self.record.summary()


class Recorded(msgspec.Struct, frozen=True):
    """A copy of what was recorded of a cell; later looks leave it alone."""

    point: Point
    skipped: str
    record: RunRecord | None

    def outcome(self) -> SweepCell:
        """Return the cell with the document of its run, or why it has none."""
        cell = SweepCell(self.point, skipped=self.skipped or None)
        return cell.measured(self.record.result(listed=False)) if self.record is not None else cell


class MapStep(msgspec.Struct, frozen=True):
    """One look that was taken: which cell, and how far the map is."""

    cell: MapCell
    next: Block | None
    looks: int
    left_s: float | None
    """About how much longer it takes; None while nothing is known."""
    phase: str
    measured: int
    """How many cells have a time, or turned out to have none."""
    best: Block | None
    contenders: int
    """How many may still be the best."""


def _why_withdrawn(taken: Taken) -> tuple[State, str]:
    """Return the state of a cell that a look was the last of, and the reason."""
    if taken.error is None:
        return "suspect", taken.suspect or ""
    return "long" if isinstance(taken.error, LongRun) else "failed", taken.error.what


def map_points(
    base: RunRequest, grid: Grid, workload: Workload, devices: DeviceList
) -> list[Point]:
    """Return the points of a grid in row-major order, threads y before threads x.

    Raises what ``Space.points`` raises.
    """
    return map_space(base, grid).points(workload, devices)


def map_space(base: RunRequest, grid: Grid) -> Space:
    """Return the grid as a space of configurations over a request."""
    z = Axis("block.z", (grid.z,))
    return Space(base, (z, Axis("block.y", grid.y), Axis("block.x", grid.x)))


class BlockMap:
    """The cells of a grid and their race.

    ``points`` are those of ``map_points``. ``before`` is an earlier map of the same configuration
    over another grid; what it measured is taken over.
    """

    def __init__(
        self,
        points: Sequence[Point],
        grid: Grid,
        workload: Workload,
        *,
        before: BlockMap | None = None,
        seed: int | None = None,
        rounds: int = ROUNDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.grid = grid
        self._clock = clock
        self.workload = workload
        self._entries = [_Entry(point) for point in points]
        for entry in self._entries:
            if entry.point.config is None:
                entry.state, entry.skipped = "cannot", entry.point.skipped or ""
        self._neighbourhood = Neighbourhood(
            [divmod(number, len(grid.x)) for number in range(len(points))]
        )
        self.race = Race(
            heats(grid, [e.point.config is not None for e in self._entries]),
            expect=self.expected_s,
            known=self._take_over(before) if before is not None else None,
            seed=seed,
            rounds=rounds,
            time_is_up=lambda: self.spent_s - self._looks_s >= max(self._looks_s, LEAST_TURNS_S),
        )
        self._looks_s = 0.0
        self._paces_s: deque[float] = deque(maxlen=PACE)
        self.spent_s = 0.0
        """Seconds spent on measuring it."""

    # ---- what is known

    @property
    def done(self) -> bool:
        """Whether the best is found."""
        return self.race.done

    @property
    def begun(self) -> bool:
        """Whether any cell was measured."""
        return self.race.looks > 0

    @property
    def cells(self) -> list[MapCell]:
        """Every cell in row-major order, threads y before threads x."""
        compared = self.race.leaders.against_best()
        return [self._cell(n, compared) for n in range(len(self._entries))]

    def cell(self, block: Block) -> MapCell | None:
        """Return what is known of a block; None when it is not on the grid."""
        number = self.grid.number(block)
        return None if number is None else self._cell(number, self.race.leaders.against_best())

    @property
    def best(self) -> Block | None:
        """The best block so far."""
        best = self.race.best
        return self._block(best) if best is not None else None

    @property
    def best_run(self) -> str | None:
        """The id of the run of the best block so far."""
        best = self.race.best
        record = self._entries[best].record if best is not None else None
        return record.id if record is not None else None

    @property
    def ties(self) -> frozenset[Block]:
        """The blocks that cannot be told from the best, itself among them, once it is done."""
        return frozenset(self._block(n) for n in self.race.ties)

    @property
    def points(self) -> list[Point]:
        """The points of the grid, in row-major order."""
        return [entry.point for entry in self._entries]

    def outcomes(self) -> list[SweepCell]:
        """Return each cell with the document of its run, or why it has none."""
        return [one.outcome() for one in self.recorded()]

    def recorded(self) -> list[Recorded]:
        """Return what was recorded of each cell, quickly; while it is not measured."""
        return [
            Recorded(
                entry.point,
                entry.skipped,
                entry.record.snapshot() if entry.record and not entry.skipped else None,
            )
            for entry in self._entries
        ]

    @property
    def records(self) -> list[RunRecord]:
        """The cells' runs that were measured for this map; further looks go on with them."""
        return [e.record for e in self._entries if e.record is not None and e.own]

    def expected_s(self, number: int) -> float | None:
        """Guess what a cell takes from the nearest others that were measured; None without any."""
        return self._neighbourhood.expected_s(number, self.race)

    def seconds_left(self) -> float | None:
        """Return about how much longer it takes; None before the first look."""
        if not self._paces_s:
            return None
        return self.race.looks_left() * float(np.mean(self._paces_s))

    # ---- measuring

    def run(self, measure: Measure, on_step: Callable[[MapStep], None] | None = None) -> None:
        """Measure until the race is over; what ``measure`` raises leaves the map as it was.

        A cell whose launch would take too long, that fails or is wrong is withdrawn with its
        reason. Raises CannotRunHere when nothing can be measured any more.
        """
        while (look := self.race.next()) is not None:
            began = self._clock()
            self._take(look, measure)
            took_s = self._clock() - began
            self._paces_s.append(took_s)
            self.spent_s += took_s
            self._looks_s += took_s if look.phase != "turns" else 0.0
            if on_step is not None:
                on_step(self._step(look.number))

    def _take(self, look: Look, measure: Measure) -> None:
        entry = self._entries[look.number]
        config = entry.point.config
        assert config is not None  # others are not in the race
        taken = take(self.race, look, lambda options: measure(config, self.workload, options))
        if taken.record is not None:
            entry.add(taken.record)
            entry.state = "measured"
        if taken.withdrawn:
            entry.state, entry.skipped = _why_withdrawn(taken)

    # ---- inside

    def _take_over(self, before: BlockMap) -> dict[int, Runner]:
        """Have what another grid's cells already know; return their runners, by number here."""
        known: dict[int, Runner] = {}
        for number, entry in enumerate(self._entries):
            old = before.grid.number(self._block(number))
            if old is None or entry.point.config is None:
                continue
            there = before._entries[old]
            runner = before.race.runners.get(old)
            if runner is None or there.state == "waiting":
                continue
            entry.record, entry.summary = there.record, there.summary
            entry.state, entry.skipped = there.state, there.skipped
            known[number] = Runner(
                fastest_s=list(runner.fastest_s),
                samples=runner.samples,
                withdrawn=runner.withdrawn,
            )
        return known

    def _block(self, number: int) -> Block:
        return self.grid.block(number)

    def _cell(self, number: int, compared: Mapping[int, Comparison]) -> MapCell:
        entry = self._entries[number]
        block = self._block(number)
        runner = self.race.runners.get(number)
        record, summary = entry.record, entry.summary
        if record is None or summary is None or runner is None:
            return MapCell(block, entry.state, entry.skipped)
        return MapCell(
            block=block,
            state=entry.state,
            reason=entry.skipped,
            time_s=summary.median_s,
            ci95_low_s=summary.ci95_low_s,
            ci95_high_s=summary.ci95_high_s,
            samples=record.samples,
            looked_s=runner.typical_s if runner.fastest_s else None,
            turns=len(runner.turns_s),
            flops=record.prepared.flops,
            compulsory_B=sum(t.total_B for t in record.prepared.traffic if t.kind == "compulsory"),
            out=runner.out,
            ratio=compared.get(number),
            resources=record.prepared.resources,
            not_verified=not_verified(record.prepared.verification),
        )

    def _step(self, number: int) -> MapStep:
        upcoming = None if self.race.done else self.race.next()
        return MapStep(
            cell=self._cell(number, self.race.leaders.against_best()),
            next=self._block(upcoming.number) if upcoming is not None else None,
            looks=self.race.looks,
            left_s=self.seconds_left(),
            phase=self.race.phase,
            measured=sum(e.state not in ("waiting", "cannot") for e in self._entries),
            best=self.best,
            contenders=len(self.race.contenders),
        )
