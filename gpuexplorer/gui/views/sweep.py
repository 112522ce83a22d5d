"""The Sweep: what shall vary, its job, the chart and table of its configurations, its offer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

import msgspec
from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from gpuexplorer.charts.sweep_points import FIGURES, Figure
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.language import tr
from gpuexplorer.core.units import count
from gpuexplorer.gui.export import Exported
from gpuexplorer.gui.model import sweep_preview
from gpuexplorer.gui.model.sweep import HeldSweep, SweepModel, Unfinished, cell_words, unfinished
from gpuexplorer.gui.model.sweep_axes import first_choice, offers, space_of
from gpuexplorer.gui.model.sweep_preview import sweep_command
from gpuexplorer.gui.notice import Notice, capital, not_kept
from gpuexplorer.gui.panels.result_tab import sweep_files
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.sweep_job import Begun, SweepJob, SweepProgress
from gpuexplorer.gui.typeface import for_text
from gpuexplorer.gui.views.job_view import JobView, Preview
from gpuexplorer.gui.views.result_page import Picture
from gpuexplorer.gui.views.sweep_form import SweepForm
from gpuexplorer.gui.widgets.list_box import BOX_LEAST_WIDTH, ListBox
from gpuexplorer.results.sweep import SweepRows
from gpuexplorer.search.keeping import devices_used
from gpuexplorer.search.measuring import Measuring
from gpuexplorer.search.outcome import SweepCell
from gpuexplorer.search.space import Space
from gpuexplorer.workloads.workload import Workload

if TYPE_CHECKING:
    from gpuexplorer.gui.cluster_job import WantedCluster

ANEW = (
    "The sweep starts anew: its devices, drivers or CPU threads are not those of the earlier one."
)
AGAIN = (
    "Runs of the earlier sweep that cannot be read in the history are measured again: {}. "
    "'gpuexplorer doctor' names them."
)


class WantedSweep(msgspec.Struct, frozen=True):
    """A sweep that is asked for; ``resume``: what an earlier try has finished is kept."""

    space: Space
    workload: Workload
    measuring: Measuring
    devices: DeviceList
    resume: bool = False
    before: tuple[SweepCell, ...] = ()
    """Of one that this window began and goes on with: its cells so far."""
    cluster: WantedCluster | None = None
    """Where it is measured; None: with the window's engine."""


