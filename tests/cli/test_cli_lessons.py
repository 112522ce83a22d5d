"""``gpuexplorer lessons``: listed, read, checked, written."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from gpuexplorer.cli import main
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.engine.errors import EngineGone
from gpuexplorer.lessons.lesson import Lesson
from gpuexplorer.lessons.loader import lesson_folders, shipped_folder
from gpuexplorer.lessons.measured import Measured
from gpuexplorer.lessons.measuring import Bench, measure
from gpuexplorer.lessons.progress import Done, Progress, keep_progress
from tests.backends.opencl_support import device

counts = pytest.mark.skipif("Portable" in device().driver, reason="notes need C++ for OpenCL")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUEXPLORER_CONFIG_DIR", str(tmp_path / "config"))


def test_lessons_are_listed_with_how_far_one_is(capsys: pytest.CaptureFixture[str]) -> None:
    keep_progress(Progress(lessons={"tiling": Done(guess="two", solved_utc="2026-01-01")}))
    assert main(["lessons", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["lessons"]
    assert {one["name"] for one in listed} == {f.name for f in lesson_folders(shipped_folder())}
    assert len(listed) >= 12
    assert {one["name"]: one["state"] for one in listed if one["state"]} == {"tiling": "done"}
    assert main(["lessons"]) == 0
    assert "Shared memory and tiling" in capsys.readouterr().out


def test_a_lesson_is_read_and_a_wrong_name_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lessons", "show", "bank-conflicts"]) == 0
    shown = capsys.readouterr().out
    assert "What this lesson claims" in shown and "of a card" in shown and "Exercise" in shown
    assert main(["lessons", "show", "bank-conflict"]) == 2
    assert "did you mean 'bank-conflicts'" in capsys.readouterr().err
    assert main(["lessons", "show", "here/there"]) == 2
    assert "no such folder" in capsys.readouterr().err


def test_all_lessons_of_a_folder_are_read_and_one_of_them_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first one alone was, and nothing said that there are others."""
    mine, page = tmp_path / "mine", tmp_path / "lesson.html"
    for name in ("bank-conflicts", "coalescing"):
        shutil.copytree(shipped_folder() / name, mine / name)
    assert main(["lessons", "show", str(mine)]) == 0
    shown = capsys.readouterr().out
    assert shown.count("What this lesson claims") == 2
    assert main(["lessons", "show", str(mine), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["lessons"]
    assert [one["name"] for one in found] == ["bank-conflicts", "coalescing"]
    assert main(["lessons", "show", str(mine / "coalescing"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == found[1]
    assert main(["lessons", "export", str(mine), str(page)]) == 2
    assert capsys.readouterr().err == (
        f"gpuexplorer: error: {mine} holds several lessons, 'bank-conflicts' and 'coalescing', and "
        f"one is written at a time; name its folder, such as {mine / 'bank-conflicts'}\n"
    )
    assert not page.exists()


@counts
def test_a_folder_is_checked_and_an_exercise_solved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine"
    shutil.copytree(shipped_folder() / "bank-conflicts", mine / "banks")
    manifest = mine / "banks" / "lesson.toml"
    wrong = manifest.read_text(encoding="utf-8").replace("at_least = 32\n", "at_least = 31.5\n")
    manifest.write_text(wrong.replace("at_most = 32\n", "at_most = 31.9\n"), encoding="utf-8")
    assert main(["lessons", "check", str(mine), "--json"]) == 1
    (checked,) = json.loads(capsys.readouterr().out)["lessons"]
    held = {one["name"]: one["holds"] for one in checked["claims"]}
    assert checked["lesson"] == "banks"
    assert held == {"tiled": False, "padded": True, "swizzled": True, "here": True, "gpu": None}

    assert main(["lessons", "check", "bank-conflicts", "--exercise", "swizzled"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("and yours is 1: met.")
    assert main(["lessons", "check", "bank-conflicts", "--exercise", "tiled"]) == 1
    assert capsys.readouterr().out.rstrip().endswith("and yours is 32: not yet.")


@pytest.mark.parametrize("by", [KeyboardInterrupt(), WorkFailed("the engine died")])
def test_lessons_that_were_checked_are_written_when_the_next_one_ends_early(
    by: BaseException,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def found(lesson: Lesson, bench: Bench) -> dict[str, Measured]:
        if lesson.name == "coalescing":
            raise by
        return {}

    monkeypatch.setattr("gpuexplorer.cli.lessons._measured", found)
    file = tmp_path / "checked.json"
    code = main(["lessons", "check", "bank-conflicts", "coalescing", "tiling", "--json", str(file)])
    (checked,) = json.loads(file.read_bytes())["lessons"]
    assert checked["lesson"] == "bank-conflicts" and checked["claims"]
    before = file.read_bytes()
    assert main(["lessons", "check", "coalescing", "--json", str(file)]) == code
    assert file.read_bytes() == before, "nothing was checked"
    told = capsys.readouterr().err
    if isinstance(by, KeyboardInterrupt):
        assert code == 130 and "stopped after 1 of 3 lessons" in told
    else:
        assert code == 1 and "ended after 1 of 3 lessons" in told and "the engine died" in told


@pytest.mark.parametrize("by", [KeyboardInterrupt(), EngineGone("the engine gave up")])
def test_what_was_measured_of_a_lesson_is_written_when_the_rest_is_not(
    by: BaseException,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    left = 1

    def measured(lesson: Lesson, name: str, bench: Bench) -> Measured:
        nonlocal left
        if not left:
            raise by
        left -= 1
        return measure(lesson, name, bench)

    monkeypatch.setattr("gpuexplorer.cli.lessons.measure", measured)
    page, code = tmp_path / "lesson.html", 130 if isinstance(by, KeyboardInterrupt) else 3
    assert main(["lessons", "export", "bank-conflicts", str(page)]) == code
    assert "stopped after 1 of " in capsys.readouterr().err
    before = page.read_bytes()
    assert b"bank" in before
    assert main(["lessons", "export", "bank-conflicts", str(page)]) == code
    assert "nothing was measured" in capsys.readouterr().err
    assert page.read_bytes() == before


@counts
def test_a_lesson_is_written_as_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep_progress(Progress(lessons={"coalescing": Done(guess="same")}))
    page = tmp_path / "lesson.html"
    assert main(["lessons", "export", "coalescing", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert text.count("<figure>") == 3 and "You guessed otherwise." in text
    assert "it holds." in text and "S. Boehm" in text
    assert not re.search(r"""(src|href)=["']https?:""", text), "nothing is loaded"
    assert main(["lessons", "export", "coalescing", str(tmp_path / "lesson.pdf")]) == 2
    assert "end it in .gpux, .htm, .html" in capsys.readouterr().err


def test_a_session_file_needs_the_libraries_of_the_window(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gpuexplorer.gui.model", None)  # as without Qt
    assert main(["lessons", "export", "coalescing", str(tmp_path / "lesson.gpux")]) == 3
    told = capsys.readouterr().err
    assert "written with the window's libraries" in told and "write a page (.html)" in told
    assert not list(tmp_path.glob("*.gpux"))


def test_progress_is_written_as_one_file(tmp_path: Path) -> None:
    done = Done(guess="many", measured="31×", right=True, claims={"slower": True, "row": False})
    done.solved_utc = "2026-01-01T00:00:00+00:00"
    keep_progress(Progress(lessons={"coalescing": done}))
    page, document = tmp_path / "progress.html", tmp_path / "progress.json"
    assert main(["lessons", "progress", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    total = len(lesson_folders(shipped_folder()))
    assert f"1 of {total} exercises are solved." in text
    assert "More than 4 times as long." in text and "<td>1 of 2</td>" in text
    assert main(["lessons", "progress", str(document)]) == 0
    assert json.loads(document.read_text())["lessons"]["coalescing"]["measured"] == "31×"
