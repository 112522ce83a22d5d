"""Tune: search blocks and tunables for the fastest, watch it, and use what was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.charts.tuning import evaluation_words, failures, tuning_chart
from gpuexplorer.charts.words import knob_words
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.tuning import Budget, Evaluation, Tuning, tuning_json
from gpuexplorer.core.units import quantity
from gpuexplorer.exchange import atomic_file
from gpuexplorer.gui.panels.tune_choices import TuneChoices
from gpuexplorer.gui.plots.base import title_label
from gpuexplorer.gui.show.chart import ChartView
from gpuexplorer.gui.show.table import SheetTable
from gpuexplorer.gui.tuning import TuningJob
from gpuexplorer.gui.widgets.words import Words
from gpuexplorer.results.tuning import leaders_sheet, sheet_of
from gpuexplorer.search.tune import TuningProgress

LOOK_MS = 100


class TuneDialog(QDialog):
    """Starts a tuning of the present experiment, shows it going on, and offers its outcome.

    ``start_asked`` carries the ``TuningOptions``, ``use_asked`` a configuration to be set.
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
        self._evaluations: dict[str, Evaluation] = {}
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self._look)
        self._put_together()
        self._show_evaluations(())
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
        self.plot = ChartView(
            "tuningPlot", "Times of the configurations tried, in order", self._words_of
        )
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
        self.table = SheetTable(
            "tuneTable", "The fastest configurations", "Double click sets the knobs to it."
        )
        self.table.setMinimumHeight(120)
        self.table.chosen.connect(self._use_row)
        self.table.current.connect(self.plot.set_current)
        self.plot.hovered.connect(lambda number: self.table.show_key(number or ""))
        layout = QVBoxLayout(self)
        layout.setSpacing(8)
        layout.addWidget(self.problem_words)
        layout.addWidget(about)
        self.choices = TuneChoices()
        layout.addWidget(self.choices)
        layout.addWidget(title_label("Time per launch of each configuration tried"))
        layout.addWidget(self.plot, 3)
        layout.addWidget(self.bar)
        layout.addWidget(self.words)
        layout.addWidget(self.table, 3)
        layout.addWidget(self.conclusion)
        layout.addLayout(self._buttons())

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
        self.table.show_sheet(leaders_sheet(()))
        self._show_evaluations(())
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
            self.start_asked.emit(self.choices.options)

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
        self.choices.setEnabled(not running)

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
            self._show_evaluations(evaluations)
            self.table.show_sheet(leaders_sheet(evaluations))

    def _show_evaluations(self, evaluations: Sequence[Evaluation]) -> None:
        self._evaluations = {str(one.number): one for one in evaluations}
        self.plot.show_chart(tuning_chart(evaluations))

    def _words_of(self, number: str) -> str:
        found = self._evaluations.get(number)
        return evaluation_words(found) if found is not None else ""

    def _use_row(self, key: str) -> None:
        """Ask for the configuration of a row, by the number of an evaluation or its own key."""
        finalists = self.tuning.finalists if self.tuning is not None else ()
        configs = {one.config.key: one.config for one in finalists}
        if key in self._evaluations:
            self.use_asked.emit(self._evaluations[key].config)
        elif key in configs:
            self.use_asked.emit(configs[key])

    def _show_progress(self, progress: TuningProgress, budget: Budget) -> None:
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

    def _ended(self, outcome: object) -> None:
        self._timer.stop()
        job, self._job = self._job, None
        if job is None:
            return
        self.bar.setRange(0, 1)
        self.bar.setValue(1 if isinstance(outcome, Tuning) else 0)
        if job.tuner is not None:
            self._show_evaluations(job.tuner.evaluations)
        if isinstance(outcome, Tuning):
            self._show_tuning(outcome, job.trouble)
        elif isinstance(outcome, ExplorerError):
            self.words.setText(f"Nothing was tuned: {outcome}")
        else:
            self.words.setText("Cancelled; nothing is named")
        self._show_idle()

    def _show_tuning(self, tuning: Tuning, trouble: ExplorerError | None) -> None:
        self.tuning = tuning
        sheet = sheet_of(tuning)
        self.table.show_sheet(sheet)
        *said, tried = sheet.notes
        self.words.setText(tried)
        failed = failures(tuning, most=None)
        self.words.setToolTip("\n".join(failed))
        if trouble is not None:
            said.append(f"It is not kept: {trouble}.")
        self.conclusion.setText(" ".join(said))
        self.conclusion.show()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Close by the frame as by the button."""
        self.reject()
        event.accept()

    def reject(self) -> None:
        """Close the dialog; a tuning goes on, and the dialog can be opened again."""
        super().reject()
