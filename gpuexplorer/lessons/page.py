"""Pages on lessons: one lesson with what was measured here, or how far a learner is.

Each is one HTML file that needs no network and runs nothing, as reports are.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import gpuexplorer
from gpuexplorer.exchange.files import atomic_file
from gpuexplorer.lessons.charts import guess_chart, measured_chart
from gpuexplorer.lessons.lesson import Lesson
from gpuexplorer.lessons.measured import Measured
from gpuexplorer.lessons.outcome import claims_of, guess_outcome, guess_words, kind_words
from gpuexplorer.lessons.progress import Done, Progress, state_words
from gpuexplorer.report.figure import Draw, drawn_here, figure
from gpuexplorer.report.html import paragraph, section, table, text
from gpuexplorer.report.style import page_head


def write_page(page: str, path: Path) -> None:
    """Write a page, whole or not at all; InputError when it cannot be written."""
    with atomic_file(path) as stream:
        stream.write(page.encode("utf-8", "replace"))


def lesson_page(
    lesson: Lesson,
    measured: Mapping[str, Measured],
    guess: str | float | None = None,
    draw: Draw = drawn_here,
) -> str:
    """Return a lesson as a page, with charts and claims as far as they were measured."""
    words, manifest = lesson.text, lesson.manifest
    outcome = guess_outcome(lesson, guess, measured)
    choices = "".join(
        f"<li>{marked(words[f'choice {one.name}'])}</li>\n" for one in manifest.guess.choices
    )
    answer = paragraph(guess_words(lesson, guess, outcome))
    if outcome.value is not None:
        answer += figure(partial(guess_chart, lesson, guess, outcome.value), 0, draw)
    body = f'<div class="lead">{marked(words.about)}</div>\n'
    listed = f"<ul>\n{choices}</ul>\n" if choices else ""
    body += section("The question", marked(words["question"]), listed)
    for number, name in enumerate(manifest.measures, start=1):
        found = measured.get(name)
        drawn = figure(partial(measured_chart, found), number, draw) if found is not None else ""
        body += section(words.button(name), marked(words.beside(name)), drawn)
    if outcome.value is not None:
        body += section("The answer", answer)
    body += section("What you should see, and why", marked(words["see"]))
    body += section("What this lesson claims", _claims(lesson, measured))
    body += section("What differs on a GPU", marked(words["gpu"]))
    body += section("Exercise", marked(words["exercise"]))
    return _page(words.title, body)


def _claims(lesson: Lesson, measured: Mapping[str, Measured]) -> str:
    """Return every claim with how it is known and what it came to here."""
    rows = [
        (
            kind_words(lesson, one.claim),
            " ".join(lesson.text[f"claim {one.claim.name}"].split()),
            one.words,
        )
        for one in claims_of(lesson, measured)
    ]
    return table(rows, ("known how", "claim", "here"))


def progress_page(progress: Progress, lessons: Mapping[str, Lesson]) -> str:
    """Return how far a learner is, a row for each lesson."""
    rows = [_row(lesson, progress) for lesson in lessons.values()]
    done = sum(one.solved_utc is not None for one in progress.lessons.values())
    number, total = done, len(rows)
    body = paragraph(f"{number} of {total} exercises are solved.", "lead")
    heads = ("lesson", "state", "guess", "measured", "claims that hold here", "solved (UTC)", "on")
    return _page("Lessons: progress", body + section("Lessons", table(rows, heads, "runs")))


def _row(lesson: Lesson, progress: Progress) -> tuple[object, ...]:
    done = progress.lessons.get(lesson.name, Done())
    held = sum(done.claims.values())
    number, total = held, len(done.claims)
    return (
        lesson.text.title,
        state_words(progress, lesson.name) or None,
        guess_in_words(lesson, done),
        done.measured,
        f"{number} of {total}" if total else None,
        done.solved_utc,
        done.device,
    )


def guess_in_words(lesson: Lesson, done: Done) -> str | None:
    """Return what was guessed, in words; None for no guess."""
    if isinstance(done.guess, str):
        return lesson.text.sections.get(f"choice {done.guess}", done.guess)
    return None if done.guess is None else f"{done.guess:g}"


def marked(markdown: str) -> str:
    """Return Markdown as HTML; markup that stands in it is shown, not taken."""
    from markdown_it import MarkdownIt

    return str(MarkdownIt("commonmark", {"html": False}).render(markdown))


def _page(title: str, body: str) -> str:
    written = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    foot = text(f"GPU Explorer {gpuexplorer.__version__} · {written}")
    return page_head(title) + (
        f"<header>\n<h1>{text(title)}</h1>\n</header>\n<main>\n{body}</main>\n"
        f"<footer>{foot}</footer>\n</body>\n</html>\n"
    )
