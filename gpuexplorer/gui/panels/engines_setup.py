"""Setting up an engine, step by step: what, with which packages, then made and verified."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.environments.managed import Managed
from gpuexplorer.environments.plan import EnvironmentPlan
from gpuexplorer.gui.model.engine_setup import SetUpRequest, plan_again, plan_new
from gpuexplorer.gui.notice import capital
from gpuexplorer.gui.panels.engines_buttons import button
from gpuexplorer.gui.panels.engines_choice import EngineChoicePage
from gpuexplorer.gui.panels.engines_making import EngineMakingPage
from gpuexplorer.gui.panels.engines_plan import EnginePlanPage
from gpuexplorer.gui.task import Task, Tasks
from gpuexplorer.gui.widgets.words import Words

T = TypeVar("T")

STEPS = ("Choose", "Packages", "Set up")


class EngineSetup(QWidget):
    """The way from a wish to an engine; ``back_asked`` leads to the list at any time.

    ``busy_with`` tells who measures: then nothing is begun. What is being made goes on while
    another page is shown.
    """

    back_asked = Signal()
    _planning_said = Signal(str)

    def __init__(self, tasks: Tasks, busy_with: Callable[[], str]) -> None:
        super().__init__()
        self.setObjectName("engineSetup")
        self._tasks = tasks
        self._wanted: SetUpRequest | None = None
        self._planning: Task | None = None
        self.choice = EngineChoicePage(tasks)
        self.choice.chosen.connect(self.plan)
        self.choice.back_asked.connect(self.back_asked)
        self.waiting = self._waiting()
        self.plan_page = EnginePlanPage()
        self.plan_page.agreed.connect(self._agreed)
        self.plan_page.back_asked.connect(lambda: self._show(self.choice))
        self.making = EngineMakingPage(tasks, busy_with)
        self.making.back_asked.connect(self.back_asked)
        self._steps = QLabel()
        self._steps.setObjectName("setUpSteps")
        self._steps.setTextFormat(Qt.TextFormat.RichText)
        self.stack = QStackedWidget()
        for page in (self.choice, self.waiting, self.plan_page, self.making):
            self.stack.addWidget(page)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(10)
        column.addWidget(self._steps)
        column.addWidget(self.stack, 1)
        self._show(self.choice)

    def _waiting(self) -> QWidget:
        page = QWidget()
        page.setObjectName("enginePlanning")
        self.waiting_words = QLabel()
        self.waiting_words.setObjectName("planningWords")
        self.waiting_words.setWordWrap(True)
        self.waiting_words.setTextFormat(Qt.TextFormat.PlainText)
        bar = QProgressBar()
        bar.setObjectName("planningProgress")
        bar.setRange(0, 0)
        bar.setTextVisible(False)
        bar.setFixedHeight(8)
        self.stop_planning_button = button(
            "&Cancel",
            "planningCancel",
            "Back to the choice; nothing was fetched",
            self.stop_planning,
        )
        foot = QHBoxLayout()
        foot.addStretch(1)
        foot.addWidget(self.stop_planning_button)
        self._step = Words()
        self._step.setObjectName("planningStep")
        self._step.setProperty("role", "muted")
        self._planning_said.connect(self._show_step)
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(10)
        column.addWidget(self.waiting_words)
        column.addWidget(bar)
        column.addWidget(self._step)
        column.addStretch(1)
        column.addLayout(foot)
        return page

    # ---- the way

    def begin(self) -> None:
        """Show where it stands: what is being made, or the first question."""
        if self.making.working or self._planning is not None:
            return
        self._show(self.choice)
        self.choice.open()

    def go_on(self, unfinished: Managed) -> None:
        """Finish what was begun before: plan it as it was, then make it at once."""
        self._wait(
            f"Looking at what '{unfinished.name}' still needs…",
            partial(plan_again, unfinished, self._planning_said.emit),
            self._planned_again,
        )

    def plan(self, wanted: SetUpRequest) -> None:
        """Find out what something would consist of."""
        self._wanted = wanted
        self._wait(
            f"Finding out what '{wanted.kind.title}' needs from {wanted.source.words}…",
            partial(plan_new, wanted, self._planning_said.emit),
            self._planned,
        )

    def stop_planning(self) -> None:
        """Stop asking."""
        if self._planning is not None:
            self._planning.cancel()
            self.stop_planning_button.setEnabled(False)

    def _wait(
        self,
        words: str,
        work: Callable[[threading.Event], T],
        then: Callable[[T | ExplorerError | None], None],
    ) -> None:
        if self._planning is not None or self.making.working:
            return
        self.waiting_words.setText(words)
        self._step.setText("")
        self.stop_planning_button.setEnabled(True)
        self._planning = self._tasks.do("engine-plan", work, then)
        self._show(self.waiting)

    def _planned(self, planned: EnvironmentPlan | ExplorerError | None) -> None:
        self._planning = None
        if isinstance(planned, EnvironmentPlan) and self._wanted is not None:
            self.plan_page.show_plan(self._wanted, planned)
            self._show(self.plan_page)
            return
        self._show(self.choice)
        if isinstance(planned, ExplorerError):
            self.choice.refuse(planned)

    def _planned_again(
        self, planned: tuple[SetUpRequest, EnvironmentPlan] | ExplorerError | None
    ) -> None:
        self._planning = None
        if isinstance(planned, tuple):
            self._wanted = planned[0]
            self.plan_page.show_plan(*planned)
            self._agreed(planned[1])
        elif isinstance(planned, ExplorerError):
            self.choice.open()
            self._show(self.choice)
            self.choice.refuse(planned)
        else:
            self.back_asked.emit()

    def _agreed(self, planned: EnvironmentPlan) -> None:
        if self._wanted is None:
            return
        self.making.make(planned, self._wanted.name)
        self._show(self.making)

    # ---- showing

    def _show(self, page: QWidget) -> None:
        self.stack.setCurrentWidget(page)
        at = {self.choice: 0, self.waiting: 1, self.plan_page: 1}.get(page, 2)
        words = [f"{number}  {title}" for number, title in enumerate(STEPS, 1)]
        words[at] = f"<b>{words[at]}</b>"
        self._steps.setText("&nbsp;&nbsp;›&nbsp;&nbsp;".join(words))

    def _show_step(self, words: str) -> None:
        self._step.setText(f"{capital(words)}…")

    def close_down(self) -> None:
        """Stop looking at what goes on."""
        self.making.close_down()
