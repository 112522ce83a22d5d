"""Measure every point of a search, one after another, whatever happens to single ones.

On a cluster, which ``Spreads`` them, several are measured at a time; all else is the same.

A point that does not compile, gives a wrong result, hangs or takes its engine down is skipped with
the reason, and the sweep goes on with a fresh engine. What is done is handed to the ``Keeper`` at
once, so a crash loses the configuration that was being measured and nothing else. A point that is
lost with an engine that was ended from outside is not done, and neither is one for which memory was
short at that time: a later try repeats it. (What no free memory of the device could hold is refused
before, with the points that cannot run.)
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Protocol, runtime_checkable

import msgspec

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.interrupts import interrupts_held
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.sweep import PASSING, Why
from gpuexplorer.engine.errors import EngineGone
from gpuexplorer.engine.interleave import Measures
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.search.estimate import Estimate, Estimator
from gpuexplorer.search.measuring import Measuring
from gpuexplorer.search.order import measuring_order
from gpuexplorer.search.outcome import SweepCell, why_of
from gpuexplorer.workloads.workload import Workload

ESTIMATE_EVERY_S = 0.25


class Keeper(Protocol):
    """Keeps what is done, so that another process can go on from there."""

    def keep(self, result: RunResult) -> None:
        """Keep a finished run; nothing is raised."""

    def skip(self, config: RunConfig, reason: str, why: Why) -> None:
        """Keep that a configuration cannot be measured, and why; nothing is raised."""

    def drop(self, result: RunResult) -> None:
        """Keep a run no longer, whose figures do not hold; nothing is raised."""


class Ahead(Protocol):
    """Builds kernels before their turn, where that disturbs no measurement."""

    def begin(self, coming: Sequence[RunConfig]) -> None:
        """Take in what will be measured, in order."""

    def at(self, index: int) -> None:
        """Say that the turn of ``coming[index]`` has come."""

    def close(self) -> None:
        """Stop building."""


class News(msgspec.Struct, frozen=True):
    """What has become of the configuration ``index``, by the order in which they were given.

    With neither result nor error it is begun now, or begun anew, ``dropped`` when what was told of
    it before does not hold: its worker was found to be slow.
    """

    index: int
    result: RunResult | None = None
    error: ExplorerError | None = None
    seconds: float = 0.0
    dropped: bool = False
    record: RunRecord | None = None
    """In place of a result, for whoever goes on with it."""


@runtime_checkable
class Spreads(Protocol):
    """Measures several configurations at a time, each on a device of its own: a cluster."""

    @property
    def lanes(self) -> int:
        """How many it measures at a time."""

    def spread(
        self, configs: Sequence[RunConfig], workload: Workload, options: RunOptions
    ) -> Generator[News | None]:
        """Yield what becomes of each, in any order, and None now and then where nothing is new.

        What was yielded is the caller's: it is let go of with the next step. Closing the generator
        ends what is going. Raises EngineGone when nothing can measure any more.
        """


class SweepStep(msgspec.Struct, frozen=True):
    """One step of a sweep: ``index`` is about to be measured, or was, when ``cell`` has its word.

    ``done`` counts every cell that has a result or a reason, ``total`` all cells.
    """

    index: int
    cell: SweepCell
    done: int
    total: int
    left: Estimate

    @property
    def ended(self) -> bool:
        """Whether the cell is done; otherwise it is being measured now."""
        return not self.cell.waiting


class Sweep:
    """The cells of a search, and the way through those that wait.

    ``pause``, ``resume`` and ``cancel`` may be called from any thread; they act between two
    configurations. (A window's job, which measures, can be paused and cancelled by itself.)
    """

    def __init__(
        self,
        workload: Workload,
        cells: Sequence[SweepCell],
        measuring: Measuring,
        *,
        seed: int = 1,
        keeper: Keeper | None = None,
        ahead: Ahead | None = None,
        on_step: Callable[[SweepStep], None] | None = None,
        least_s: Callable[[RunConfig], float | None] | None = None,
        listed: bool = True,
    ) -> None:
        """``seed`` decides the order; ``least_s`` is ``Estimator``'s, ``listed`` a record's."""
        self.workload = workload
        self.cells = list(cells)
        self.measuring = measuring
        self.keeper = keeper
        self._ahead, self.on_step = ahead, on_step
        self._listed = listed
        waiting = [(i, c.point.config) for i, c in enumerate(self.cells) if c.waiting]
        configs = [config for _, config in waiting if config is not None]
        self._order = [waiting[i][0] for i in measuring_order(configs, seed)]
        self._estimator = Estimator(workload, measuring, configs, least_s=least_s)
        for cell in self.cells:
            if cell.result is not None:
                self._estimator.learn(cell.result)
        self._left: Estimate | None = None
        self._left_due = 0.0
        self._lanes = 1
        self._done = len(self.cells) - len(self._order)
        self._stop = threading.Event()

    @property
    def done(self) -> int:
        """How many cells have a result or a reason."""
        return self._done

    @property
    def waiting(self) -> int:
        """How many cells are still to be measured."""
        return len(self.cells) - self._done

    @property
    def left(self) -> Estimate:
        """How long the rest will take."""
        now = time.monotonic()
        known = self._left is not None and self._left.seconds is not None
        if self._left is None or not known or now >= self._left_due or not self.waiting:
            self._left = self._estimator.left().shared(self._lanes)
            self._left_due = now + max(ESTIMATE_EVERY_S, 20 * (time.monotonic() - now))
        return self._left

    def take(self, cells: Sequence[SweepCell]) -> None:
        """Take over what was done elsewhere meanwhile; not while the sweep runs."""
        for index in [i for i in self._order if not cells[i].waiting]:
            self._order.remove(index)
            self._done += 1
            cell = self.cells[index] = cells[index]
            if cell.point.config is not None:
                self._estimator.took(cell.point.config, 0.0, None)
            if cell.result is not None:
                self._estimator.learn(cell.result)

    # ---- from any thread

    def cancel(self) -> None:
        """Stop after the configuration that is being measured; ``run`` returns what there is."""
        self._stop.set()

    # ---- the way through

    def run(self, engine: Measures | Spreads) -> list[SweepCell]:
        """Measure what waits and return all cells, in the order of the points.

        Nothing is built ahead for a cluster, whose workers build for themselves. Raises EngineGone
        when there is no engine to go on with, and lets through what is no ExplorerError, such as
        KeyboardInterrupt; ``cells`` holds what was done by then.
        """
        if isinstance(engine, Spreads):
            self._spread(engine)
            return self.cells
        try:
            if self._ahead is not None:
                configs = [self.cells[i].point.config for i in self._order]
                self._ahead.begin([config for config in configs if config is not None])
            for turn, index in enumerate(self._order):
                if self._stop.is_set():
                    break
                if self._ahead is not None:
                    self._ahead.at(turn)
                self._measure(engine, index)
        finally:
            if self._ahead is not None:
                self._ahead.close()
        return self.cells

    def _spread(self, engine: Spreads) -> None:
        """Measure what waits on as many devices as there are."""
        order = list(self._order)
        configs = [self._config(index) for index in order]
        with closing(engine.spread(configs, self.workload, self.measuring)) as all_news:
            for news in all_news:
                self._lanes = max(1, engine.lanes)
                if news is not None:
                    self._take_news(order[news.index], news)
                if self._stop.is_set():
                    break

    def _take_news(self, index: int, news: News) -> None:
        outcome = news.result or news.error
        if outcome is not None:
            self._end(index, outcome, news.seconds)
            return
        if news.dropped:
            self._take_back(index)
        self._tell(index)

    def _take_back(self, index: int) -> None:
        """Let a cell wait again whose result does not hold."""
        cell = self.cells[index]
        if cell.result is not None and self.keeper is not None:
            self.keeper.drop(cell.result)
        if not cell.waiting:
            self.cells[index] = SweepCell(cell.point)
            self._estimator.returned(self._config(index))
            self._done -= 1

    def _measure(self, engine: Measures, index: int) -> None:
        self._tell(index)
        started = time.perf_counter()
        outcome: RunResult | ExplorerError
        try:
            record = engine.measure(self._config(index), self.workload, self.measuring)
            outcome = record.result(listed=self._listed)
        except EngineGone:
            raise
        except ExplorerError as error:
            outcome = error
        self._end(index, outcome, time.perf_counter() - started)

    def _end(self, index: int, outcome: RunResult | ExplorerError, seconds: float) -> None:
        """Take in what came of a cell that took ``seconds``."""
        cell, config = self.cells[index], self._config(index)
        with interrupts_held():  # what is done is kept
            if isinstance(outcome, ExplorerError):
                why = why_of(outcome)
                self.cells[index] = cell.skip(outcome.what, why)
                self._estimator.took(config, 0.0, None)
                if self.keeper is not None and why not in PASSING:
                    self.keeper.skip(config, outcome.what, why)
            else:
                self.cells[index] = cell.measured(outcome)
                if self.keeper is not None:
                    self.keeper.keep(outcome)
                self._estimator.took(config, seconds, outcome)
            self._done += 1
        self._tell(index)

    @property
    def coming(self) -> list[RunConfig]:
        """What is still to be measured, in order."""
        return [self._config(index) for index in self._order if self.cells[index].waiting]

    def _config(self, index: int) -> RunConfig:
        config = self.cells[index].point.config
        assert config is not None  # only what waits is in the order
        return config

    def _tell(self, index: int) -> None:
        if self.on_step is not None:
            self.on_step(
                SweepStep(index, self.cells[index], self._done, len(self.cells), self.left)
            )
