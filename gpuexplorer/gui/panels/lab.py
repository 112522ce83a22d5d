"""The Lab: three studies of one workload, started, paused and cancelled, each filling its chart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QApplication,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.charts.studies_words import subject
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.studies import STUDY_GROUP, Study, without_runs
from gpuexplorer.gui.lab_job import LabJob
from gpuexplorer.gui.model.lab import TITLES, Kind, LabModel, Progress, has_figures
from gpuexplorer.gui.model.lab_command import study_command
from gpuexplorer.gui.model.lab_file import HeldStudy
from gpuexplorer.gui.model.lab_offers import time_words, total_words
from gpuexplorer.gui.model.lab_wanted import Wanted
from gpuexplorer.gui.model.lab_words import finding
from gpuexplorer.gui.notice import Notice, capital
from gpuexplorer.gui.panels.lab_bench import LabBench
from gpuexplorer.gui.panels.lab_head import ASK, LabHead
from gpuexplorer.gui.panels.result_files import study_files
from gpuexplorer.gui.panels.result_tab import Exported
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.task import Background
from gpuexplorer.history.store import Store

LOOK_AFTER_MS = 180
"""A knob that is being turned is not followed at every step."""
DOING: dict[Kind, str] = {
    "precision": "measuring precisions",
    "switches": "measuring switches",
    "speedup": "comparing two devices",
}


class LabView(QWidget):
    """Wires choices, job and benches; ``notice``, ``said`` and ``restored`` are for the window."""

    notice = Signal(object)
    said = Signal(str)
    restored = Signal(object)
    """A configuration that the knobs shall take."""
    changed = Signal()
    """Another study was measured."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.setObjectName("labView")
        self.setAutoFillBackground(True)
        self.setBackgroundRole(self.palette().ColorRole.Base)
        self._session = session
        self.kernel_folders: Callable[[], Sequence[Path]] = tuple
        """Returns the user's kernel folders, which a copied command names."""
        self.benches: dict[Kind, LabBench] = {}
        """Those that were shown by now."""
        self._job: LabJob | None = None
        self._measured: LabBench | None = None
        self._wanted: Wanted | None = None
        """What the shown study would measure; None while that cannot be."""
        self._asked: object | None = None
        self._pointed: str | None = None
        self._background = Background("lab-background")
        self._background.ended.connect(self._looked)
        self._look_timer = QTimer(self)
        self._look_timer.setSingleShot(True)
        self._look_timer.timeout.connect(self._look)
        self._build()
        session.knobs_changed.connect(self._follow)
        session.devices_changed.connect(self._follow)
        session.state_changed.connect(self._show_state)
        self._show_state()

    # ---- construction

    def _build(self) -> None:
        self.head = LabHead()
        self.words = self.head.words
        self.head.view_asked.connect(self._view_asked)
        for button, act in (
            (self.head.copy, self.copy_command),
            (self.head.start, self.start),
            (self.head.pause, self.pause),
            (self.head.cancel, self._session.jobs.cancel),
        ):
            button.clicked.connect(lambda _=False, act=act: act())
        self.pages = QStackedWidget()
        self.bench_of("precision")
        self.head.views["precision"].setChecked(True)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addWidget(self.head)
        whole.addWidget(self.pages, 1)

    def bench_of(self, kind: Kind) -> LabBench:
        """Return the bench of a study, made now or before: three at once would be felt."""
        bench = self.benches.get(kind)
        if bench is None:
            bench = self.benches[kind] = LabBench(LabModel(kind))
            bench.setup.changed.connect(self._look_soon)
            bench.chosen.connect(self._choose)
            bench.pointed.connect(self._point)
            self.pages.addWidget(bench)
        return bench

    # ---- which study

    @property
    def kind(self) -> Kind:
        """The study that is shown."""
        return self.bench.model.kind

    @property
    def bench(self) -> LabBench:
        """The study that is shown."""
        shown = self.pages.currentWidget()
        assert isinstance(shown, LabBench)
        return shown

    def show_kind(self, kind: Kind) -> None:
        """Show another study; the one that is measured goes on."""
        self.head.views[kind].setChecked(True)
        self.pages.setCurrentWidget(self.bench_of(kind))
        self._pointed = None
        self._follow()
        self._show_state()

    def _view_asked(self, kind: str) -> None:
        self.show_kind(cast(Kind, kind))

    def showEvent(self, event: QShowEvent) -> None:
        """Follow the knobs from now on."""
        super().showEvent(event)
        self._follow()

    # ---- what is asked for

    def _follow(self) -> None:
        """Offer what the knobs let the shown study look at; nothing while nobody looks."""
        if not self.isVisible():
            return
        self.bench.setup.follow(self._session.experiment, self._subject())
        self._look_soon()

    def _subject(self) -> str:
        config = self._session.config
        if config is None:
            knobs = self._session.experiment.knobs
            return f"{knobs.workload} · {knobs.variant}"
        left = {"precision": ("precision",), "switches": (), "speedup": ("device", "threads")}
        return subject(config, without=left[self.kind])

    def _look_soon(self) -> None:
        self._wanted = self._asked = None
        self._look_timer.start(LOOK_AFTER_MS)
        self._show_state()

    def _look(self) -> None:
        """Find out, in another thread, what the study comes to."""
        if not self.isVisible():
            return
        try:
            wanted = self.bench.setup.wanted(self._session.experiment)
        except ExplorerError as error:
            self._found(self.bench, None, f"{capital(str(error))}.", "")
            return
        asked = self._asked = object()
        bench = self.bench

        def work() -> tuple[object, LabBench, Wanted | None, str, str]:
            try:
                lab = wanted.lab()
            except ExplorerError as error:
                return asked, bench, None, f"{capital(str(error))}.", ""
            model = wanted.workload.variant(wanted.request.variant or "").model is not None
            took = time_words(lab, wanted.how, model=model)
            return asked, bench, wanted, total_words(lab), took

        self._background.ask("look", work)

    def _looked(self, _kind: str, outcome: object) -> None:
        if isinstance(outcome, ExplorerError):
            self._found(self.bench, None, f"{capital(str(outcome))}.", "")
        elif isinstance(outcome, tuple) and outcome[0] is self._asked:
            self._found(*outcome[1:])

    def _found(self, bench: LabBench, wanted: Wanted | None, total: str, took: str) -> None:
        if bench is self.bench:
            self._wanted = wanted
        bench.setup.show_total(total, took)
        bench.say_empty(f"{total} {took}")
        self._show_state()

    # ---- the job

    def start(self) -> None:
        """Measure what is asked for."""
        wanted, session = self._wanted, self._session
        if wanted is None or self._job is not None:
            return
        job = LabJob(
            session.worker, wanted, DOING[wanted.kind],
            engine=session.options, ceilings=session.store.find,
        )  # fmt: skip
        job.stepped.connect(self._stepped)
        job.ended.connect(self._ended)
        if session.jobs.begin(job):
            self._job, self._measured = job, self.bench_of(wanted.kind)
            self._measured.model.begin()
            self._measured.refresh()
            self._show_state()

    def pause(self) -> None:
        """Give the engine back to live measuring once the present run has ended, or go on."""
        if self._measured is None:
            return
        model = self._measured.model
        if model.state == "paused":
            self._session.jobs.resume()
            model.state = "running"
        else:
            model.state = "paused"
            self._session.jobs.pause()
        self._show_state()

    def _stepped(self, step: tuple[Progress, Study | None]) -> None:
        bench = self._measured
        if bench is None:
            return
        bench.model.take(*step)
        if step[1] is not None:
            bench.refresh()
        self.head.progress.setMaximum(max(1, step[0].total))
        self.head.progress.setValue(step[0].done)
        self._show_words()

    def _ended(self, outcome: object) -> None:
        job, bench = self._job, self._measured
        self._job = self._measured = None
        if job is None or bench is None:
            return
        error = f"{capital(str(outcome))}." if isinstance(outcome, ExplorerError) else ""
        bench.model.end(job.result, error)
        if job.result is not None and has_figures(job.result):
            self._keep(job.result)
        bench.refresh()
        self._look_soon()
        self.changed.emit()
        if bench.model.state == "done":
            found = finding(bench.model.study) if bench.model.study is not None else ""
            self.said.emit(f"{TITLES[bench.model.kind]}: {found}")

    def _keep(self, study: Study) -> None:
        """Keep the study's runs in the history, together."""
        document, runs = without_runs(study), list(study.runs)

        def keep(store: Store) -> str:
            return store.add_group(STUDY_GROUP, document, runs)

        self._session.runs.do(keep, self._told_kept)

    def _told_kept(self, outcome: str | ExplorerError) -> None:
        if isinstance(outcome, ExplorerError):
            text = f"The study's runs are not kept in the history: {outcome}."
            self.notice.emit(Notice("warning", text, detail=outcome.detail))

    def close_down(self) -> None:
        """End the thread and the timer."""
        self._look_timer.stop()
        self._background.close()

    # ---- showing

    def _show_state(self) -> None:
        measured = self._measured
        busy = measured is not None
        paused = measured is not None and measured.model.state == "paused"
        model = self.bench.model
        again = model.study is not None and not model.running
        self.head.start.setVisible(not busy)
        self.head.start.setText("Measure again" if again else "Start")
        self.head.start.setEnabled(self._wanted is not None and self._session.jobs.current is None)
        self.head.pause.setVisible(busy)
        self.head.pause.setText("Resume" if paused else "Pause")
        self.head.cancel.setVisible(busy)
        self.head.progress.setVisible(busy)
        self.head.copy.setEnabled(self._wanted is not None)
        self._show_words()

    def _show_words(self) -> None:
        if self._pointed is not None:
            self.words.setText(self._pointed)
            return
        shown, measured = self.bench.model, self._measured
        if measured is not None and measured.model is not shown:
            title = TITLES[measured.model.kind]
            self.words.setText(f"{title} is measured: {measured.model.words}")
        else:
            self.words.setText(shown.words or ASK)

    def _point(self, words: str | None) -> None:
        self._pointed = words
        self._show_words()

    def _choose(self, config: RunConfig, title: str) -> None:
        self.restored.emit(config)
        self.said.emit(f"The knobs stand at {title}.")

    # ---- keeping

    def copy_command(self) -> None:
        """Put the study's command line on the clipboard."""
        if self._wanted is None:
            self.said.emit("There is no study to copy yet.")
            return
        options = self._session.options
        text = study_command(
            self._wanted, self.kernel_folders(), threads=options.threads, engine=options.python
        )
        QApplication.clipboard().setText(text)
        self.said.emit("The study's command line is on the clipboard.")

    def show_studies(self, held: Sequence[HeldStudy]) -> None:
        """Show the studies of a session; those that it has none of are empty."""
        by_kind = {one.kind: one for one in held}
        for kind in TITLES:
            if kind in by_kind or kind in self.benches:
                bench = self.bench_of(kind)
                bench.model.show(by_kind.get(kind))
                bench.refresh()
        if held and self.kind not in by_kind:
            self.show_kind(next(kind for kind in TITLES if kind in by_kind))
        self._pointed = None
        self._show_state()
        self.changed.emit()

    def study(self) -> Study:
        """Return the study that is shown; InputError when nothing of it was measured."""
        found = self.bench.model.study
        if found is None or not has_figures(found):
            raise InputError("there is no study to export yet", remedy="press Start first")
        return found

    def exported(self) -> Exported:
        """Return how the study that is shown is written; InputError when there is none."""
        study = self.study()
        return study_files(study, f"{self.kind}-{study.title.partition(':')[0]}".lower())
