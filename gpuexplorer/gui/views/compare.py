"""The comparison in the window: who takes part, and how each stands beside the reference."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from functools import partial

import msgspec
from msgspec.structs import replace
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QVBoxLayout

from gpuexplorer.charts.comparison import comparison_chart
from gpuexplorer.core.compared import ComparisonResult, comparison_json
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.knobs import request_like
from gpuexplorer.core.language import as_is, tr
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.units import listed
from gpuexplorer.engine.cores import default_threads
from gpuexplorer.engine.interpreters import BUILT_IN
from gpuexplorer.exchange.csv_table import write_sheet
from gpuexplorer.gui.export import Exported
from gpuexplorer.gui.model.compare import CompareModel
from gpuexplorer.gui.model.compare_file import HeldComparison, ListedContestant
from gpuexplorer.gui.model.engines import EnginesModel
from gpuexplorer.gui.notice import capital
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.views.compare_bar import CompareBar
from gpuexplorer.gui.views.compare_job import CompareJob, Present
from gpuexplorer.gui.views.job_control import JobControl
from gpuexplorer.gui.views.result_page import Picture, ResultPage
from gpuexplorer.history.keeping import Keeping
from gpuexplorer.reproduce import surroundings
from gpuexplorer.results.comparison import sheet_of
from gpuexplorer.search.compare import AT_MOST_S, Standing
from gpuexplorer.search.contestants import engine_of
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.workload import Workload

HINT = (
    "Drag two or more runs from the history here, or add the present knobs and the pinned ones.",
    "They are measured in turns, so that whatever disturbs the machine hits them all.",
)


class WantedComparison(msgspec.Struct, frozen=True):
    """Those who take part can be measured; ``more``: rounds are added to what was measured."""

    workloads: tuple[Workload, ...]
    devices: DeviceList
    more: bool = False


class CompareView(JobControl[HeldComparison, WantedComparison]):
    """Picks, measures and shows; the marks of its chart are the places of its contestants.

    A dozen rows are drawn in less than a frame, so nothing of it is done in another thread.
    """

    def __init__(self, session: Session) -> None:
        self.model = CompareModel()
        super().__init__(session, "compare", "Comparison", "comparison", self.model)
        self._kept: dict[str, list[str]] = {}
        """The runs stored of the present comparison, by when it began."""
        self._long_agreed = False
        self._told = ""
        """What happened last."""
        self._aside: HeldComparison | None = None
        """What others took the place of, until it is brought back."""
        self._passing: list[ListedContestant] = []
        """Those that nobody chose: a question or a lesson put them here."""
        self.bar = CompareBar()
        self.result = ResultPage(
            "compare", "Time ratios with their 95 % intervals", self._noun, self.model.words_of,
            lambda: None,
        )  # fmt: skip
        self.set_caption(self.result.caption)
        self.result.empty.say("Which is faster?", HINT)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for widget in (self.head, self.bar):
            column.addWidget(widget)
        column.addWidget(self.result, 1)
        self.head.line.setContentsMargins(12, 6, 8, 4)
        self.head.words.setToolTip(
            tr("A round is one turn of each; chance decides who goes first in it")
        )
        self._connect()
        self.refresh()

    def _connect(self) -> None:
        bar, table = self.bar, self.result.table
        for button, act in (
            (bar.add_knobs, self.add_present), (bar.add_pins, self.add_pinned),
            (bar.clear, self.clear), (bar.back, self.bring_back),
        ):  # fmt: skip
            button.clicked.connect(lambda _=False, act=act: act())
        bar.elsewhere.aboutToShow.connect(self._fill_elsewhere)
        bar.same.activated.connect(lambda _: self._tolerate())
        self.result.chosen.connect(self._restore)
        table.clicked.connect(self._clicked)
        table.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.actions_of_row = [
            self._action("Make it the reference", "R", self.refer_to),
            self._action("Remove it", "Del", self.remove),
            self._action("Set the knobs to it", "Return", lambda at: self._restore(str(at))),
        ]
        table.addActions(self.actions_of_row)

    def _action(self, words: str, key: str, act: Callable[[int], object]) -> QAction:
        """Return something to do with the row that is chosen."""
        table = self.result.table
        action = QAction(tr(words), table)
        action.setShortcut(QKeySequence(key))
        action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        action.triggered.connect(lambda _=False: act(int(table.key)) if table.key else None)
        return action

    # ---- who takes part

    def add_present(self) -> None:
        """Add the configuration the knobs stand at."""
        self.add_in(self._session.options.python)

    def add_in(self, engine: str | None) -> None:
        """Add the configuration the knobs stand at, to be measured in an engine."""
        try:
            config = self._session.experiment.config()
        except ExplorerError as error:
            self.tell(f"The knobs make no run: {error}.")
            return
        self._add([config], engines=[engine])

    def _fill_elsewhere(self) -> None:
        """Offer every engine but the window's own present one."""
        menu = self.bar.elsewhere
        menu.clear()
        present = self._session.options.python or BUILT_IN
        for name in EnginesModel().names:
            if name != present:
                engine = None if name == BUILT_IN else name
                menu.addAction(as_is(name), partial(self.add_in, engine))
        if not menu.actions():
            menu.addAction(tr("No other yet: see Settings > Engines")).setEnabled(False)

    def add_pinned(self) -> None:
        """Add every ghost, in the engine that measured it."""
        pins = [pin.record.prepared for pin in self._session.live_model.pins]
        self._add([p.config for p in pins], engines=[engine_of(p.environment) for p in pins])

    def add_results(self, runs: Sequence[RunResult]) -> None:
        """Add stored runs; they are measured again, in the engine they were."""
        engines = [engine_of(run.environment) for run in runs]
        self._add([run.config for run in runs], runs, engines)

    def add_configs(
        self, configs: Sequence[RunConfig], engines: Sequence[str | None] | None = None
    ) -> None:
        """Add configurations, each in its engine; None: all in the window's own."""
        self._add(configs, engines=engines or [self._session.options.python] * len(configs))

    def _add(
        self,
        configs: Sequence[RunConfig],
        stored: Sequence[RunResult] = (),
        engines: Sequence[str | None] = (),
    ) -> None:
        if self.running:
            self.tell("Stop the comparison first.")
            return
        runs: Sequence[RunResult | None] = stored or [None] * len(configs)
        refused = [
            self.model.add(config, run, engine)
            for config, run, engine in zip(configs, runs, engines, strict=True)
        ]
        self._changed(next((words for words in refused if words), ""))

    def remove(self, place: int) -> None:
        """Take one out."""
        if not self.running:
            self.model.remove(place)
            self._changed()

    def clear(self) -> None:
        """Take all out; they can be brought back."""
        self._set_aside()
        self.model.clear()
        self._changed()

    def put_instead(self, configs: Sequence[RunConfig]) -> None:
        """Have what a question or a lesson compares in place of the present ones."""
        self.clear()
        self.add_configs(configs)
        self._passing = list(self.model.contestants)

    def bring_back(self) -> None:
        """Have those again that others took the place of."""
        held = self._aside
        if held is not None and not self.running:
            self._aside = None
            self.show_held(held)

    def _set_aside(self) -> None:
        """Keep those who take part for being brought back, unless nobody chose them."""
        held = self.model.snapshot()
        if held is not None and list(held.contestants) != self._passing:
            self._aside = held

    def refer_to(self, place: int) -> None:
        """Hold the others against this one; what was measured is kept."""
        if not self.running and place != self.model.reference:
            self.model.refer_to(place)
            self._changed(self._told)

    def _tolerate(self) -> None:
        self.model.tolerate(float(self.bar.same.currentData()))
        self._changed(self._told)

    def _changed(self, words: str = "") -> None:
        self._told, self._long_agreed = words, False  # what was agreed to was said of others
        self.replaced()

    def _clicked(self, index: QModelIndex) -> None:
        if index.column() == 0:
            self.refer_to(int(self.result.table.key))

    def _restore(self, key: str) -> None:
        self.restored.emit(self.model.contestants[int(key)].config)

    # ---- measuring

    def follow_knobs(self) -> None:
        """Show what can be done with devices and engine as they are now."""
        self.show_state()

    def _find(self) -> WantedComparison | ExplorerError | None:
        """Return what can be measured, or why that cannot be; None for nothing."""
        devices = self._session.experiment.devices
        if len(self.model.contestants) < 2 or devices is None:
            return None
        try:
            return WantedComparison(tuple(self._workloads(devices)), devices)
        except ExplorerError as error:
            return error

    def _workloads(self, devices: DeviceList) -> list[Workload]:
        """Return everyone's workload, and check that each can run here as it stands.

        What another engine can run is looked at once it is there.
        """
        options = self._session.options
        threads = options.threads or default_threads()
        found = []
        for label, one in zip(self.model.labels, self.model.contestants, strict=True):
            config = one.config
            workload = self._session.experiment.workloads.get(config.workload)
            if workload is None:
                raise InputError(f"{label}: the workload '{config.workload}' is not loaded")
            has: int | None = threads
            if one.engine == options.python:
                like = msgspec.structs.replace(request_like(config), threads=None)
                has = complete(like, workload, devices).threads
            if config.threads is not None and has != config.threads:
                raise InputError(
                    f"{label} used {config.threads} CPU threads and the engine has {has}",
                    remedy="choose the number in the Run menu, or add the knobs in its place",
                )
            found.append(workload)
        return found

    def wanted(self) -> WantedComparison | None:
        """Return what Start measures."""
        found = self._find()
        return found if isinstance(found, WantedComparison) else None

    def rest(self) -> WantedComparison | None:
        """Return the comparison that rounds can be added to."""
        comparing, wanted = self.model.comparing, self.wanted()
        begun = comparing is not None and comparing.rounds > 0
        return replace(wanted, more=True) if begun and wanted is not None else None

    @property
    def again(self) -> bool:
        """Whether Start would measure what is shown once more."""
        return self.model.result is not None and not self.running

    def job(self, wanted: WantedComparison) -> CompareJob:
        """Return the job that measures."""
        session, comparing = self._session, self.model.comparing
        if comparing is None or not wanted.more:
            comparing = self.model.new_comparison(wanted.workloads, allow_long=self._long_agreed)
        return CompareJob(
            session.worker, comparing, seconds=self._most_s,
            present=Present(session.options, wanted.devices),
            keeping=session.keeping("comparison"), ceilings=session.store.find,
        )  # fmt: skip

    @property
    def _most_s(self) -> float:
        return float(self.bar.budget.currentData())

    def began(self, wanted: WantedComparison) -> None:
        """Note that the comparison has begun."""
        self._told = ""
        if isinstance(job := self._job, CompareJob):
            self.model.begin(job.comparing, self._most_s)

    def take(self, step: tuple[Sequence[Standing], float]) -> bool:
        """Take in how everyone stands."""
        self.model.standings, self.model.spent_s = step
        return True

    def end(self, job: CompareJob, error: str) -> None:
        """Note what came of it."""
        self.model.end(job.result)
        self._told, self._long_agreed = error, job.long
        if job.long:
            self._told = "A launch takes long here. Press Start again to agree to that."
        elif job.restless:
            names = listed(job.restless)
            self._told = f"{names} kept the processor busy in others' turns: trust this less."
        if job.result is not None:
            self._replace_kept(job.result, job.keeping)

    def _replace_kept(self, result: ComparisonResult, keeping: Keeping) -> None:
        """Once a comparison is kept, take out the runs of the one that it adds rounds to.

        Those that the user starred, tagged or noted meanwhile stay.
        """
        before = self._kept.get(result.time_utc, [])
        self._kept = {result.time_utc: [one.run.id for one in result.contestants]}
        if before:
            self._session.runs.do(
                lambda store: store.delete(before, unmarked=True) if keeping.finished else None
            )

    @property
    def done(self) -> tuple[int, int]:
        """The time that is spent, of what it takes at the most, in tenths of a second."""
        return int(10 * self.model.spent_s), int(10 * self.model.most_s)

    # ---- what is shown

    def refresh(self, *, at_once: bool = False) -> None:
        """Show how everyone stands; nothing while another view is shown."""
        if not self.isVisible():
            return
        chart = self.model.chart()
        if chart is None:
            self.result.show_empty()
        else:
            self.result.show_picture(Picture(self.model.sheet(), chart, caption=self.model.caption))

    def show_state(self) -> None:
        """Show what can be done now."""
        result = self.model.result
        stored = result is not None and not result.interleaved
        self.head.anew = "Measure again in turns" if stored else "Measure again"
        super().show_state()
        session = self._session
        self.bar.show_state(
            running=self.running, can_add=session.config is not None,
            pins=bool(session.live_model.pins), some=bool(self.model.contestants),
            back=self._aside is not None,
        )  # fmt: skip
        for action in self.actions_of_row[:2]:
            action.setEnabled(not self.running)

    def tell(self, words: str) -> None:
        """Say something in the head line until the next thing happens."""
        self._told = words
        self.show_state()

    def head_words(self) -> str:
        """Return what was told last, else how far it is, and why it cannot be measured."""
        words, found = super().head_words(), self._find()
        if isinstance(found, ExplorerError) and self._session.jobs.current is None:
            reason = f"{capital(str(found))}."
            words = f"{words} {reason}" if self.model.result is not None else reason
        return self._told or words

    # ---- kept and copied

    def held(self) -> HeldComparison | None:
        """Return the comparison; None without anyone who takes part."""
        return self.model.snapshot()

    def show_held(self, held: HeldComparison | None) -> None:
        """Show another comparison; None: nobody takes part. The present one can be brought back."""
        self._set_aside()
        self.model.show(held)
        at = self.bar.same.findData(self.model.tolerance)
        if at >= 0:
            self.bar.same.setCurrentIndex(at)
        self._long_agreed = False
        self._changed()

    def command(self, wanted: WantedComparison) -> str:
        """Return the command line that does the same."""
        words = ["gpuexplorer", "compare", *self.model.command()]
        if self._most_s != AT_MOST_S:
            words += ["--seconds", f"{self._most_s:g}"]
        return shlex.join(words + surroundings(self.kernel_folders(), None))

    def files(self, held: HeldComparison) -> Exported:
        """Return how the comparison is written to files."""
        result = held.result
        if result is None:
            raise InputError("nothing was compared yet", remedy="press Start first")
        return Exported(
            f"{result.contestants[result.reference].run.config.workload}-comparison",
            lambda: comparison_json(result),
            lambda path: write_sheet(sheet_of(result), path),
            lambda: comparison_chart(result),
        )
