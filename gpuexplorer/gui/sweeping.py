"""The sweep's measuring in the window: what is asked for comes to, its job, interrupted ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.units import count
from gpuexplorer.gui.model.sweep import SweepModel, Unfinished, unfinished
from gpuexplorer.gui.model.sweep_axes import space_of
from gpuexplorer.gui.model.sweep_preview import Preview, preview
from gpuexplorer.gui.notice import Notice, capital, not_kept
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.sweep_job import Begun, SweepJob, SweepProgress
from gpuexplorer.gui.task import Background
from gpuexplorer.search.measuring import Measuring
from gpuexplorer.search.space import Space
from gpuexplorer.workloads.workload import Workload

LOOK_AFTER_MS = 180
"""A knob that is being turned is not followed at every step."""
ANEW = (
    "The sweep starts anew: its devices, drivers or CPU threads are not those of the earlier one."
)
AGAIN = (
    "Runs of the earlier sweep that cannot be read in the history are measured again: {}. "
    "'gpuexplorer doctor' names them."
)


class SweepControl(QObject):
    """Finds out what a sweep comes to, and starts, pauses, continues and ends it.

    ``changed`` says that something else can be done; ``totalled`` carries what is asked for in
    words: the total, the estimate, why some cannot run. ``replaced`` says that another sweep is in
    the model, ``stepped`` that it went on, ``ended`` whether it came to its end. ``offered``
    carries a sweep of the store that was interrupted.
    """

    changed = Signal()
    totalled = Signal(str, str, object)
    replaced = Signal()
    stepped = Signal()
    ended = Signal(bool)
    offered = Signal(object)
    notice = Signal(object)

    def __init__(
        self,
        session: Session,
        model: SweepModel,
        chosen: Callable[[], Mapping[str, str]],
        samples: Callable[[], int],
    ) -> None:
        """``chosen`` tells the axes with their texts, ``samples`` the launches of each point."""
        super().__init__()
        self._session, self.model = session, model
        self._chosen, self._samples = chosen, samples
        self.preview: Preview | None = None
        """What is asked for; None while that is looked at, and when it cannot be."""
        self.job: SweepJob | None = None
        self._asked: object | None = None
        self._unfinished: Unfinished | None = None
        self._looked = False
        self._background = Background("sweep-background")
        self._background.ended.connect(self._background_ended)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._ask_preview)
        session.state_changed.connect(self.changed)

    def close_down(self) -> None:
        """End the thread and the timer."""
        self._timer.stop()
        self._background.close()

    def _background_ended(self, kind: str, outcome: object) -> None:
        if kind == "preview" and isinstance(outcome, tuple):
            self._previewed(*outcome)
        elif kind == "unfinished" and isinstance(outcome, Unfinished):
            self._unfinished = outcome
            if not self.model.running:
                self.offered.emit(outcome)

    # ---- what is asked for

    @property
    def can_start(self) -> bool:
        """Whether something is asked for that can run."""
        return self.preview is not None and self.preview.runs > 0

    @property
    def free(self) -> bool:
        """Whether no job has the engine."""
        return self._session.jobs.current is None

    @property
    def measuring(self) -> Measuring:
        """How each configuration is measured."""
        return Measuring(samples=self._samples())

    def look_soon(self) -> None:
        """Find out anew what is asked for, once the knobs rest."""
        self.preview = self._asked = None
        self._timer.start(LOOK_AFTER_MS)
        self.changed.emit()

    def _ask_preview(self) -> None:
        session = self._session
        devices = session.experiment.devices
        if devices is None:
            self.totalled.emit("The devices are not known yet.", "", ())
            return
        try:
            space = space_of(session.experiment, self._chosen())
        except ExplorerError as error:
            self.totalled.emit(f"{capital(str(error))}.", "", ())
            self.changed.emit()
            return
        run = session.live_model.current
        live = run.record.snapshot() if run is not None and run.record is not None else None
        asked = self._asked = object()
        workload, measuring, ceilings = (
            session.experiment.workload,
            self.measuring,
            session.store.find,
        )

        def work() -> tuple[object, Preview | ExplorerError]:
            try:
                return asked, preview(space, workload, devices, measuring, ceilings, live)
            except ExplorerError as error:
                return asked, error

        self._background.ask("preview", work)

    def _previewed(self, asked: object, found: Preview | ExplorerError) -> None:
        if asked is not self._asked:  # another space is asked for by now
            return
        if isinstance(found, ExplorerError):
            self.totalled.emit(f"{capital(str(found))}.", "", ())
        else:
            self.preview = found
            self.totalled.emit(found.total, found.estimate, found.reasons)
        self.changed.emit()

    # ---- the job

    def start(self) -> None:
        """Measure the space that is asked for."""
        if self.preview is not None and self.can_start:
            experiment = self._session.experiment
            self._begin(self.preview.space, experiment.workload, self.measuring, resume=False)

    def go_on(self) -> None:
        """Go on: after a pause, or with what a cancelled sweep has left."""
        held = self.model.held
        if self.model.state == "paused":
            self._session.jobs.resume()
            self.model.state = "running"
            self.changed.emit()
        elif held is not None and held.workload is not None:
            self._begin(held.space, held.workload, held.measuring, resume=True)

    def pause(self) -> None:
        """Give the engine back to live measuring once the present run has ended."""
        if self.model.state == "running":
            self.model.state = "paused"
            self._session.jobs.pause()
            self.changed.emit()

    def cancel(self) -> None:
        """Stop; what was measured is kept."""
        self._session.jobs.cancel()

    def _begin(
        self, space: Space, workload: Workload, measuring: Measuring, *, resume: bool
    ) -> None:
        session = self._session
        devices = session.experiment.devices
        if devices is None:
            return
        job = SweepJob(
            session.worker, space, workload, devices, measuring,
            resume=resume, python=session.options.python, ceilings=session.store.find,
        )  # fmt: skip
        job.begun.connect(self._begun)  # nothing that holds the job: it would hold itself
        job.stepped.connect(self._stepped)
        job.troubled.connect(self._troubled)
        job.ended.connect(self._ended)
        if session.jobs.begin(job):
            self.job = job
            self.changed.emit()

    def _begun(self, begun: Begun) -> None:
        job = self.job
        if job is None:
            return
        if job.resumes and not begun.goes_on:
            self.notice.emit(Notice("info", ANEW))
        if begun.unreadable:
            self.notice.emit(Notice("warning", AGAIN.format(count(begun.unreadable))))
        self.model.begin(job.space, job.workload, begun.cells, job.measuring, begun.resumed)
        self.replaced.emit()

    def _stepped(self, progress: SweepProgress) -> None:
        if self.job is None:
            return
        self.model.take(progress.changed, progress.current, progress.left)
        self.model.entered(progress.group)
        self.stepped.emit()

    def _troubled(self, error: ExplorerError) -> None:
        self.notice.emit(not_kept("sweep", error))

    def _ended(self, outcome: object) -> None:
        self.job = None
        if self.model.running:
            self.model.end()
        self.ended.emit(outcome is True)

    # ---- sweeps that were interrupted

    def look_for_unfinished(self) -> None:
        """Look in the store, the first time, for a sweep that can be gone on with."""
        if not self._looked:
            self._looked = True
            workloads = dict(self._session.experiment.workloads)
            self._background.ask("unfinished", partial(_find_unfinished, workloads))

    def take_unfinished(self) -> None:
        """Go on with the sweep that was found."""
        found = self._unfinished
        workloads = self._session.experiment.workloads
        workload = workloads.get(found.space.base.workload) if found is not None else None
        if found is not None and workload is not None:
            self._begin(found.space, workload, found.measuring, resume=True)

    def forget_unfinished(self) -> None:
        """Never offer that sweep again; its runs stay in the history."""
        found, self._unfinished = self._unfinished, None
        if found is not None:
            self._background.ask("forget", partial(_forget, found.group))


def _forget(group: str) -> None:
    from gpuexplorer.history.store import Store

    with Store.open() as store:
        store.change_group(group, finished=True)


def _find_unfinished(workloads: dict[str, Workload]) -> Unfinished | None:
    from gpuexplorer.history.store import Store

    with Store.open_to_read() as store:
        return unfinished(store.groups("sweep"), workloads)
