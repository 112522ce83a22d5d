"""The block map's measuring in the window: its job, and what Start, Pause and Cancel do."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal

from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.change import Change
from gpuexplorer.core.config import Block
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.gui.job import EngineJob
from gpuexplorer.gui.model.blockmap import MapEnd, MapModel, MeasurableMap
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.worker import EngineWorker
from gpuexplorer.history.keeping import Keeping
from gpuexplorer.search.blockmap import Step

GROUP = "block map"
"""The kind of the group that a map's runs make in the store."""
PLAN_S = 0.008
"""Time at most that planning takes of one turn of the event loop."""


class BlockMapJob(EngineJob):
    """Runs a map's race; ``stepped`` carries each ``Step``, the outcome is a ``MapEnd``."""

    doing = "measuring the block map"
    done = "the block map is measured"
    not_done = "the block map was left"

    def __init__(
        self,
        worker: EngineWorker,
        held: MeasurableMap,
        keeping: Keeping,
        ceilings: Callable[[DeviceInfo], Ceilings | None] | None = None,
    ) -> None:
        """``keeping`` takes the cells' runs as they are measured."""
        super().__init__(worker, ceilings=ceilings)
        self.setObjectName("blockMapJob")
        self._held, self._map, self._keeping = held, held.map, keeping

    def work(self) -> MapEnd:
        """Race to the end; what was measured is kept however that comes."""
        try:
            self._map.run(self.measure, self._tell)
        finally:
            records = self._map.take_records()
            if self._map.begun:
                self._keeping.end(self._held.document(), records, finished=self._map.done)
        return MapEnd(self._map.cells, self._map.best, self._map.ties)

    def _tell(self, step: Step) -> None:
        self.stepped.emit(step)
        self._keeping.offer(lambda: (self._held.document(), self._map.records))


class MapControl(QObject):
    """Follows the knobs while its view is shown, and measures when asked.

    ``changed`` says that there is another map or another state; ``stepped`` that a look was taken.
    """

    changed = Signal()
    stepped = Signal()

    def __init__(self, session: Session, model: MapModel) -> None:
        super().__init__()
        self._session, self.model = session, model
        self._job: BlockMapJob | None = None
        self._measured: MeasurableMap | None = None
        self._watching = False
        self._planner = QTimer(self)
        self._planner.setInterval(0)
        self._planner.timeout.connect(self._plan)
        session.knobs_changed.connect(self._follow)
        session.devices_changed.connect(self._follow)
        session.state_changed.connect(self.changed)

    # ---- what is going on

    @property
    def running(self) -> bool:
        """Whether the map has the engine, or waits in a pause."""
        return self._job is not None and self._session.jobs.current is self._job

    @property
    def paused(self) -> bool:
        """Whether it pauses, or will once its present look has ended."""
        return self.running and self._job is not None and self._job.paused

    @property
    def can_start(self) -> bool:
        """Whether there is something to measure, and nothing else is at work."""
        current = self.model.current
        return self._session.jobs.current is None and current is not None and current.able > 0

    # ---- asked by the view

    def watch(self, on: bool) -> None:
        """Follow the knobs, or leave them alone while the view is hidden."""
        self._watching = on
        if on:
            self._follow()
        else:
            self._planner.stop()

    def start(self) -> None:
        """Measure the map of the knobs, or go on with it."""
        held = self.model.begin() if self.can_start else None
        if held is None:
            return
        held.keeping = held.keeping or self._session.keeping(GROUP)
        job = BlockMapJob(self._session.worker, held, held.keeping, self._session.store.find)
        job.stepped.connect(self._stepped)
        job.ended.connect(self._ended)
        self._job, self._measured = job, held
        if not self._session.jobs.begin(job):
            self._job = self._measured = None
        self.changed.emit()

    def pause(self) -> None:
        """Let live measuring have the engine for a while, or go on."""
        if self.paused:
            self._session.jobs.resume()
        elif self.running:
            self._session.jobs.pause()
        self.changed.emit()

    def cancel(self) -> None:
        """Leave the map; what was measured stays."""
        if self.running:
            self._session.jobs.cancel()

    def go_to(self, block: Block) -> None:
        """Move the sliders to a block; live measuring begins there unless the map is measured."""
        session = self._session
        if block == session.experiment.knobs.block:
            if session.live or self.running:
                return
        else:
            session.experiment.apply(Change(block=block))
        if not session.live and not session.jobs.measuring:
            session.set_live(True)

    def refresh(self) -> None:
        """Look at the choices of the map again: its grid, its threads along z."""
        self._follow()

    # ---- inside

    def _follow(self) -> None:
        if not self._watching:
            return
        if self.model.follow():
            self._planner.start()
        self.changed.emit()

    def _plan(self) -> None:
        if not self.model.plan(PLAN_S):
            self._planner.stop()
            self.changed.emit()

    def _stepped(self, step: Step) -> None:
        if self._measured is not None:
            self._measured.take(step)
            self.stepped.emit()

    def _ended(self, outcome: object) -> None:
        held, self._measured, self._job = self._measured, None, None
        if held is not None:
            self.model.end(held, outcome if isinstance(outcome, MapEnd) else None)
        self.changed.emit()
