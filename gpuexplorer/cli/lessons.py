"""``gpuexplorer lessons``: lists them, shows one, and measures what it claims."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpuexplorer.cli import EXIT_INTERRUPTED
from gpuexplorer.cli.delivery import Delivery
from gpuexplorer.cli.messages import output_console, say
from gpuexplorer.cli.output import check_targets, json_path, pretty_json, write_document
from gpuexplorer.cli.sessions import open_session, python_of
from gpuexplorer.cli.sheets import plain_table
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import (
    CannotRunHere,
    ExplorerError,
    InputError,
    WorkFailed,
)
from gpuexplorer.core.interrupts import interrupts_held
from gpuexplorer.core.language import tr
from gpuexplorer.core.units import listed
from gpuexplorer.engine.errors import EngineGone
from gpuexplorer.lessons.lesson import Lesson
from gpuexplorer.lessons.loader import (
    is_lessons,
    lesson_folders,
    load_lessons,
    pick_lesson,
    read_lesson,
)
from gpuexplorer.lessons.measured import Measured
from gpuexplorer.lessons.measuring import Bench, check_exercise, measure
from gpuexplorer.lessons.outcome import (
    AskOutcome,
    ClaimOutcome,
    asks_of,
    claims_of,
    is_solved,
    kind_words,
)
from gpuexplorer.lessons.progress import keep_progress_in, read_progress, state_words
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.workload import Workload

SCHEMA = "gpuexplorer/lesson-check/1"
STYLES = {True: "green", False: "bold red", None: "dim"}


def command(options: argparse.Namespace) -> int:
    """List lessons, or do what was asked with one."""
    check_targets(json_path(options.json))
    actions = {"show": _show, "check": _check, "export": _export, "progress": _progress}
    return actions.get(options.action, _list)(options)


def _workloads(options: argparse.Namespace) -> dict[str, Workload]:
    return load(options.kernels)


def lessons_named(words: list[str], workloads: dict[str, Workload]) -> list[Lesson]:
    """Return the lessons that names and folders mean; InputError for what is neither."""
    found: list[Lesson] = []
    shipped: dict[str, Lesson] | None = None
    for word in words:
        path = Path(word)
        if path.is_dir() and is_lessons(path):
            found += [read_lesson(folder, workloads) for folder in lesson_folders(path)]
        elif len(path.parts) > 1:
            lesson_folders(path)  # which says what it lacks
        else:
            shipped = load_lessons(workloads) if shipped is None else shipped
            found.append(pick_lesson(shipped, word))
    return found


# ---- list and show


def _list(options: argparse.Namespace) -> int:
    lessons = load_lessons(_workloads(options))
    progress = read_progress()
    if options.json is not None:
        document = [
            {
                "name": lesson.name,
                "title": lesson.text.title,
                "minutes": lesson.manifest.minutes,
                "state": state_words(progress, lesson.name),
            }
            for lesson in lessons.values()
        ]
        write_document(options.json, pretty_json({"lessons": document}))
    if options.json == "-":
        return 0
    from gpuexplorer.cli.told import AsIs

    table = plain_table("lesson", "title", "minutes", "state", figures=("minutes",))
    for lesson in lessons.values():
        minutes, state = str(lesson.manifest.minutes), state_words(progress, lesson.name)
        table.add_row(AsIs(lesson.name), AsIs(lesson.text.title), minutes, state)
    output_console().print(table)
    return 0


def _show(options: argparse.Namespace) -> int:
    """Print a lesson, or all of a folder; as JSON several are a list."""
    lessons = lessons_named([options.lesson], _workloads(options))
    if options.json is not None:
        documents = [_text(lesson) for lesson in lessons]
        whole = documents[0] if len(documents) == 1 else {"lessons": documents}
        write_document(options.json, pretty_json(whole))
    if options.json == "-":
        return 0
    for lesson in lessons:
        _print_lesson(lesson)
    return 0


def _text(lesson: Lesson) -> dict[str, str]:
    text = lesson.text
    return {"name": lesson.name, "title": text.title, "about": text.about, **text.sections}


def _print_lesson(lesson: Lesson) -> None:
    from rich.markdown import Markdown

    console, text, manifest = output_console(), lesson.text, lesson.manifest
    parts = [f"# {text.title}", text.about, tr("## The question"), text["question"]]
    parts += [f"- {text[f'choice {one.name}']}" for one in manifest.guess.choices]
    parts.append(tr("## What is measured"))
    parts += [f"- **{text.button(name)}.** {text.beside(name)}" for name in manifest.measures]
    parts += [tr("## What you should see, and why"), text["see"], tr("## What this lesson claims")]
    for claim in manifest.claims:
        kind, words = kind_words(lesson, claim), text[f"claim {claim.name}"]
        parts.append(f"- *{tr(kind)}*: {words}")
        if claim.source is not None:
            parts.append(f"  {tr('Source')}: {claim.source}")
    parts += [tr("## What differs on a GPU"), text["gpu"], tr("## Exercise"), text["exercise"]]
    console.print(Markdown("\n\n".join(parts)))


# ---- check


def _check(options: argparse.Namespace) -> int:
    workloads = _workloads(options)
    lessons = lessons_named(options.lessons, workloads)
    if options.exercise is not None and len(lessons) > 1:
        raise InputError("--exercise is for one lesson", remedy="name one")
    documents: list[dict[str, Any]] = []
    good = True
    with open_session(options) as session:
        try:
            bench = Bench(session, session.devices(), workloads, python_of(options))
            for lesson in lessons:
                good &= _check_one(lesson, bench, options, documents)
        except KeyboardInterrupt:
            if documents:
                _deliver(documents, options)
            done, total = len(documents), len(lessons)
            say(f"gpuexplorer: stopped after {done} of {total} lessons")
            return EXIT_INTERRUPTED
        except ExplorerError:
            if documents:
                _deliver(documents, options)
                done, total = len(documents), len(lessons)
                say(f"gpuexplorer: ended after {done} of {total} lessons")
            raise
        code = _deliver(documents, options)
    return code if good else 1


def _check_one(
    lesson: Lesson, bench: Bench, options: argparse.Namespace, documents: list[dict[str, Any]]
) -> bool:
    """Measure a lesson, print what came of it and add its document; return whether all is well."""
    if options.exercise is not None:
        asks = _solve(lesson, options.exercise, bench)
        documents.append({"lesson": lesson.name, "asks": [_ask(one) for one in asks]})
        _say(options, lesson, [(one.met, tr(one.words)) for one in asks])
        return is_solved(asks)
    claims = claims_of(lesson, _measured(lesson, bench))
    documents.append({"lesson": lesson.name, "claims": [_claim(one) for one in claims]})
    _say(options, lesson, [(one.holds, _claim_words(lesson, one)) for one in claims])
    return all(one.holds for one in claims if one.claim.kind != "card")


@interrupts_held()
def _deliver(documents: Sequence[dict[str, Any]], options: argparse.Namespace) -> int:
    """Write what came of the lessons that are done, and return the exit code."""
    delivery = Delivery(json=options.json, verbose=options.verbose)
    delivery.document(lambda: pretty_json({"schema": SCHEMA, "lessons": documents}))
    return delivery.code


def _measured(
    lesson: Lesson, bench: Bench, found: dict[str, Measured] | None = None
) -> dict[str, Measured]:
    """Measure everything that a lesson measures, into ``found``.

    What cannot be measured is said; raises EngineGone where nothing more can be.
    """
    found = {} if found is None else found
    for name in lesson.manifest.measures:
        try:
            found[name] = measure(lesson, name, bench)
        except EngineGone:
            raise
        except ExplorerError as error:
            say(f"gpuexplorer: {lesson.name}: '{name}' is not measured: {error}")
    return found


def _solve(lesson: Lesson, word: str, bench: Bench) -> list[AskOutcome]:
    request, workload = lesson.request(word, bench.workloads)
    return asks_of(lesson, check_exercise(lesson, request, workload, bench))


def _claim_words(lesson: Lesson, one: ClaimOutcome) -> str:
    kind, words = kind_words(lesson, one.claim), lesson.text[f"claim {one.claim.name}"]
    return " ".join((f"{tr(kind)}:", words, tr(one.words)))


def _say(options: argparse.Namespace, lesson: Lesson, lines: list[tuple[bool | None, str]]) -> None:
    """Print what came of a lesson, unless JSON has standard output for itself."""
    if options.json == "-":
        return
    from gpuexplorer.cli.told import AsIs

    console = output_console()
    console.print(AsIs(lesson.text.title, style="bold"))
    for good, words in lines:
        console.print(AsIs(" ".join(words.split()), style=STYLES[good]))
    console.print()


def _claim(one: ClaimOutcome) -> dict[str, Any]:
    value = one.value
    return {
        "name": one.claim.name,
        "kind": one.claim.kind,
        "holds": one.holds,
        "value": value.number if value is not None else None,
        "ci95_low": value.low if value is not None else None,
        "ci95_high": value.high if value is not None else None,
        "source": one.claim.source,
    }


def _ask(one: AskOutcome) -> dict[str, Any]:
    value = one.value.number if one.value is not None else None
    return {"quantity": one.ask.quantity, "value": value, "met": one.met}


# ---- export and progress


def _export(options: argparse.Namespace) -> int:
    """Measure what a lesson measures, and write it as a page or a session file."""
    path: Path = options.file
    ending = _ending(path, PAGES | {SESSION})
    check_targets(path)
    if ending == SESSION:
        _check_window_libraries(path)
    workloads = _workloads(options)
    lesson = _only(lessons_named([options.lesson], workloads))
    found: dict[str, Measured] = {}
    ended: KeyboardInterrupt | EngineGone | None = None
    with open_session(options) as session:
        devices = session.devices()
        try:
            _measured(lesson, Bench(session, devices, workloads, python_of(options)), found)
        except (KeyboardInterrupt, EngineGone) as error:
            ended = error
    done, total = len(found), len(lesson.manifest.measures)
    if found:
        with interrupts_held():
            _write_lesson(lesson, found, workloads, devices, path)
        say(f"wrote {path}")
    else:
        say(f"gpuexplorer: nothing was measured, and {path} is not written")
    if ended is not None and found:
        say(f"gpuexplorer: stopped after {done} of {total} measurements")
    if isinstance(ended, EngineGone):
        raise ended
    return EXIT_INTERRUPTED if ended is not None else 0 if found else WorkFailed.exit_code


def _only(lessons: list[Lesson]) -> Lesson:
    """Return the lesson of a list of one; InputError for a folder that holds several."""
    first, *others = lessons
    if others:
        names = listed(f"'{one.name}'" for one in lessons)
        raise InputError(
            f"{first.folder.parent} holds several lessons, {names}, and one is written at a time",
            remedy=f"name its folder, such as {first.folder}",
        )
    return first


def _write_lesson(
    lesson: Lesson,
    found: Mapping[str, Measured],
    workloads: dict[str, Workload],
    devices: DeviceList,
    path: Path,
) -> None:
    """Write a page or a session file with what was measured of a lesson."""
    if path.suffix.lower() == SESSION:
        from gpuexplorer.gui.model.lesson_session import lesson_session
        from gpuexplorer.gui.model.session_archive import write_session

        write_session(lesson_session(lesson, found, workloads, devices), path)
    else:
        from gpuexplorer.lessons.page import lesson_page, write_page

        guess = read_progress().of(lesson.name).guess
        write_page(lesson_page(lesson, found, guess), path)


def _check_window_libraries(path: Path) -> None:
    """Raise CannotRunHere where what writes session files cannot be loaded."""
    try:
        from gpuexplorer.gui.model import session_archive  # noqa: F401
    except ImportError as error:
        raise CannotRunHere(
            f"cannot write {path.name} here: a session file is written with the window's "
            f"libraries, and they cannot be loaded ({error})",
            remedy="write a page (.html), or install gpuexplorer[gui]",
        ) from error


def _progress(options: argparse.Namespace) -> int:
    """Write how far the user is."""
    path: Path = options.file
    ending = _ending(path, PAGES | {".json"})
    check_targets(path)
    progress = read_progress()
    if ending == ".json":
        keep_progress_in(progress, path)
    else:
        from gpuexplorer.lessons.page import progress_page, write_page

        write_page(progress_page(progress, load_lessons(_workloads(options))), path)
    say(f"wrote {path}")
    return 0


PAGES = frozenset({".html", ".htm"})
SESSION = ".gpux"


def _ending(path: Path, known: frozenset[str]) -> str:
    """Return what a file's name ends in; InputError for what is not written here."""
    ending = path.suffix.lower()
    if ending not in known:
        raise InputError(
            f"cannot tell a format from '{path.name}'",
            remedy=f"end it in {', '.join(sorted(known))}",
        )
    return ending
