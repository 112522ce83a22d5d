"""Tuning in the window: the search through the live engine, and its view."""

from __future__ import annotations

import shlex
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from PySide6.QtCore import Signal

from gpuexplorer.charts.caption import Caption
from gpuexplorer.charts.spec import ChartSpec
from gpuexplorer.charts.tuning import evaluation_words, failures, tuning_chart
from gpuexplorer.charts.words import knob_words
from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.language import tr
from gpuexplorer.core.tuning import Budget, Evaluation, Tuning, tuning_json
from gpuexplorer.core.units import count, plural, quantity
from gpuexplorer.engine.interleave import Measures
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.exchange.csv_table import write_sheet
from gpuexplorer.gui.export import Exported
from gpuexplorer.gui.job import EngineJob
from gpuexplorer.gui.model.job import Held, JobModel, Progress
from gpuexplorer.gui.model.sweep_preview import estimate
from gpuexplorer.gui.model.tried import Tried
from gpuexplorer.gui.notice import Notice, capital, not_kept
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.views.job_view import JobView, Preview
from gpuexplorer.gui.views.result_page import Picture
from gpuexplorer.gui.views.tune_form import MOST_EVALUATIONS, TuneForm
from gpuexplorer.gui.widgets.button import button
from gpuexplorer.gui.worker import EngineWorker
from gpuexplorer.history.keeping import DoesWithStore, TakesRun
from gpuexplorer.reproduce import tuning_command
from gpuexplorer.results.tuning import leaders_sheet, sheet_of, tried_sheet
from gpuexplorer.search.finalists import MOST_FINAL_S
from gpuexplorer.search.measuring import Measuring
from gpuexplorer.search.several import Races
from gpuexplorer.search.tune import Tuner, TuningOptions, TuningProgress
from gpuexplorer.search.tune_keep import TuningKeeper
from gpuexplorer.search.tune_space import TuningSpace, combinations, launchable, tuning_space
from gpuexplorer.workloads.workload import Workload

TUNED = ("block", "tunables")
"""What a tuning chooses itself."""
TELL_EVERY_S = 0.1
"""Steps are told together, so that short launches do not flood the window."""
TENTHS = 10
"""Of a second, in which the progress of a budget in seconds is shown."""

if TYPE_CHECKING:
    from gpuexplorer.gui.cluster_job import WantedCluster


class WantedTuning(msgspec.Struct, frozen=True):
    """A tuning that is asked for."""

    request: RunRequest
    workload: Workload
    devices: DeviceList
    options: TuningOptions
    cluster: WantedCluster | None = None
    """Where it is measured; None: with the window's engine."""

    def preview(
        self, ceilings: Callable[[DeviceInfo], Ceilings | None], live: RunRecord | None
    ) -> Preview[WantedTuning]:
        """Return what it comes to; ``live`` is a run whose cost is known. Raises InputError."""
        space = combinations(self.request, self.workload, self.devices)
        budget, able, takes = self.options.budget, 0, ""

        def counted() -> Iterator[RunConfig]:  # none is kept: a window would not get it back
            nonlocal able
            for config in launchable(space, self.workload, self.devices):
                able += 1
                yield config

        known = counted()
        if budget.seconds is None:
            measuring = Measuring(samples=self.options.samples)
            tried = islice(known, budget.evaluations)
            takes = estimate(self.workload, measuring, tried, self.devices, ceilings, live).words
        deque(known, maxlen=0)
        total = plural(
            able,
            "{number} configuration can be launched.",
            "{number} configurations can be launched.",
        )
        if refused := space.count - able:
            total = plural(
                able,
                "{number} configuration can be launched, {refused} cannot.",
                "{number} configurations can be launched, {refused} cannot.",
                refused=count(refused),
            )
        if budget.seconds is not None:
            return Preview(
                self,
                total,
                f"Takes {budget.seconds:g} s or less, unless eight turns of two finalists take "
                "longer.",
            )
        tries = f"Tries {count(min(able, budget.evaluations or able))} of them, which takes {takes}"
        return Preview(
            self,
            total,
            f"{tries}, and up to {MOST_FINAL_S:g} s for the final, unless eight turns of each "
            "finalist take longer.",
        )

    def command(self, kernels: Sequence[Path], threads: int | None, engine: str | None) -> str:
        """Return the ``gpuexplorer tune`` command, quoted for a shell."""
        request = msgspec.structs.replace(self.request, threads=threads)
        options, words = self.options, []
        if options.sampler != TuningOptions().sampler:
            words += ["--sampler", options.sampler]
        if not options.racing:
            words.append("--no-racing")
        seconds, evaluations = options.budget.seconds, options.budget.evaluations
        if seconds is not None:
            words += ["--budget", f"{seconds:g}s"]
        elif evaluations is not None or options.sampler != "grid":
            words += ["--budget", str(evaluations or MOST_EVALUATIONS)]
        if self.cluster is not None:  # it has engines of its own
            words += ["--cluster", shlex.quote(self.cluster.where)]
            engine = None
        return " ".join((tuning_command("tune", request, kernels, engine=engine), *words))


