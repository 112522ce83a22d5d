"""Setting up an engine, step by step: what, with which packages, then made and verified."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QStackedWidget,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.language import tr
from gpuexplorer.core.units import quantity
from gpuexplorer.engine.machine import Machine
from gpuexplorer.environments.managed import Managed
from gpuexplorer.environments.plan import EnvironmentPlan
from gpuexplorer.environments.progress import SetUpProgress
from gpuexplorer.gui.model.engine_setup import (
    VOUCHERS,
    SetUpRequest,
    plan_again,
    plan_new,
    plan_words,
    space_words,
    terms_of,
)
from gpuexplorer.gui.notice import capital
from gpuexplorer.gui.panels.engines_choice import EngineChoicePage
from gpuexplorer.gui.panels.engines_machine import FarRequest, MachinePage
from gpuexplorer.gui.panels.engines_making import EngineMakingPage, Making, Work
from gpuexplorer.gui.task import Task, Tasks
from gpuexplorer.gui.widgets.button import button
from gpuexplorer.gui.widgets.words import NoteBox, Words

COLUMNS = (
    ("Package", "What is installed"),
    ("Version", "Which version of it"),
    ("Size", "The size of its file, in bytes"),
    ("Checked against", "Whose SHA-256 the file must have, or it is refused"),
)


class EnginePlanPage(QWidget):
    """Shows a plan; ``agreed`` carries it once it shall be done."""

    agreed = Signal(object)
    back_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("enginePlan")
        self._plan: EnvironmentPlan | None = None
        self.title = QLabel()
        self.title.setProperty("role", "title")
        self.title.setWordWrap(True)
        self.facts = QLabel()
        self.facts.setObjectName("planFacts")
        self.space = NoteBox("planSpace", "Nothing is fetched before there is room for all of it")
        self.terms = QLabel()
        self.terms.setObjectName("planTerms")
        self.terms.setProperty("role", "muted")
        self.terms.setOpenExternalLinks(True)
        self.terms.setTextInteractionFlags(Qt.TextInteractionFlag.TextBrowserInteraction)
        for label in (self.facts, self.terms):
            label.setWordWrap(True)
        self.facts.setTextFormat(Qt.TextFormat.PlainText)
        self.terms.setTextFormat(Qt.TextFormat.RichText)
        self.table = self._table()
        back = button("&Back", "planBack", "Choose something else", self.back_asked.emit)
        self.go_button = button(
            "&Set it up", "setItUp", "Fetch the packages, install and verify them",
            self._agree, leads=True,
        )  # fmt: skip
        foot = QHBoxLayout()
        foot.addWidget(back)
        foot.addStretch(1)
        foot.addWidget(self.go_button)
        page = QVBoxLayout(self)
        page.setContentsMargins(0, 0, 0, 0)
        page.setSpacing(8)
        for widget in (self.title, self.facts, self.space):
            page.addWidget(widget)
        page.addWidget(self.table, 1)
        page.addWidget(self.terms)
        page.addLayout(foot)

    @staticmethod
    def _table() -> QTableWidget:
        table = QTableWidget(0, len(COLUMNS))
        table.setObjectName("planTable")
        table.setAccessibleName(tr("Packages"))
        for column, (title, tip) in enumerate(COLUMNS):
            item = QTableWidgetItem(tr(title))
            item.setToolTip(tr(tip))
            item.setTextAlignment(_alignment(column))
            table.setHorizontalHeaderItem(column, item)
        table.verticalHeader().hide()
        table.setShowGrid(False)
        table.setAlternatingRowColors(True)
        table.setTabKeyNavigation(False)
        table.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
        table.setSelectionBehavior(QTableWidget.SelectionBehavior.SelectRows)
        header = table.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for column, width in ((1, 140), (2, 100), (3, 210)):
            table.setColumnWidth(column, width)
        return table

    def show_plan(self, wanted: SetUpRequest, planned: EnvironmentPlan) -> None:
        """Show what a plan comes to."""
        self._plan = planned
        python = planned.python
        title = planned.kind.title
        self.title.setText(
            tr(
                f"{title}, as '{wanted.name}', with Python {python.version} from {python.path}"
                if python.version
                else f"{title}, as '{wanted.name}', with the Python from {python.path}"
            )
        )
        self.facts.setText(tr(plan_words(planned)))
        short = space_words(planned)
        self.space.show_sentences([short] if short else [])
        self.go_button.setEnabled(not short)
        said = [
            f"{maker.name}'s own software comes under <a href='{maker.terms}'>{maker.name}'s "
            f"licence</a>, which you accept by installing it: {', '.join(names)}."
            for maker, names in terms_of(planned.packages)
        ]
        self.terms.setVisible(bool(said))
        self.terms.setText(tr("<br>".join(said)))
        self.table.setRowCount(len(planned.packages))
        for row, one in enumerate(planned.packages):
            size = quantity(one.size_B, "B") if one.size_B is not None else "not known"
            voucher = VOUCHERS.get(one.vouched_by, one.vouched_by)
            for column, words in enumerate((one.name, one.version, size, voucher)):
                item = QTableWidgetItem(tr(words))
                item.setTextAlignment(_alignment(column))
                item.setToolTip(tr(f"{one.file}\n{one.url}\nSHA-256 {one.sha256}"))
                self.table.setItem(row, column, item)

    def _agree(self) -> None:
        if self._plan is not None:
            self.agreed.emit(self._plan)


def _alignment(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column == 2 else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


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
        self.machine = MachinePage()
        self.machine.chosen.connect(self._make_far)
        self.machine.back_asked.connect(self.back_asked)
        self.making = EngineMakingPage(tasks, busy_with)
        self.making.back_asked.connect(self.back_asked)
        self._steps = QLabel()
        self._steps.setObjectName("setUpSteps")
        self._steps.setTextFormat(Qt.TextFormat.RichText)
        self.stack = QStackedWidget()
        for page in (self.choice, self.waiting, self.plan_page, self.machine, self.making):
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

    def add_machine(self) -> None:
        """Ask for another machine, or show what is being made."""
        if self.making.working or self._planning is not None:
            return
        self._show(self.machine)
        self.machine.open()

    def _make_far(self, wanted: FarRequest) -> None:
        def work(tell: Callable[[SetUpProgress], None], cancel: threading.Event) -> Managed:
            from gpuexplorer.environments import far  # the window need not wait for it

            return far.set_up(wanted.name, wanted.machine, wanted.kind, wanted.wheels, tell, cancel)

        title = f"'{wanted.name}' on machine {wanted.machine.host}"
        self._begin_far(title, wanted.name, work)

    def update_far(self, name: str, machine: Machine) -> None:
        """Bring this version to an engine on another machine, and test it."""
        if self.making.working or self._planning is not None:
            return

        def work(tell: Callable[[SetUpProgress], None], cancel: threading.Event) -> Managed:
            from gpuexplorer.environments import far  # the window need not wait for it

            return far.update_and_test(name, machine, tell, cancel)

        self._begin_far(f"'{name}' on machine {machine.host}", name, work)

    def _begin_far(self, title: str, name: str, work: Work) -> None:
        self.making.begin(Making(title, name, work, here=False))
        self._show(self.making)

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
        self.waiting_words.setText(tr(words))
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
        self._steps.setText(tr("&nbsp;&nbsp;›&nbsp;&nbsp;".join(words)))
        self._steps.setVisible(page is not self.machine and not self._is_far(page))

    def _is_far(self, page: QWidget) -> bool:
        """Whether a page shows what is made on another machine, which has steps of its own."""
        return page is self.making and not self.making.is_here

    def _show_step(self, words: str) -> None:
        self._step.setText(tr(f"{capital(words)}…"))

    def close_down(self) -> None:
        """Stop looking at what goes on."""
        self.making.close_down()
