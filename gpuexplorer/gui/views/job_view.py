"""The view of a job: choices with their cost, a chart and a table that fill.

A subclass says what is measured and how it is shown; everything else is here, once.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Generic

import msgspec
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QVBoxLayout

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.language import tr
from gpuexplorer.gui.notice import Notice, capital
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.typeface import for_text
from gpuexplorer.gui.views.job_control import JobControl, Model, R, W
from gpuexplorer.gui.views.job_form import JobForm
from gpuexplorer.gui.views.result_page import Picture, ResultPage
from gpuexplorer.gui.widgets.button import small_button

LOOK_AFTER_MS = 180
"""A knob that is being turned is not followed at every step."""
FORM_WIDTH = 240
NARROW, RESULT_LEAST_WIDTH = 520, 160
"""Below the first, a result and its choices do not stand beside each other; what will be seen has
at least the second."""
DRAW_GAP_S = 0.25
DRAW_SHARE = 0.1
"""Share of the time that drawing anew may take."""
Totals = tuple[str, str, tuple[tuple[str, int], ...]]


class Preview(msgspec.Struct, Generic[W], frozen=True):
    """What would be measured, what that comes to, and how long it takes about."""

    wanted: W
    total: str
    takes: str
    reasons: tuple[tuple[str, int], ...] = ()
    """Why some of it cannot be measured, and how much of it."""
    able: bool = True
    """Whether any of it can."""


class JobView(JobControl[R, W], Generic[R, W]):
    """``R`` is what is measured, ``W`` what is wanted; its owner places ``head``."""

    hint = "Choose what to look at, then press Start."

    def __init__(
        self, session: Session, name: str, title: str, noun: str, model: Model[R], form: JobForm
    ) -> None:
        """``name`` is for object names, ``noun`` what is measured, in a word."""
        super().__init__(session, name, title, noun, model)
        self._form = form
        self.preview: Preview[W] | None = None
        """What is wanted; None while that is looked at, and when it cannot be."""
        self._seen: DeviceList | None = None
        """The devices that it was looked at with."""
        self._unknown = False
        """Whether it is to be found out."""
        self._looking: object | None = None
        self._totals: Totals = ("", "", ())
        self._pointed: str | None = None
        """The words of what is pointed at."""
        self._lineage = object()
        """Of which result pictures may be shown."""
        self._stale = self._drawing = self._hurried = False
        """Whether there is more to draw than is drawn; whether it is drawn; and without a pause."""
        self._draw_due = 0.0
        self._look_timer, self._draw_timer = QTimer(self), QTimer(self)
        for timer, act in ((self._look_timer, self._look), (self._draw_timer, self._draw)):
            timer.setSingleShot(True)
            timer.timeout.connect(act)
        self._build()
        form.changed.connect(self.look_soon)

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
    def about(self) -> tuple[str, Sequence[str]]:
        """Return what it answers and how, for those who have not run it: title and sentences."""

    @abstractmethod
    def picture(self, result: R) -> Callable[[], Picture]:
        """Return what makes a result's table and chart; it is called in another thread."""

    @abstractmethod
    def config_of(self, key: str) -> RunConfig | None:
        """Return the configuration that a mark of the chart stands for."""

    def words_of(self, key: str) -> str:
        """Return the words of a mark of the chart."""
        return self.result.sheet.marks.get(key, "")

    def current_mark(self) -> str | None:
        """Return the mark of what is measured now; None where that has none."""
        return None

    # ---- construction

    def _build(self) -> None:
        self.result = ResultPage(
            self._name, self._title, self._noun, self.words_of, self.current_mark
        )
        self.set_caption(self.result.caption)
        self.result.pointed.connect(self._point)
        self.result.chosen.connect(self._choose)
        self.result.setMinimumWidth(for_text(RESULT_LEAST_WIDTH))
        self.choices = small_button(f"{self._name}Choices", "What is measured, and how")
        self.choices.setText(tr("Choices"))
        self.choices.setCheckable(True)
        self.choices.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.choices.hide()
        self.choices.toggled.connect(lambda _: self._share_width())
        self.result.currentChanged.connect(lambda _: self._share_width())
        self.head.add(self.choices)
        across = QSplitter(Qt.Orientation.Horizontal)
        across.addWidget(self._form)
        across.addWidget(self.result)
        across.setStretchFactor(1, 1)
        across.setSizes([for_text(FORM_WIDTH), 700])
        across.setHandleWidth(1)
        across.setChildrenCollapsible(False)
        across.setCollapsible(0, True)
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(0)
        self.column.addWidget(across, 1)
        self._say_empty()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give a result the room of its choices where there is too little for both."""
        super().resizeEvent(event)
        self._share_width()

    def _share_width(self) -> None:
        """Show choices and result, or one of them where the table has no room beside the form."""
        found = self.result.currentWidget() is not self.result.empty
        needed = max(for_text(NARROW), for_text(FORM_WIDTH) + self.result.table.least_width)
        narrow = found and self.width() < needed
        choosing = not narrow or self.choices.isChecked()
        self.choices.setVisible(narrow)
        self._form.setVisible(choosing)
        self.result.setVisible(not narrow or not choosing)

    def close_down(self) -> None:
        """End the thread and the timers."""
        self._look_timer.stop()
        self._draw_timer.stop()
        super().close_down()

    # ---- what is wanted

    def wanted(self) -> W | None:
        """Return what Start measures; None once the engine that it was looked at with has ended."""
        if self.preview is None or self._seen is not self._session.experiment.devices:
            return None
        return self.preview.wanted

    @property
    def looking(self) -> bool:
        """Whether it is being found out what is wanted."""
        return self._unknown

    def start_soon(self) -> None:
        """Start once it is known what the knobs and the choices come to."""
        self.look_soon()
        self.start()

    def look_soon(self) -> None:
        """Find out anew what is wanted, once the knobs rest."""
        self.preview = self._looking = None
        self._unknown = True
        if self.isVisible():  # else it is found out once it is shown
            self._look_timer.start(LOOK_AFTER_MS)
        self.show_state()

    def _look(self) -> None:
        """Find out, in another thread, what the choices come to."""
        self._seen = self._session.experiment.devices
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

    def _background_ended(self, kind: str, outcome: Any) -> None:
        if kind == "picture":
            self._drawn(outcome)
        elif kind != "preview":
            super()._background_ended(kind, outcome)
        elif isinstance(outcome, ExplorerError):
            self._show_preview(outcome)
        elif outcome[0] is self._looking:  # else something else is wanted by now
            self._show_preview(outcome[1])

    def _show_preview(self, found: Preview[W] | ExplorerError) -> None:
        self._unknown = False
        if isinstance(found, ExplorerError):
            self.preview, self._totals = None, (f"{capital(str(found))}.", "", ())
        else:
            self.preview = found if found.able else None
            self._totals = (found.total, found.takes, found.reasons)
        self._form.show_total(*self._totals)
        self._say_empty()
        self.known()

    def _ended(self, outcome: object) -> None:
        super()._ended(outcome)
        self.look_soon()

    # ---- showing

    def replaced(self) -> None:
        """Show another result, or none."""
        self._lineage = object()
        self._pointed = None
        self.result.clear()
        super().replaced()

    def _say_empty(self) -> None:
        title, sentences = self.about()
        total, takes, _ = self._totals
        self.result.empty.say(title, (*sentences, total.rstrip(":"), takes))

    def refresh(self, *, at_once: bool = False) -> None:
        """Draw what is known, now or soon; nothing while another view is shown."""
        self._stale = True
        self._hurried |= at_once
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
        self._stale = self._hurried = False
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
            self._share_width()
            self.show_progress()
        if self._stale:
            self.refresh(at_once=self._hurried or lineage is not self._lineage)

    def head_words(self) -> str:
        """Return what is pointed at, else how far it is."""
        return self._pointed or super().head_words()

    def _point(self, words: str | None) -> None:
        self._pointed = words.replace("\n", " · ") if words else None
        self.show_progress()

    def _choose(self, key: str) -> None:
        words, config = self.words_of(key), self.config_of(key)
        if config is not None and words:
            self.restored.emit(config)
            self.message.emit(f"The knobs stand at {words.splitlines()[0]}.")
        elif words:
            self.message.emit(f"{capital(words)}.")


def _timed(make: Callable[[], Picture], lineage: object) -> tuple[object, Picture, float]:
    """Make a picture, and return it with the seconds that it took."""
    began = time.monotonic()
    picture = make()
    return lineage, picture, time.monotonic() - began
