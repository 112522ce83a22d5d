"""Lessons are read from folders; what is wrong with one is a sentence that names the key."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuexplorer.core.errors import InputError
from gpuexplorer.lessons.lesson import section_keys
from gpuexplorer.lessons.loader import (
    LESSON_FILE,
    is_lessons,
    lesson_folders,
    load_lessons,
    pick_lesson,
    read_lesson,
    shipped_folder,
)
from gpuexplorer.lessons.manifest import (
    ACCESS_QUANTITIES,
    COMPILED_QUANTITIES,
    RUN_QUANTITIES,
    Ask,
    Figure,
    Quantity,
)
from gpuexplorer.lessons.measured import Compared, Measured, Value
from gpuexplorer.lessons.outcome import QUANTITY_WORDS, AskOutcome, claims_of, is_clear
from gpuexplorer.lessons.text import FALLBACK, languages, read_text, text_file
from tests.support.exchange import made_comparison
from tests.support.studies import SHIPPED

COALESCING = shipped_folder() / "coalescing"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a copy of a lesson that may be spoiled."""
    made = tmp_path / "mine"
    shutil.copytree(COALESCING, made)
    return made


def spoil(folder: Path, old: str, new: str, name: str = LESSON_FILE) -> None:
    path = folder / name
    text = path.read_text(encoding="utf-8")
    assert old in text, old
    path.write_text(text.replace(old, new), encoding="utf-8")


BAD = {
    "format = 1": ("format = 2", "'format' is 2"),
    "minutes = 10": ("minutes = 0", "'minutes' is 0"),
    'help = "accesses"': ('hlep = "accesses"', "unknown key 'hlep'; did you mean 'help'?"),
    'workload = "matmul"': ('workload = "matmull"', "no workload 'matmull'; did you mean"),
    'variant = "naive"': ('variant = "naif"', "'bench': "),
    "size = { N = 256 }": ("size = { M = 256 }", "'bench.size.M' is no size"),
    'precision = "fp32"': ('precision = "fp31"', "workload 'matmul' has no fp31"),
    'accesses = ["256x1", "1x256"]': ("", "'measures.sectors' is measured in 0 ways"),
    'compare = ["256x1", "1x256"]': (
        'compare = ["256x1"]',
        "'measures.speed.compare' has one word",
    ),
    "[measures.speed]": (
        '[measures.speed]\nstudy = "ladder"',
        "'measures.speed' is measured in 2 ways",
    ),
    '[measures.speed]\ncompare = ["256x1", "1x256"]': (
        '[measures.speed]\nstudy = "switches"',
        "'measures.speed.study' is 'switches'",
    ),
    '[measures.sectors]\naccesses = ["256x1", "1x256"]': (
        '[measures.sectors]\naccesses = ["256x1", "1x256,SIZE=3"]',
        "no 'SIZE' to set",
    ),
    "[measures.sectors]\n": ("[measures.sectors]\nrounds = 2\n", "'measures.sectors.rounds' is 2"),
    "[figures.slower]": ("[figures.Slower]", "'figures.Slower' is no name"),
    'measure = "speed"': ('measure = "sped"', "'figures.slower.measure' is 'sped'; did you mean"),
    'quantity = "time"': ('quantity = "sectors"', "which 'speed' does not tell"),
    'over = "256x1"': ('over = "16x16"', "'16x16' is not measured by 'speed'"),
    'figure = "slower"\nchoices': ('figure = "slow"\nchoices', "'guess.figure' is 'slow'"),
    ", at_most = 1.5 },": (" },", "'guess.choices.same' has no range"),
    '"some", at_least = 1.5': ('"some", at_least = 5', "'guess.choices.some' is empty: 5 to 4"),
    '{ name = "some"': ('{ name = "same"', "'guess.choices' has a name twice"),
    'kind = "timed"': ('kind = "counted"', "'claims.slower' is counted, and its figure is timed"),
    'kind = "card"': ('kind = "guessed"', "'claims[3].kind' is 'guessed'"),
    "at_least = 3\n": ("", "'claims.slower' has no range"),
    'start = "1x256"': ('start = "1y256"', "'exercise.start': "),
    'quantity = "time", relative': ('quantity = "speed", relative', "'exercise.asks[0].quantity'"),
    "relative = true, at_most = 0.3333": ("relative = true", "'exercise.asks[0]' has no range"),
    'free = ["block"]': ('free = ["blocks"]', "'exercise.free[0]' is 'blocks'"),
}


