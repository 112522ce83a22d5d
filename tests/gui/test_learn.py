"""Learn: lessons in the window, as a student goes through them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import cast

import msgspec
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QObject, QPoint, QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel, QWidget
from pytestqt.qtbot import QtBot

from gpuexplorer.cli import main
from gpuexplorer.core.language import tr
from gpuexplorer.gui import restart
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.model import compare_file
from gpuexplorer.gui.model.lessons import EXERCISE
from gpuexplorer.gui.model.session_archive import read_session
from gpuexplorer.gui.theme import Choice, theme
from gpuexplorer.gui.views.learn import DO, GUESS, MEASURE, WHY, LearnView
from gpuexplorer.lessons.loader import lesson_folders, shipped_folder
from gpuexplorer.lessons.measured import Compared
from gpuexplorer.lessons.measuring import OWN, START
from gpuexplorer.lessons.progress import read_progress
from tests.backends.opencl_support import device
from tests.gui import looks
from tests.gui.conftest import OpenWindow
from tests.gui.driver import find, turn_wheel, until

PATIENCE_MS = 240_000


def press(window: MainWindow, name: str) -> None:
    button: QAbstractButton = find(window, name, QAbstractButton)
    assert button.isVisible() and button.isEnabled(), name
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def learn_of(window: MainWindow, qtbot: QtBot) -> LearnView:
    """Open Learn once the devices are known, with nothing measured by itself."""
    window.session.live_at_start = False
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.session.set_live(False)
    window.panels.places.show_view(window.panels.learn)
    view = cast("LearnView", window.panels.learn.view)
    until(qtbot, view.isVisible)
    return view


def measured(window: MainWindow, qtbot: QtBot, button: str) -> None:
    """Press a button that measures, and wait until that is done."""
    view = cast("LearnView", window.panels.learn.view)
    press(window, button)
    assert view.running
    until(qtbot, lambda: not view.running, PATIENCE_MS)
    done = tr("Measured.")
    ended = view.status.text()
    assert ended == done or ended in [still(view, name) for name in view.measure.buttons], ended


def still(view: LearnView, name: str) -> str:
    return tr(f"Measured; still to measure: {view.model.lesson.text.button(name)}.")


def test_a_whole_lesson_is_guessed_measured_explained_and_solved(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = open_window()
    view = learn_of(window, qtbot)
    press(window, "lessonOpen_coalescing")
    assert view.step == GUESS and view.status.text() == "Guess before you measure."
    QTest.mouseClick(view.guess.choices["same"], Qt.MouseButton.LeftButton)
    assert view.status.text() == ""

    press(window, "lessonNext")
    assert view.step == MEASURE
    measured(window, qtbot, "lessonMeasure_sectors")
    assert view.measure.charts["sectors"].isVisible()
    assert view.status.text() == still(view, "speed")
    assert not view.measure.answer.isVisible()
    measured(window, qtbot, "lessonMeasure_speed")
    assert view.measure.charts["speed"].isVisible() and view.measure.guess.isVisible()
    assert view.measure.answer.text().startswith("You guessed otherwise. Measured here: ")
    assert view.status.text() == "Measured."

    press(window, "lessonNext")
    assert view.step == WHY
    here = {name: label.text() for name, label in view.why.claims.items()}
    for name in ("row", "column"):
        assert here[name].endswith("it holds."), here
    assert here["slower"].endswith(("it holds.", "that cannot be told here.")), here  # timed
    assert here["gpu"].startswith("Source: ")
    assert find(window, "lessonClaimKind_slower", QLabel).text() == "timed here"

    press(window, "lessonNext")
    assert view.step == DO
    press(window, "lessonStart")
    assert window.session.experiment.knobs.block == (1, 256, 1)
    measured(window, qtbot, "lessonCheck")
    assert view.exercise.verdict.text() == "Not yet."
    assert view.next.property("role") == ""  # it does not lead away from what is to be solved
    window.session.experiment.set_block((256, 1, 1))
    assert "256×1" in view.exercise.now.text()
    assert view.exercise.verdict.text() == "Your knobs have moved since: measure them."
    measured(window, qtbot, "lessonCheck")
    assert view.exercise.verdict.text() == "Solved."
    assert view.next.property("role") == "leads"

    done = read_progress().lessons["coalescing"]
    assert done.guess == "same" and done.right is False and done.solved_utc is not None
    timed = {"slower": True} if here["slower"].endswith("it holds.") else {}
    assert done.claims == {"row": True, "column": True, **timed}
    press(window, "lessonList")
    assert any(label.text().endswith("\ndone") for label in view.list.findChildren(QLabel))


def in_front(window: MainWindow) -> QWidget | None:
    return window.panels.places.current


def test_the_bench_is_set_up_and_the_view_shown(qtbot: QtBot, open_window: OpenWindow) -> None:
    window = open_window()
    view = learn_of(window, qtbot)
    view.open_lesson("coalescing")
    view.show_step(MEASURE)
    press(window, "lessonBench_speed")
    assert in_front(window) is window.panels.compare
    comparing = window.panels.compare.comparing
    assert comparing is not None
    assert [one.config.block for one in comparing.model.contestants] == [(256, 1, 1), (1, 256, 1)]
    knobs = window.session.experiment.knobs
    assert knobs.block == (1, 256, 1) and knobs.size == {"N": 256}
    window.panels.places.show_view(window.panels.learn)
    press(window, "lessonBench_sectors")
    assert in_front(window) is window.panels.accesses
    until(qtbot, lambda: window.session.jobs.current is None, PATIENCE_MS)


def test_an_exercise_that_is_stopped_before_anything_is_known_has_no_verdict_on_the_knobs(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = open_window()
    view = learn_of(window, qtbot)
    view.open_lesson("coalescing")
    view.show_step(DO)
    press(window, "lessonStart")
    measured(window, qtbot, "lessonCheck")
    assert view.exercise.verdict.text() == "Not yet."
    window.session.experiment.set_block((256, 1, 1))
    press(window, "lessonCheck")
    press(window, "lessonStop")
    until(qtbot, lambda: not view.running, PATIENCE_MS)
    view.show_step(WHY)
    view.show_step(DO)
    assert view.exercise.verdict.text() == "Your knobs have moved since: measure them."
    measured(window, qtbot, "lessonCheck")
    assert view.exercise.verdict.text() == "Solved."


def test_the_exercise_says_what_it_keeps_before_anything_is_measured(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = open_window()
    view = learn_of(window, qtbot)
    exercise = view.exercise

    def leading() -> list[str]:
        buttons = (exercise.start, exercise.check)
        return [one.objectName() for one in buttons if one.property("role") == "leads"]

    view.open_lesson("threads-and-blocks")
    view.show_step(DO)
    assert exercise.refused.text() == (
        "The exercise is about Vector add; press 'Set the knobs to the start'."
    )
    assert exercise.refused.isVisible() and not exercise.check.isEnabled()
    assert leading() == ["lessonStart"]
    press(window, "lessonStart")
    assert not exercise.refused.isVisible() and exercise.check.isEnabled()
    assert leading() == ["lessonCheck"]
    window.session.experiment.set_block((8, 1, 1))
    assert leading() == ["lessonCheck"]
    window.session.experiment.set_size("N", 64)
    assert exercise.refused.text() == (
        "The exercise keeps the size as it is at the start; set it back, or press "
        "'Set the knobs to the start'."
    )
    assert leading() == ["lessonStart"] and not exercise.check.isEnabled()


def in_sight(view: LearnView, widget: QWidget) -> bool:
    """Whether all of a part of the step *Measure* is seen."""
    seen = view._rooms[MEASURE].viewport()
    place = QRect(widget.mapTo(seen, QPoint(0, 0)), widget.size())
    return widget.isVisible() and seen.rect().contains(place)


def test_what_was_measured_comes_into_sight_and_the_wheel_moves_the_page(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = open_window()
    window.resize(1280, 800)
    view = learn_of(window, qtbot)
    view.open_lesson("threads-and-blocks")
    QTest.mouseClick(view.guess.choices["some"], Qt.MouseButton.LeftButton)
    view.show_step(MEASURE)
    bar = view._rooms[MEASURE].verticalScrollBar()
    measured(window, qtbot, "lessonMeasure_speed")
    until(qtbot, lambda: in_sight(view, view.measure.answer))
    until(qtbot, lambda: bar.maximum() > 0)

    plot = view.measure.charts["speed"].panels[0].plot
    shown, middle = plot.box.viewRange(), plot.viewport().rect().center()
    turn_wheel(plot.viewport(), middle, -15)
    assert bar.value() > 0 and plot.box.viewRange() == shown
    turn_wheel(plot.viewport(), middle, -15, ctrl=True)
    assert plot.box.viewRange() != shown, "Ctrl with the wheel zooms"

    bar.setValue(0)
    view.measure.buttons["warp"].click()
    until(qtbot, lambda: not view.running, PATIENCE_MS)
    until(qtbot, lambda: in_sight(view, view.measure.charts["warp"]))
    assert in_sight(view, view.measure.buttons["warp"])


def test_every_lesson_opens_at_every_step(qtbot: QtBot, open_window: OpenWindow) -> None:
    window = open_window()
    view = learn_of(window, qtbot)
    window.resize(1920, 1080)
    wrong: list[str] = []
    looks.settle()
    for button in view.list.buttons.values():
        assert button.width() < 2 * button.sizeHint().width(), "a wide window stretches the button"
    for name, lesson in view.model.lessons.items():
        view.open_lesson(name)
        for step in (GUESS, MEASURE, WHY, DO):
            view.show_step(step)
            assert view.steps[step].isVisible()
            looks.settle()
            wrong += [f"{name}, step {step}: {lack}" for lack in looks.cut(window)]
        QTest.mouseClick(view.exercise.start, Qt.MouseButton.LeftButton)
        config = view._config(lesson.manifest.exercise.start)
        assert config is not None and window.session.config == config, name

    def objects() -> int:
        view.open_lesson("coalescing")
        looks.settle()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        return len(view.findChildren(QObject))

    assert objects() == objects(), "what an opened lesson was made of stays"
    assert not wrong, "\n".join(wrong)


def test_what_is_measured_is_written_as_a_page_and_opened_as_a_session(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("gpuexplorer.report.figure.svg_text")  # which loads a plotter for good
    window = open_window()
    view = learn_of(window, qtbot)
    exported = window.panels.exported()
    assert exported is not None and set(exported.formats) == {"html", "json"}
    exported.write(tmp_path / "progress.html", "html", "light")
    assert "0 of" in (tmp_path / "progress.html").read_text(encoding="utf-8")

    view.open_lesson("measuring")
    view.show_step(MEASURE)
    measured(window, qtbot, "lessonMeasure_same")
    exported = window.panels.exported()
    assert exported is not None
    for suffix in exported.formats:
        exported.write(tmp_path / f"lesson.{suffix}", suffix, "light")
    assert "<figure>" in (tmp_path / "lesson.html").read_text(encoding="utf-8")
    assert b'"measuring"' in (tmp_path / "lesson.json").read_bytes()

    window.session.experiment.set_size("N", 64)
    window.sessions.open(tmp_path / "lesson.gpux")
    until(qtbot, lambda: window.sessions.path is not None, PATIENCE_MS)
    comparing = window.panels.compare.comparing
    assert comparing is not None and comparing.model.result is not None
    assert window.panels.places.current is window.panels.compare
    assert window.session.experiment.knobs.size == {"N": 65536}
    assert "stopwatch around a kernel" in window.sessions.notes


def test_a_teachers_folder_opens_is_remembered_and_read_again(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    mine = tmp_path / "class" / "my-lesson"
    shutil.copytree(shipped_folder() / "measuring", mine)
    text = mine / "text.en.md"
    words = text.read_text(encoding="utf-8")
    text.write_text(words.replace("# Measuring honestly", "# My own"), encoding="utf-8")
    window = open_window()
    view = learn_of(window, qtbot)
    window.own_lessons.open(mine.parent)
    assert view.model.lesson.text.title == "My own" and view.currentIndex() == 1
    text.write_text(words.replace("# Measuring honestly", "# My second"), encoding="utf-8")
    window.commands.reload_kernels.trigger()
    assert view.model.lesson.text.title == "My second"
    assert window.settings.lesson_folders == [mine.parent]

    text.write_text(words.replace("## see", "## sea"), encoding="utf-8")
    window.commands.reload_kernels.trigger()
    assert view.currentIndex() == 0 and "my-lesson" not in view.model.lessons
    assert "the manifest has no 'sea'" in window.banner.text
    window.settings.sync()

    other = open_window()
    again = learn_of(other, qtbot)
    assert len(again.model.lessons) == len(lesson_folders(shipped_folder()))
    text.write_text(words, encoding="utf-8")
    other.own_lessons.open(mine)
    assert again.model.lesson.name == "my-lesson"
    other.own_lessons.open(tmp_path)
    assert "no lesson.toml here" in other.banner.text


def test_a_lesson_that_is_gone_is_closed_and_one_that_is_measured_is_read_again(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    mine = tmp_path / "class" / "my-lesson"
    shutil.copytree(shipped_folder() / "coalescing", mine)
    window = open_window()
    view = learn_of(window, qtbot)
    window.own_lessons.open(mine.parent)
    view.show_step(MEASURE)
    press(window, "lessonMeasure_sectors")
    window.commands.reload_kernels.trigger()
    assert view.running and view.status.text() == "Measuring…"
    until(qtbot, lambda: not view.running, PATIENCE_MS)
    assert view.measure.charts["sectors"].isVisible()
    assert view.status.text() == still(view, "speed")

    mine.rename(tmp_path / "class" / "other")
    (tmp_path / "class" / "other" / "lesson.toml").write_text("schema = ", encoding="utf-8")
    window.commands.reload_kernels.trigger()
    assert view.currentIndex() == 0 and view.model.open is None
    window.session.state_changed.emit()
    window.session.devices_changed.emit()
    exported = window.panels.exported()
    assert exported is not None and set(exported.formats) == {"html", "json"}, "the progress"


def spoiled(window: MainWindow, where: str) -> list[str]:
    """Say what is cut, overlaps, is out of sight or hardly seen in the window."""
    looks.settle()
    view = cast("LearnView", window.panels.learn.view)
    scrolls = view.currentIndex() == 1 and view._rooms[view.step].verticalScrollBar().maximum() > 0
    sights = [looks.cut, looks.overlaps, looks.sideways]
    if not scrolls:  # of what is half out of sight no colours can be told
        sights.append(looks.faint)
    found = [look(window) for look in sights]
    return [f"{where}: {lack}" for lacks in found for lack in lacks]


@pytest.mark.parametrize("colours", [pytest.param("light", marks=pytest.mark.long), "dark"])
def test_every_step_is_whole_and_readable(
    qtbot: QtBot, open_window: OpenWindow, colours: Choice
) -> None:
    window = open_window()
    before = theme().choice
    theme().choose(colours)
    try:
        view = learn_of(window, qtbot)
        window.panels.welcome.close_button.click()
        wrong = spoiled(window, "the list")
        view.open_lesson("measuring")
        QTest.mouseClick(view.guess.choices["more"], Qt.MouseButton.LeftButton)
        view.show_step(MEASURE)
        measured(window, qtbot, "lessonMeasure_caches")
        view.model.take(view.model.lesson, EXERCISE, exercised(view), whole=False)
        for width, height in ((1280, 800), (1920, 1080), (800, 600)):
            window.resize(width, height)
            for step in (GUESS, MEASURE, WHY, DO):
                view.show_step(step)
                wrong += spoiled(window, f"{width}×{height}, step {step}")
        view.show_list()
        wrong += spoiled(window, "the list in a small window")
    finally:
        theme().choose(before)
    assert not wrong, "\n".join(wrong)


def exercised(view: LearnView) -> Compared:
    """Return what was measured as if it were the exercise's."""
    found = view.model.measured["caches"]
    assert isinstance(found, Compared)
    return Compared((START, OWN), found.result)