class TuningJob(EngineJob):
    """Tunes one problem; ``stepped`` carries a ``Progress`` and what was ``Tried``.

    ``tried`` is what there is of it, however the job ended. Of a cluster ``said`` is a sentence on
    a worker, and ``standing`` tells what all have done.
    """

    said = Signal(str)
    standing = Signal(object)

    doing = "tuning"
    done = "tuned"
    not_done = "not tuned"

    def __init__(
        self,
        worker: EngineWorker,
        wanted: WantedTuning,
        *,
        ceilings: Callable[[DeviceInfo], Ceilings | None] | None = None,
        store: DoesWithStore | None = None,
        on_trouble: Callable[[ExplorerError], object] = lambda error: None,
        rescue: TakesRun | None = None,
    ) -> None:
        """``store`` keeps the runs and what was found; None keeps nothing.

        ``on_trouble`` is told when it takes something not, ``rescue`` has the runs then.
        """
        super().__init__(worker, ceilings=ceilings)
        self.setObjectName("tuning")
        self.wanted = wanted
        self.tried = Tried(())
        self._keeper = TuningKeeper(store, on_trouble, rescue=rescue)
        self._tuner: Tuner | None = None
        self._stop_search = False
        self._tell_due = 0.0

    def enough(self) -> None:
        """End the search and go on to the final; from the main thread."""
        self._stop_search = True
        if self._tuner is not None:
            self._tuner.enough()

    def work(self) -> Tuning:
        """Find out what can be launched, and tune."""
        wanted = self.wanted
        space = tuning_space(wanted.request, wanted.workload, wanted.devices)
        if wanted.cluster is None:
            return self._tuned(self, space)
        from gpuexplorer.gui.cluster_job import JobCluster

        with JobCluster(self, wanted.cluster, self.said.emit, self.standing.emit) as cluster:
            return self._tuned(cluster, space)

    def _tuned(self, on: Measures | Races, space: TuningSpace) -> Tuning:
        wanted = self.wanted
        tuner = self._tuner = Tuner(
            on, wanted.workload, space, wanted.options,
            clock=lambda: time.monotonic() - self.waited_s,
        )  # fmt: skip
        tuner.on_progress = self._step
        if self._stop_search:
            tuner.enough()
        tuning = None
        try:
            tuning = self._keeper.run(tuner)
        finally:
            self.tried = Tried(tuner.evaluations, tuning)
        return tuning

    def _step(self, progress: TuningProgress) -> None:
        now = time.monotonic()
        if self._tuner is not None and now >= self._tell_due:
            self._tell_due = now + TELL_EVERY_S
            tried = Tried(self._tuner.evaluations)
            self.stepped.emit((progress_of(progress, self.wanted.options.budget), tried))


