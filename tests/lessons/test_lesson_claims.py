"""What lessons claim is measured: counted and timed claims hold on the CPU device.

Margins are wide and sizes small, so that a busy machine changes no answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from gpuexplorer.core.errors import InputError
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.lessons.charts import guess_chart, measured_chart
from gpuexplorer.lessons.lesson import Lesson
from gpuexplorer.lessons.loader import lesson_folders, read_lesson, shipped_folder
from gpuexplorer.lessons.measured import Counted, Measured
from gpuexplorer.lessons.measuring import Bench, check_exercise, measure, short_labels
from gpuexplorer.lessons.outcome import (
    ClaimOutcome,
    asks_of,
    claims_of,
    guess_outcome,
    guess_words,
    is_solved,
)
from gpuexplorer.lessons.progress import (
    Progress,
    keep_progress,
    note_exercise,
    note_measured,
    read_progress,
)
from tests.backends.opencl_support import device
from tests.support.studies import SHIPPED


def lesson_of(name: str) -> Lesson:
    return read_lesson(shipped_folder() / name, SHIPPED)


def runs_here(name: str) -> bool:
    """Return whether this machine has what a lesson needs."""
    manifest = lesson_of(name).manifest
    counts = any(one.kind == "accesses" for one in manifest.measures.values())
    if counts and "Portable" in device().driver:
        return False  # notes need C++ for OpenCL
    return manifest.bench.variant != "torch" or find_spec("torch") is not None


def lessons_in_turn(first: int) -> list[Any]:
    """Return every lesson: each other one by day, from the ``first`` on, and the rest at night."""
    return [
        pytest.param(
            folder.name,
            marks=[
                pytest.mark.skipif(not runs_here(folder.name), reason="not here"),
                *([] if number % 2 == first else [pytest.mark.long]),
            ],
        )
        for number, folder in enumerate(lesson_folders(shipped_folder()))
    ]


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with EngineSession() as session:
        yield Bench(session, session.devices(), SHIPPED)


def refuted(lesson: Lesson, found: dict[str, Measured]) -> list[ClaimOutcome]:
    """Return what a lesson claims of this machine and what was found contradicts."""
    return [
        one for one in claims_of(lesson, found)
        if one.claim.kind != "card" and (one.value is None or one.holds is False)
    ]  # fmt: skip


@pytest.mark.parametrize("name", lessons_in_turn(0))
def test_what_a_lesson_claims_holds_here(bench: Bench, name: str) -> None:
    lesson = lesson_of(name)
    found: dict[str, Measured] = {}
    for one in lesson.manifest.measures:
        seen: list[Measured] = []
        found[one] = measure(lesson, one, bench, seen.append)
        assert seen, "it is drawn while it is measured"
        for part in seen:
            assert measured_chart(part).rows
            claims_of(lesson, found | {one: part})
            guess_outcome(lesson, None, {one: part})
    timed = [one for one in refuted(lesson, found) if one.claim.kind == "timed"]
    if timed:  # what a neighbour did meanwhile, it does not do again
        again = {one: measure(lesson, one, bench, lambda _: None) for one in found}
        once = {one.claim.name for one in timed}
        failed = [one for one in refuted(lesson, again) if one.claim.name in once]
        assert not failed, [f"{one.claim.name}: {one.words}" for one in failed]
    assert refuted(lesson, found) == timed
    guess = lesson.manifest.guess
    choice: str | float = guess.choices[0].name if guess.choices else 2.0
    answer = guess_outcome(lesson, choice, found)
    assert answer.value is not None and guess_words(lesson, choice, answer)
    assert not guess.choices or answer.truth is not None, answer.value.words
    for whole in found.values():
        ((panel, *_), *_) = measured_chart(whole).rows
        if isinstance(whole, Counted):  # a warp that asks for nothing is shown as well
            shown = "\n".join(panel.y.categories or ())
            assert all(label in shown for label in short_labels(whole.configs))
    assert guess_chart(lesson, choice, answer.value).rows

    progress = Progress()
    progress.of(name).guess = choice
    note_measured(progress.of(name), lesson, found)
    assert keep_progress(progress) is None
    kept = read_progress().lessons[name]
    assert kept == progress.of(name) and all(kept.claims.values()) and kept.measured


@pytest.mark.parametrize("name", lessons_in_turn(1))
def test_an_exercise_is_solved_by_its_answer_and_not_by_its_start(bench: Bench, name: str) -> None:
    lesson = lesson_of(name)
    exercise = lesson.manifest.exercise
    progress = Progress()
    for word, solved in ((exercise.start, False), (exercise.answer, True)):
        request, workload = lesson.request(word, SHIPPED)
        seen: list[Measured] = []
        found = check_exercise(lesson, request, workload, bench, seen.append)
        assert seen and all(asks_of(lesson, part) for part in seen)
        asks = asks_of(lesson, found)
        for _ in range(2):  # what a neighbour did meanwhile, it does not do again
            if is_solved(asks) is not solved:
                found = check_exercise(lesson, request, workload, bench)
                asks = asks_of(lesson, found)
        assert is_solved(asks) is solved, [one.words for one in asks]
        note_exercise(progress.of(name), lesson, found)
        assert (progress.of(name).solved_utc is not None) is solved
        assert measured_chart(found).rows


def test_what_an_exercise_keeps_cannot_be_changed(bench: Bench) -> None:
    lesson = lesson_of("coalescing")
    for word, said in (
        ("256x1,size=64", "keeps the size"),
        ("tiled", "keeps the variant"),
        ("256x1,fill=zeros", "keeps the inputs"),
        ("direct,workload=vector_add", "is about Matrix multiply"),
    ):
        request, workload = lesson.request(word, SHIPPED)
        with pytest.raises(InputError, match=said):
            check_exercise(lesson, request, workload, bench)
