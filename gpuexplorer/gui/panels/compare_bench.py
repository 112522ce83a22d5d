"""The Compare view's parts: who takes part, Start, the forest plot and the table."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from functools import partial

import msgspec
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QMenu,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.compared import ComparisonResult
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.knobs import request_like
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.units import percent
from gpuexplorer.engine.cores import default_threads
from gpuexplorer.engine.errors import LongRun
from gpuexplorer.engine.interpreters import BUILT_IN
from gpuexplorer.gui.export import Exporter
from gpuexplorer.gui.model.compare import CompareModel
from gpuexplorer.gui.model.compare_file import HeldComparison
from gpuexplorer.gui.model.engines import EnginesModel
from gpuexplorer.gui.panels import compare_export
from gpuexplorer.gui.panels.compare_export import FORMATS
from gpuexplorer.gui.panels.compare_job import CompareJob, Present
from gpuexplorer.gui.panels.compare_table import CompareTable
from gpuexplorer.gui.plots.base import title_label
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.settings import Settings
from gpuexplorer.gui.show.chart import ChartView
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.widgets.list_box import ListBox
from gpuexplorer.gui.widgets.words import EmptyState, Words
from gpuexplorer.history.keeping import Keeping
from gpuexplorer.search.compare import Standing
from gpuexplorer.search.contenders import engine_of
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.workload import Workload

TOLERANCES = (0.005, 0.01, 0.02, 0.05)
BUDGETS_S = {10.0: "10 s", 20.0: "20 s", 60.0: "1 min", 300.0: "5 min"}
HINT = (
    "Drag two or more runs from the history here, or add the present knobs and the pinned ones.",
    "They are measured in turns, so that whatever disturbs the machine hits them all.",
)


class CompareBench(QWidget):
    """Picks, measures and shows.

    ``restored`` carries a configuration that the knobs are to be set to, ``message`` a sentence for
    the status bar.
    """

    restored = Signal(object)
    message = Signal(str)

    def __init__(self, session: Session, settings: Settings) -> None:
        super().__init__()
        self._session = session
        self.model = CompareModel()
        self.job: CompareJob | None = None
        self._began = 0.0
        self._kept: dict[str, list[str]] = {}
        """The runs stored of the present comparison, by when it began."""
        self._long_agreed = False
        self._told = ""
        self.exporter = Exporter(self, settings)
        self.exporter.notice.connect(session.notice)
        self._make_parts()
        self._lay_out()
        session.state_changed.connect(self._show_state)
        session.devices_changed.connect(self._show_state)
        session.knobs_changed.connect(self._show_state)
        self.refresh()

    # ---- construction

    def _make_parts(self) -> None:
        self.words = Words()
        self.words.setObjectName("compareWords")
        self.add_knobs = self._button(
            "Add knobs", "addKnobsButton", "Add the configuration the knobs stand at"
        )
        self.add_elsewhere = QToolButton()
        self.add_elsewhere.setObjectName("addElsewhereButton")
        self.add_elsewhere.setText("Add knobs in ▾")
        self.add_elsewhere.setProperty("role", "boxed")
        self.add_elsewhere.setToolTip(
            "Add the configuration the knobs stand at, measured in another Python\n"
            "(Settings > Engines), in a process of its own"
        )
        self.add_elsewhere.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.elsewhere = QMenu(self.add_elsewhere)
        self.elsewhere.setObjectName("addElsewhereMenu")
        self.add_elsewhere.setMenu(self.elsewhere)
        self.add_pins = self._button("Add pins", "addPinsButton", "Add every pinned run")
        self.empty = self._button("Clear", "clearCompareButton", "Take all out")
        self.same = ListBox("sameWithinBox", "Ratios this near to 1 count as the same")
        for tolerance in TOLERANCES:
            self.same.addItem(f"same within {percent(tolerance)}", tolerance)
        self.budget = ListBox(
            "compareBudgetBox", "How long to measure until all is clear, at the most"
        )
        for seconds, words in BUDGETS_S.items():
            self.budget.addItem(f"at most {words}", seconds)
        self.budget.setCurrentIndex(1)
        self.start = self._button(
            "Start", "startCompareButton",
            "Measure all in turns until every verdict is clear; live measuring pauses meanwhile",
        )  # fmt: skip
        self.cancel = self._button(
            "Stop", "cancelCompareButton", "Stop at the next launch; the rounds done are kept"
        )
        self.export_button = QToolButton()
        self.export_button.setObjectName("exportCompareButton")
        self.export_button.setText("Export ▾")
        self.export_button.setProperty("role", "boxed")
        self.export_button.setToolTip("Save the chart or the whole comparison as a document")
        self.export_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self.export_button)
        for suffix, words in FORMATS.items():
            menu.addAction(f"{words}…", partial(self.export, suffix))
        self.export_button.setMenu(menu)
        self.copy = QToolButton()
        self.copy.setObjectName("copyCompareButton")
        self.copy.setProperty("role", "boxed")
        self.copy.setToolTip("Copy as a command line: gpuexplorer compare …")
        theme().changed.connect(self._repaint_theme)
        self._repaint_theme()
        self.plot = ChartView(
            "forestPlot", "Time ratios with their 95 % intervals", lambda key: self.model.words(key)
        )
        self.table = CompareTable()
        self.plot.chosen.connect(lambda key: self.table.selectRow(int(key)))
        for button, act in (
            (self.add_knobs, self.add_present),
            (self.add_pins, self.add_pinned),
            (self.empty, self.clear),
            (self.start, self.begin),
            (self.cancel, self.stop),
            (self.copy, self.copy_command),
        ):
            button.clicked.connect(lambda _=False, act=act: act())
        self.elsewhere.aboutToShow.connect(self._fill_elsewhere)
        self.same.activated.connect(lambda _: self._tolerate())
        self.table.reference_asked.connect(self.refer_to)
        self.table.removed.connect(self.remove)
        self.table.restored.connect(
            lambda row: self.restored.emit(self.model.candidates[row].config)
        )

    def _repaint_theme(self) -> None:
        self.copy.setIcon(theme().icon("copy"))

    def _button(self, words: str, name: str, tip: str) -> QPushButton:
        button = QPushButton(words)
        button.setObjectName(name)
        button.setToolTip(tip)
        return button

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(12, 6, 8, 0)
        head.setSpacing(10)
        head.addWidget(title_label("Compare"))
        head.addWidget(self.words, 1)
        head.addWidget(self.cancel)
        head.addWidget(self.start)
        tools = QHBoxLayout()
        tools.setContentsMargins(12, 2, 8, 2)
        tools.setSpacing(6)
        for widget in (self.add_knobs, self.add_elsewhere, self.add_pins, self.empty):
            tools.addWidget(widget)
        tools.addStretch(1)
        for choice in (self.same, self.budget, self.copy, self.export_button):
            tools.addWidget(choice)
        hint = EmptyState("compareHint")
        hint.say("Which is faster?", HINT)
        parts = QSplitter(Qt.Orientation.Vertical)
        parts.setChildrenCollapsible(False)
        parts.setHandleWidth(1)
        parts.addWidget(self.plot)
        parts.addWidget(self.table)
        parts.setStretchFactor(0, 3)
        parts.setStretchFactor(1, 2)
        self.pages = QStackedWidget()
        self.pages.addWidget(hint)
        self.pages.addWidget(parts)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(head)
        column.addLayout(tools)
        column.addWidget(self.pages, 1)

    # ---- who takes part

    @property
    def measuring(self) -> bool:
        """Whether a comparison is going on."""
        return self.job is not None

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
        self.elsewhere.clear()
        present = self._session.options.python or BUILT_IN
        for name in EnginesModel().names:
            if name != present:
                engine = None if name == BUILT_IN else name
                self.elsewhere.addAction(name, partial(self.add_in, engine))
        if not self.elsewhere.actions():
            self.elsewhere.addAction("No other yet: see Settings > Engines").setEnabled(False)

    def add_pinned(self) -> None:
        """Add every ghost, in the engine that measured it."""
        pins = [pin.record.prepared for pin in self._session.live_model.pins]
        self._add([p.config for p in pins], engines=[engine_of(p.environment) for p in pins])

    def add_results(self, runs: Sequence[RunResult]) -> None:
        """Add stored runs; they are measured again, in the engine they were."""
        engines = [engine_of(run.environment) for run in runs]
        self._add([run.config for run in runs], runs, engines)

    def _add(
        self,
        configs: Sequence[RunConfig],
        stored: Sequence[RunResult] = (),
        engines: Sequence[str | None] = (),
    ) -> None:
        if self.measuring:
            self.tell("Stop the comparison first.")
            return
        runs: Sequence[RunResult | None] = stored or [None] * len(configs)
        refused = [
            self.model.add(c, run, engine)
            for c, run, engine in zip(configs, runs, engines, strict=True)
        ]
        self.tell(next((words for words in refused if words), ""))
        self.refresh()

    def remove(self, place: int) -> None:
        """Take one out."""
        self.model.remove(place)
        self.tell("")
        self.refresh()

    def clear(self) -> None:
        """Take all out."""
        self.model.clear()
        self.tell("")
        self.refresh()

    def refer_to(self, place: int) -> None:
        """Hold the others against this one."""
        self.model.refer_to(place)
        self.refresh()

    def _tolerate(self) -> None:
        self.model.tolerate(float(self.same.currentData()))
        self.refresh()

    def show_held(self, held: HeldComparison | None) -> None:
        """Show another comparison; None: nobody takes part."""
        self.model.show(held)
        at = self.same.findData(self.model.tolerance)
        if at >= 0:
            self.same.setCurrentIndex(at)
        self._long_agreed = False
        self.tell("")
        self.refresh()

    # ---- measuring

    def begin(self) -> None:
        """Measure until it is clear, or go on with what was measured."""
        experiment = self._session.experiment
        try:
            if experiment.devices is None:
                raise InputError("no device is known yet", remedy="wait for the engine")
            workloads = self._workloads(experiment.devices)
        except ExplorerError as error:
            self.tell(f"{str(error)[:1].upper()}{str(error)[1:]}.")
            return
        comparing = self.model.begin(workloads, allow_long=self._long_agreed)
        job = CompareJob(
            self._session.worker,
            comparing,
            seconds=float(self.budget.currentData()),
            present=Present(self._session.options, experiment.devices),
            keeping=self._session.keeping("comparison"),
            ceilings=self._session.store.find,
        )
        job.stepped.connect(self._stepped)
        job.ended.connect(self._ended)
        if not self._session.jobs.begin(job):
            return
        self.job, self._began = job, time.monotonic()
        self.tell("")
        self.refresh()

    def _workloads(self, devices: DeviceList) -> list[Workload]:
        """Return everyone's workload, and check that each can run here as it stands.

        What another engine can run is looked at once it is there.
        """
        options = self._session.options
        threads = options.threads or default_threads()
        found = []
        for label, one in zip(self.model.labels, self.model.candidates, strict=True):
            config = one.config
            workload = self._session.experiment.workloads.get(config.workload)
            if workload is None:
                raise InputError(f"{label}: the workload '{config.workload}' is not loaded")
            has: int | None = threads
            if one.engine == options.python:
                asked = msgspec.structs.replace(request_like(config), threads=None)
                has = complete(asked, workload, devices).threads
            if config.threads is not None and has != config.threads:
                raise InputError(
                    f"{label} used {config.threads} CPU threads and the engine has {has}",
                    remedy="choose the number in the Run menu, or add the knobs in its place",
                )
            found.append(workload)
        return found

    def stop(self) -> None:
        """Stop; the rounds done are kept."""
        if self.job is not None:
            self._session.jobs.cancel()

    def _stepped(self, standings: Sequence[Standing]) -> None:
        if self.job is None:
            return
        self.model.standings = standings
        self.refresh()

    def _ended(self, outcome: object) -> None:
        job, self.job = self.job, None
        if job is None:
            return
        job.wait()
        self.model.result = job.result
        self._long_agreed = isinstance(outcome, LongRun)
        if self._long_agreed:
            self.tell("A launch takes long here. Press Start again to agree to that.")
        elif isinstance(outcome, ExplorerError):
            self.tell(f"{str(outcome)[:1].upper()}{str(outcome)[1:]}.")
        if job.restless:
            names = " and ".join(job.restless)
            self.tell(f"{names} kept the processor busy in others' turns: trust this less.")
        if job.result is not None:
            self._replace_kept(job.result, job.keeping)
        self.refresh()

    def _replace_kept(self, result: ComparisonResult, keeping: Keeping) -> None:
        """Once a comparison is kept, take out the runs of the one it went on from."""
        before = self._kept.get(result.time_utc, [])
        self._kept = {result.time_utc: [one.run.id for one in result.contestants]}
        if before:
            self._session.runs.do(lambda store: store.delete(before) if keeping.finished else None)

    # ---- what is shown

    def refresh(self) -> None:
        """Show how everyone stands; nothing while another view is shown."""
        if not self.isVisible():
            return
        rows = self.model.rows()
        self.pages.setCurrentIndex(1 if rows else 0)
        self.plot.show_chart(self.model.chart())
        self.table.show_rows(rows, self.model.reference, changeable=not self.measuring)
        self._show_state()

    def showEvent(self, event: object) -> None:
        """Bring everything up to date when this view comes to the front."""
        super().showEvent(event)  # type: ignore[arg-type]
        self.refresh()

    def _show_state(self) -> None:
        if not self.isVisible():
            return
        measuring, some = self.measuring, bool(self.model.candidates)
        other = self._session.jobs.current is not None and not measuring
        begun = self.model.comparing is not None and self.model.comparing.rounds > 0
        again = "Measure again" if self.model.result is not None else "Start"
        self.start.setText("Continue" if begun else again)
        self.start.setVisible(not measuring)
        self.cancel.setVisible(measuring)
        self.start.setEnabled(len(self.model.candidates) > 1 and not other)
        can_add = not measuring and self._session.config is not None
        self.add_knobs.setEnabled(can_add)
        self.add_elsewhere.setEnabled(can_add)
        self.add_pins.setEnabled(not measuring and bool(self._session.live_model.pins))
        self.empty.setEnabled(not measuring and some)
        self.same.setEnabled(not measuring)
        self.budget.setEnabled(not measuring)
        self.export_button.setEnabled(self.model.result is not None)
        self.copy.setEnabled(len(self.model.candidates) > 1)
        self.words.setText(self._told or self._state_words())

    def tell(self, words: str) -> None:
        """Say something in the head line until the next thing happens."""
        self._told = words
        self._show_state()

    def _state_words(self) -> str:
        model = self.model
        if self.measuring:
            rounds = model.comparing.rounds if model.comparing is not None else 0
            if not rounds:
                return "The first round: compiling and verifying"
            return f"Round {rounds}, {time.monotonic() - self._began:.0f} s of {self._most_words()}"
        if self._session.jobs.current is not None:
            return f"Waiting: the engine is {self._session.jobs.current.doing}."
        if len(model.candidates) < 2:
            return "One more is needed." if model.candidates else ""
        if model.result is None:
            return "Press Start; live measuring pauses meanwhile."
        file = f"From file {model.origin}. " if model.origin else ""
        return f"{file}{end_words(model.result)}"

    def _most_words(self) -> str:
        return f"at most {BUDGETS_S[float(self.budget.currentData())]}"

    # ---- out

    def export(self, suffix: str = "png") -> None:
        """Ask for a file name and write the comparison."""
        if self.model.result is not None:
            compare_export.ask(self.exporter, self.model.result, suffix)

    def copy_command(self) -> None:
        """Copy the comparison as a command line."""
        words = ["gpuexplorer", "compare", *self.model.command()]
        QApplication.clipboard().setText(shlex.join(words))
        self.message.emit("The command line is on the clipboard.")

    def close_down(self) -> None:
        """Wait until nothing is being written."""
        self.exporter.wait()


def end_words(result: ComparisonResult) -> str:
    """Return what ended a comparison, in words."""
    rounds = f"{result.rounds} round{'' if result.rounds == 1 else 's'}"
    told = [one.verdict != "can't tell" for one in result.others]
    if all(told):
        return f"All is clear after {rounds}."
    stopped = "Stopped" if result.stopped_by == "user" else "The time was up"
    return f"{stopped} after {rounds}; {told.count(False)} of {len(told)} cannot be told yet."
