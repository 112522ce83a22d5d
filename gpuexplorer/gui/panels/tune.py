"""Tune: search blocks and tunables for the fastest, watch it, and use what was found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QColor
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QProgressBar,
    QPushButton,
    QSpinBox,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.charts.tuning import conclusions, failures, interval_words, standing_words
from gpuexplorer.charts.words import knob_words
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.tuning import Budget, Evaluation, Tuning, tuning_json
from gpuexplorer.core.units import quantity
from gpuexplorer.exchange import atomic_file
from gpuexplorer.gui.plots.base import muted_label, title_label
from gpuexplorer.gui.plots.tuning import TuningPlot
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.tuning import TuningJob
from gpuexplorer.gui.widgets.words import Words
from gpuexplorer.search.tune import Options, Progress
from gpuexplorer.search.tune_sampler import SAMPLERS, check_sampler

LOOK_MS = 100
COLUMNS = ("Configuration", "Time per launch", "× the best", "95 % interval", "Beside the best")
SHOWN_WHILE_SEARCHING = 12
TITLES = {
    "tpe": "Learning (TPE)",
    "random": "Random",
    "grid": "Every one (grid)",
    "cmaes": "CMA-ES",
    "qmc": "Quasi-random (QMC)",
}
DEFAULT_SECONDS, MOST_SECONDS = 60, 86_400
DEFAULT_EVALUATIONS, MOST_EVALUATIONS = 100, 100_000


class TuneDialog(QDialog):
    """Starts a tuning of the present experiment, shows it going on, and offers its outcome.

    ``start_asked`` carries the ``Options``, ``use_asked`` a configuration to be set.
    """

    start_asked = Signal(object)
    use_asked = Signal(object)

    def __init__(self, parent: QWidget, problem: Callable[[], str]) -> None:
        """``problem`` says in words what the knobs stand at."""
        super().__init__(parent)
        self.setObjectName("tuneDialog")
        self.setWindowTitle("Tune")
        self.resize(820, 640)
        self._problem = problem
        self._job: TuningJob | None = None
        self.tuning: Tuning | None = None
        """What the last tuning found."""
        self._drawn = -1
        self._listed: tuple[RunConfig, ...] = ()
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self._look)
        self._put_together()
        theme().changed.connect(self._repaint_theme)
        self.show_problem()
        self._show_idle()

    # ---- construction

    def _put_together(self) -> None:
        self.problem_words = Words()
        self.problem_words.setObjectName("tuneProblem")
        self.problem_words.setProperty("role", "title")
        about = QLabel(
            "Searches every block and tunable that can be launched. Clear losers get a few "
            "launches; the leaders are then measured again in turns before one is named."
        )
        about.setWordWrap(True)
        about.setProperty("role", "muted")
        self.plot = TuningPlot()
        self.plot.setToolTip("Each configuration tried: blue measured, grey given up early")
        self.bar = QProgressBar()
        self.bar.setObjectName("tuneProgress")
        self.bar.setTextVisible(False)
        self.bar.setFixedHeight(6)
        self.words = Words()
        self.words.setObjectName("tuneWords")
        self.conclusion = QLabel()
        self.conclusion.setObjectName("tuneConclusion")
        self.conclusion.setWordWrap(True)
        self.conclusion.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.conclusion.hide()
        self.table = self._make_table()
        layout = QVBoxLayout(self)
        layout.setSpacing(8)
        layout.addWidget(self.problem_words)
        layout.addWidget(about)
        layout.addLayout(self._choices())
        heading = QHBoxLayout()
        heading.addWidget(title_label("Time per launch of each configuration tried"))
        heading.addWidget(muted_label("line: the best so far"), 1)
        layout.addLayout(heading)
        layout.addWidget(self.plot, 3)
        layout.addWidget(self.bar)
        layout.addWidget(self.words)
        layout.addWidget(self.table, 3)
        layout.addWidget(self.conclusion)
        layout.addLayout(self._buttons())

    def _choices(self) -> QHBoxLayout:
        self.sampler_box = QComboBox()
        self.sampler_box.setObjectName("tuneSampler")
        for name in SAMPLERS:
            self.sampler_box.addItem(TITLES[name], name)
            at = self.sampler_box.count() - 1
            self.sampler_box.setItemData(at, SAMPLERS[name], Qt.ItemDataRole.ToolTipRole)
            try:
                check_sampler(name)
            except ExplorerError as error:
                model = self.sampler_box.model()
                model.setData(model.index(at, 0), 0, Qt.ItemDataRole.UserRole - 1)
                self.sampler_box.setItemData(at, str(error), Qt.ItemDataRole.ToolTipRole)
        self.sampler_box.setToolTip("Who says which configuration comes next")
        self.sampler_box.currentIndexChanged.connect(lambda _: self._sampler_chosen())
        self.amount_box = QSpinBox()
        self.amount_box.setObjectName("tuneAmount")
        self.amount_box.setMinimumWidth(80)
        self.unit_box = QComboBox()
        self.unit_box.setObjectName("tuneUnit")
        self.unit_box.addItem("seconds", "seconds")
        self.unit_box.addItem("configurations", "evaluations")
        self.unit_box.addItem("all of them", "all")
        self.unit_box.setToolTip("How long to search, the final included, or how many to try")
        self.unit_box.currentIndexChanged.connect(lambda _: self._unit_chosen())
        self.racing_box = QCheckBox("&Give clear losers up early")
        self.racing_box.setObjectName("tuneRacing")
        self.racing_box.setChecked(True)
        self.racing_box.setToolTip("Without it every configuration gets the same seven launches")
        row = QHBoxLayout()
        for words, box in (("&Search", self.sampler_box), ("&Budget", self.amount_box)):
            label = QLabel(words)
            label.setBuddy(box)
            row.addWidget(label)
            row.addWidget(box)
        row.addWidget(self.unit_box)
        row.addSpacing(12)
        row.addWidget(self.racing_box)
        row.addStretch(1)
        self._unit_chosen()
        return row

    def _make_table(self) -> QTableWidget:
        table = QTableWidget(0, len(COLUMNS))
        table.setObjectName("tuneTable")
        table.setToolTip("A double click sets the knobs to that configuration")
        for column, words in enumerate(COLUMNS):
            heading = QTableWidgetItem(words)
            heading.setTextAlignment(_alignment(column))
            table.setHorizontalHeaderItem(column, heading)
        table.verticalHeader().hide()
        table.setShowGrid(False)
        table.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
        table.setSelectionMode(QTableWidget.SelectionMode.SingleSelection)
        table.setSelectionBehavior(QTableWidget.SelectionBehavior.SelectRows)
        table.setTabKeyNavigation(False)
        table.setStyleSheet("QTableView::item { padding: 0px 8px; }")
        table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        table.horizontalHeader().setSectionResizeMode(4, QHeaderView.ResizeMode.Stretch)
        table.horizontalHeader().setHighlightSections(False)
        for column, width in enumerate((190, 120, 90, 130)):
            table.setColumnWidth(column, width)
        table.verticalHeader().setDefaultSectionSize(24)
        table.setMinimumHeight(120)
        table.cellActivated.connect(lambda row, _: self.use_asked.emit(self._listed[row]))
        return table

    def _buttons(self) -> QHBoxLayout:
        self.start_button = self._button("&Start", "tuneStart", self._start_or_stop)
        self.start_button.setDefault(True)
        self.cancel_button = self._button("&Cancel", "tuneCancel", self.cancel)
        self.cancel_button.setToolTip("End it at once; nothing is named")
        self.use_button = self._button("&Use tuned", "tuneUse", self.use)
        self.use_button.setToolTip("Set the knobs to the configuration that was chosen")
        self.export_button = self._button("&Export…", "tuneExport", self.export)
        self.export_button.setToolTip("Every configuration tried and the final, as JSON")
        close_button = self._button("C&lose", "tuneClose", self.reject)
        buttons = QHBoxLayout()
        for button in (self.start_button, self.cancel_button, self.use_button):
            buttons.addWidget(button)
        buttons.addStretch(1)
        for button in (self.export_button, close_button):
            buttons.addWidget(button)
        return buttons

    def _button(self, words: str, name: str, run: Callable[[], object]) -> QPushButton:
        button = QPushButton(words)
        button.setObjectName(name)
        button.setAutoDefault(False)
        button.clicked.connect(lambda _=False: run())
        return button

    # ---- what is chosen

    def _sampler_chosen(self) -> None:
        """Every configuration is what a grid is for, and no other sampler."""
        grid = self.sampler_box.currentData() == "grid"
        self.unit_box.setCurrentIndex(self.unit_box.findData("all" if grid else "seconds"))

    def _unit_chosen(self) -> None:
        unit = self.unit_box.currentData()
        self.amount_box.setEnabled(unit != "all")
        if unit == "seconds":
            self.amount_box.setRange(1, MOST_SECONDS)
            self.amount_box.setValue(DEFAULT_SECONDS)
        elif unit == "evaluations":
            self.amount_box.setRange(1, MOST_EVALUATIONS)
            self.amount_box.setValue(DEFAULT_EVALUATIONS)

    @property
    def options(self) -> Options:
        """How to tune, as chosen."""
        unit, amount = self.unit_box.currentData(), self.amount_box.value()
        return Options(
            sampler=str(self.sampler_box.currentData()),
            budget=Budget(
                seconds=float(amount) if unit == "seconds" else None,
                evaluations=amount if unit == "evaluations" else None,
            ),
            racing=self.racing_box.isChecked(),
        )

    # ---- asked by the window

    def show_problem(self) -> None:
        """Say what would be tuned; what is being tuned stays."""
        if self._job is None and self.tuning is None:
            self.problem_words.setText(self._problem())

    def begin(self, job: TuningJob, problem: str) -> None:
        """Show a tuning that has begun."""
        self._job, self.tuning = job, None
        self.problem_words.setText(problem)
        self.conclusion.hide()
        self._drawn = -1
        self._list((), ())
        self.plot.show_evaluations(())
        job.ended.connect(self._ended)
        self._timer.start()
        self._show_idle()
        self._look()

    @property
    def running(self) -> bool:
        """Whether a tuning is going on."""
        return self._job is not None

    def stop(self) -> None:
        """End the search and let the leaders decide."""
        if self._job is not None:
            self._job.enough()
            self.start_button.setEnabled(False)

    def cancel(self) -> None:
        """End it at the next launch boundary."""
        if self._job is not None:
            self._job.cancel()
            self.cancel_button.setEnabled(False)

    def use(self) -> None:
        """Ask for the chosen configuration."""
        if self.tuning is not None and self.tuning.chosen is not None:
            self.use_asked.emit(self.tuning.chosen)

    def close_down(self) -> None:
        """Stop looking; the session ends the job."""
        self._timer.stop()

    def export(self) -> None:
        """Ask for a file name and write the document."""
        if self.tuning is None:
            return
        offered = f"tuning-{self.tuning.workload}-{self.tuning.variant}.json"
        name, _ = QFileDialog.getSaveFileName(self, "Export tuning", offered, "JSON (*.json)")
        if not name:
            return
        try:
            with atomic_file(Path(name)) as stream:
                stream.write(tuning_json(self.tuning))
        except ExplorerError as error:
            self.words.setText(f"The tuning was not saved: {error}")
        else:
            self.words.setText(f"Saved {name}")

    # ---- showing

    def _start_or_stop(self) -> None:
        if self.running:
            self.stop()
        else:
            self.tuning = None
            self.start_asked.emit(self.options)

    def _show_idle(self) -> None:
        running = self.running
        self.start_button.setText("&Stop and decide" if running else "&Start")
        self.start_button.setToolTip(
            "End the search here; the leaders are still measured in turns"
            if running
            else "Live measuring pauses meanwhile"
        )
        self.start_button.setEnabled(True)
        self.cancel_button.setEnabled(running)
        chosen = self.tuning is not None and self.tuning.chosen is not None
        self.use_button.setEnabled(chosen)
        self.export_button.setEnabled(self.tuning is not None)
        for box in (self.sampler_box, self.unit_box, self.racing_box):
            box.setEnabled(not running)
        self.amount_box.setEnabled(not running and self.unit_box.currentData() != "all")

    def _look(self) -> None:
        """Show how far the job is, as far as that changed."""
        job = self._job
        if job is None:
            return
        tuner, progress = job.tuner, job.progress
        if tuner is None or progress is None:
            self.bar.setRange(0, 0)
            self.words.setText("looking at what can be launched" if tuner is None else "starting")
            return
        evaluations = tuner.evaluations
        self._show_progress(progress, job.options.budget)
        if len(evaluations) != self._drawn:
            self._drawn = len(evaluations)
            self.plot.show_evaluations(evaluations)
            self._show_leaders(evaluations)

    def _show_progress(self, progress: Progress, budget: Budget) -> None:
        best = progress.best
        words = (
            [f"best {quantity(best.median_s, 's')} with {knob_words(best.config)}"] if best else []
        )
        if progress.phase == "final":
            self.bar.setRange(0, progress.total or 0)
            self.bar.setValue(progress.done)
            words.insert(0, f"final: round {progress.done} of at most {progress.total}")
        else:
            total = progress.total
            if budget.seconds is not None:
                self.bar.setRange(0, int(budget.seconds * 10))
                self.bar.setValue(int(progress.elapsed_s * 10))
            else:
                self.bar.setRange(0, total or 0)
                self.bar.setValue(progress.done)
            of = f" of {total}" if total is not None else ""
            words.insert(0, f"{progress.done}{of} configurations tried")
        self.words.setText(" · ".join([*words, f"{progress.elapsed_s:.0f} s"]))

    def _show_leaders(self, evaluations: tuple[Evaluation, ...]) -> None:
        """List the fastest so far."""
        latest = {e.config.key: e for e in evaluations if e.outcome == "measured"}
        leaders = sorted(latest.values(), key=lambda e: e.median_s or 0.0)[:SHOWN_WHILE_SEARCHING]
        best_s = leaders[0].median_s if leaders else None
        rows = tuple(
            (
                knob_words(e.config),
                quantity(e.median_s, "s"),
                f"{e.median_s / best_s:.3f}" if e.median_s and best_s else "",
                "",
                "not measured in turns yet",
            )
            for e in leaders
        )
        self._list(rows, tuple(e.config for e in leaders))

    def _ended(self, outcome: object) -> None:
        self._timer.stop()
        job, self._job = self._job, None
        if job is None:
            return
        self.bar.setRange(0, 1)
        self.bar.setValue(1 if isinstance(outcome, Tuning) else 0)
        if job.tuner is not None:
            self.plot.show_evaluations(job.tuner.evaluations)
        if isinstance(outcome, Tuning):
            self._show_tuning(outcome, job.trouble)
        elif isinstance(outcome, ExplorerError):
            self.words.setText(f"Nothing was tuned: {outcome}")
        else:
            self.words.setText("Cancelled; nothing is named")
        self._show_idle()

    def _show_tuning(self, tuning: Tuning, trouble: ExplorerError | None) -> None:
        self.tuning = tuning
        rows = tuple(
            (
                knob_words(f.config),
                quantity(f.median_s, "s"),
                f"{f.ratio:.3f}" if f.ratio is not None else "–",
                interval_words(f),
                standing_words(f, tuning),
            )
            for f in tuning.finalists
        )
        self._list(rows, tuple(f.config for f in tuning.finalists))
        *said, tried = conclusions(tuning)
        self.words.setText(tried)
        failed = failures(tuning, most=None)
        self.words.setToolTip("\n".join(failed))
        if trouble is not None:
            said.append(f"It is not kept: {trouble}.")
        self.conclusion.setText(" ".join(said))
        self.conclusion.show()

    def _list(self, rows: tuple[tuple[str, ...], ...], configs: tuple[RunConfig, ...]) -> None:
        self._listed = configs
        self.table.setRowCount(len(rows))
        chosen = self.tuning.chosen if self.tuning is not None else None
        for row, texts in enumerate(rows):
            for column, text in enumerate(texts):
                item = self.table.item(row, column)
                if item is None:
                    item = QTableWidgetItem()
                    item.setTextAlignment(_alignment(column))
                    self.table.setItem(row, column, item)
                if item.text() != text:
                    item.setText(text)
                font = item.font()
                font.setBold(configs[row] == chosen)
                item.setFont(font)
        self._repaint_theme()

    def _repaint_theme(self) -> None:
        """Colour what cannot be told from the best."""
        tied = {f.config.key for f in self.tuning.tied} if self.tuning is not None else set()
        for row, config in enumerate(self._listed):
            item = self.table.item(row, 4)
            if item is not None:
                name = "good" if config.key in tied else "muted"
                item.setForeground(QColor(theme().colour(name)))

    def closeEvent(self, event: QCloseEvent) -> None:
        """Close by the frame as by the button."""
        self.reject()
        event.accept()

    def reject(self) -> None:
        """Close the dialog; a tuning goes on, and the dialog can be opened again."""
        super().reject()


def _alignment(column: int) -> Qt.AlignmentFlag:
    """Return how a column stands: figures at the right."""
    right = column in (1, 2, 3)
    side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter
