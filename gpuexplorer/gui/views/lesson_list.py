"""The list of lessons, each with its length and how far it is."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from gpuexplorer.core.language import as_is, tr
from gpuexplorer.core.units import plural
from gpuexplorer.gui.model.lessons import LessonsModel
from gpuexplorer.gui.widgets.layouts import empty
from gpuexplorer.gui.widgets.prose import Prose
from gpuexplorer.lessons.lesson import Lesson


class LessonList(QWidget):
    """Every lesson with its length and how far it is; ``chosen`` carries a name."""

    chosen = Signal(str)

    def __init__(self, model: LessonsModel) -> None:
        super().__init__()
        self._model = model
        self.buttons: dict[str, QPushButton] = {}
        self._states: dict[str, QLabel] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(16, 12, 16, 12)
        self._column.setSpacing(6)
        self.show_lessons()

    def show_lessons(self) -> None:
        """List the lessons."""
        empty(self._column)
        self.buttons.clear()
        self._states.clear()
        title = QLabel(tr("Lessons"))
        title.setProperty("role", "title")
        self._column.addWidget(title)
        about = QLabel(
            tr(
                "Each asks a question, has it measured on this machine, and says why. "
                "Guess first: what surprises you is what you remember."
            )
        )
        about.setWordWrap(True)
        about.setProperty("role", "muted")
        self._column.addWidget(about)
        for number, lesson in enumerate(self._model.lessons.values(), start=1):
            self._column.addWidget(self._card(number, lesson))
        self._column.addStretch(1)
        self.refresh()

    def _card(self, number: int, lesson: Lesson) -> QWidget:
        """Return a frame with a lesson."""
        card = QFrame()
        card.setObjectName("card")
        row = QHBoxLayout(card)
        row.setContentsMargins(10, 8, 10, 8)
        row.setSpacing(10)
        words = QVBoxLayout()
        words.setSpacing(2)
        name = QLabel(as_is(f"{number} · {lesson.text.title}"))
        name.setObjectName(f"lessonTitle_{lesson.name}")
        name.setProperty("role", "headline")
        name.setWordWrap(True)
        words.addWidget(name)
        words.addWidget(Prose(f"lessonAbout_{lesson.name}", lesson.text.about))
        row.addLayout(words, 100)
        row.addStretch(1)  # in a wide window, where the words stop at the longest line
        side = QVBoxLayout()
        side.setSpacing(4)
        open_button = QPushButton(tr("Open"))
        open_button.setObjectName(f"lessonOpen_{lesson.name}")
        open_button.setAccessibleName(tr(f"Open {lesson.text.title}"))
        open_button.clicked.connect(partial(self._choose, lesson.name))
        side.addWidget(open_button)
        state = QLabel()
        state.setProperty("role", "muted")
        side.addWidget(state)
        side.addStretch(1)
        row.addLayout(side)
        self.buttons[lesson.name] = open_button
        self._states[lesson.name] = state
        return card

    def _choose(self, name: str, _: bool = False) -> None:
        self.chosen.emit(name)

    def refresh(self) -> None:
        """Show how far each lesson is."""
        for name, label in self._states.items():
            lesson = self._model.lessons[name]
            minutes = plural(lesson.manifest.minutes, "{number} minute", "{number} minutes")
            state = self._model.state_words(lesson)
            label.setText(tr("\n".join(part for part in (minutes, state) if part)))