class SweepView(JobView[HeldSweep, WantedSweep]):
    """The view of a sweep; its marks are the configurations' numbers."""

    hint = "Choose what shall vary, then press Start."

    def __init__(self, session: Session) -> None:
        self.model = SweepModel()
        self.form = SweepForm()
        super().__init__(session, "sweep", "Sweep", "sweep", self.model, self.form)
        self.figure = ListBox("sweepMeasure", "What the chart shows of each configuration")
        for name, (title, _) in FIGURES.items():
            self.figure.addItem(tr(title), name)
        self.figure.currentIndexChanged.connect(lambda _: self.refresh(at_once=True))
        self.figure.setMinimumWidth(for_text(BOX_LEAST_WIDTH))
        self.head.add(self.figure)
        self.column.insertWidget(0, self.head)
        self.head.line.setContentsMargins(12, 6, 8, 4)
        self.offer = SweepOffer(self._take_unfinished, self._forget_unfinished)
        self.column.insertWidget(1, self.offer)
        self._shape: tuple[object, ...] = ()
        self._rows = SweepRows({})
        self._unfinished: Unfinished | None = None
        self._asked: WantedSweep | None = None
        """What the latest job was to measure."""
        self._latest: WantedSweep | None = None
        """The latest of them that has begun to."""
        self._looked = False
        self.show_state()

    # ---- what is wanted

    def follow_knobs(self) -> None:
        """Offer the knobs as axes; what was written stays while they are the same."""
        experiment = self._session.experiment
        kind = experiment.knobs.workload, experiment.knobs.variant
        if self._shape[:1] != (kind,):
            self.form.forget()
            flops = str(experiment.workload.manifest.work.flops) not in ("0", "0.0")
            self.figure.setCurrentIndex(self.figure.findData("flops" if flops else "bandwidth"))
        found = offers(experiment)
        if (kind, tuple(found)) != self._shape:
            self._shape = (kind, tuple(found))
            self.form.show_offers(found, first_choice(experiment))
        else:
            self.look_soon()
        if not self._looked:
            self._looked = True
            self.in_background("unfinished", partial(_find, dict(experiment.workloads)))

    def look(self) -> Callable[[], Preview[WantedSweep]]:
        """Return what finds out what the space comes to."""
        session = self._session
        devices, workload = session.experiment.devices, session.experiment.workload
        if devices is None:
            raise InputError("the devices are not known yet", remedy="wait for the engine")
        space = space_of(session.experiment, self.form.chosen)
        measuring = Measuring(samples=self.form.samples.value())
        cluster = self.form.cluster.wanted
        if cluster is not None:
            devices = cluster.devices
            space = msgspec.structs.replace(
                space, base=msgspec.structs.replace(space.base, device=cluster.device)
            )
        wanted = WantedSweep(space, workload, measuring, devices, cluster=cluster)
        run = session.live_model.current
        live = run.record.snapshot() if run is not None and run.record is not None else None

        def find() -> Preview[WantedSweep]:
            found = sweep_preview.preview(
                space, workload, devices, measuring, session.store.find, live
            )
            return Preview(wanted, found.total, found.estimate, found.reasons, found.runs > 0)

        return find

    def close_down(self) -> None:
        """End what the view and its form have started."""
        self.form.cluster.close_down()
        super().close_down()

    # ---- the job

    def job(self, wanted: WantedSweep) -> SweepJob:
        """Return the job that measures it."""
        session = self._session
        job = SweepJob(
            session.worker, wanted.space, wanted.workload, wanted.devices, wanted.measuring,
            resume=wanted.resume, before=wanted.before, python=session.options.python,
            ceilings=session.store.find, cluster=wanted.cluster,
        )  # fmt: skip
        job.said.connect(lambda words: self.notice.emit(Notice("warning", f"{capital(words)}.")))
        job.standing.connect(self.form.cluster.show_standing)
        job.begun.connect(self._begun)
        job.troubled.connect(lambda error: self.notice.emit(not_kept("sweep", error)))
        return job

    def began(self, wanted: WantedSweep) -> None:
        """Note that the sweep has begun; its configurations come with ``_begun``."""
        self.offer.hide()
        self._asked = wanted

    @Slot(object)
    def _begun(self, begun: Begun) -> None:
        if not isinstance(job := self._job, SweepJob):
            return
        self._latest = self._asked
        if job.resumes and not begun.continues and not begun.resumed:
            self.notice.emit(Notice("info", ANEW))
        if begun.unreadable:
            self.notice.emit(Notice("warning", AGAIN.format(count(begun.unreadable))))
        self.model.begin(job.space, job.workload, begun.cells, job.measuring, begun.resumed)
        self._show_space()

    def take(self, step: SweepProgress) -> bool:
        """Take in what was measured since the last time."""
        self.model.take(step.changed, step.current, step.left)
        self.model.entered(step.group)
        return True

    def end(self, job: SweepJob, error: str) -> None:
        """Note that nothing is measured any more."""
        if self.model.running:
            self.model.end()

    @property
    def done(self) -> tuple[int, int]:
        """The configurations that wait no more, of all."""
        return len(self.model.cells) - self.model.waiting, len(self.model.cells)

    def rest(self) -> WantedSweep | None:
        """Return the sweep that was left before its end, on the devices as they are now."""
        held, devices = self.model.held, self._session.experiment.devices
        left = self.model.waiting > 0 or self.model.unfinished > 0
        if held is None or held.workload is None or devices is None or not left:
            return None
        if (latest := self._latest) is not None and latest.space is held.space:
            cells = tuple(self.model.cells)
            if latest.cluster is not None:
                return msgspec.structs.replace(latest, resume=True, before=cells)
            before = latest.devices  # as a rule the same, and nobody asks each of 100,000 cells
            same = devices == before or devices_used(cells, devices) == devices_used(cells, before)
            return msgspec.structs.replace(
                latest, devices=devices, resume=True, before=cells if same else ()
            )
        return WantedSweep(held.space, held.workload, held.measuring, devices, resume=True)

    # ---- showing

    def about(self) -> tuple[str, Sequence[str]]:
        """Return what a sweep would do."""
        axes = ""
        if self.preview is not None:
            axes = " × ".join(axis.title for axis in self.preview.wanted.space.axes)
        return "Nothing is swept yet", (
            "A sweep measures every combination of the values that the ticked knobs take, and "
            "draws the landscape: a heat map, lines or bars, with every figure in a table.",
            f"Start measures {axes}." if axes else "",
        )

    def picture(self, result: HeldSweep) -> Callable[[], Picture]:
        """Return what makes the sweep's table and chart, and its fastest configuration."""
        return partial(_picture, result, self._rows, self._chosen_figure)

    @property
    def _chosen_figure(self) -> Figure:
        return cast(Figure, str(self.figure.currentData()))

    def words_of(self, key: str) -> str:
        """Return what a configuration came to."""
        return cell_words(self.model.cells[int(key)])

    def current_mark(self) -> str | None:
        """Return the configuration that is measured now."""
        return None if self.model.current is None else str(self.model.current)

    def config_of(self, key: str) -> RunConfig | None:
        """Return a configuration of the sweep."""
        cell = self.model.cells[int(key)]
        return cell.result.config if cell.result is not None else cell.point.config

    def held(self) -> HeldSweep | None:
        """Return the sweep so far; None without one, or with nothing measured."""
        held = self.model.snapshot()
        return held if held and any(cell.result is not None for cell in held.cells) else None

    def show_held(self, held: HeldSweep | None) -> None:
        """Show another sweep; None: nothing."""
        self.model.show(held)
        self._show_space()

    def _show_space(self) -> None:
        held = self.model.held
        self._rows = SweepRows(held.space.values if held else {})
        self.replaced()

    # ---- keeping

    def command(self, wanted: WantedSweep) -> str:
        """Return the command line that does the same."""
        options, cluster = self._session.options, wanted.cluster
        return sweep_command(
            wanted.space, wanted.measuring, self.kernel_folders(),
            threads=options.threads, engine=options.python,
            cluster=cluster.where if cluster is not None else None,
        )  # fmt: skip

    def files(self, result: HeldSweep) -> Exported:
        """Return how the sweep so far is written to files."""
        axes = "-".join(axis.title for axis in result.space.axes)
        stem = f"sweep-{result.space.base.workload}-{axes}"
        return sweep_files(result.to_document, stem, self._chosen_figure)

    # ---- a sweep that was interrupted

    def found(self, kind: str, outcome: object) -> None:
        """Offer the sweep of the store that was not brought to its end."""
        if isinstance(outcome, Unfinished):
            self._unfinished = outcome
            if not self.model.running:
                self.offer.ask(outcome.words)

    def _take_unfinished(self) -> None:
        found, experiment = self._unfinished, self._session.experiment
        workload = experiment.workloads.get(found.space.base.workload) if found else None
        if found is not None and workload is not None and experiment.devices is not None:
            self.begin(
                WantedSweep(found.space, workload, found.measuring, experiment.devices, resume=True)
            )

    def _forget_unfinished(self) -> None:
        found, self._unfinished = self._unfinished, None
        if found is not None:
            self.in_background("forget", partial(_forget, found.group))


