"""The view of a job: choices with their cost, start to stop, a chart and a table that fill.

A subclass says what is measured and how it is shown; everything else is here, once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QApplication,
    QLabel,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.charts.spec import ChartSpec
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.sheet import Sheet
from gpuexplorer.gui.job import EngineJob
from gpuexplorer.gui.model.job import Held, JobModel, Progress, Result
from gpuexplorer.gui.notice import Notice, capital
from gpuexplorer.gui.panels.result_tab import Exported
from gpuexplorer.gui.plots.base import muted_label
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.show.chart import ChartView
from gpuexplorer.gui.show.table import SheetTable
from gpuexplorer.gui.task import Background
from gpuexplorer.gui.views.form import Form
from gpuexplorer.gui.views.job_head import JobHead
from gpuexplorer.gui.widgets.empty_state import EmptyState

LOOK_AFTER_MS = 180
"""A knob that is being turned is not followed at every step."""
WIDE = 960
"""From this width on the table stands beside the chart."""
FORM_WIDTH = 232
BESIDE, BENEATH = (0.56, 0.44), (0.62, 0.38)
"""How chart and table share their room."""
R = TypeVar("R", bound=Result)
W = TypeVar("W")


@dataclass(frozen=True)
class Preview(Generic[W]):
    """What would be measured, what that comes to, and how long it takes about."""

    wanted: W
    total: str
    takes: str


class JobView(QWidget, Generic[R, W]):
    """``R`` is what is measured, ``W`` what is wanted; ``head`` is placed by whoever shows it.

    ``notice``, ``said`` and ``restored`` are for the window; ``changed`` says that something else
    is shown.
    """

    notice = Signal(object)
    said = Signal(str)
    restored = Signal(object)
    """A configuration that the knobs shall take."""
    changed = Signal()

    def __init__(self, session: Session, name: str, title: str, noun: str, form: Form) -> None:
        """``name`` is for object names, ``noun`` what is measured, in a word."""
        super().__init__()
        self.setObjectName(f"jobView_{name}")
        self.setAutoFillBackground(True)
        self.setBackgroundRole(self.palette().ColorRole.Base)
        self._session, self._name, self._title, self._noun = session, name, title, noun
        self.kernel_folders: Callable[[], Sequence[Path]] = tuple
        """Returns the user's kernel folders, which a copied command names."""
        self.model: JobModel[R] = JobModel()
        self.form = form
        self.preview: Preview[W] | None = None
        """What is wanted; None while that is looked at, and when it cannot be."""
        self._looking: object | None = None
        self._job: EngineJob | None = None
        self._pointed: str | None = None
        self.sheet = Sheet()
        self._chart: ChartView | None = None
        self._background = Background(f"{name}-preview")
        self._background.ended.connect(self._previewed)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._look)
        self._build()
        form.changed.connect(self._look_soon)
        session.knobs_changed.connect(self._follow)
        session.devices_changed.connect(self._follow)
        session.state_changed.connect(self._show_state)
        self._show_state()

    # ---- what a subclass says

    @abstractmethod
    def subject(self) -> str:
        """Return what of the knobs is studied, in words."""

    @abstractmethod
    def look(self) -> Callable[[], Preview[W]]:
        """Return what finds out what the choices come to; it is called in another thread.

        Both raise ExplorerError where that is nothing.
        """

    @abstractmethod
    def job(self, wanted: W) -> EngineJob:
        """Return the job; it steps with a ``Progress`` and the result so far or None."""

    @abstractmethod
    def outcome(self, job: EngineJob) -> R | None:
        """Return what a job has measured, however it ended."""

    @abstractmethod
    def command(self, wanted: W) -> str:
        """Return the command line that does the same."""

    @abstractmethod
    def about(self) -> tuple[str, str]:
        """Return what it answers and how, for those who have not run it."""

    @abstractmethod
    def shown(self, result: R) -> tuple[Sheet, ChartSpec, str]:
        """Return a result as table and chart, and the finding in a sentence."""

    @abstractmethod
    def config_of(self, result: R, key: str) -> RunConfig | None:
        """Return the configuration that a mark of the chart stands for."""

    @abstractmethod
    def files(self, result: R) -> Exported:
        """Return how a result is written to files."""

    # ---- construction

    def _build(self) -> None:
        name = self._name
        self.head = JobHead(f"job_{name}", self._noun)
        for button, act in (
            (self.head.copy, self.copy_command), (self.head.start, self.start),
            (self.head.pause, self.pause), (self.head.stop, self._session.jobs.cancel),
        ):  # fmt: skip
            button.clicked.connect(lambda _=False, act=act: act())
        self.empty = EmptyState(f"jobEmpty_{name}")
        self.finding = QLabel()
        self.finding.setObjectName(f"jobFinding_{name}")
        self.finding.setWordWrap(True)
        self.finding.setTextFormat(Qt.TextFormat.PlainText)
        self.finding.setContentsMargins(10, 2, 10, 2)
        self.notes = muted_label()
        self.notes.setContentsMargins(8, 0, 8, 0)
        self.rows = SheetTable(
            f"jobTable_{name}", f"The {self._noun} in figures", "Double click sets the knobs to it."
        )
        self.rows.hovered.connect(self._point)
        self.rows.chosen.connect(self._choose)
        above = QWidget()
        self._above = QVBoxLayout(above)
        self._above.setContentsMargins(4, 2, 4, 4)
        self._above.setSpacing(2)
        self._above.addWidget(self.finding)
        self._above.addWidget(self.notes)
        self.result_page = QSplitter(Qt.Orientation.Vertical)
        self.result_page.addWidget(above)
        self.result_page.addWidget(self.rows)
        self.result_page.setSizes([int(1000 * share) for share in BENEATH])
        self.pages = QStackedWidget()
        self.pages.addWidget(self.empty)
        self.pages.addWidget(self.result_page)
        self.across = QSplitter(Qt.Orientation.Horizontal)
        self.across.addWidget(self.form)
        self.across.addWidget(self.pages)
        self.across.setStretchFactor(1, 1)
        self.across.setSizes([FORM_WIDTH, 700])
        for splitter in (self.across, self.result_page):
            splitter.setHandleWidth(1)
            splitter.setChildrenCollapsible(False)
        self.across.setCollapsible(0, True)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(self.across)
        self._say_empty("")

    @property
    def chart(self) -> ChartView:
        """The chart; made when it is first wanted, so that the view opens without it."""
        if self._chart is None:
            words = lambda key: self.sheet.marks.get(key, "")  # noqa: E731
            chart = self._chart = ChartView(f"jobChart_{self._name}", self._title, words)
            chart.hovered.connect(self._point_at)
            chart.chosen.connect(self._choose)
            self.rows.current.connect(chart.set_current)
            self._above.insertWidget(1, chart, 1)
        return self._chart

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the table beside the chart where there is room, else beneath it."""
        super().resizeEvent(event)
        beside = self.width() - FORM_WIDTH >= WIDE
        wanted = Qt.Orientation.Horizontal if beside else Qt.Orientation.Vertical
        if self.result_page.orientation() != wanted:
            self.result_page.setOrientation(wanted)
            shares = BESIDE if beside else BENEATH
            self.result_page.setSizes([int(1000 * share) for share in shares])

    def showEvent(self, event: QShowEvent) -> None:
        """Follow the knobs from now on, and draw what came meanwhile."""
        super().showEvent(event)
        self._follow()
        self.refresh()

    def close_down(self) -> None:
        """End the thread and the timer."""
        self._timer.stop()
        self._background.close()

    # ---- what is wanted

    def _follow(self) -> None:
        """Offer what the knobs let be looked at; nothing while nobody looks."""
        if self.isVisible():
            self.form.follow(self._session.experiment, self.subject())
            self._look_soon()

    def _look_soon(self) -> None:
        self.preview = self._looking = None
        self._timer.start(LOOK_AFTER_MS)
        self._show_state()

    def _look(self) -> None:
        """Find out, in another thread, what the choices come to."""
        if not self.isVisible():
            return
        try:
            find = self.look()
        except ExplorerError as error:
            self._show_preview(error)
            return
        looking = self._looking = object()

        def work() -> tuple[object, Preview[W] | ExplorerError]:
            try:
                return looking, find()
            except ExplorerError as error:
                return looking, error

        self._background.ask("preview", work)

    def _previewed(self, _kind: str, outcome: object) -> None:
        if isinstance(outcome, ExplorerError):
            self._show_preview(outcome)
        elif isinstance(outcome, tuple) and outcome[0] is self._looking:
            self._show_preview(outcome[1])

    def _show_preview(self, found: Preview[W] | ExplorerError) -> None:
        if isinstance(found, ExplorerError):
            self.preview, total, takes = None, f"{capital(str(found))}.", ""
        else:
            self.preview, total, takes = found, found.total, found.takes
        self.form.show_total(total, takes)
        self._say_empty(f"{total} {takes}")
        self._show_state()

    # ---- the job

    @property
    def running(self) -> bool:
        """Whether it measures, or waits in a pause."""
        return self._job is not None

    def start(self) -> None:
        """Measure what is wanted."""
        if self.preview is None or self._job is not None:
            return
        job = self.job(self.preview.wanted)
        job.stepped.connect(self._stepped)
        job.ended.connect(self._ended)
        if self._session.jobs.begin(job):
            self._job = job
            self.model.begin()
            self.refresh()
            self._show_state()
            self.changed.emit()

    def pause(self) -> None:
        """Give the engine back to live measuring once the present run has ended, or continue."""
        if self._job is None:
            return
        if self.model.state == "paused":
            self._session.jobs.resume()
            self.model.state = "running"
        else:
            self.model.state = "paused"
            self._session.jobs.pause()
        self._show_state()

    def _stepped(self, step: tuple[Progress, R | None]) -> None:
        if self._job is None:
            return
        self.model.take(*step)
        if step[1] is not None:
            self.refresh()
        self.head.show_progress(step[0].done, step[0].total)
        self._show_words()

    def _ended(self, outcome: object) -> None:
        job, self._job = self._job, None
        if job is None:
            return
        error = f"{capital(str(outcome))}." if isinstance(outcome, ExplorerError) else ""
        self.model.end(self.outcome(job), error)
        self.refresh()
        self._look_soon()
        self.changed.emit()
        if self.model.state == "done":
            self.said.emit(f"{self._title}: {self.finding.text()}")

    def tell_trouble(self, error: ExplorerError) -> None:
        """Say that the runs are not kept in the history."""
        text = f"The {self._noun}'s runs are not kept in the history: {error}."
        self.notice.emit(Notice("warning", text, detail=error.detail))

    # ---- showing

    def _say_empty(self, more: str) -> None:
        title, words = self.about()
        self.empty.say(title, (words, self.model.error, more))

    def refresh(self) -> None:
        """Draw what is known now; nothing while another view is shown."""
        if not self.isVisible():
            return
        result = self.model.result
        if result is None or not result.runs:
            self.pages.setCurrentWidget(self.empty)
            self._say_empty(f"{self.form.total.text()} {self.form.estimate.text()}")
            return
        self.pages.setCurrentWidget(self.result_page)
        self.sheet, chart, finding = self.shown(result)
        self.rows.show_sheet(self.sheet)
        self.finding.setText(finding)
        self.finding.setVisible(bool(finding))
        self.chart.show_chart(chart)
        self.notes.setText(" ".join(chart.notes))
        self.notes.setToolTip("\n".join(chart.notes))

    def _show_state(self) -> None:
        model = self.model
        free = self._session.jobs.current is None
        self.head.show_state(
            running=self.running,
            paused=model.state == "paused",
            can_start=self.preview is not None and free,
            can_copy=self.preview is not None,
            again=model.result is not None and not model.running,
        )
        self._show_words()

    def _show_words(self) -> None:
        current = self._session.jobs.current
        if self._pointed is not None:
            self.head.words.setText(self._pointed)
        elif current is not None and current is not self._job:
            self.head.words.setText(f"Another job has the engine: {current.doing}.")
        else:
            self.head.words.setText(self.model.words or "Choose what to look at, then press Start.")

    def _point(self, words: str | None) -> None:
        self._pointed = words.replace("\n", " · ") if words else None
        self._show_words()

    def _point_at(self, key: str | None) -> None:
        """Say what a mark of the chart is, and choose its row."""
        self._point(self.sheet.marks.get(key or ""))
        self.rows.show_key(key or "")

    def _choose(self, key: str) -> None:
        result = self.model.result
        config = self.config_of(result, key) if result is not None else None
        if config is not None and key in self.sheet.marks:
            self.restored.emit(config)
            self.said.emit(f"The knobs stand at {self.sheet.marks[key].splitlines()[0]}.")

    # ---- keeping

    def copy_command(self) -> None:
        """Put the command line on the clipboard."""
        if self.preview is None:
            self.said.emit(f"There is no {self._noun} to copy yet.")
            return
        QApplication.clipboard().setText(self.command(self.preview.wanted))
        self.said.emit(f"The {self._noun}'s command line is on the clipboard.")

    def show_held(self, held: Held[R] | None) -> None:
        """Show another result; None: nothing."""
        self.model.show(held)
        self._pointed = None
        self.refresh()
        self._show_state()
        self.changed.emit()

    def exported(self) -> Exported:
        """Return how what is shown is written; InputError when there is nothing."""
        held = self.model.held()
        if held is None:
            raise InputError(f"there is no {self._noun} to export yet", remedy="press Start first")
        return self.files(held.result)
