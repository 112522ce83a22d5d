"""A lesson: its manifest, checked against the workloads, and its words in one language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.errors import InputError
from gpuexplorer.lessons.manifest import (
    ACCESS_QUANTITIES,
    COMPILED_QUANTITIES,
    ROUNDS,
    RUN_QUANTITIES,
    Ask,
    Figure,
    LessonManifest,
    Measure,
    Range,
)
from gpuexplorer.lessons.text import LessonText
from gpuexplorer.search.contestants import read_configuration
from gpuexplorer.studies import KINDS
from gpuexplorer.workloads.loader import pick
from gpuexplorer.workloads.strict import suggestion
from gpuexplorer.workloads.workload import Workload

LESSON_STUDIES = ("precision", "scaling", "ladder")
"""The studies whose arguments a manifest has keys for."""
MOST_MINUTES = 120
MOST_SECONDS, MOST_ROUNDS = 10, 50
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,40}")
_OF_KIND = {
    "compare": RUN_QUANTITIES, "study": RUN_QUANTITIES, "accesses": ACCESS_QUANTITIES,
    "compile": COMPILED_QUANTITIES,
}  # fmt: skip


class Lesson(msgspec.Struct, frozen=True):
    """One lesson, ready to be shown; ``name`` is that of its folder."""

    name: str
    folder: Path
    manifest: LessonManifest
    text: LessonText

    def request(self, word: str, workloads: dict[str, Workload]) -> tuple[RunRequest, Workload]:
        """Return what a word asks for, and of which workload; InputError for no such word."""
        return word_request(self.manifest, word, workloads)

    def start_of(self, measure: str) -> str:
        """Return the word that the knobs are set to for a measurement."""
        found = self.manifest.measures[measure]
        if found.start is not None:
            return found.start
        words = found.words or found.variants
        return words[-1] if words else bench_word(self.manifest)


def word_request(
    manifest: LessonManifest, word: str, workloads: dict[str, Workload]
) -> tuple[RunRequest, Workload]:
    """Return what a word of a lesson asks for, and of which workload; InputError for none."""
    bench = manifest.bench
    base = RunRequest(
        workload=bench.workload,
        variant=bench.variant,
        size=dict(bench.size),
        precision=bench.precision,
    )
    return read_configuration(word, base, workloads)


def bench_word(manifest: LessonManifest) -> str:
    """Return a word that stands for a lesson's bench as it is."""
    variant = manifest.bench.variant
    return f"variant={variant}" if variant is not None else "seed=1"


def words_of(place: str | list[str] | None) -> list[str]:
    """Return the words of a figure's ``of`` or ``over``."""
    return [place] if isinstance(place, str) else list(place or ())


def section_keys(manifest: LessonManifest) -> list[str]:
    """Return the sections that a lesson's text needs, in the order of the lesson."""
    return [
        "question",
        *(f"choice {one.name}" for one in manifest.guess.choices),
        *(f"measure {name}" for name in manifest.measures),
        *(f"claim {one.name}" for one in manifest.claims),
        "see",
        "gpu",
        "exercise",
    ]


def check(manifest: LessonManifest, workloads: dict[str, Workload], where: str) -> None:
    """Raise InputError in one sentence where a manifest does not hold together.

    ``where`` names its file.
    """
    for fault, remedy in _faults(manifest, workloads):
        raise InputError(f"{where}: {fault}", remedy=remedy)


Faults = Iterator[tuple[str, str]]


def _faults(manifest: LessonManifest, workloads: dict[str, Workload]) -> Faults:
    """Yield what is wrong, with what to do, the first first."""
    if not 1 <= manifest.minutes <= MOST_MINUTES:
        yield f"'minutes' is {manifest.minutes}", f"use 1 to {MOST_MINUTES}"
    yield from _names("measures", manifest.measures)
    yield from _names("figures", manifest.figures)
    yield from _bench(manifest, workloads)
    for name, measure in manifest.measures.items():
        yield from _measure(manifest, f"measures.{name}", measure, workloads)
    for name, figure in manifest.figures.items():
        yield from _figure(manifest, f"figures.{name}", figure, workloads)
    yield from _guess(manifest)
    yield from _claims(manifest)
    yield from _exercise(manifest, workloads)


def _names(key: str, named: Mapping[str, object]) -> Faults:
    if not named:
        yield f"'{key}' is empty", "name at least one"
    for name in named:
        if not _NAME.fullmatch(name):
            yield (
                f"'{key}.{name}' is no name",
                "use small letters, digits, - and _, and begin with a letter or a digit",
            )


def _bench(manifest: LessonManifest, workloads: dict[str, Workload]) -> Faults:
    bench = manifest.bench
    sizes = pick(workloads, bench.workload).manifest.sizes
    for symbol in bench.size:
        if symbol not in sizes:
            yield f"'bench.size.{symbol}' is no size", suggestion(symbol, sizes)
    yield from _word(manifest, "bench", "", workloads)


def _word(manifest: LessonManifest, key: str, word: str, workloads: dict[str, Workload]) -> Faults:
    """Yield what is wrong with a word; an empty one stands for the bench as it is."""
    try:
        request, workload = word_request(manifest, word or bench_word(manifest), workloads)
        workload.variant(request.variant or workload.manifest.first_variant)
        precision = request.precision
        if precision is not None and precision not in workload.manifest.precisions:
            known = suggestion(precision, workload.manifest.precisions)
            yield f"'{key}': workload '{workload.name}' has no {precision}", known
    except InputError as error:
        yield f"'{key}': {error.what}", error.remedy