class TuneView(JobView[Tried, WantedTuning]):
    """The view of a tuning; its marks are the evaluations' numbers."""

    hint = "Choose how to search, then press Start."

    def __init__(self, session: Session) -> None:
        self.model: JobModel[Tried] = JobModel()
        self.form = TuneForm()
        super().__init__(session, "tune", "Tuning", "tuning", self.model, self.form)
        self._budget = Budget()
        self.head.stop.setToolTip(
            tr("End the search; what was measured is kept, and the leaders decide")
        )
        self.cancel_button = button(
            "&Cancel", "tuneCancel", "End it at once; nothing is named", session.jobs.cancel
        )
        self.head.line.addWidget(self.cancel_button)
        self.use_button = button(
            "Use tuned", "tuneUse", "Set the knobs to the configuration that was chosen", self.use
        )
        self.head.line.addWidget(self.use_button)
        self.column.insertWidget(0, self.head)
        self.head.line.setContentsMargins(12, 6, 8, 4)
        self.show_state()

    def follow_knobs(self) -> None:
        """Name the problem that the knobs stand at."""
        config = self._session.config
        words = Caption([config], TUNED).words if config is not None else "No configuration yet."
        self.form.subject.setText(tr(words))
        self.look_soon()

    def look(self) -> Callable[[], Preview[WantedTuning]]:
        """Return what finds out what can be launched."""
        session = self._session
        experiment = session.experiment
        if experiment.devices is None:
            raise InputError("the devices are not known yet", remedy="wait for the engine")
        request, devices = experiment.knobs.request(), experiment.devices
        cluster = self.form.cluster.wanted
        if cluster is not None:
            devices = cluster.devices
            request = msgspec.structs.replace(request, device=cluster.device)
        wanted = WantedTuning(request, experiment.workload, devices, self.form.options, cluster)
        run = session.live_model.current
        live = run.record.snapshot() if run is not None and run.record is not None else None
        return partial(wanted.preview, session.store.find, live)

    def close_down(self) -> None:
        """End what the view and its form have started."""
        self.form.cluster.close_down()
        super().close_down()

    def job(self, wanted: WantedTuning) -> TuningJob:
        """Return the job that tunes."""
        session = self._session
        job = TuningJob(
            session.worker, wanted, ceilings=session.store.find, store=session.runs,
            on_trouble=lambda error: session.notice.emit(not_kept("tuning", error)),
            rescue=session.runs.end,
        )  # fmt: skip
        job.said.connect(lambda words: self.notice.emit(Notice("warning", f"{capital(words)}.")))
        job.standing.connect(self.form.cluster.show_standing)
        return job

    def began(self, wanted: WantedTuning) -> None:
        """Note that the tuning has begun."""
        self._budget = wanted.options.budget
        self.head.words.setToolTip("")
        self.head.stop.setEnabled(True)
        self.model.begin()

    def take(self, step: tuple[Progress, Tried]) -> bool:
        """Take in what was tried by now."""
        self.model.take(*step)
        return True

    def stop(self) -> None:
        """End the search, and let the leaders decide."""
        if isinstance(job := self._job, TuningJob):
            job.enough()
            self.head.stop.setEnabled(False)
            if self.model.state == "paused":
                self.pause()

    def end(self, job: TuningJob, error: str) -> None:
        """Note what came of it."""
        tried = job.tried
        self.model.end(Tried(tried.evaluations, tried.tuning, error), error)
        if tried.tuning is not None:
            self.head.words.setToolTip(tr("\n".join(failures(tried.tuning, most=None))))

    @property
    def done(self) -> tuple[int, int]:
        """What is tried, of all; of a budget in seconds, the time that is spent."""
        at, seconds = self.model.progress, self._budget.seconds
        if at is None or at.total:
            return (at.done, at.total) if at is not None else (0, 1)
        spent_s = seconds - at.left_s if seconds is not None and at.left_s is not None else 0.0
        return int(TENTHS * spent_s), int(TENTHS * (seconds or 1.0))

    def show_state(self) -> None:
        """Show what can be done now."""
        super().show_state()
        self.form.setEnabled(not self.running)
        self.cancel_button.setVisible(self.running)
        self.use_button.setVisible(not self.running and self.chosen is not None)

    @property
    def chosen(self) -> RunConfig | None:
        """The configuration that is named; None before."""
        return self.tuning.chosen if self.tuning is not None else None

    def use(self) -> None:
        """Have the knobs take the configuration that is named."""
        if self.chosen is not None:
            self.restored.emit(self.chosen)

    def held(self) -> Held[Tried] | None:
        """Return the tuning that has ended; None without one."""
        found = self.model.held()
        return found if found is not None and found.result.tuning is not None else None

    def show_held(self, held: Held[Tried] | None) -> None:
        """Show another tuning; None: nothing."""
        self.model.show(held)
        self.replaced()

    def command(self, wanted: WantedTuning) -> str:
        """Return the command line that does the same."""
        options = self._session.options
        return wanted.command(self.kernel_folders(), options.threads, options.python)

    def about(self) -> tuple[str, Sequence[str]]:
        """Return what a tuning does."""
        return "Which block and which tunables are the fastest?", (
            "Searches every block and tunable that can be launched. Clear losers get a few "
            "launches; the leaders are then measured again in turns before one is named.",
            self.model.error,
        )

    def picture(self, result: Tried) -> Callable[[], Picture]:
        """Return what makes its table and chart."""
        return partial(picture_of, result)

    def summary(self) -> str:
        """Return who is named."""
        tuning = self.tuning
        return sheet_of(tuning).notes[0] if tuning is not None else ""

    @property
    def tuning(self) -> Tuning | None:
        """What the last tuning found."""
        return self.model.result.tuning if self.model.result is not None else None

    def words_of(self, key: str) -> str:
        """Return a configuration that was tried in words."""
        found = self.model.result.evaluation(key) if self.model.result is not None else None
        return evaluation_words(found) if found is not None else super().words_of(key)

    def config_of(self, key: str) -> RunConfig | None:
        """Return a configuration that was tried."""
        return self.model.result.config_of(key) if self.model.result is not None else None

    def files(self, result: Tried) -> Exported:
        """Return how the tuning is written to files."""
        tuning = result.tuning
        if tuning is None:
            raise InputError("nothing was tuned yet", remedy="let the leaders decide first")
        return Exported(
            f"tuning-{tuning.workload}-{tuning.variant}",
            lambda: tuning_json(tuning),
            lambda path: write_sheet(tried_sheet(tuning), path),
            lambda: chart_of(tuning),
        )


