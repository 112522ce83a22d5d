"""The view of a job: choices with their cost, start to stop, a chart and a table that fill.

A subclass says what is measured and how it is shown; everything else is here, once.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QApplication, QSplitter, QVBoxLayout, QWidget

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.gui.job import EngineJob
from gpuexplorer.gui.model.job import State
from gpuexplorer.gui.notice import Notice, capital
from gpuexplorer.gui.panels.result_tab import Exported
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.task import Background
from gpuexplorer.gui.views.job_form import JobForm
from gpuexplorer.gui.views.job_head import JobHead
from gpuexplorer.gui.views.result_page import Picture, ResultPage

LOOK_AFTER_MS = 180
"""A knob that is being turned is not followed at every step."""
FORM_WIDTH = 240
DRAW_GAP_S = 0.25
DRAW_SHARE = 0.1
"""Share of the time that drawing anew may take."""
R = TypeVar("R")
W = TypeVar("W")
R_co = TypeVar("R_co", covariant=True)
Totals = tuple[str, str, tuple[tuple[str, int], ...]]


@dataclass(frozen=True)
class Preview(Generic[W]):
    """What would be measured, what that comes to, and how long it takes about."""

    wanted: W
    total: str
    takes: str
    reasons: tuple[tuple[str, int], ...] = ()
    """Why some of it cannot be measured, and how much of it."""
    able: bool = True
    """Whether any of it can."""


class Model(Protocol[R_co]):
    """What is measured, and how far its job is."""

    state: State
    error: str
    """Why it ended early, in a sentence."""

    @property
    def words(self) -> str:
        """How far it is, or what it came to, in a line; empty for nothing."""

    def snapshot(self) -> R_co | None:
        """Return the result so far, unchangeable from now on; None while there is none."""


class JobView(QWidget, Generic[R, W]):
    """``R`` is what is measured, ``W`` what is wanted; its owner places ``head``.

    ``notice``, ``message`` and ``restored`` are for the window; ``changed`` says that something
    else is shown.
    """

    notice = Signal(object)
    message = Signal(str)
    restored = Signal(object)
    """A configuration that the knobs shall take."""
    changed = Signal()
    hint = "Choose what to look at, then press Start."

    def __init__(
        self, session: Session, name: str, title: str, noun: str, model: Model[R], form: JobForm
    ) -> None:
        """``name`` is for object names, ``noun`` what is measured, in a word."""
        super().__init__()
        self.setObjectName(f"{name}View")
        self.setAutoFillBackground(True)
        self.setBackgroundRole(self.palette().ColorRole.Base)
        self._session, self._name, self._title, self._noun = session, name, title, noun
        self._model, self._form = model, form
        self.kernel_folders: Callable[[], Sequence[Path]] = tuple
        """Returns the user's kernel folders, which a copied command names."""
        self.preview: Preview[W] | None = None
        """What is wanted; None while that is looked at, and when it cannot be."""
        self._looking: object | None = None
        self._totals: Totals = ("", "", ())
        self._job: EngineJob | None = None
        self._pointed: str | None = None
        """The words of what is pointed at."""
        self._lineage = object()
        """Of which result pictures may be shown."""
        self._stale = self._drawing = False
        self._draw_due = 0.0
        self._background = Background(f"{name}-background")
        self._background.ended.connect(self._background_ended)
        self._look_timer, self._draw_timer = QTimer(self), QTimer(self)
        for timer, act in ((self._look_timer, self._look), (self._draw_timer, self._draw)):
            timer.setSingleShot(True)
            timer.timeout.connect(act)
        self._build()
        form.changed.connect(self.look_soon)
        session.knobs_changed.connect(self._follow)
        session.devices_changed.connect(self._follow)
        session.state_changed.connect(self.show_state)

    # ---- what a subclass says

    @abstractmethod
    def follow_knobs(self) -> None:
        """Offer in the form what the knobs let be looked at, and ``look_soon``."""

    @abstractmethod
    def look(self) -> Callable[[], Preview[W]]:
        """Return what finds out what the choices come to; it is called in another thread.

        Both raise ExplorerError where that is nothing.
        """

    @abstractmethod
    def job(self, wanted: W) -> EngineJob:
        """Return the job."""

    @abstractmethod
    def began(self, wanted: W) -> None:
        """Note that the job has begun."""

    @abstractmethod
    def take(self, step: Any) -> bool:
        """Take in what the job tells; return whether there is something new to draw."""

    @abstractmethod
    def end(self, job: Any, error: str) -> None:
        """Note that the job has ended, and why where that was by an error."""

    @property
    @abstractmethod
    def done(self) -> tuple[int, int]:
        """How much is done, of how much."""

    @abstractmethod
    def command(self, wanted: W) -> str:
        """Return the command line that does the same."""

    @abstractmethod
    def about(self) -> tuple[str, Sequence[str]]:
        """Return what it answers and how, for those who have not run it: title and sentences."""

    @abstractmethod
    def picture(self, result: R) -> Callable[[], Picture]:
        """Return what makes a result's table and chart; it is called in another thread."""

    @abstractmethod
    def config_of(self, key: str) -> RunConfig | None:
        """Return the configuration that a mark of the chart stands for."""

    @abstractmethod
    def files(self, result: R) -> Exported:
        """Return how a result is written to files."""

    def summary(self) -> str:
        """Return what a result that is done comes to, in a sentence."""
        return self._model.words

    def words_of(self, key: str) -> str:
        """Return the words of a mark of the chart."""
        return self.result.sheet.marks.get(key, "")

    def current_mark(self) -> str | None:
        """Return the mark of what is measured now; None where that has none."""
        return None

    def rest(self) -> W | None:
        """Return what can be continued of a result that was left; None for nothing."""
        return None

    def found(self, kind: str, outcome: object) -> None:
        """Take in what ``in_background`` found out, or its ExplorerError."""

    @property
    def again(self) -> bool:
        """Whether Start would measure what is shown once more."""
        return False

    # ---- construction

    def _build(self) -> None:
        name = self._name
        self.head = JobHead(name, self._noun)
        for button, act in (
            (self.head.copy, self.copy_command), (self.head.start, self.start),
            (self.head.pause, self.pause), (self.head.stop, self._session.jobs.cancel),
        ):  # fmt: skip
            button.clicked.connect(lambda _=False, act=act: act())
        self.result = ResultPage(name, self._title, self._noun, self.words_of, self.current_mark)
        self.result.pointed.connect(self._point)
        self.result.chosen.connect(self._choose)
        across = QSplitter(Qt.Orientation.Horizontal)
        across.addWidget(self._form)
        across.addWidget(self.result)
        across.setStretchFactor(1, 1)
        across.setSizes([FORM_WIDTH, 700])
        across.setHandleWidth(1)
        across.setChildrenCollapsible(False)
        across.setCollapsible(0, True)
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(0)
        self.column.addWidget(across, 1)
        self._say_empty()

    def showEvent(self, event: QShowEvent) -> None:
        """Follow the knobs from now on, and draw what came meanwhile."""
        super().showEvent(event)
        self._follow()
        self.refresh(at_once=True)

    def close_down(self) -> None:
        """End the thread and the timers."""
        self._look_timer.stop()
        self._draw_timer.stop()
        self._background.close()

    # ---- what is wanted

    def _follow(self) -> None:
        """Offer what the knobs let be looked at; nothing while the view is hidden."""
        if self.isVisible():
            self.follow_knobs()

    def look_soon(self) -> None:
        """Find out anew what is wanted, once the knobs rest."""
        self.preview = self._looking = None
        self._look_timer.start(LOOK_AFTER_MS)
        self.show_state()

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

        self.in_background("preview", work)

    def in_background(self, kind: str, work: Callable[[], object]) -> None:
        """Have something done in another thread; ``found`` takes what it returns."""
        self._background.ask(kind, work)

    def _background_ended(self, kind: str, outcome: Any) -> None:
        if kind == "picture":
            self._drawn(outcome)
        elif kind != "preview":
            self.found(kind, outcome)
        elif isinstance(outcome, ExplorerError):
            self._show_preview(outcome)
        elif outcome[0] is self._looking:  # else something else is wanted by now
            self._show_preview(outcome[1])

    def _show_preview(self, found: Preview[W] | ExplorerError) -> None:
        if isinstance(found, ExplorerError):
            self.preview, self._totals = None, (f"{capital(str(found))}.", "", ())
        else:
            self.preview = found if found.able else None
            self._totals = (found.total, found.takes, found.reasons)
        self._form.show_total(*self._totals)
        self._say_empty()
        self.show_state()

    # ---- the job

    @property
    def running(self) -> bool:
        """Whether it measures, or waits in a pause."""
        return self._job is not None

    def start(self) -> None:
        """Measure what is wanted."""
        if self.preview is not None:
            self.begin(self.preview.wanted)

    def begin(self, wanted: W) -> None:
        """Measure something, unless a job goes on."""
        if self._job is not None:
            return
        job = self.job(wanted)
        job.stepped.connect(self._stepped)  # nothing that holds the job: it would hold itself
        job.ended.connect(self._ended)
        if self._session.jobs.begin(job):
            self._job = job
            self.began(wanted)
            self.replaced()

    def pause(self) -> None:
        """Give the engine back to live measuring once the present run has ended, or continue."""
        jobs, model = self._session.jobs, self._model
        if self._job is None:
            if (rest := self.rest()) is not None:
                self.begin(rest)
        elif model.state == "paused":
            jobs.resume()
            model.state = "running"
        elif model.state == "running":
            model.state = "paused"
            jobs.pause()
        self.show_state()

    def _stepped(self, step: object) -> None:
        if self._job is None:
            return
        if self.take(step):
            self.refresh()
        self.head.show_progress(*self.done)
        self._show_words()

    def _ended(self, outcome: object) -> None:
        job, self._job = self._job, None
        if job is None:
            return
        self.end(job, f"{capital(str(outcome))}." if isinstance(outcome, ExplorerError) else "")
        self.refresh(at_once=True)
        self.look_soon()
        self.changed.emit()
        if self._model.state == "done":
            self.message.emit(f"{self._title}: {self.summary()}")

    # ---- showing

    def replaced(self) -> None:
        """Show another result, or none."""
        self._lineage = object()
        self._pointed = None
        self.result.clear()
        self.refresh(at_once=True)
        self.show_state()
        self.changed.emit()

    def _say_empty(self) -> None:
        title, sentences = self.about()
        total, takes, _ = self._totals
        self.result.empty.say(title, (*sentences, self._model.error, total.rstrip(":"), takes))

    def refresh(self, *, at_once: bool = False) -> None:
        """Draw what is known, now or soon; nothing while another view is shown."""
        self._stale = True
        if not self.isVisible() or self._drawing:
            return
        wait_s = 0.0 if at_once else self._draw_due - time.monotonic()
        if wait_s <= 0:
            self._draw()
        elif not self._draw_timer.isActive():
            self._draw_timer.start(int(wait_s * 1000) + 1)

    def _draw(self) -> None:
        if self._drawing or not self.isVisible():
            return
        self._stale = False
        result = self._model.snapshot()
        if result is None:
            self.result.show_empty()
            self._say_empty()
            return
        self._drawing = True
        self._background.ask("picture", partial(_timed, self.picture(result), self._lineage))

    def _drawn(self, outcome: tuple[object, Picture, float] | ExplorerError) -> None:
        self._drawing = False
        if isinstance(outcome, ExplorerError):
            self.notice.emit(Notice("bad", f"{capital(str(outcome))}."))
            return
        lineage, picture, took_s = outcome
        self._draw_due = time.monotonic() + max(DRAW_GAP_S, took_s / DRAW_SHARE)
        if lineage is self._lineage:
            self.result.show_picture(picture)
            self._show_words()
        if self._stale:
            self.refresh(at_once=lineage is not self._lineage)

    def show_state(self) -> None:
        """Show what can be done now."""
        free, rest = self._session.jobs.current is None, self.rest()
        self.head.show_state(
            running=self.running,
            paused=self._model.state == "paused",
            can_start=self.preview is not None and free,
            can_continue=rest is not None and free,
            can_copy=self.preview is not None or rest is not None,
            again=self.again,
        )
        self.head.pause.setEnabled(not self.running or self._model.state in ("running", "paused"))
        self.head.show_progress(*self.done)
        self._show_words()

    def _show_words(self) -> None:
        current = self._session.jobs.current
        if self._pointed is not None:
            self.head.words.setText(self._pointed)
        elif current is not None and not self.running:
            self.head.words.setText(f"Another job has the engine: {current.doing}.")
        else:
            self.head.words.setText(self._model.words or self.hint)

    def _point(self, words: str | None) -> None:
        self._pointed = words.replace("\n", " · ") if words else None
        self._show_words()

    def _choose(self, key: str) -> None:
        words, config = self.words_of(key), self.config_of(key)
        if config is not None and words:
            self.restored.emit(config)
            self.message.emit(f"The knobs stand at {words.splitlines()[0]}.")
        elif words:
            self.message.emit(f"{capital(words)}.")

    # ---- keeping

    def copy_command(self) -> None:
        """Put the command line on the clipboard."""
        wanted = self.preview.wanted if self.preview is not None else self.rest()
        if wanted is None:
            self.message.emit(f"There is no {self._noun} to copy yet.")
            return
        QApplication.clipboard().setText(self.command(wanted))
        self.message.emit(f"The {self._noun}'s command line is on the clipboard.")

    def exported(self) -> Exported:
        """Return how what is shown is written; InputError when there is nothing."""
        result = self._model.snapshot()
        if result is None:
            raise InputError(f"there is no {self._noun} to export yet", remedy="press Start first")
        return self.files(result)


def _timed(make: Callable[[], Picture], lineage: object) -> tuple[object, Picture, float]:
    """Make a picture, and return it with the seconds that it took."""
    began = time.monotonic()
    picture = make()
    return lineage, picture, time.monotonic() - began
