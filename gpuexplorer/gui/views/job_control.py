"""A view that has a job: its head begins, pauses, continues and stops it, and says how it goes.

A subclass says what is measured and shows it; ``JobView`` is one with a form, a chart and a table.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QApplication, QWidget

from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.language import tr
from gpuexplorer.gui.export import Exported
from gpuexplorer.gui.model.job import State
from gpuexplorer.gui.notice import capital
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.task import Background
from gpuexplorer.gui.views.job_head import JobHead
from gpuexplorer.gui.widgets.caption import CaptionLine

if TYPE_CHECKING:
    from gpuexplorer.gui.job import EngineJob

R = TypeVar("R")
W = TypeVar("W")
R_co = TypeVar("R_co", covariant=True)


class Model(Protocol[R_co]):
    """What is measured, and how far its job is."""

    state: State

    @property
    def words(self) -> str:
        """How far it is, or what it came to, in a line; empty for nothing."""

    def snapshot(self) -> R_co | None:
        """Return the result so far, unchangeable from now on; None while there is none."""


class JobControl(QWidget, Generic[R, W]):
    """``R`` is what is measured, ``W`` what is wanted; its owner places ``head``.

    ``notice``, ``message`` and ``restored`` are for the window; ``changed`` says that something
    else is shown.
    """

    notice = Signal(object)
    message = Signal(str)
    restored = Signal(object)
    """A configuration that the knobs shall take."""
    changed = Signal()
    hint = ""
    """What to do, where nothing was measured."""

    def __init__(self, session: Session, name: str, title: str, noun: str, model: Model[R]) -> None:
        """``name`` is for object names, ``noun`` what is measured, in a word."""
        super().__init__()
        self.setObjectName(f"{name}View")
        self.setAutoFillBackground(True)
        self.setBackgroundRole(self.palette().ColorRole.Base)
        self._session, self._name, self._title, self._noun = session, name, title, noun
        self._model = model
        self.kernel_folders: Callable[[], Sequence[Path]] = tuple
        """Returns the user's kernel folders, which a copied command names."""
        self._job: EngineJob | None = None
        self._able = False
        """Whether it could be started when that was known last."""
        self._soon: Callable[[], object] | None = None
        """What is done once it is known what is wanted."""
        self._background = Background(f"{name}-background")
        self._background.ended.connect(self._background_ended)
        self.head = JobHead(name, noun)
        self._caption: CaptionLine | None = None
        for button, act in (
            (self.head.copy, self.copy_command), (self.head.start, self.start),
            (self.head.pause, self.pause), (self.head.stop, self.stop),
        ):  # fmt: skip
            button.clicked.connect(lambda _=False, act=act: act())
        session.knobs_changed.connect(self._follow)
        session.devices_changed.connect(self._follow)
        session.state_changed.connect(self.show_state)

    # ---- what a subclass says

    @abstractmethod
    def follow_knobs(self) -> None:
        """Find out what the knobs let be measured; called while the view is shown."""

    @abstractmethod
    def wanted(self) -> W | None:
        """Return what Start measures; None while that is not known, or cannot be."""

    @property
    def looking(self) -> bool:
        """Whether it is being found out what is wanted; what can be done stays as it was."""
        return False

    def rest(self) -> W | None:
        """Return what can be continued of a result that was left; None for nothing."""
        return None

    @property
    def again(self) -> bool:
        """Whether Start would measure what is shown once more."""
        return False

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
    def refresh(self, *, at_once: bool = False) -> None:
        """Draw what is known, now or soon; nothing while another view is shown."""

    @abstractmethod
    def command(self, wanted: W) -> str:
        """Return the command line that does the same."""

    def files(self, result: R) -> Exported:
        """Return how a result is written to files."""
        raise InputError(f"a {self._noun} is not exported")

    def summary(self) -> str:
        """Return what a result that is done comes to, in a sentence."""
        return self._model.words

    def found(self, kind: str, outcome: object) -> None:
        """Take in what ``in_background`` found out, or its ExplorerError."""

    # ---- shown and closed

    def showEvent(self, event: QShowEvent) -> None:
        """Follow the knobs from now on, and draw what came meanwhile."""
        super().showEvent(event)
        self._follow()
        self.refresh(at_once=True)

    def close_down(self) -> None:
        """End what the view has started."""
        self._background.close()

    def _follow(self) -> None:
        if self.isVisible():
            self.follow_knobs()
            self._follow_caption()

    def set_caption(self, caption: CaptionLine) -> None:
        """Have the line that names what is shown follow the knobs, and put them back."""
        self._caption = caption
        caption.restored.connect(self.restored)

    def _follow_caption(self) -> None:
        if self._caption is not None:
            session = self._session
            source = session.experiment.workload.sha256
            self._caption.follow(session.config, source, measuring=self.running)

    def in_background(self, kind: str, work: Callable[[], object]) -> None:
        """Have something done in another thread; ``found`` takes what it returns."""
        self._background.ask(kind, work)

    @Slot(str, object)
    def _background_ended(self, kind: str, outcome: Any) -> None:
        self.found(kind, outcome)

    # ---- the job

    @property
    def running(self) -> bool:
        """Whether it measures, or waits in a pause."""
        return self._job is not None

    @property
    def starts_soon(self) -> bool:
        """Whether it starts once it is known what is wanted."""
        return self._soon == self.start

    def start(self) -> None:
        """Measure what is wanted, as soon as that is known."""
        if (wanted := self.wanted()) is not None:
            self.begin(wanted)
        elif self.looking:
            self._soon = self.start

    def known(self) -> None:
        """Show what can be done now that it is known what is wanted, and do what waited for it."""
        self.show_state()
        soon, self._soon = self._soon, None
        if soon is not None:
            soon()
            self.changed.emit()

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
            if jobs.resume():
                model.state = "running"
        elif model.state == "running":
            model.state = "paused"
            jobs.pause()
        self.show_state()

    def stop(self) -> None:
        """End the job at the next launch; what was measured is kept."""
        self._session.jobs.cancel()

    @Slot(object)
    def _stepped(self, step: object) -> None:
        if self._job is None:
            return
        if self.take(step):
            self.refresh()
        self.show_progress()

    @Slot(object)
    def _ended(self, outcome: object) -> None:
        job, self._job = self._job, None
        if job is None:
            return
        error = f"{capital(str(outcome))}." if isinstance(outcome, ExplorerError) else ""
        began = self._model.state in ("running", "paused")  # else it has an earlier job's result
        self.end(job, error)
        self.refresh(at_once=True)
        self.show_state()
        self.changed.emit()
        if began and not error and self._model.state == "done":
            self.message.emit(f"{self._title}: {self.summary()}")

    # ---- showing

    def replaced(self) -> None:
        """Show another result, or none."""
        self.refresh(at_once=True)
        self.show_state()
        self.changed.emit()

    def show_state(self) -> None:
        """Show what can be done now."""
        free = self._session.jobs.current is None
        wanted, rest = self.wanted(), self.rest()
        if not self.looking or self._session.experiment.devices is None:
            self._able = wanted is not None
        self.head.show_state(
            running=self.running,
            paused=self._model.state == "paused",
            can_start=self._able and free,
            can_continue=rest is not None and free,
            can_copy=self._able or rest is not None,
            again=self.again,
        )
        self._follow_caption()
        self.head.pause.setEnabled(not self.running or self._model.state in ("running", "paused"))
        self.show_progress()

    def show_progress(self) -> None:
        """Show how far it is."""
        self.head.show_progress(*self.done)
        self.head.words.setText(tr(self.head_words()))

    def head_words(self) -> str:
        """Return how far it is, or what else has the engine."""
        current = self._session.jobs.current
        if current is not None and not self.running:
            return f"Another job has the engine: {current.doing}."
        return self._model.words or self.hint

    # ---- keeping

    def copy_command(self) -> None:
        """Put the command line on the clipboard, as soon as it is known what is wanted."""
        if self.looking and self._able:
            self._soon = self.copy_command
            return
        wanted = self.wanted() or self.rest()
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
