"""A study in the window: its job through the live engine, and its view."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QTextBrowser

from gpuexplorer.charts.spec import ChartSpec
from gpuexplorer.charts.studies_words import subject
from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.knobs import OF_VARIANT, knob_of, option_words, values_of
from gpuexplorer.core.language import as_is, tr
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.studies import STUDY_GROUP, Study, document_and_runs, study_json
from gpuexplorer.engine.client import EngineOptions
from gpuexplorer.engine.cores import default_threads
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.exchange.csv_table import write_sheet
from gpuexplorer.gui.export import Exported
from gpuexplorer.gui.info_dialog import InfoDialog
from gpuexplorer.gui.job import EngineJob, JobEngine
from gpuexplorer.gui.model.job import Held, JobModel, Progress, duration
from gpuexplorer.gui.screen import open_size
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.typeface import fixed
from gpuexplorer.gui.views.job_view import JobView, Preview
from gpuexplorer.gui.views.result_page import Picture
from gpuexplorer.gui.views.study_form import StudyForm
from gpuexplorer.gui.widgets.button import small_button
from gpuexplorer.gui.worker import EngineWorker
from gpuexplorer.history.keeping import Keeping
from gpuexplorer.reproduce import surroundings
from gpuexplorer.studies import chart_of, kind_of, sheet_of
from gpuexplorer.studies.kind import StudyKind
from gpuexplorer.studies.running import How, Running, StudyStep
from gpuexplorer.workloads.workload import Workload

if TYPE_CHECKING:
    from pathlib import Path

TELL_EVERY_S = 0.1
"""Steps are told together, so that short runs do not flood the window."""
SHOW_EVERY_S = 0.7
SOURCE_TIP = "What changed in the source since the rung before: choose a row of the table"
SHOW_SHARE = 0.05
"""Share of the time that making documents of what there is so far may take."""


class WantedStudy(msgspec.Struct, frozen=True):
    """A study that is asked for; ``chosen`` are its arguments beside the knobs."""

    kind: StudyKind[Any]
    request: RunRequest
    workload: Workload
    devices: DeviceList
    how: How
    chosen: Mapping[str, Any]

    def lab(self) -> Running[Any]:
        """Return the study, ready to measure; raises ExplorerError where there is nothing to."""
        return self.kind.lab(self.request, self.workload, self.devices, self.how, **self.chosen)

    def preview(self) -> Preview[WantedStudy]:
        """Return what it comes to."""
        lab = self.lab()
        model = self.workload.variant(self.request.variant or "").model is not None
        time = duration(lab.estimate_s(model=model))
        takes = f"Takes {time}."
        if lab.compiles:
            takes = f"Takes {time}, and longer where a model is compiled anew."
        return Preview(self, lab.total, takes)

    def command(
        self, kernels: tuple[Path, ...] = (), *, threads: int | None = None,
        engine: str | None = None,
    ) -> str:  # fmt: skip
        """Return the ``gpuexplorer study`` command, quoted for a shell.

        ``threads`` are the CPU threads of the engine, where they were chosen, and ``engine`` the
        word for it, None for the built-in one.
        """
        said = values_of(self.request)
        knobs = {name: knob_of(name)[0] for name in said}
        fields = {name: knob.field for name, knob in knobs.items()}
        values: dict[str, tuple[Any, ...]] = {
            name: (value,)
            for name, value in said.items()
            if fields[name] not in self.kind.varies and knobs[name].axis not in self.kind.without
        }
        if "variant" in said and any(fields[name] in OF_VARIANT for name in values):
            values["variant"] = (said["variant"],)  # whose they are
        if self.kind.over_sizes:
            values[f"size.{self.chosen['symbol']}"] = self.chosen["sizes"]
        if threads is not None:
            values["threads"] = (threads,)
        words = ["gpuexplorer", "study", self.kind.name, self.request.workload]
        words += option_words(values)
        for choice in self.kind.choices:
            if several := self.chosen.get(choice.name):
                words += [choice.option, ",".join(map(str, several))]
        default = How()
        if self.how.rounds != default.rounds:
            words += ["--rounds", str(self.how.rounds)]
        if self.how.seconds != default.seconds:
            words += ["--seconds", f"{self.how.seconds:g}"]
        return shlex.join(words + surroundings(kernels, engine))


class StudyJob(EngineJob):
    """Measures a study; ``stepped`` carries a ``Progress`` with what is known by now, or None.

    ``result`` is the document of what was measured, however the job ended; None for nothing. It is
    kept in the history as it goes.
    """

    done = "the study is done"
    not_done = "the study was stopped"

    def __init__(
        self,
        worker: EngineWorker,
        wanted: WantedStudy,
        *,
        engine: EngineOptions,
        ceilings: Callable[[DeviceInfo], Ceilings | None] | None = None,
        keeping: Keeping | None = None,
    ) -> None:
        """``engine`` are the options of the window's own, ``keeping`` keeps the study."""
        super().__init__(worker, ceilings=ceilings)
        self.setObjectName("study")
        self.doing = wanted.kind.doing
        self.wanted = wanted
        self.result: Study | None = None
        self._lab: Running[Any] | None = None
        self._engine = engine
        self._keeping = keeping or Keeping(STUDY_GROUP, None)
        self._others: dict[int, JobEngine] = {}
        """Engines for other numbers of CPU threads, which hold for an engine's life."""
        self._began = 0.0
        self._tell_due = self._show_due = 0.0

    def work(self) -> object:
        """Measure everything; return the document."""
        self._lab = self.wanted.lab()
        self._began = time.monotonic()
        try:
            self.result = self._lab.run(self, self._step)
        finally:
            while self._others:
                self._others.popitem()[1].close()
            if self.result is None:
                self.result = self._so_far()
            if self.result is not None and self.result.runs:
                self._keeping.end(*document_and_runs(self.result))
        return self.result

    def measure(self, config: RunConfig, workload: Workload, options: RunOptions) -> RunRecord:
        """Measure in an engine with the CPU threads that are wanted."""
        present = self._engine.threads or default_threads()
        if config.threads is None or config.threads == present:
            return super().measure(config, workload, options)
        other = self._others.get(config.threads)
        if other is None:
            session = EngineSession(
                python=self._engine.python, threads=config.threads, ceilings=self._ceilings
            )
            other = self._others[config.threads] = JobEngine(self, session)
        return other.measure(config, workload, options)

    def _so_far(self) -> Study | None:
        """Return the document of what there is; None without any."""
        try:
            found: Study | None = self._lab.document() if self._lab is not None else None
        except ExplorerError:
            return None
        return found if found is not None and found.runs else None

    def _step(self, step: StudyStep) -> None:
        now = time.monotonic()
        if now < self._tell_due:
            return
        self._tell_due = now + TELL_EVERY_S
        study = None
        if now >= self._show_due:
            study = self._so_far()
            took_s = time.monotonic() - now
            self._show_due = now + max(SHOW_EVERY_S, took_s / SHOW_SHARE)
            if study is not None:
                kept = study
                self._keeping.offer(lambda: document_and_runs(kept))
        spent_s = now - self._began - self.waited_s
        left_s = spent_s / step.done * (step.total - step.done) if step.done > 1 else None
        self.stepped.emit((Progress(step.done, step.total, step.words, left_s), study))