@pytest.mark.parametrize("old", BAD)
def test_a_bad_manifest_is_told_in_one_sentence(folder: Path, old: str) -> None:
    new, said = BAD[old]
    spoil(folder, old, new)
    with pytest.raises(InputError) as caught:
        read_lesson(folder, SHIPPED)
    sentence = str(caught.value)
    assert said in sentence, sentence
    assert str(folder) in sentence or said.startswith("no workload")
    assert "\n" not in sentence and caught.value.remedy, sentence


def test_a_claim_of_a_card_needs_its_source(folder: Path) -> None:
    text = (folder / LESSON_FILE).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("source = ")]
    (folder / LESSON_FILE).write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(InputError, match=r"'claims\.gpu' is of a card and has no source"):
        read_lesson(folder, SHIPPED)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("# Coalescing", "Coalescing", "does not begin with a title"),
        ("## see\n", "## sea\n", "the manifest has no 'sea'; did you mean 'see'?"),
        ("## see\n", "## gpu\n", "'## gpu' is there twice"),
        ("## choice some\n", "", "'## choice some' is missing or empty"),
    ],
)
def test_bad_words_are_told_in_one_sentence(folder: Path, old: str, new: str, said: str) -> None:
    spoil(folder, old, new, "text.en.md")
    with pytest.raises(InputError) as caught:
        read_lesson(folder, SHIPPED)
    assert said in str(caught.value) and str(folder) in str(caught.value)


def test_no_toml_and_no_text_are_told(folder: Path) -> None:
    spoil(folder, "[bench]", "[bench")
    with pytest.raises(InputError, match="not TOML"):
        read_lesson(folder, SHIPPED)
    shutil.copy(COALESCING / LESSON_FILE, folder / LESSON_FILE)
    text_file(folder, FALLBACK).unlink()
    with pytest.raises(InputError, match=r"text\.en\.md"):
        read_lesson(folder, SHIPPED)


def test_words_are_in_the_language_asked_for_or_in_english(folder: Path) -> None:
    english = (folder / "text.en.md").read_text(encoding="utf-8")
    other = english.replace("# Coalescing: 1×256 against 256×1", "# 合并访存")
    (folder / "text.zh_CN.md").write_text(other, encoding="utf-8")
    assert languages(folder) == ["en", "zh_CN"]
    assert read_lesson(folder, SHIPPED, "zh_CN").text.title == "合并访存"
    lesson = read_lesson(folder, SHIPPED, "fr")
    assert lesson.text.language == "en" and lesson.text.title.startswith("Coalescing")
    assert lesson.text.button("speed") == "Measure both blocks in turns"
    assert lesson.text.beside("speed").startswith("The two are measured")


def test_a_teachers_lessons_are_found_and_win_over_shipped_ones(folder: Path) -> None:
    assert is_lessons(folder) and is_lessons(folder.parent)
    assert not is_lessons(shipped_folder().parent / "help")
    assert lesson_folders(folder) == [folder] == lesson_folders(folder.parent)
    spoil(folder, "order = 30", "order = 1")
    own = folder.rename(folder.with_name("precision"))
    lessons = load_lessons(SHIPPED, [own])
    assert next(iter(lessons)) == "precision"
    assert pick_lesson(lessons, "precision").text.title.startswith("Coalescing")
    with pytest.raises(InputError, match=r"no lesson 'precsion'; did you mean 'precision'\?"):
        pick_lesson(lessons, "precsion")
    with pytest.raises(InputError, match=r"no lesson\.toml here"):
        lesson_folders(shipped_folder().parent / "help")


WORDS = st.text(
    st.characters(codec="utf-8", exclude_characters="#\0\r\n\x85\u2028\u2029"), min_size=1
)
WORDS = WORDS.map(str.strip).filter(bool)