def test_tab_reaches_every_control_of_a_lesson(qtbot: QtBot, open_window: OpenWindow) -> None:
    window = open_window()
    view = learn_of(window, qtbot)
    until(qtbot, window.isActiveWindow)
    wrong: list[str] = []
    for step in (None, GUESS, MEASURE, WHY, DO):
        if step is not None:
            view.open_lesson("measuring")
            view.show_step(step)
        looks.settle()
        around = list(looks.stops(window.panels.places.place_bar))
        wrong += [f"{step}: {lack}" for lack in looks.unreached(window, around)]
        wrong += [f"{step}: {looks.describe(one)}" for one in around if looks.nameless(one)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("name", "language"),
    [
        pytest.param(
            one.name,
            language,
            marks=()
            if (one.name, language) == ("threads-and-blocks", "zh_CN")
            else pytest.mark.long,
        )
        for one in lesson_folders(shipped_folder())
        for language in ("en", "zh_CN")
    ],
)
def test_each_lesson_is_gone_through_to_its_end(
    qtbot: QtBot,
    open_window: OpenWindow,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    language: str,
) -> None:
    monkeypatch.setenv("GPUEXPLORER_LANGUAGE", language)
    window = open_window()
    view = learn_of(window, qtbot)
    press(window, f"lessonOpen_{name}")
    lesson = view.model.lesson
    if view.guess.number is not None:
        view.guess.number.setValue(3.0)
    else:
        QTest.mouseClick(next(iter(view.guess.choices.values())), Qt.MouseButton.LeftButton)
    press(window, "lessonNext")
    for one in lesson.manifest.measures:
        measured(window, qtbot, f"lessonMeasure_{one}")
        assert view.measure.charts[one].isVisible()
    answer = view.measure.answer.text()
    assert answer and not answer.endswith(("..", "。。")), answer
    press(window, "lessonNext")
    holds = tr("Here it is 0, and the lesson says 0: it holds.").rpartition("0")[2]
    untold = tr("Here it is 0, and the lesson says 0: that cannot be told here.").rpartition("0")[2]
    for claim in lesson.manifest.claims:
        here = view.why.claims[claim.name].text()
        good = (holds, untold) if claim.kind == "timed" else (holds,)  # others may be at work
        assert here.endswith(good) or claim.kind == "card", here
    press(window, "lessonNext")
    experiment = window.session.experiment
    _, about = lesson.request(lesson.manifest.exercise.start, experiment.workloads)
    if experiment.workload.name != about.name:
        title = tr(about.manifest.title)
        assert title in view.exercise.refused.text(), view.exercise.refused.text()
    press(window, "lessonStart")
    measured(window, qtbot, "lessonCheck")
    assert view.exercise.verdict.text() == tr("Not yet.")
    solution = view._config(lesson.manifest.exercise.answer)
    assert solution is not None and window.session.experiment.restore_run(solution)
    measured(window, qtbot, "lessonCheck")
    assert view.exercise.verdict.text() == tr("Solved."), view.exercise.asks.text()
    assert read_progress().lessons[name].solved_utc is not None