def picture_of(tried: Tried) -> Picture:
    """Return the table and the chart of what was tried, and who is named and why."""
    tuning, chart = tried.tuning, tuning_chart(tried.evaluations)
    sources = () if tuning is None else (tuning.source_sha256,)
    caption = tuning_caption(tried.evaluations, sources)
    if tuning is None:
        return Picture(leaders_sheet(tried.evaluations), chart, caption=caption)
    sheet = sheet_of(tuning)
    return Picture(sheet, chart, " ".join(sheet.notes[:-1]), caption)


def tuning_caption(
    evaluations: Sequence[Evaluation], sources: Iterable[str] = ()
) -> Caption | None:
    """Return what those that were tried have in common; None before the first."""
    return Caption([one.config for one in evaluations], TUNED, sources) if evaluations else None


def chart_of(tuning: Tuning) -> ChartSpec:
    """Return the chart of a tuning for a file, with what came of it."""
    chart = tuning_chart(tuning.evaluations, title="Time per launch, measurement by measurement")
    caption = tuning_caption(tuning.evaluations)
    subtitle = caption.words if caption is not None else ""
    return msgspec.structs.replace(chart, subtitle=subtitle, notes=sheet_of(tuning).notes)


def progress_of(at: TuningProgress, budget: Budget) -> Progress:
    """Return how far a tuning is, with the time that is left as far as that is known."""
    words = "nothing measured yet"
    if at.best is not None:
        words = f"best {quantity(at.best.median_s, 's')} with {knob_words(at.best.config)}"
    left_s = None
    if budget.seconds is not None:
        left_s = max(0.0, budget.seconds - at.elapsed_s)
    elif at.phase == "search" and at.total and 0 < at.done < at.total:
        left_s = at.elapsed_s / at.done * (at.total - at.done) + MOST_FINAL_S
    done, total = count(at.done), count(at.total or 0)
    if at.phase == "final":
        how_far = (
            f"{done} of {total} rounds of the final" if at.total else f"{done} rounds of the final"
        )
    elif at.total:
        how_far = f"{done} of {total} configurations tried"
    else:
        how_far = f"{done} configurations tried"
    return Progress(at.done, at.total or 0, words, left_s, how_far)