@given(title=WORDS, about=WORDS, bodies=st.lists(WORDS, min_size=2, max_size=5))
def test_words_that_are_written_are_read(
    tmp_path_factory: pytest.TempPathFactory, title: str, about: str, bodies: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("lesson")
    keys = [f"claim {number}" for number in range(len(bodies))]
    parts = [f"# {title}", about]
    parts += [f"## {key}\n\n{body}" for key, body in zip(keys, bodies, strict=True)]
    text_file(folder, "en").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    read = read_text(folder, "en", keys)
    assert (read.title, read.about) == (title, about)
    assert read.sections == dict(zip(keys, bodies, strict=True))


@pytest.mark.parametrize("name", [path.name for path in lesson_folders(shipped_folder())])
def test_every_shipped_lesson_is_whole(name: str) -> None:
    lesson = read_lesson(shipped_folder() / name, SHIPPED)
    assert set(lesson.text.sections) == set(section_keys(lesson.manifest))
    kinds = {claim.kind for claim in lesson.manifest.claims}
    assert kinds & {"counted", "timed"}, "something is checked here"
    assert all(lesson.text.beside(measure) for measure in lesson.manifest.measures)
    claimed = {claim.figure for claim in lesson.manifest.claims} | {lesson.manifest.guess.figure}
    assert set(lesson.manifest.figures) <= claimed, "every figure is used"


def test_every_quantity_has_words() -> None:
    quantities = set(get_args(Quantity))
    assert set(QUANTITY_WORDS) == quantities
    assert {*RUN_QUANTITIES, *ACCESS_QUANTITIES, *COMPILED_QUANTITIES} == quantities


def test_a_ratio_that_may_be_chance_solves_nothing() -> None:
    ask = Ask(quantity="time", relative=True, at_most=0.9)
    hidden, clear = Value(0.5, None, 0.2, 1.1), Value(0.5, None, 0.4, 0.8)
    assert not is_clear(ask, hidden) and is_clear(ask, clear) and is_clear(ask, Value(0.5))
    words = AskOutcome(ask, hidden, met=False).words
    assert words.endswith("yours may be 2.00×, which noise hides: measure again.")
    assert AskOutcome(ask, clear, met=True).words.endswith("yours is 2.00×: met.")
    assert AskOutcome(ask, Value(1.0), met=False).words.endswith("yours is 1.00×: not yet.")
    nearly = Value(1.0, None, 0.8, 1.2)
    assert AskOutcome(ask, nearly, met=False).words.endswith(
        "yours is 1.00×, and noise hides whether that is enough: measure again."
    )
    rate = Ask(quantity="flop_rate", relative=True, at_least=3)
    assert AskOutcome(rate, Value(2.5, None, 2.0, 3.1), met=False).words == (
        "Operations a second: at least 3.00× of the start's is asked for, and yours is 2.50× "
        "(2.00× to 3.10×); noise hides whether that is enough: measure again."
    )
    assert AskOutcome(rate, Value(2.5, None, 2.4, 2.6), met=False).words.endswith("not yet.")


def test_a_ratio_of_rates_has_the_interval_of_the_turns() -> None:
    result = made_comparison()
    turns = [[1e-3, 1.1e-3, 1.05e-3] * 5, [2e-3, 2.1e-3, 2.3e-3, 2.2e-3, 2.4e-3] * 3]
    contestants = [
        replace(one, turns_s=turns_s)
        for one, turns_s in zip(result.contestants, turns, strict=False)
    ]
    compared = Compared(("w0", "w1"), replace(result, contestants=contestants))

    def value(quantity: Quantity) -> Value:
        figure = Figure(measure="", quantity=quantity, of="w1", over="w0")
        found = compared.value(figure)
        assert found is not None and found.low is not None and found.high is not None
        return found

    first, second = (one.run for one in result.contestants[:2])
    time, rate = value("time"), value("flop_rate")
    done = [(run.throughput.flop_per_s or 0.0) * run.timing.median_s for run in (first, second)]
    more = done[1] / done[0]
    assert rate.number == pytest.approx(more / time.number)
    assert (rate.low, rate.high) == pytest.approx((more / (time.high or 0), more / (time.low or 0)))


class Told:
    """A measurement whose every figure is known."""

    def __init__(self, value: Value) -> None:
        self._value = value

    def value(self, figure: Figure) -> Value:
        return self._value


@pytest.mark.parametrize(
    ("value", "holds", "words"),
    [
        (Value(0.3, None, 0.2, 1.1), True, "it holds."),
        (Value(1.1, None, 0.8, 1.32), None, "that cannot be told here."),
        (Value(1.1, None, 0.95, 1.2), False, "it does not hold here."),
        (Value(1.1), False, "it does not hold here."),
    ],
)
def test_a_claim_is_refuted_only_where_its_interval_lies_outside(
    value: Value, holds: bool | None, words: str
) -> None:
    lesson = pick_lesson(load_lessons(SHIPPED), "occupancy")
    measured = {name: cast(Measured, Told(value)) for name in lesson.manifest.measures}
    (outcome,) = (one for one in claims_of(lesson, measured) if one.claim.name == "time")
    assert outcome.claim.at_most == 0.9
    assert outcome.holds is holds and outcome.words.endswith(words)
