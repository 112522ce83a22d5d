"""How far a learner is: what was guessed, measured and solved, in one file of the user's own."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.engine.interpreters import config_folder
from gpuexplorer.exchange.files import atomic_file
from gpuexplorer.lessons.lesson import Lesson
from gpuexplorer.lessons.measured import Measured
from gpuexplorer.lessons.outcome import asks_of, claims_of, guess_outcome, is_solved

PROGRESS_SCHEMA = "gpuexplorer/lessons/1"


class Done(msgspec.Struct, kw_only=True):
    """What was done of one lesson; a part that is not done is None or empty."""

    guess: str | float | None = None
    """A choice's name, or a number."""
    measured: str | None = None
    """The figure of the question, in words."""
    right: bool | None = None
    """Whether the guess was right; None for a number."""
    claims: dict[str, bool] = {}
    """Of each claim that was measured here, whether it held."""
    exercise: dict[str, bool] = {}
    """Of each thing that the exercise asks for, by its quantity, whether it was met last."""
    solved_utc: str | None = None
    """When the exercise was first solved."""
    device: str | None = None
    """What measured last."""


class Progress(msgspec.Struct, kw_only=True):
    """All lessons that were begun, by name."""

    schema: str = PROGRESS_SCHEMA
    lessons: dict[str, Done] = {}

    def of(self, lesson: str) -> Done:
        """Return what was done of a lesson, to be added to."""
        return self.lessons.setdefault(lesson, Done())


def progress_file() -> Path:
    """Return where a user's progress is kept."""
    return config_folder() / "lessons.json"


def read_progress(path: Path | None = None) -> Progress:
    """Return the progress that was kept; none where there is no file, or none of ours."""
    try:
        return _read(path or progress_file())
    except (OSError, msgspec.DecodeError):
        return Progress()


def _read(path: Path) -> Progress:
    found = msgspec.json.decode(path.read_bytes(), type=Progress)
    if found.schema != PROGRESS_SCHEMA:
        raise msgspec.DecodeError
    return found


def take_in_others(progress: Progress, own: Collection[str]) -> None:
    """Take in what other windows have kept by now, but for the lessons of one's ``own``."""
    kept = read_progress().lessons
    progress.lessons.update({name: done for name, done in kept.items() if name not in own})


def keep_progress(progress: Progress, path: Path | None = None) -> ExplorerError | None:
    """Write the progress; return what kept it from being written, None where nothing did.

    A file that cannot be read stays as it is: another version may have written it.
    """
    target = path or progress_file()
    try:
        with suppress(FileNotFoundError, NotADirectoryError):
            _read(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        keep_progress_in(progress, target)
    except msgspec.DecodeError:
        return ExplorerError(
            f"{target}: the progress cannot be kept: this version cannot read what is there",
            remedy="move the file elsewhere, and the progress begins anew",
        )
    except OSError as error:
        return ExplorerError(f"{target}: the progress cannot be kept: {error.strerror}")
    except ExplorerError as error:
        return error
    return None


def keep_progress_in(progress: Progress, path: Path) -> None:
    """Write the progress to a file, whole or not at all; InputError where that cannot be."""
    with atomic_file(path) as stream:
        stream.write(progress_json(progress))


def progress_json(progress: Progress) -> bytes:
    """Return the progress as a document."""
    return msgspec.json.format(msgspec.json.encode(progress)) + b"\n"


def note_measured(done: Done, lesson: Lesson, measured: Mapping[str, Measured]) -> None:
    """Take in what was measured: the question's figure, and which claims held."""
    outcome = guess_outcome(lesson, done.guess, measured)
    if outcome.value is not None:
        done.measured, done.right = outcome.value.words, outcome.right
    for one in claims_of(lesson, measured):
        if one.holds is not None:
            done.claims[one.claim.name] = one.holds
        elif one.value is not None:  # what held before cannot be told now
            done.claims.pop(one.claim.name, None)
    devices = [config.device for found in measured.values() for config in found.configs]
    done.device = devices[-1] if devices else done.device


def note_exercise(done: Done, lesson: Lesson, measured: Measured) -> None:
    """Take in what came of the exercise."""
    asks = asks_of(lesson, measured)
    done.exercise = {one.ask.quantity: one.met for one in asks}
    if is_solved(asks) and done.solved_utc is None:
        done.solved_utc = datetime.now(UTC).isoformat(timespec="seconds")


def state_words(progress: Progress, lesson: str) -> str:
    """Return how far a lesson is, in a word; empty for one that was not begun."""
    done = progress.lessons.get(lesson)
    if done is None or done == Done():
        return ""
    if done.solved_utc is not None:
        return "done"
    return "measured" if done.claims else "begun"