@pytest.mark.skipif("Portable" in device().driver, reason="notes need C++ for OpenCL")
def test_the_terminal_writes_a_lesson_as_a_session(tmp_path: Path) -> None:
    session = tmp_path / "lesson.gpux"
    assert main(["lessons", "export", "coalescing", str(session)]) == 0
    contents = read_session(session)
    assert contents.document.knobs.block == (1, 256, 1)
    assert contents.document.view.tab == "Accesses"
    assert "let threads that are neighbours" in contents.document.notes
    held = compare_file.decode(contents.parts["comparison"], "")
    assert [one.config.block for one in held.contestants] == [(256, 1, 1), (1, 256, 1)]


def test_what_was_measured_is_there_after_a_restart(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window()
    view = learn_of(window, qtbot)
    view.open_lesson("coalescing")
    view.show_step(MEASURE)
    measured(window, qtbot, "lessonMeasure_sectors")
    view.show_step(DO)
    press(window, "lessonStart")
    measured(window, qtbot, "lessonCheck")
    said = view.exercise.asks.text()
    assert said and view.exercise.verdict.text() == "Not yet."
    window.restart.begin()
    until(qtbot, lambda: window.restart.left is not None and not window.isVisible())

    left = window.restart.left
    assert left is not None
    monkeypatch.setenv(restart.VARIABLE, msgspec.json.encode(left).decode())
    again = open_window()
    until(qtbot, lambda: again.panels.learn.view is not None)
    view = cast("LearnView", again.panels.learn.view)
    until(qtbot, lambda: view.model.open is not None)
    assert view.model.lesson.name == "coalescing" and view.step == DO
    assert view.exercise.asks.text() == said
    assert view.exercise.verdict.text() == "Not yet."
    view.show_step(MEASURE)
    assert not view.measure.charts["sectors"].isHidden()
    assert view.measure.charts["speed"].isHidden()
