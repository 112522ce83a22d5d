"""An engine while it is set up: phases, bytes, rate, time left; then what came of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QProgressBar,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.language import as_is, tr
from gpuexplorer.environments.managed import Managed
from gpuexplorer.environments.plan import EnvironmentPlan
from gpuexplorer.environments.progress import PHASES, Phase, SetUpProgress
from gpuexplorer.gui.model.engine_setup import (
    FAR_PHASE_TITLES,
    PHASE_TITLES,
    Pace,
    progress_words,
    sentence,
)
from gpuexplorer.gui.task import Task, Tasks
from gpuexplorer.gui.widgets.button import button
from gpuexplorer.gui.widgets.look import set_look
from gpuexplorer.gui.widgets.words import Words

if TYPE_CHECKING:
    from gpuexplorer.environments.managed import Managed
    from gpuexplorer.environments.plan import EnvironmentPlan


Work = Callable[[Callable[[SetUpProgress], None], threading.Event], Managed]
"""Makes an environment: tells how far it is, ends early with Cancelled."""


class Making:
    """One attempt to make an environment. ``progress`` may be read from any thread."""

    def __init__(self, title: str, name: str, work: Work, *, here: bool = True) -> None:
        """``here``: on this machine, where what is not finished can be removed."""
        self.title, self.name, self.here = title, name, here
        self._work = work
        self._lock = threading.Lock()
        self._progress: SetUpProgress | None = None

    def again(self) -> Making:
        """Return another attempt at the same."""
        return Making(self.title, self.name, self._work, here=self.here)

    @property
    def progress(self) -> SetUpProgress | None:
        """How far it is; None before it said so."""
        with self._lock:
            return self._progress

    def _take(self, progress: SetUpProgress) -> None:
        with self._lock:
            self._progress = progress

    def run(self, cancel: threading.Event) -> Managed:
        """Make it, in the thread; raises as ``environments.create`` does."""
        return self._work(self._take, cancel)


LOOK_MS = 100
STEPS = 1000
"""Of the bar: bytes do not fit into its integers."""
State = Literal["idle", "making", "stopping", "refused", "stopped", "failed", "ready"]


class EngineMakingPage(QWidget):
    """Makes an environment. ``began`` and ``over`` enclose the work.

    ``use_asked`` carries the finished engine's name, ``remove_asked`` that of one that was not
    finished, ``back_asked`` leads to the list.
    """

    began = Signal()
    over = Signal()
    use_asked = Signal(str)
    remove_asked = Signal(str)
    back_asked = Signal()

    def __init__(self, tasks: Tasks, busy_with: Callable[[], str]) -> None:
        """``busy_with`` tells who measures; nothing is made meanwhile."""
        super().__init__()
        self.setObjectName("engineMaking")
        self._tasks, self._busy_with = tasks, busy_with
        self._making: Making | None = None
        self._task: Task | None = None
        self._pace = Pace()
        self.state: State = "idle"
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self._look)
        self._put_together()

    # ---- construction

    def _put_together(self) -> None:
        self.title = QLabel()
        self.title.setProperty("role", "title")
        self.title.setTextFormat(Qt.TextFormat.PlainText)
        self._marks: dict[Phase, QLabel] = {}
        phases = QVBoxLayout()
        phases.setSpacing(4)
        for phase in PHASES:
            self._marks[phase] = QLabel()
            self._marks[phase].setObjectName(f"phase-{phase}")
            phases.addWidget(self._marks[phase])
        self.bar = QProgressBar()
        self.bar.setObjectName("makingProgress")
        self.bar.setTextVisible(False)
        self.bar.setFixedHeight(8)
        self.figures = Words()
        self.figures.setObjectName("makingFigures")
        self.figures.setToolTip(
            tr("Bytes, bytes a second over the last seconds, and the time left")
        )
        self.doing = Words()
        self.doing.setObjectName("makingWords")
        self.doing.setProperty("role", "muted")
        self.outcome = QLabel()
        self.outcome.setObjectName("makingOutcome")
        self.outcome.setWordWrap(True)
        self.outcome.setTextFormat(Qt.TextFormat.PlainText)
        self.outcome.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.detail = QPlainTextEdit()
        self.detail.setObjectName("makingDetails")
        self.detail.setAccessibleName(tr("Details"))
        self.detail.setReadOnly(True)
        self.detail.setTabChangesFocus(True)
        page = QVBoxLayout(self)
        page.setContentsMargins(0, 0, 0, 0)
        page.setSpacing(10)
        page.addWidget(self.title)
        page.addLayout(phases)
        for widget in (self.bar, self.figures, self.doing, self.outcome):
            page.addWidget(widget)
        page.addWidget(self.detail, 1)
        page.addStretch(0)
        page.addLayout(self._buttons())

    def _buttons(self) -> QHBoxLayout:
        self.back_button = button(
            "&Engines", "makingBack", "Back to the list of engines", self.back_asked.emit
        )
        self.copy_button = button(
            "C&opy details", "copyMakingDetails", "Put everything that is known of it on the "
            "clipboard", self._copy,
        )  # fmt: skip
        self.remove_button = button(
            "&Remove", "makingRemove", "Delete what was downloaded and installed so far",
            lambda: self._with_name(self.remove_asked.emit),
        )  # fmt: skip
        self.cancel_button = button(
            "&Stop", "makingCancel", "End it; what is done is kept", self.cancel
        )
        self.again_button = button(
            "&Continue", "makingGoOn", "Set up what is missing", self.go_on, leads=True
        )
        self.use_button = button(
            "&Use this engine", "makingUse",
            "Measure in it, now and at the next start; the command line uses it too",
            lambda: self._with_name(self.use_asked.emit), leads=True,
        )  # fmt: skip
        row = QHBoxLayout()
        row.addWidget(self.back_button)
        row.addWidget(self.copy_button)
        row.addStretch(1)
        for one in (self.remove_button, self.cancel_button, self.again_button, self.use_button):
            row.addWidget(one)
        return row

    def _with_name(self, act: Callable[[str], object]) -> None:
        if self._making is not None:
            act(self._making.name)

    # ---- what can be done

    @property
    def working(self) -> bool:
        """Whether an environment is being made."""
        return self._task is not None

    @property
    def is_here(self) -> bool:
        """Whether it is made on this machine."""
        return self._making is not None and self._making.here

    @property
    def name(self) -> str:
        """The name of the environment that is made or was made last."""
        return self._making.name if self._making is not None else ""

    @property
    def progress(self) -> SetUpProgress | None:
        """How far the environment is that is made or was made last; None before it said so."""
        return self._making.progress if self._making is not None else None

    def make(self, planned: EnvironmentPlan, name: str) -> None:
        """Begin to make an environment, or go on with one."""

        def work(tell: Callable[[SetUpProgress], None], cancel: threading.Event) -> Managed:
            from gpuexplorer.environments import create  # the window need not wait for it

            return create.create(planned, name, tell, cancel)

        self.begin(Making(f"{planned.kind.title}: '{name}'", name, work))

    def begin(self, making: Making) -> None:
        """Begin to make what is asked for, or go on with it."""
        if self._task is not None:
            return
        self._making, self._pace = making.again(), Pace()
        self.title.setText(tr(making.title))
        busy = self._busy_with()
        if busy:
            self._say(
                f"The engine is {busy}, and this would disturb it: continue afterwards.", "bad"
            )
            self._enter("refused")
            return
        self._task = self._tasks.do("engine-making", self._making.run, self._ended)
        self._enter("making")
        self._timer.start()
        self.began.emit()

    def go_on(self) -> None:
        """Take it up again after it was stopped, or after what was wrong has been mended."""
        if self._making is not None:
            self.begin(self._making)

    def cancel(self) -> None:
        """Stop; what was downloaded is kept."""
        if self._task is not None:
            self._task.cancel()
            self._enter("stopping")

    def forget(self) -> None:
        """Show nothing of the one that was made last."""
        if self._task is None:
            self._making = None
            self._enter("idle")

    def _copy(self) -> None:
        parts = (self.title.text(), self.outcome.text(), self.detail.toPlainText())
        QApplication.clipboard().setText("\n\n".join(part for part in parts if part))

    def _ended(self, outcome: Managed | ExplorerError | None) -> None:
        self._timer.stop()
        self._look()
        self._task = None
        if outcome is None:
            self._say("Stopped. What is done is kept; Continue sets up the rest.", "muted")
            self._enter("stopped")
        elif isinstance(outcome, ExplorerError):
            self._say(sentence(outcome), "bad")
            self.detail.setPlainText(as_is(outcome.detail))
            self._enter("failed")
        else:
            self._show_ready(outcome)
        self.over.emit()

    def _show_ready(self, made: Managed) -> None:
        if made.verified is False:
            self._say(
                f"'{made.name}' is set up, but its self-test failed: {made.verdict.rstrip('.')}. "
                "Its figures may be wrong.",
                "bad",
            )
        else:
            self._say(f"'{made.name}' is ready. {made.verdict}", "good")
        packages = "\n".join(f"{name} {version}" for name, version in made.packages.items())
        self.detail.setPlainText(as_is(f"Installed in {made.path}:\n{packages}"))
        self._enter("ready")

    # ---- showing

    def _enter(self, state: State) -> None:
        self.state = state
        going = state in ("making", "stopping")
        if state == "making":
            self._say("", "muted")
            self.detail.clear()
            self.figures.setText("")
            self.doing.setText(tr("Starting…"))
            self._rest_bar()
        if state == "stopping":
            self.doing.setText(tr("Stopping…"))
        for widget, shown in (
            (self.bar, going),
            (self.figures, going),
            (self.doing, going),
            (self.outcome, not going),
            (self.detail, bool(self.detail.toPlainText())),
            (self.copy_button, state in ("failed", "ready")),
            (self.remove_button, state in ("stopped", "failed") and self.is_here),
            (self.cancel_button, going),
            (self.again_button, state in ("refused", "stopped", "failed")),
            (self.use_button, state == "ready"),
        ):
            widget.setVisible(shown)
        self.cancel_button.setEnabled(state == "making")
        self.again_button.setText(tr("&Try again" if state == "failed" else "&Continue"))
        self._show_phases()
        leading = {"making": self.cancel_button, "ready": self.use_button}.get(state)
        if state in ("refused", "stopped", "failed"):
            leading = self.again_button
        if leading is not None and self.isVisible():
            leading.setFocus()

    def _show_phases(self) -> None:
        progress = self.progress
        at = PHASES.index(progress.phase) if progress is not None else 0
        for number, phase in enumerate(PHASES):
            done = self.state == "ready" or number < at
            present = number == at and self.state not in ("idle", "ready")
            mark = "✓" if done else "●" if present else "○"
            label = self._marks[phase]
            titles = PHASE_TITLES if self.is_here else FAR_PHASE_TITLES
            label.setText(tr(f"{mark}  {titles[phase]}"))
            set_look(label, role="good" if done else "title" if present else "muted")

    def _look(self) -> None:
        """Show how far it is."""
        progress = self.progress
        if progress is None:
            return
        self._pace.take(progress)
        self._show_phases()
        if progress.total_B > 0:
            self.bar.setRange(0, STEPS)
            self.bar.setValue(int(STEPS * min(1.0, progress.done_B / progress.total_B)))
        else:
            self._rest_bar()
        self.figures.setText(tr(progress_words(progress, self._pace.rate_per_s())))
        if self.state == "making":
            self.doing.setText(tr(progress.words))

    def _rest_bar(self) -> None:
        """Show a bar of which nothing is known: it rests, as all that is not a plot."""
        self.bar.setRange(0, STEPS)
        self.bar.setValue(0)

    def _say(self, words: str, role: str) -> None:
        self.outcome.setText(tr(words))
        set_look(self.outcome, role=role)

    def close_down(self) -> None:
        """Stop looking; the task is ended by its owner."""
        self._timer.stop()
        self._task = None
