"""The lessons in the window: which one is open, what was guessed, and what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.studies import Study
from gpuexplorer.gui.model.lessons_file import HeldLessons, Kept
from gpuexplorer.lessons.lesson import Lesson, kind_of_ask
from gpuexplorer.lessons.loader import load_lessons
from gpuexplorer.lessons.measured import Compared, Compiled, Counted, Measured, Studied
from gpuexplorer.lessons.measuring import OWN, START
from gpuexplorer.lessons.outcome import asks_of, claims_of, guess_outcome
from gpuexplorer.lessons.progress import (
    Done,
    Progress,
    keep_progress,
    note_exercise,
    note_measured,
    read_progress,
    state_words,
    take_in_others,
)
from gpuexplorer.studies import kind_of
from gpuexplorer.workloads.workload import Workload

EXERCISE = "exercise"
"""What stands among measurements for the exercise; no measure of a lesson may shadow it."""


class LessonResults(msgspec.Struct):
    """What was measured since the program started, by the names of lessons."""

    measured: dict[str, dict[str, Measured]] = msgspec.field(default_factory=dict)
    """By the names of a lesson's measurements."""
    exercise: dict[str, Measured] = msgspec.field(default_factory=dict)
    checked: dict[str, RunRequest] = msgspec.field(default_factory=dict)
    """The knobs that the exercise was measured with."""


class LessonsModel:
    """The lessons with the user's progress, which is kept whenever it grows."""

    def __init__(self, workloads: dict[str, Workload], folders: Sequence[Path] = ()) -> None:
        """``folders`` are the user's own; ``problems`` says what is wrong with them."""
        self.problems: list[InputError] = []
        self.lessons: dict[str, Lesson] = {}
        self.read(workloads, folders)
        self.progress: Progress = read_progress()
        self.open: Lesson | None = None
        self.results = LessonResults()
        self.trouble: ExplorerError | None = None
        """Why the progress could not be kept."""
        self._not_kept: set[str] = set()
        """Lessons with something that could not be kept yet."""

    def read(self, workloads: dict[str, Workload], folders: Sequence[Path]) -> None:
        """Read all lessons again; what was measured stays."""
        self.problems = []
        self.lessons = load_lessons(workloads, folders, on_problem=self.problems.append)

    @property
    def lesson(self) -> Lesson:
        """The lesson that is open."""
        assert self.open is not None
        return self.open

    def shows(self, lesson: Lesson) -> bool:
        """Whether a lesson is the one that is open, which may have been read again since."""
        return self.open is not None and self.open.name == lesson.name

    @property
    def done(self) -> Done:
        """What was done of the open lesson."""
        return self.progress.of(self.lesson.name)

    @property
    def measured(self) -> dict[str, Measured]:
        """What was measured of the open lesson since the program started, by name."""
        return self.results.measured.setdefault(self.lesson.name, {})

    @property
    def exercise(self) -> Measured | None:
        """What was measured for the open lesson's exercise last."""
        return self.results.exercise.get(self.lesson.name)

    def guess(self, guess: str | float) -> None:
        """Take in a guess."""
        take_in_others(self.progress, self._not_kept)
        self.done.guess = guess
        note_measured(self.done, self.lesson, self.measured)
        self._keep(self.lesson)

    def take(self, lesson: Lesson, name: str, found: Measured, *, whole: bool) -> None:
        """Take in a measurement, or a part of it; only a whole one counts as done."""
        if whole:
            take_in_others(self.progress, self._not_kept)
        if name == EXERCISE:
            self.results.exercise[lesson.name] = found
            if whole:
                note_exercise(self.progress.of(lesson.name), lesson, found)
        else:
            measured = self.results.measured.setdefault(lesson.name, {})
            measured[name] = found
            if whole:
                note_measured(self.progress.of(lesson.name), lesson, measured)
        if whole:
            self._keep(lesson)

    def held(self, step: int) -> HeldLessons | None:
        """Return what was measured, with the open lesson at a step; None for nothing of these."""
        found = self.results
        if not (found.measured or found.exercise or self.open is not None):
            return None
        return HeldLessons(
            measured={name: dict(one) for name, one in found.measured.items()},
            exercise=dict(found.exercise),
            checked=dict(found.checked),
            lesson=self.open.name if self.open is not None else "",
            step=step,
        )

    def bring(self, held: HeldLessons, workloads: dict[str, Workload]) -> None:
        """Take in what an earlier window measured, where it is of the lessons as they are now."""
        results = LessonResults()
        for name, lesson in self.lessons.items():
            for measure, kept in held.measured.get(name, {}).items():
                one = _read(lesson, kept, workloads)
                if _is_of(lesson, measure, one):
                    results.measured.setdefault(name, {})[measure] = one
            checked, own = held.exercise.get(name), held.checked.get(name)
            if checked is not None and own is not None:
                one = _read(lesson, checked, workloads)
                if _is_of(lesson, EXERCISE, one):
                    results.exercise[name], results.checked[name] = one, own
        self.results = results

    def next_of(self, lesson: Lesson) -> Lesson | None:
        """Return the lesson after another; None after the last."""
        names = list(self.lessons)
        at = names.index(lesson.name) + 1
        return self.lessons[names[at]] if at < len(names) else None

    def state_words(self, lesson: Lesson) -> str:
        """Return how far a lesson is, in a few words; empty for one that was not begun."""
        return state_words(self.progress, lesson.name)

    def _keep(self, lesson: Lesson) -> None:
        """Keep what was done of a lesson, and of those of which it could not be kept before."""
        self._not_kept.add(lesson.name)
        self.trouble = keep_progress(self.progress)
        if self.trouble is None:
            self._not_kept.clear()


def _read(lesson: Lesson, kept: Kept, workloads: dict[str, Workload]) -> Measured:
    """Return a measurement whose words a lesson reads."""
    if isinstance(kept, Study):
        return Studied(kept, lambda word: lesson.request(word, workloads)[0])
    return kept


def _is_of(lesson: Lesson, name: str, found: Measured) -> bool:
    """Return whether a lesson, as it is now, measures this under a name."""
    manifest = lesson.manifest
    if name != EXERCISE and name not in manifest.measures:
        return False
    measure = manifest.measures.get(name)
    words = (START, OWN) if measure is None else tuple(measure.words)
    kind = kind_of_ask(manifest.exercise.asks[0]) if measure is None else measure.kind
    if isinstance(found, Studied):
        fits = measure is not None and measure.study == kind_of(found.study).name
    elif isinstance(found, Compared):
        fits = kind == "compare" and found.words == words
    else:  # of which perhaps not all was done
        assert isinstance(found, Counted | Compiled)
        wanted = "accesses" if isinstance(found, Counted) else "compile"
        fits = kind == wanted and found.words == words[: len(found.words)]
    return fits and _can_be_told(lesson, name, found)


def _can_be_told(lesson: Lesson, name: str, found: Measured) -> bool:
    """Return whether a lesson can say what it says of a measurement."""
    told: Mapping[str, Measured] = {name: found}
    try:
        if name == EXERCISE:
            asks_of(lesson, found)
        else:
            claims_of(lesson, told)
            guess_outcome(lesson, None, told)
    except (ValueError, ArithmeticError, LookupError, TypeError):
        return False
    return True
