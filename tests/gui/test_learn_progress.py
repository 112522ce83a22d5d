"""What a learner has done stays, whatever other windows and other versions keep beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuexplorer.gui.model.lessons import LessonsModel
from gpuexplorer.lessons.progress import Progress, keep_progress, progress_file, read_progress
from tests.support.studies import SHIPPED

SOLVED = "2026-01-02T03:04:05+00:00"


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GPUEXPLORER_CONFIG_DIR", str(tmp_path))
    return tmp_path


def window(lesson: str) -> LessonsModel:
    """Return the lessons of a window in which one is open."""
    model = LessonsModel(SHIPPED)
    model.open = model.lessons[lesson]
    return model


def guess_of(model: LessonsModel) -> str:
    return model.lesson.manifest.guess.choices[0].name


def test_two_windows_keep_what_each_of_them_has_done() -> None:
    """Each wrote all lessons as it knew them when it was opened."""
    first, second = window("coalescing"), window("occupancy")
    first.guess(guess_of(first))
    second.guess(guess_of(second))
    assert set(read_progress().lessons) >= {"coalescing", "occupancy"}
    assert second.state_words(first.lesson) == "begun"


def test_what_another_window_solved_stays_solved() -> None:
    first, second = window("coalescing"), window("coalescing")
    solved = Progress()
    solved.of("coalescing").solved_utc = SOLVED
    keep_progress(solved)
    second.guess(guess_of(second))
    assert read_progress().of("coalescing").solved_utc == SOLVED
    assert second.state_words(second.lesson) == "done"
    first.guess(guess_of(first))
    assert read_progress().of("coalescing").guess == guess_of(first)


def test_what_could_not_be_kept_is_kept_the_next_time(
    settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = window("coalescing")
    with monkeypatch.context() as patch:
        patch.setenv("GPUEXPLORER_CONFIG_DIR", str(settings / "a file" / "below"))
        (settings / "a file").touch()
        model.guess(guess_of(model))
        assert "cannot" in str(model.trouble)
    model.open = model.lessons["occupancy"]
    model.guess(guess_of(model))
    assert model.trouble is None
    assert set(read_progress().lessons) >= {"coalescing", "occupancy"}


@pytest.mark.parametrize("data", [b'{"schema": "gpuexplorer/lessons/2"}', b'{"lessons": '])
def test_a_file_that_this_version_cannot_read_stays(data: bytes) -> None:
    """The next guess took the place of all that stood in it."""
    progress_file().write_bytes(data)
    model = window("coalescing")
    model.guess(guess_of(model))
    assert progress_file().read_bytes() == data
    assert "cannot be kept: this version cannot read" in str(model.trouble)
