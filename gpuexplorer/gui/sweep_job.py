"""A sweep through the window's engine: the thread that measures it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec
from PySide6.QtCore import Signal

from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.gui.job import EngineJob
from gpuexplorer.gui.worker import EngineWorker
from gpuexplorer.search.measuring import Measuring
from gpuexplorer.search.outcome import SweepCell
from gpuexplorer.search.space import Space
from gpuexplorer.search.space_sweep import SpaceSweep
from gpuexplorer.search.sweep import SweepStep
from gpuexplorer.workloads.workload import Workload

if TYPE_CHECKING:
    from gpuexplorer.gui.cluster_job import JobCluster, WantedCluster
    from gpuexplorer.history.store import Store

TELL_EVERY_S = 0.1
"""Steps are told together, so that a fast sweep does not flood the window."""


class Begun(msgspec.Struct, frozen=True):
    """The cells of a sweep that is about to measure; ``resumed`` were done before.

    ``unreadable`` of those cannot be read in the history and are measured again.
    """

    cells: list[SweepCell]
    resumed: int
    unreadable: int
    continues: bool


class SweepProgress(msgspec.Struct, frozen=True):
    """What was measured since the last time, and which cell is measured now."""

    changed: list[tuple[int, SweepCell]]
    current: int | None
    left: str
    group: str | None


class SweepJob(EngineJob):
    """Measures a space; ``begun`` carries a ``Begun``, ``stepped`` a ``SweepProgress``.

    ``troubled`` carries the error when the runs cannot be kept in the history, ``said`` a sentence
    on a worker of a cluster; measuring goes on. ``standing`` tells what its workers have done.
    """

    doing = "sweeping"
    done = "swept"
    not_done = "the sweep was stopped"

    begun = Signal(object)
    troubled = Signal(object)
    said = Signal(str)
    standing = Signal(object)

    def __init__(
        self,
        worker: EngineWorker,
        space: Space,
        workload: Workload,
        devices: DeviceList,
        measuring: Measuring,
        *,
        resume: bool = False,
        before: Sequence[SweepCell] = (),
        python: str | None = None,
        ceilings: Callable[[DeviceInfo], Ceilings | None] | None = None,
        cluster: WantedCluster | None = None,
    ) -> None:
        """``python`` runs the engine; with ``resume`` an earlier try is gone on with.

        That try's cells are ``before``, should the history not have taken them. ``cluster``
        measures instead, whose devices ``devices`` are.
        """
        super().__init__(worker, ceilings=ceilings)
        self.setObjectName("sweep")
        self.space, self.workload, self.measuring = space, workload, measuring
        self.resumes, self._before = resume, before
        self._devices, self._python = devices, python
        self._ceilings_of = ceilings
        self._cluster = cluster
        self._on: JobCluster | None = None
        self._changed: list[tuple[int, SweepCell]] = []
        self._due = 0.0
        self._sweep: SpaceSweep | None = None

    def work(self) -> object:
        """Measure whatever waits; return True when nothing does any more."""
        store = self._open_store()
        try:
            if self._cluster is not None:
                from gpuexplorer.gui.cluster_job import JobCluster

                self._on = JobCluster(self, self._cluster, self.said.emit, self.standing.emit)
            sweep = self._sweep = SpaceSweep(
                self.space,
                self.workload,
                self._devices if self._on is None else self._on.devices,
                self.measuring,
                store=store,
                resume=self.resumes,
                python=self._python,
                ceilings=self._ceilings_of,
                on_step=self._step,
                on_trouble=self.troubled.emit,
                listed=False,
            )
            if self._before:
                sweep.take_over(self._before)
            self.begun.emit(
                Begun(list(sweep.cells), sweep.resumed, sweep.unreadable, sweep.continues)
            )
            try:
                sweep.run(self._on or self)
            finally:
                self._tell(None, "")
            return True
        finally:
            if self._on is not None:
                self._on.close()
            if store is not None:
                store.close()

    def _open_store(self) -> Store | None:
        from gpuexplorer.history.store import Store

        try:
            return Store.open()
        except ExplorerError as error:
            if self.resumes:
                raise
            self.troubled.emit(error)
            return None

    def _step(self, step: SweepStep) -> None:
        if step.ended:
            self._changed.append((step.index, step.cell))
        now = time.monotonic()
        if now >= self._due:
            self._due = now + TELL_EVERY_S
            self._tell(None if step.ended else step.index, step.left.words)

    def _tell(self, current: int | None, left: str) -> None:
        changed, self._changed = self._changed, []
        group = self._sweep.group if self._sweep is not None else None
        self.stepped.emit(SweepProgress(changed, current, left, group))
