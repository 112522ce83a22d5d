"""The welcome: one strip over the window's parts, with what was found and questions to begin."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QSizePolicy,
    QToolButton,
)

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.language import as_is, tr
from gpuexplorer.core.units import listed
from gpuexplorer.gui import notice as notices
from gpuexplorer.gui.questions import Bench, Question, questions
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.widgets.button import button
from gpuexplorer.workloads.frameworks import FRAMEWORKS

BACKENDS = {"cuda": "CUDA", "opencl": "OpenCL", "numpy": "NumPy", **FRAMEWORKS}
LINES = 2
"""Of text, so that an answer moves nothing."""
MARGIN, SPACING = 14, 6
LEAST_WORDS = 140
"""Pixels that the words have beside the folded questions."""


class Welcome(QFrame):
    """Says what is here, then answers what is asked; ``closed`` when the user is done with it."""

    closed = Signal()

    def __init__(self, bench: Bench) -> None:
        super().__init__()
        self.setObjectName("welcome")
        self.setAccessibleName(tr("Welcome"))
        self._bench = bench
        self.questions: Sequence[Question] = questions(bench)
        self._asked: Question | None = None
        """The one that is measured or answered."""
        self._answer = ""
        self.words = QLabel()
        self.words.setObjectName("welcomeWords")
        self.words.setWordWrap(True)
        self.words.setTextFormat(Qt.TextFormat.PlainText)
        self.words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.words.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        self._build()
        session = bench.session
        for signal in (session.devices_changed, session.state_changed, session.knobs_changed):
            signal.connect(self.show_state)
        for tab in (bench.compare, bench.lab):
            tab.changed.connect(self._take_answer)
        theme().changed.connect(self._repaint_theme)
        self._repaint_theme()
        self.show_state()

    def _build(self) -> None:
        self.buttons: list[QPushButton] = []
        self.more = QToolButton()
        self.more.setObjectName("welcomeMore")
        self.more.setText(tr("Questions ▾"))
        self.more.setProperty("role", "boxed")
        self.more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self.more)
        line = QHBoxLayout(self)
        line.setContentsMargins(MARGIN, 4, 6, 4)
        line.setSpacing(SPACING)
        line.addWidget(self.words, 1)
        for number, question in enumerate(self.questions):
            ask = partial(self._ask, question)
            made = button(
                question.words,
                f"welcomeQuestion{number}",
                "Set the knobs, measure, and show the answer here",
                ask,
            )
            menu.addAction(tr(question.words)).triggered.connect(lambda _=False, ask=ask: ask())
            self.buttons.append(made)
            line.addWidget(made)
        self.more.setMenu(menu)
        line.addWidget(self.more)
        self.close_button = QToolButton()
        self.close_button.setObjectName("welcomeClose")
        self.close_button.setAccessibleName(tr("Close the welcome"))
        self.close_button.setToolTip(tr("Close the welcome; the Help menu shows it again"))
        self.close_button.clicked.connect(lambda _=False: self.closed.emit())
        line.addWidget(self.close_button)
        text = LINES * self.words.fontMetrics().lineSpacing()
        self.setFixedHeight(max(text, self.buttons[0].sizeHint().height()) + 10)

    def _repaint_theme(self) -> None:
        self.close_button.setIcon(theme().icon("close", "muted"))

    # ---- questions

    def _ask(self, question: Question) -> None:
        session = self._bench.session
        if session.jobs.current is not None:
            session.notice.emit(notices.engine_busy(session.jobs.current.doing))
            return
        self._asked, self._answer = None, ""
        try:
            question.ask()
        except ExplorerError as error:
            session.notice.emit(notices.failed(error))
        else:
            self._asked = question if question.waits else None
        self.show_state()

    def _take_answer(self) -> None:
        """Take the answer once the measurement has ended; later ones are no answer to it."""
        question = self._asked
        if question is None or self._answer or question.waits:
            return
        self._answer = question.answer()
        if not self._answer:
            self._asked = None
        self.show_state()

    # ---- what is shown

    def show_state(self) -> None:
        """Show the answer, where to look for it, or what was found."""
        if self.isHidden():
            return
        able = self._bench.session.experiment.device is not None
        for widget in (*self.buttons, self.more):
            widget.setEnabled(able)
        self._fold()

    def _words(self) -> tuple[str, ...]:
        """Return what is to be said, and after it what is said where that has no room."""
        if self._asked is not None:
            return (self._answer or self._asked.look,)
        session = self._bench.session
        experiment = session.experiment
        if experiment.devices is None:
            return ("Welcome. Devices are being looked for.",)
        if experiment.device is None:
            return ("Welcome. No device here can run work: see Settings, Engines.",)
        device = experiment.device.name
        names = dict.fromkeys(BACKENDS.get(d.backend, d.backend) for d in experiment.devices)
        backends = listed(names)
        found = f"Welcome. Found: {device}, with {backends}."
        if not session.live:
            return (found,)
        title = experiment.workload.manifest.title
        return f"Welcome. Found: {device}, with {backends}. {title} is being measured.", found

    def _fold(self) -> None:
        """Show the questions side by side where there is room and nothing was asked."""
        said = [tr(words) for words in self._words()]
        beside = sum(one.sizeHint().width() + SPACING for one in self.buttons)
        left = self.width() - beside - self.close_button.sizeHint().width() - 2 * MARGIN - SPACING
        fitting = [words for words in said if self._lines(words, left) <= LINES]
        wide = self._asked is None and bool(fitting)
        words = fitting[0] if wide else said[0]
        if words != self.words.text():
            self.words.setText(as_is(words))  # told above
            self.words.setToolTip(as_is(words))  # where it is cut
        for one in self.buttons:
            one.setVisible(wide)
        self.more.setVisible(not wide)

    def minimumSizeHint(self) -> QSize:
        """Return the least size: the questions fold into one button."""
        parts = self.more.sizeHint().width() + self.close_button.sizeHint().width()
        return QSize(parts + LEAST_WORDS + 2 * (MARGIN + SPACING), self.minimumHeight())

    def _lines(self, words: str, width: int) -> float:
        """Return the lines that words take in a width."""
        metrics = self.words.fontMetrics()
        room = QRect(0, 0, max(width, 1), 1000)
        taken = metrics.boundingRect(room, int(Qt.TextFlag.TextWordWrap.value), words)
        too_wide = taken.width() > width
        return LINES + 1 if too_wide else taken.height() / metrics.lineSpacing()

    def showEvent(self, event: QShowEvent) -> None:
        """Show what is known by now."""
        super().showEvent(event)
        self.show_state()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fold what has no room."""
        super().resizeEvent(event)
        self._fold()
