"""The four steps of a lesson: guess, measure, why, exercise; each shows what the model knows."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QDoubleSpinBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.language import as_is, tr
from gpuexplorer.gui.model.lessons import LessonsModel
from gpuexplorer.gui.show.chart import ChartView
from gpuexplorer.gui.typeface import for_text
from gpuexplorer.gui.widgets.layouts import empty
from gpuexplorer.gui.widgets.look import set_look
from gpuexplorer.gui.widgets.prose import Prose
from gpuexplorer.lessons.charts import guess_chart, measured_chart
from gpuexplorer.lessons.measured import Measured
from gpuexplorer.lessons.outcome import (
    asks_of,
    claims_of,
    guess_outcome,
    guess_words,
    is_solved,
    kind_words,
)

GUESS_PX = 150
"""The chart of the guess: two rows and an axis."""
CHART_PX, PLAIN_PX, MOST_PX = 180, 300, 520
"""The least of a chart of rows and of one with two scales, and the most of any."""
MARGIN = 16


class Step(QWidget):
    """A page of a lesson; ``show_lesson`` makes it anew, ``refresh`` shows what is new."""

    title = ""
    tip = ""

    def __init__(self, model: LessonsModel) -> None:
        super().__init__()
        self._model = model
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(MARGIN, 12, MARGIN, 12)
        self._column.setSpacing(10)

    def show_lesson(self) -> None:
        """Show the lesson that is open, from its beginning."""
        empty(self._column)
        self._fill()
        self.refresh()

    def _fill(self) -> None:
        """Make what the lesson has."""

    def refresh(self) -> None:
        """Show what is new."""

    def _add(self, widget: QWidget, stretch: int = 0) -> QWidget:
        self._column.addWidget(widget, stretch)
        return widget

    def _prose(self, name: str, text: str) -> Prose:
        made = Prose(name, text)
        self._add(made)
        return made


class GuessStep(Step):
    """The question, with its choices or a number; ``guessed`` says that one was taken."""

    title = "Guess"
    tip = "The question, which is answered before anything is measured"
    guessed = Signal()

    def _fill(self) -> None:
        lesson, done = self._model.lesson, self._model.done
        self._prose("lessonAbout", lesson.text.about)
        self._prose("lessonQuestion", lesson.text["question"])
        self.choices: dict[str, QRadioButton] = {}
        for one in lesson.manifest.guess.choices:
            button = QRadioButton(as_is(lesson.text[f"choice {one.name}"]))
            button.setObjectName(f"lessonChoice_{one.name}")
            button.setChecked(done.guess == one.name)
            button.clicked.connect(lambda _=False, name=one.name: self._guess(name))
            self.choices[one.name] = button
            self._add(button)
        self.number: QDoubleSpinBox | None = None
        if not self.choices:
            self._add_number()
        self._column.addStretch(1)

    def _add_number(self) -> None:
        """Add a box for a number."""
        number = self.number = QDoubleSpinBox()
        number.setObjectName("lessonNumber")
        number.setAccessibleName(tr("Your guess"))
        number.setDecimals(2)
        number.setRange(0.0, 1e9)
        number.setMaximumWidth(for_text(160))
        guess = self._model.done.guess
        number.setValue(float(guess) if isinstance(guess, int | float) else 1.0)
        number.valueChanged.connect(self._guess)
        self._add(number)

    def _guess(self, guess: str | float) -> None:
        self._model.guess(guess)
        self.guessed.emit()


class MeasureStep(Step):
    """A button for each measurement, what it drew, and the guess beside it.

    ``wanted`` carries the name of what is to be measured, ``bench`` that of what the knobs are to
    be set to.
    """

    title = "Measure"
    tip = "Measure it here, and see the guess beside the figure"
    wanted = Signal(str)
    bench = Signal(str)

    def _fill(self) -> None:
        lesson = self._model.lesson
        self.buttons: dict[str, QPushButton] = {}
        self.benches: dict[str, QPushButton] = {}
        self.charts: dict[str, ChartView] = {}
        self.lines: dict[str, QWidget] = {}
        """The line of buttons above each chart."""
        self.answer = Prose("lessonAnswer")
        self.answer.setProperty("role", "title")
        self._add(self.answer)
        self.guess = ChartView("lessonGuessChart", "The guess beside the figure")
        self.guess.setFixedHeight(for_text(GUESS_PX))
        self._add(self.guess)
        for name in lesson.manifest.measures:
            self._add_measure(name)
        self._column.addStretch(1)

    def _add_measure(self, name: str) -> None:
        lesson = self._model.lesson
        row = QHBoxLayout()
        row.setSpacing(8)
        start = QPushButton(as_is(lesson.text.button(name)))
        start.setObjectName(f"lessonMeasure_{name}")
        start.setProperty("role", "leads")
        start.clicked.connect(lambda _=False: self.wanted.emit(name))
        bench = QPushButton(tr("Explore further"))
        bench.setObjectName(f"lessonBench_{name}")
        bench.setToolTip(tr("Set the knobs to it, and show the view in which it can be explored"))
        bench.clicked.connect(lambda _=False: self.bench.emit(name))
        row.addWidget(start)
        row.addWidget(bench)
        row.addStretch(1)
        line = QWidget()
        line.setLayout(row)
        row.setContentsMargins(0, 0, 0, 0)
        self._add(line)
        self._prose(f"lessonBeside_{name}", lesson.text.beside(name))
        chart = ChartView(f"lessonChart_{name}", lesson.text.button(name))
        chart.setFixedHeight(for_text(CHART_PX))
        chart.hide()
        self._add(chart)
        self.buttons[name], self.benches[name], self.charts[name] = start, bench, chart
        self.lines[name] = line

    def refresh(self) -> None:
        """Draw what was measured by now."""
        model = self._model
        lesson, measured = model.lesson, model.measured
        for name, chart in self.charts.items():
            found = measured.get(name)
            if found is not None:
                chart.show_chart(measured_chart(found))
                chart.setFixedHeight(height_of(chart))
            chart.setVisible(found is not None)
        outcome = guess_outcome(lesson, model.done.guess, measured)
        words = guess_words(lesson, model.done.guess, outcome)
        self.answer.setText(tr(words))
        self.answer.setVisible(bool(words))
        if outcome.value is not None:
            self.guess.show_chart(guess_chart(lesson, model.done.guess, outcome.value))
        self.guess.setVisible(outcome.value is not None)

    @property
    def answers(self) -> bool:
        """Whether the question has its answer."""
        return not self.guess.isHidden()

    def allow(self, *, able: bool) -> None:
        """Let something be measured, or not, while something else is."""
        for button in (*self.buttons.values(), *self.benches.values()):
            button.setEnabled(able)


def height_of(chart: ChartView) -> int:
    """Return the height in which all of a chart can be read."""
    panels = [panel for row in chart.spec.rows for panel in row] if chart.spec is not None else []
    plain = any(not panel.y.categories for panel in panels)
    least = for_text(PLAIN_PX if plain else CHART_PX)
    return max(least, min(chart.sizeHint().height() + 4, for_text(MOST_PX)))


class WhyStep(Step):
    """What should be seen and why, the claims with their kind, and what differs on a GPU."""

    title = "Why"
    tip = "What you should see, why, and what of it holds on a GPU"

    def _fill(self) -> None:
        lesson = self._model.lesson
        self._heading("What you should see, and why")
        self._prose("lessonSee", lesson.text["see"])
        self._heading("What this lesson claims")
        self.claims: dict[str, QLabel] = {}
        for claim in lesson.manifest.claims:
            self._add(self._card(claim.name, kind_words(lesson, claim)))
        self._heading("What differs on a GPU")
        self._prose("lessonGpu", lesson.text["gpu"])
        self._column.addStretch(1)

    def _heading(self, words: str) -> None:
        label = QLabel(tr(words))
        label.setProperty("role", "title")
        self._add(label)

    def _card(self, name: str, kind: str) -> QWidget:
        """Return a frame with a claim, how it is known, and what it came to here."""
        card = QFrame()
        card.setObjectName("card")
        column = QVBoxLayout(card)
        column.setContentsMargins(10, 8, 10, 8)
        column.setSpacing(4)
        how = QLabel(tr(kind))
        how.setObjectName(f"lessonClaimKind_{name}")
        how.setProperty("role", "section")
        column.addWidget(how)
        column.addWidget(Prose(f"lessonClaim_{name}", self._model.lesson.text[f"claim {name}"]))
        outcome = QLabel()
        outcome.setObjectName(f"lessonClaimHere_{name}")
        outcome.setWordWrap(True)
        outcome.setTextFormat(Qt.TextFormat.PlainText)
        outcome.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        column.addWidget(outcome)
        self.claims[name] = outcome
        return card

    def refresh(self) -> None:
        """Say which claims hold here, as far as they were measured."""
        for one in claims_of(self._model.lesson, self._model.measured):
            label = self.claims[one.claim.name]
            role = {True: "good", False: "bad", None: "muted"}[one.holds]
            label.setText(tr(one.words))
            set_look(label, role=role)


class ExerciseStep(Step):
    """The exercise: the knobs begin somewhere, and what the user made of them is measured.

    ``start_asked`` asks for the knobs to be set to its start, ``wanted`` for measuring. Of the two
    buttons that one leads which comes next.
    """

    title = "Exercise"
    tip = "Something to reach with the knobs, which is checked by measuring"
    start_asked = Signal()
    wanted = Signal()

    def __init__(
        self,
        model: LessonsModel,
        knobs: Callable[[], str],
        refusal: Callable[[], str],
        moved: Callable[[], bool],
    ) -> None:
        """``knobs`` tells where the knobs stand, in words; ``refusal`` why that is no answer.

        ``moved`` says whether they stand elsewhere than what was measured.
        """
        super().__init__(model)
        self._knobs, self._refusal, self._moved = knobs, refusal, moved
        self._able = False

    def _fill(self) -> None:
        lesson = self._model.lesson
        self._prose("lessonExercise", lesson.text["exercise"])
        self.start = QPushButton(tr("Set the knobs to the start"))
        self.start.setObjectName("lessonStart")
        self.start.clicked.connect(lambda _=False: self.start_asked.emit())
        self.check = QPushButton(tr("Measure my knobs"))
        self.check.setObjectName("lessonCheck")
        self.check.clicked.connect(lambda _=False: self.wanted.emit())
        line = QWidget()
        row = QHBoxLayout(line)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(self.start)
        row.addWidget(self.check)
        row.addStretch(1)
        self._add(line)
        self.now = QLabel()
        self.now.setObjectName("lessonKnobs")
        self.now.setProperty("role", "muted")
        self.now.setWordWrap(True)
        self._add(self.now)
        self.refused = QLabel()
        self.refused.setObjectName("lessonRefused")
        self.refused.setProperty("role", "warning")
        self.refused.setWordWrap(True)
        self.refused.setTextFormat(Qt.TextFormat.PlainText)
        self._add(self.refused)
        self.verdict = QLabel()
        self.verdict.setObjectName("lessonVerdict")
        self.verdict.setWordWrap(True)
        self._add(self.verdict)
        self.asks = QLabel()
        self.asks.setObjectName("lessonAsks")
        self.asks.setWordWrap(True)
        self.asks.setTextFormat(Qt.TextFormat.PlainText)
        self._add(self.asks)
        self.chart = ChartView("lessonExerciseChart", "The start and yours")
        self.chart.hide()
        self._add(self.chart)
        self._column.addStretch(1)

    def refresh(self) -> None:
        """Show where the knobs stand, and what was reached."""
        model = self._model
        self.now.setText(tr(self._knobs()))
        refusal = self._refusal()
        self.refused.setText(tr(refusal))
        self.refused.setVisible(bool(refusal))
        set_look(self.start, role="leads" if refusal else "")
        set_look(self.check, role="" if refusal else "leads")
        self._allow()
        found: Measured | None = model.exercise
        if found is None:
            self.verdict.setText(tr("Solved before." if model.done.solved_utc is not None else ""))
            self.asks.setText("")
            self.chart.hide()
            return
        asks = asks_of(model.lesson, found)
        solved = is_solved(asks)
        not_yet = "Your knobs have moved since: measure them." if self._moved() else "Not yet."
        self.verdict.setText(tr("Solved." if solved else not_yet))
        set_look(self.verdict, role="good" if solved else "warning")
        self.asks.setText(tr("\n".join(one.words for one in asks)))
        self.chart.show_chart(measured_chart(found))
        self.chart.setFixedHeight(height_of(self.chart))
        self.chart.show()

    def allow(self, *, able: bool) -> None:
        """Let something be measured, or not, while something else is."""
        self._able = able
        self._allow()

    def _allow(self) -> None:
        self.start.setEnabled(self._able)
        self.check.setEnabled(self._able and not self.refused.text())