def _measure(
    manifest: LessonManifest, key: str, measure: Measure, workloads: dict[str, Workload]
) -> Faults:
    if len(measure.kinds) != 1:
        yield (
            f"'{key}' is measured in {len(measure.kinds)} ways",
            ("give it one of compare, accesses, compile and study"),
        )
    if measure.study is not None and measure.study not in LESSON_STUDIES:
        known = [name for name in KINDS if name in LESSON_STUDIES]
        yield f"'{key}.study' is '{measure.study}'", suggestion(measure.study, known)
    if measure.compare and len(measure.compare) < 2:
        yield f"'{key}.compare' has one word", "a comparison takes two"
    if len(set(measure.words)) != len(measure.words):
        yield f"'{key}' has a word twice", "leave one out"
    if not 0 < measure.seconds <= MOST_SECONDS:
        yield f"'{key}.seconds' is {measure.seconds:g}", f"use more than 0, up to {MOST_SECONDS}"
    if not ROUNDS <= measure.rounds <= MOST_ROUNDS:
        yield f"'{key}.rounds' is {measure.rounds}", f"use {ROUNDS} to {MOST_ROUNDS}"
    for place in measure.place:
        if len(measure.place) != 3 or place < 0:
            yield f"'{key}.place' is {measure.place}", "give three numbers from 0"
    for word in (*measure.words, *([measure.start] if measure.start is not None else [])):
        yield from _word(manifest, key, word, workloads)


def _figure(
    manifest: LessonManifest, key: str, figure: Figure, workloads: dict[str, Workload]
) -> Faults:
    measures = manifest.measures
    if figure.measure not in measures:
        yield f"'{key}.measure' is '{figure.measure}'", suggestion(figure.measure, measures)
        return
    measure = measures[figure.measure]
    fitting = _OF_KIND[measure.kind]
    if figure.quantity not in fitting:
        yield (
            f"'{key}.quantity' is '{figure.quantity}', which '{figure.measure}' does not tell",
            suggestion(figure.quantity, fitting),
        )
    if (figure.array or figure.access) and measure.kind != "accesses":
        yield f"'{key}' chooses an array or access", "only counted accesses have them"
    of, over = words_of(figure.of), words_of(figure.over)
    if not of:
        yield f"'{key}.of' is empty", "name what is measured"
    for word in (*of, *over):
        if measure.words and word not in measure.words:
            yield (
                f"'{key}': '{word}' is not measured by '{figure.measure}'",
                suggestion(word, measure.words),
            )
        yield from _word(manifest, key, word, workloads)


def _guess(manifest: LessonManifest) -> Faults:
    guess = manifest.guess
    if guess.figure not in manifest.figures:
        yield f"'guess.figure' is '{guess.figure}'", suggestion(guess.figure, manifest.figures)
    if len(guess.choices) == 1:
        yield "'guess.choices' has one choice", "give two or more, or none for a number"
    names = [one.name for one in guess.choices]
    if len(set(names)) != len(names):
        yield "'guess.choices' has a name twice", "give each a name of its own"
    for one in guess.choices:
        yield from _names("guess.choices", {one.name: one})
        yield from _range(f"guess.choices.{one.name}", one)


def _claims(manifest: LessonManifest) -> Faults:
    if not manifest.claims:
        yield "'claims' is empty", "say what the lesson claims"
    names = [one.name for one in manifest.claims]
    if len(set(names)) != len(names):
        yield "'claims' has a name twice", "give each a name of its own"
    for one in manifest.claims:
        key = f"claims.{one.name}"
        yield from _names("claims", {one.name: one})
        if one.kind == "card":
            if not one.source:
                yield f"'{key}' is of a card and has no source", "say where it is from"
            continue
        if one.figure is None:
            yield f"'{key}' has no figure", "say what is checked"
            continue
        if one.figure not in manifest.figures:
            yield f"'{key}.figure' is '{one.figure}'", suggestion(one.figure, manifest.figures)
            continue
        figure = manifest.figures[one.figure]
        kind = manifest.measures[figure.measure].kind
        counts = kind in ("accesses", "compile") or figure.quantity in ("blocks", "threads")
        if counts and one.kind == "timed":
            yield f"'{key}' is timed, and its figure is counted", "call it counted"
        elif not counts and one.kind == "counted":
            yield f"'{key}' is counted, and its figure is timed", "call it timed"
        yield from _range(key, one)


def _range(key: str, one: Range) -> Faults:
    if one.at_least is None and one.at_most is None:
        yield f"'{key}' has no range", "give at_least, at_most or both"
    elif one.at_least is not None and one.at_most is not None and one.at_least > one.at_most:
        yield f"'{key}' is empty: {one.at_least:g} to {one.at_most:g}", "exchange the two"


def _exercise(manifest: LessonManifest, workloads: dict[str, Workload]) -> Faults:
    exercise = manifest.exercise
    for name, word in (("start", exercise.start), ("answer", exercise.answer)):
        yield from _word(manifest, f"exercise.{name}", word, workloads)
    if not exercise.asks:
        yield "'exercise.asks' is empty", "say what is to be reached"
    if len({kind_of_ask(ask) for ask in exercise.asks}) > 1:
        yield "'exercise.asks' are measured in several ways", "ask for quantities of one kind"
    for number, ask in enumerate(exercise.asks):
        yield from _range(f"exercise.asks[{number}]", ask)
        if (ask.array or ask.access) and kind_of_ask(ask) != "accesses":
            yield (
                f"'exercise.asks[{number}]' chooses an array or access",
                "only counted accesses have them",
            )


def kind_of_ask(ask: Ask) -> str:
    """Return how an ask of an exercise is measured, as a ``Measure`` has it."""
    if ask.quantity in RUN_QUANTITIES:
        return "compare"
    return "accesses" if ask.quantity in ACCESS_QUANTITIES else "compile"