class SweepOffer(QWidget):
    """Asks whether to continue a sweep that was interrupted."""

    def __init__(self, take: Callable[[], object], forget: Callable[[], object]) -> None:
        super().__init__()
        self.setObjectName("sweepOffer")
        line = QHBoxLayout(self)
        line.setContentsMargins(12, 2, 8, 4)
        self.words = QLabel()
        self.words.setObjectName("sweepOfferWords")
        self.words.setWordWrap(True)
        line.addWidget(self.words, 1)
        for words, name, act, tip in (
            ("Continue it", "sweepOfferTake", take,
             "Measure what is left of it; nothing is measured twice"),
            ("Not now", "sweepOfferLeave", lambda: None,
             "Ask again when the window is opened next"),
            ("Forget it", "sweepOfferForget", forget,
             "Do not ask again; its runs stay in the history"),
        ):  # fmt: skip
            button = QPushButton(tr(words))
            button.setObjectName(name)
            button.setToolTip(tr(tip))
            button.clicked.connect(self.hide)
            button.clicked.connect(lambda _=False, act=act: act())
            line.addWidget(button)
        self.hide()

    def ask(self, words: str) -> None:
        """Show the question."""
        self.words.setText(tr(words))
        self.show()


def _picture(held: HeldSweep, rows: SweepRows, figure: Figure) -> Picture:
    outcomes = (cell.result or cell.skipped for cell in held.cells)
    best = held.best
    fastest = f"Fastest: {cell_words(held.cells[best])}" if best is not None else ""
    return Picture(rows.sheet(outcomes), held.chart(figure), fastest, held.caption)


def _forget(group: str) -> None:
    from gpuexplorer.history.store import Store

    with Store.open() as store:
        store.change_group(group, finished=True)


def _find(workloads: dict[str, Workload]) -> Unfinished | ExplorerError | None:
    from gpuexplorer.history.store import Store

    with Store.open_to_read() as store:
        return unfinished(store.groups("sweep"), workloads)