class StudyModel(JobModel[Study]):
    """One study and its job; how it was measured stands beneath its chart."""

    @property
    def words(self) -> str:
        """How far it is, or what is to be known of one that is shown before its chart is read."""
        return super().words if self.running else " ".join(self.standing)


class StudyView(JobView[Study, WantedStudy]):
    """The view of one kind of study."""

    hint = ""  # what there will be to see says it, and the head has little room

    def __init__(self, session: Session, kind: StudyKind[Any]) -> None:
        self.kind = kind
        self.model = StudyModel()
        self.form = StudyForm(kind)
        name = f"study_{kind.name}"
        super().__init__(session, name, kind.title, "study", self.model, self.form)
        self.source = small_button(f"{name}Source", SOURCE_TIP)
        self.source.setText(tr("Source code…"))
        self.source.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.source.setVisible(kind.source is not None)
        self.source.clicked.connect(lambda _=False: self._show_source())
        self.head.add(self.source)
        self.result.table.current.connect(lambda _: self._offer_source())
        self.result.table.shown.modelReset.connect(self._offer_source)
        self._offer_source()

    def _changed(self) -> tuple[str, str]:
        """Return title and text of what changed in the source up to the row that is chosen."""
        study, key = self.model.result, self.result.table.key
        if self.kind.source is None or study is None or not key:
            return "", ""
        return self.kind.source(study, key)

    def _offer_source(self) -> None:
        self.source.setEnabled(bool(self._changed()[1]))

    def _show_source(self) -> None:
        """Show what changed in the source, line by line."""
        title, text = self._changed()
        dialog = InfoDialog(self, "changedSource", title)
        dialog.text.setLineWrapMode(QTextBrowser.LineWrapMode.NoWrap)
        dialog.text.setFont(fixed())
        dialog.text.setPlainText(as_is(text))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.resize(open_size(dialog, 760, 520))
        dialog.open()

    def follow_knobs(self) -> None:
        """Offer what the knobs let the study look at."""
        config, experiment = self._session.config, self._session.experiment
        words = f"{experiment.knobs.workload} · {experiment.knobs.variant}"
        if config is not None:
            words = subject(config, without=self.kind.varies)
        self.form.follow(experiment, words)
        self.look_soon()

    def look(self) -> Callable[[], Preview[WantedStudy]]:
        """Return what finds out what the choices come to."""
        experiment = self._session.experiment
        if experiment.devices is None:
            raise InputError("the devices are not known yet", remedy="wait for the engine")
        return WantedStudy(
            self.kind, experiment.knobs.request(), experiment.workload, experiment.devices,
            self.form.how, self.form.chosen(),
        ).preview  # fmt: skip

    def job(self, wanted: WantedStudy) -> StudyJob:
        """Return the job that measures it."""
        session = self._session
        return StudyJob(
            session.worker, wanted, engine=session.options, ceilings=session.store.find,
            keeping=session.keeping(STUDY_GROUP),
        )  # fmt: skip

    def began(self, wanted: WantedStudy) -> None:
        """Note that the study has begun."""
        self.model.begin()

    def take(self, step: tuple[Progress, Study | None]) -> bool:
        """Take in how far it is, and what is known by now."""
        self.model.take(*step)
        return step[1] is not None

    def end(self, job: StudyJob, error: str) -> None:
        """Note what was measured."""
        self.model.end(job.result, error)

    @property
    def done(self) -> tuple[int, int]:
        """The runs that are done, of all as far as they are known."""
        at = self.model.progress
        return (at.done, at.total) if at is not None else (0, 1)

    @property
    def again(self) -> bool:
        """Whether there is a study to be measured once more."""
        return self.model.result is not None and not self.model.running

    def command(self, wanted: WantedStudy) -> str:
        """Return the command line that does the same."""
        options = self._session.options
        return wanted.command(
            tuple(self.kernel_folders()), threads=options.threads, engine=options.python
        )

    def about(self) -> tuple[str, Sequence[str]]:
        """Return what the study answers, and how."""
        return self.kind.question, (self.kind.about, self.model.error)

    def picture(self, result: Study) -> Callable[[], Picture]:
        """Return what makes the study's table and chart, and its finding."""
        kind = self.kind
        return lambda: Picture(
            sheet_of(result), chart_of(result), kind.finding(result), kind.caption(result)
        )

    def summary(self) -> str:
        """Return the finding."""
        return self.kind.finding(self.model.result) if self.model.result is not None else ""

    def config_of(self, key: str) -> RunConfig | None:
        """Return the configuration of a run."""
        runs = self.model.result.runs if self.model.result is not None else ()
        return next((run.config for run in runs if run.id == key), None)

    def files(self, result: Study) -> Exported:
        """Return how the study is written to files."""
        return study_files(result)

    def show_held(self, held: Held[Study] | None) -> None:
        """Show another study; None: nothing."""
        self.model.show(held)
        self.replaced()


def study_files(study: Study) -> Exported:
    """Return how a study is written, as a document, a table or a chart."""
    stem = f"{kind_of(study).name}-{study.title.partition(':')[0]}".lower()

    def chart() -> ChartSpec:
        if not study.runs:
            raise InputError("nothing of the study was measured", remedy="let it measure first")
        return chart_of(study)

    return Exported(
        stem, lambda: study_json(study), lambda path: write_sheet(sheet_of(study), path), chart
    )
