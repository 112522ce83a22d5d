"""Learn: the list of lessons, and the one that is open, step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QPushButton,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.charts.words import config_words
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.language import as_is, tr
from gpuexplorer.gui.export import Exported, drawn
from gpuexplorer.gui.model.lesson_session import VIEWS, lesson_session
from gpuexplorer.gui.model.lessons import EXERCISE, LessonsModel
from gpuexplorer.gui.model.lessons_file import HeldLessons
from gpuexplorer.gui.notice import Notice, capital
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.views.lesson_job import LessonJob, Work
from gpuexplorer.gui.views.lesson_list import LessonList
from gpuexplorer.gui.views.lesson_steps import (
    MARGIN,
    ExerciseStep,
    GuessStep,
    MeasureStep,
    Step,
    WhyStep,
)
from gpuexplorer.gui.widgets.late import scrolled
from gpuexplorer.gui.widgets.look import set_look
from gpuexplorer.gui.widgets.scroll_room import ScrollArea
from gpuexplorer.gui.widgets.words import Words
from gpuexplorer.lessons.measured import Measured
from gpuexplorer.lessons.measuring import check_exercise, check_kept, measure, planned
from gpuexplorer.lessons.progress import Progress, progress_json
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.workload import Workload

if TYPE_CHECKING:
    from gpuexplorer.gui.model.experiment import Experiment

GUESS, MEASURE, WHY, DO = range(4)


def _measured_words(job: LessonJob, model: LessonsModel) -> str:
    """Return that something was measured, and what of the lesson is still to be."""
    if job.name == EXERCISE or not model.shows(job.lesson):
        return "Measured."
    left = [name for name in model.lesson.manifest.measures if name not in model.measured]
    if not left:
        return "Measured."
    return f"Measured; still to measure: {model.lesson.text.button(left[0])}."


class LearnView(QStackedWidget):
    """The list, and the lesson that is open.

    ``restored`` carries a configuration that the knobs shall take; ``view_asked`` the title of a
    view of the window, and of what it is to show: configurations, or nothing. ``notice`` and
    ``message`` are for the window.
    """

    notice = Signal(object)
    message = Signal(str)
    restored = Signal(object)
    view_asked = Signal(str, object)
    changed = Signal()

    def __init__(self, session: Session, folders: Callable[[], Sequence[Path]]) -> None:
        """``folders`` are the user's own folders of lessons."""
        super().__init__()
        self.setObjectName("learnView")
        self.setAutoFillBackground(True)
        self.setBackgroundRole(self.palette().ColorRole.Base)
        self._session, self._folders = session, folders
        self._workloads = self._read_workloads()
        """As they are shipped: a lesson speaks of these, whatever was edited; and the user's."""
        self.model = LessonsModel(self._workloads, folders())
        self._job: LessonJob | None = None
        self._told = ""
        self._revealed = ""
        """The measurement whose chart is kept in sight."""
        self.list = LessonList(self.model)
        self.list.chosen.connect(self.open_lesson)
        self.addWidget(scrolled(self.list))
        self.addWidget(self._page())
        session.state_changed.connect(self.show_state)
        session.devices_changed.connect(self.show_state)
        session.knobs_changed.connect(self._follow)

    def _read_workloads(self) -> dict[str, Workload]:
        return {**self._experiment.workloads, **load()}

    def reload(self) -> None:
        """Read all lessons again, and show the open one as it is now."""
        self._workloads = self._read_workloads()
        self.model.read(self._workloads, self._folders())
        self.list.show_lessons()
        opened = self.model.open
        if opened is None or self.currentIndex() == 0:
            self.model.open = None
        elif opened.name in self.model.lessons:
            step, told = self.step, self._told
            self.open_lesson(opened.name)
            self._told = told if self.running else ""
            self.show_step(step)
        else:
            self.model.open = None
            self.show_list()
        self._say_problems()

    def _say_problems(self) -> None:
        for error in self.model.problems[:1]:
            self._refuse(error)

    @property
    def _experiment(self) -> Experiment:
        return self._session.experiment

    # ---- construction

    def _page(self) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._head())
        self.pages = QStackedWidget()
        self.guess = GuessStep(self.model)
        self.measure = MeasureStep(self.model)
        self.why = WhyStep(self.model)
        self.exercise = ExerciseStep(self.model, self._knob_words, self._refusal_words, self._moved)
        self.steps: tuple[Step, ...] = (self.guess, self.measure, self.why, self.exercise)
        self._rooms: list[ScrollArea] = []
        for step in self.steps:
            room = scrolled(step)
            self._rooms.append(room)
            self.pages.addWidget(room)
        bar = self._rooms[MEASURE].verticalScrollBar()
        bar.rangeChanged.connect(lambda *_: self._scroll_to_revealed())
        bar.actionTriggered.connect(lambda _: self._let_scroll())
        self.guess.guessed.connect(self._guessed)
        self.measure.wanted.connect(self.start)
        self.measure.bench.connect(self.set_bench)
        self.exercise.start_asked.connect(self.set_start)
        self.exercise.wanted.connect(self.check)
        column.addWidget(self.pages, 1)
        column.addWidget(self._foot())
        return page

    def _head(self) -> QWidget:
        head = QFrame()
        row = QHBoxLayout(head)
        row.setContentsMargins(8, 6, 8, 4)
        row.setSpacing(4)
        self.back_to_list = QPushButton(tr("All lessons"))
        self.back_to_list.setObjectName("lessonList")
        self.back_to_list.clicked.connect(lambda _=False: self.show_list())
        row.addWidget(self.back_to_list)
        self.heading = Words()
        self.heading.setObjectName("lessonTitle")
        self.heading.setProperty("role", "title")
        self.heading.setContentsMargins(8, 0, 8, 0)
        row.addWidget(self.heading, 1)
        group = QButtonGroup(self)
        self.step_buttons: list[QToolButton] = []
        kinds: tuple[type[Step], ...] = (GuessStep, MeasureStep, WhyStep, ExerciseStep)
        for number, kind in enumerate(kinds):
            button = QToolButton()
            button.setObjectName(f"lessonStep_{number}")
            button.setText(tr(kind.title))
            button.setToolTip(tr(kind.tip))
            button.setProperty("role", "view")
            button.setCheckable(True)
            button.clicked.connect(partial(self._show_step_of, number))
            group.addButton(button)
            self.step_buttons.append(button)
            row.addWidget(button)
        return head

    def _foot(self) -> QWidget:
        foot = QFrame()
        row = QHBoxLayout(foot)
        row.setContentsMargins(12, 4, 8, 6)
        row.setSpacing(6)
        self.status = Words()
        self.status.setObjectName("lessonStatus")
        row.addWidget(self.status, 1)
        self.stop = QPushButton(tr("Stop"))
        self.stop.setObjectName("lessonStop")
        self.stop.setToolTip(tr("End it at the next launch; what was measured is kept"))
        self.stop.clicked.connect(lambda _=False: self._session.jobs.cancel())
        self.previous = QPushButton(tr("Back"))
        self.previous.setObjectName("lessonBack")
        self.previous.clicked.connect(lambda _=False: self._turn(-1))
        self.next = QPushButton(tr("Next"))
        self.next.setObjectName("lessonNext")
        self.next.setProperty("role", "leads")
        self.next.clicked.connect(lambda _=False: self._turn(1))
        for button in (self.stop, self.previous, self.next):
            row.addWidget(button)
        return foot

    # ---- at the next start

    def held(self) -> HeldLessons | None:
        """Return what was measured, and the lesson that is open with its step."""
        return self.model.held(self.step)

    def show_held(self, held: HeldLessons | None) -> None:
        """Show what the window before this one had."""
        if held is None:
            return
        self.model.bring(held, self._workloads)
        if held.lesson in self.model.lessons:
            self.open_lesson(held.lesson)
            self.show_step(held.step)

    # ---- which lesson, which step

    def show_list(self) -> None:
        """Show all lessons."""
        self.list.refresh()
        self.setCurrentIndex(0)

    def open_lesson(self, name: str) -> None:
        """Open a lesson at its question."""
        self.model.open = self.model.lessons[name]
        self._told = self._revealed = ""
        self.heading.setText(as_is(self.model.lesson.text.title))
        for step, room in zip(self.steps, self._rooms, strict=True):
            step.show_lesson()
            room.verticalScrollBar().setValue(0)
        self.setCurrentIndex(1)
        self.show_step(GUESS)

    def _show_step_of(self, number: int, _: bool = False) -> None:
        self.show_step(number)

    def show_step(self, number: int) -> None:
        """Show one of the lesson's steps."""
        self.step_buttons[number].setChecked(True)
        self.steps[number].refresh()
        self.pages.setCurrentIndex(number)
        self.show_state()

    @property
    def step(self) -> int:
        """The number of the step that is shown."""
        return self.pages.currentIndex()

    def _turn(self, by: int) -> None:
        """Show the next step or the one before; after the last, the next lesson or the list."""
        at = self.step + by
        if 0 <= at < len(self.steps):
            self.show_step(at)
            return
        following = self.model.next_of(self.model.lesson) if by > 0 else None
        if following is not None:
            self.open_lesson(following.name)
        else:
            self.show_list()

    def _guessed(self) -> None:
        self.measure.refresh()
        self._say_trouble()
        self.show_state()

    # ---- the bench

    def _config(self, word: str) -> RunConfig | None:
        """Return the configuration of a word; None, and a notice, where it cannot run here."""
        devices = self._experiment.devices
        if devices is None:
            return None
        try:
            request, workload = self.model.lesson.request(word, self._workloads)
            return planned(request, workload, devices)
        except ExplorerError as error:
            self._refuse(error)
            return None

    def set_bench(self, name: str) -> None:
        """Set the knobs to a measurement, and ask for the view in which it can be explored."""
        lesson = self.model.lesson
        wanted = lesson.manifest.measures[name]
        config = self._config(lesson.start_of(name))
        if config is None:
            return
        self.restored.emit(config)
        found = [self._config(word) for word in wanted.words if wanted.kind != "compile"]
        shown: object = tuple(one for one in found if one is not None)
        self.view_asked.emit(
            wanted.view or VIEWS[wanted.kind], wanted.study if wanted.study is not None else shown
        )

    def set_start(self) -> None:
        """Set the knobs to where the exercise begins."""
        config = self._config(self.model.lesson.manifest.exercise.start)
        if config is not None:
            self._told = ""
            self.restored.emit(config)
            self.exercise.refresh()
            self.show_state()

    def _knob_words(self) -> str:
        config = self._session.config
        if config is None:
            return "The knobs at the left make no run as they stand."
        return f"Your knobs: {config_words(config)}"

    def _moved(self) -> bool:
        checked = self.model.results.checked.get(self.model.lesson.name)
        return checked is not None and checked != self._experiment.knobs.request()

    def _refusal_words(self) -> str:
        """Return why the exercise does not take the knobs as they stand; "" where it does."""
        experiment = self._experiment
        if experiment.devices is None:
            return ""
        own, workload = experiment.knobs.request(), experiment.workload
        try:
            check_kept(self.model.lesson, own, workload, self._workloads, experiment.devices)
        except ExplorerError as error:
            return f"{capital(str(error))}."
        return ""

    # ---- files

    def exported(self) -> Exported:
        """Return how the open lesson is written, or with the list in front the progress."""
        if self.model.open is None or self.currentIndex() == 0:
            return self._exported_progress()
        lesson, measured = self.model.lesson, dict(self.model.measured)
        guess, devices = self.model.done.guess, self._experiment.devices

        def page(path: Path) -> None:
            from gpuexplorer.lessons.page import lesson_page, write_page

            write_page(lesson_page(lesson, measured, guess, drawn), path)

        def session(path: Path) -> None:
            from gpuexplorer.gui.model.session_archive import write_session

            if devices is None:
                raise InputError("the devices are not known yet")
            write_session(lesson_session(lesson, measured, self._workloads, devices), path)

        return Exported(
            f"lesson-{lesson.name}",
            lambda: progress_json(Progress(lessons={lesson.name: self.model.done})),
            formats={"html": "Page", "gpux": "Session", "json": "JSON document"},
            others={"html": page, "gpux": session},
        )

    def _exported_progress(self) -> Exported:
        progress, lessons = self.model.progress, self.model.lessons

        def page(path: Path) -> None:
            from gpuexplorer.lessons.page import progress_page, write_page

            write_page(progress_page(progress, lessons), path)

        return Exported(
            "lessons-progress",
            lambda: progress_json(progress),
            formats={"html": "Page", "json": "JSON document"},
            others={"html": page},
        )

    # ---- measuring

    @property
    def running(self) -> bool:
        """Whether it measures."""
        return self._job is not None

    def start(self, name: str) -> None:
        """Measure one of the lesson's measurements."""
        lesson = self.model.lesson
        self._reveal(name)
        self._begin(name, lambda bench, on_step: measure(lesson, name, bench, on_step))

    def check(self) -> None:
        """Measure the knobs as they stand beside the start of the exercise."""
        lesson, experiment = self.model.lesson, self._experiment
        own, workload = experiment.knobs.request(), experiment.workload
        self._begin(
            EXERCISE,
            lambda bench, on_step: check_exercise(lesson, own, workload, bench, on_step),
            own,
        )

    def _begin(self, name: str, work: Work, own: RunRequest | None = None) -> None:
        session, devices = self._session, self._experiment.devices
        if self._job is not None or devices is None:
            return
        job = LessonJob(
            session.worker, self.model.lesson, name, work, devices=devices,
            workloads=self._workloads, python=session.options.python,
            keeping=session.keeping, ceilings=session.store.find, own=own,
        )  # fmt: skip
        job.stepped.connect(self._stepped)
        job.ended.connect(self._ended)
        if session.jobs.begin(job):
            self._job = job
            self._told = "Measuring…"
        self.show_state()

    @Slot(object)
    def _stepped(self, found: Measured) -> None:
        if self._job is not None:
            self._take(self._job, found, whole=False)

    @Slot(object)
    def _ended(self, outcome: object) -> None:
        job, self._job = self._job, None
        if job is None:
            return
        self._told = ""
        if isinstance(outcome, Measured):
            self._take(job, outcome, whole=True)
            self._told = _measured_words(job, self.model)
        elif isinstance(outcome, ExplorerError):
            self._told = f"{capital(str(outcome))}."
        self._say_trouble()
        self.show_state()
        self.changed.emit()

    def _take(self, job: LessonJob, found: Measured, *, whole: bool) -> None:
        self.model.take(job.lesson, job.name, found, whole=whole)
        if job.own is not None:
            self.model.results.checked[job.lesson.name] = job.own
        if not self.model.shows(job.lesson):
            return
        answered = self.measure.answers
        chart = self.measure.charts.get(job.name)
        drawn_before = chart is None or not chart.isHidden()
        self.steps[self.step].refresh()
        if self.measure.answers and not answered:
            self._let_scroll()
            self._rooms[MEASURE].verticalScrollBar().setValue(0)
        elif not drawn_before:
            self._reveal(job.name)

    def _reveal(self, name: str) -> None:
        """Keep a measurement's chart in sight, which may still grow, until the user scrolls."""
        self._revealed = name
        self._scroll_to_revealed()

    def _let_scroll(self) -> None:
        self._revealed = ""

    def _scroll_to_revealed(self) -> None:
        """Scroll as little as shows a chart with its buttons; where not both have room, these."""
        chart = self.measure.charts.get(self._revealed)
        if chart is None or chart.isHidden():
            return
        room = self._rooms[MEASURE]
        bar = room.verticalScrollBar()
        least = chart.geometry().bottom() + MARGIN - room.viewport().height()
        top = self.measure.lines[self._revealed].y() - MARGIN // 2
        bar.setValue(min(max(bar.value(), least), top))

    def showEvent(self, event: QShowEvent) -> None:
        """Say what is wrong with a folder of the user's."""
        super().showEvent(event)
        self._say_problems()

    def _refuse(self, error: ExplorerError) -> None:
        self.notice.emit(Notice("warning", f"{capital(str(error))}.", detail=error.detail))

    def _say_trouble(self) -> None:
        """Say that the progress could not be kept."""
        if self.model.trouble is not None:
            self._refuse(self.model.trouble)

    # ---- showing

    def _follow(self) -> None:
        """Show where the knobs stand."""
        if self.model.open is not None and self.step == DO and self.isVisible():
            self.exercise.refresh()

    def show_state(self) -> None:
        """Show what can be done now."""
        if self.model.open is None:
            return
        busy = self._session.jobs.current
        able = busy is None and self._experiment.devices is not None
        self.measure.allow(able=able)
        self.exercise.allow(able=able)
        self.stop.setVisible(self.running)
        self.previous.setEnabled(self.step > GUESS)
        last = self.step == DO
        following = self.model.next_of(self.model.lesson)
        words = "Next" if not last else "Next lesson" if following is not None else "All lessons"
        self.next.setText(tr(words))
        # On from an exercise that is not solved one may go, but need not be led.
        led = not last or self.model.done.solved_utc is not None
        set_look(self.next, role="leads" if led else "")
        told = self._told
        if busy is not None and not self.running:
            told = f"Another job has the engine: {busy.doing}."
        elif self.step == GUESS and self.model.done.guess is None:
            told = "Guess before you measure."
        self.status.setText(tr(told))
