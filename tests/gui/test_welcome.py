"""The welcome: what was found, and three questions that set the bench up and are answered."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import cast

import msgspec
import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.panels.accesses import AccessesView
from gpuexplorer.gui.panels.welcome import Welcome
from gpuexplorer.gui.views.compare import CompareView
from gpuexplorer.gui.views.lab import LabView
from gpuexplorer.gui.widgets.caption import SETTLE_MS
from gpuexplorer.studies.precision import PrecisionPoint, PrecisionStudy, half_answer
from gpuexplorer.workloads.loader import shipped_folder
from gpuexplorer.workloads.workload import MANIFEST_NAME
from tests.gui.conftest import OpenWindow
from tests.gui.driver import find, until, wait_measured
from tests.support.exchange import made_comparison
from tests.support.lab_studies import against, measured, precision_study

MOST_MS = 180_000
"""A comparison measures for twenty seconds at the most, and others use the processor too."""


@pytest.fixture
def welcome(qtbot: QtBot, window: MainWindow) -> Welcome:
    """Return the strip of a window that measures something small."""
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.session.experiment.set_size("N", 64)
    wait_measured(qtbot, window)
    strip: Welcome = find(window, "welcome", Welcome)
    assert strip.isVisible()
    return strip


def click(strip: Welcome, number: int) -> None:
    button: QPushButton = strip.buttons[number]
    assert button.isVisible() and button.isEnabled()
    button.click()


def test_it_says_what_was_found_and_what_runs(window: MainWindow, welcome: Welcome) -> None:
    device = window.session.experiment.device
    assert device is not None
    words = welcome.words.text()
    assert device.name in words and "NumPy" in words
    assert "Matrix multiply is being measured" in words
    window.session.set_live(False)
    assert "being measured" not in welcome.words.text()
    assert window.minimumSizeHint().width() <= 640, "1280 pixels at 200 %"
    assert [button.text() for button in welcome.buttons] == [
        "Why does the block's shape matter?",
        "Is half precision worth it?",
        "How far is my kernel from the library?",
    ]


def test_it_is_closed_for_good_and_shown_again_from_help(
    window: MainWindow, welcome: Welcome, open_window: OpenWindow
) -> None:
    find(window, "welcomeClose", QToolButton).click()
    assert not welcome.isVisible()
    window.settings.sync()
    other = open_window()
    assert not find(other, "welcome").isVisible()
    (action,) = (a for a in other.menuBar().actions() if a.text() == "&Help")
    menu = action.menu()
    shown = next(a for a in menu.actions() if a.text() == "Welcome")  # type: ignore[attr-defined]
    shown.trigger()
    assert find(other, "welcome").isVisible() and other.settings.welcome


def test_the_blocks_shape_is_compared_and_explained(
    qtbot: QtBot, window: MainWindow, welcome: Welcome
) -> None:
    height = welcome.height()
    click(welcome, 0)
    accesses = window.panels.accesses
    assert window.panels.places.current is accesses
    view = cast("AccessesView", accesses.view)
    assert "Look at the sectors" in welcome.words.text()
    until(qtbot, lambda: view.shown is not None)
    assert "fetches 32 sectors a request with a block of 1×256, and 1 with 256×1" in (
        view.notes.text()
    )
    until(qtbot, lambda: welcome.words.text().startswith("A block of 1×256 is "), MOST_MS)
    assert window.panels.places.current is accesses, "an answer takes nobody elsewhere"
    words = welcome.words.text()
    assert re.search(r"\d× (slower|faster) \(.+\) than 256×1\. One thread computes", words), words
    assert window.session.experiment.knobs.block == (1, 256, 1)
    assert welcome.height() == height, "an answer moves nothing"
    compare = window.panels.compare.comparing
    assert compare is not None
    window.panels.places.show_view(window.panels.compare)
    QTest.qWait(2 * SETTLE_MS)  # in which a line that says that the knobs moved would appear
    assert not compare.result.caption.moved, "they stand at one that was compared"
    assert welcome.more.isVisible() and not welcome.buttons[0].isVisible()


def test_a_kernel_is_held_against_the_libraries(
    qtbot: QtBot, window: MainWindow, welcome: Welcome
) -> None:
    window.session.experiment.set_variant("uncoalesced")
    click(welcome, 2)
    assert window.panels.places.current is window.panels.compare
    view = window.panels.compare.comparing
    assert view is not None and view.running
    variants = [one.config.variant for one in view.model.contestants]
    assert variants[0] == "uncoalesced" and "numpy" in variants
    assert {one.config.size["N"] for one in view.model.contestants} == {64}
    found = "than your kernel, 'Uncoalesced (row and column swapped)' with blocks of 16×16."
    until(qtbot, lambda: welcome.words.text().endswith(found), MOST_MS)


def test_a_question_with_too_few_turns_says_what_to_do(
    welcome: Welcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = made_comparison()
    first, second = made.contestants
    untold = msgspec.structs.replace(second, ratio=None, ci95_low=None, verdict=None)
    result = msgspec.structs.replace(made, contestants=[first, untold])
    for question in (welcome.questions[0], welcome.questions[2]):
        monkeypatch.setattr(type(question), "_result", result)
        assert question.answer().startswith("That cannot be told yet, more turns are needed: ")


def test_what_was_put_together_for_comparing_is_brought_back_after_questions(
    qtbot: QtBot, window: MainWindow, welcome: Welcome
) -> None:
    experiment = window.session.experiment
    view = cast("CompareView", window.panels.compare.made())
    view.add_present()
    experiment.set_block((8, 8, 1))
    view.add_present()
    view.refer_to(1)
    mine = list(view.model.contestants)
    for question in (2, 2):
        welcome.questions[question].ask()
        assert view.running and view.model.contestants != mine
        view.bring_back()
        assert view.model.contestants != mine, "not while it is measured"
        view.stop()
        until(qtbot, lambda: not view.running, MOST_MS)
    window.panels.places.show_view(window.panels.compare)
    back = find(window, "backCompareButton", QPushButton)
    assert back.isVisible()
    back.click()
    assert view.model.contestants == mine and view.model.reference == 1
    assert not back.isVisible()
    find(window, "clearCompareButton", QPushButton).click()
    assert view.model.contestants == []
    back.click()
    assert view.model.contestants == mine


def test_a_kernel_of_ones_own_is_shown_where_it_can_be_changed(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    shutil.copytree(shipped_folder() / "vector_add", tmp_path / "mine")
    manifest = tmp_path / "mine" / MANIFEST_NAME
    text = manifest.read_text(encoding="utf-8").replace('name = "vector_add"', 'name = "mine"')
    manifest.write_text(text, encoding="utf-8")
    window = open_window("--kernels", str(tmp_path))
    window.session.live_at_start = False
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.session.experiment.set_workload("mine")
    window.session.experiment.set_size("N", 64)
    strip: Welcome = find(window, "welcome", Welcome)
    click(strip, 2)
    assert window.panels.places.current is window.panels.kernel
    assert "This is its source: change a line" in strip.words.text()
    view = window.panels.compare.comparing
    assert view is not None and view.running
    view.stop()
    until(qtbot, lambda: not view.running, MOST_MS)


def test_half_precision_is_answered_in_a_sentence(
    qtbot: QtBot, window: MainWindow, welcome: Welcome
) -> None:
    experiment = window.session.experiment
    without = {name: one for name, one in experiment.workloads.items() if name != "attention"}
    small = msgspec.structs.replace(experiment.knobs, size={"N": 32})
    experiment.set_workloads(without)  # a matrix product is measured sooner
    experiment.set_knobs(small)
    view = cast("LabView", window.panels.lab.made()).view_of("precision")
    view.form.turns.setValue(6)
    view.form.seconds.setValue(0.06)
    click(welcome, 1)
    assert window.panels.places.current is window.panels.lab
    assert "Matrix multiply in every precision" in welcome.words.text()
    until(qtbot, lambda: view.model.state == "done", MOST_MS)
    result = view.model.result
    assert isinstance(result, PrecisionStudy)
    until(qtbot, lambda: welcome.words.text() == half_answer(result), MOST_MS)


def test_another_measurement_is_no_answer(
    qtbot: QtBot, window: MainWindow, welcome: Welcome
) -> None:
    click(welcome, 0)
    until(qtbot, lambda: (made := window.panels.compare.comparing) is not None and made.running)
    view = window.panels.compare.comparing
    assert view is not None
    view.stop()
    until(qtbot, lambda: not view.running, MOST_MS)
    view.clear()
    QApplication.processEvents()
    assert "look at" not in welcome.words.text()


def test_facts_are_never_cut(window: MainWindow, welcome: Welcome) -> None:
    for width in (720, 900, 1000, 1100, 1280):
        window.resize(width, 700)
        QApplication.processEvents()
        QApplication.processEvents()
        words = welcome.words
        assert words.heightForWidth(words.width()) <= words.height(), (width, words.text())


def test_a_narrow_window_has_the_questions_in_a_menu(
    qtbot: QtBot, window: MainWindow, welcome: Welcome
) -> None:
    window.resize(800, 700)
    QApplication.processEvents()
    assert not any(button.isVisible() for button in welcome.buttons)
    menu = welcome.more.menu()
    assert welcome.more.isVisible() and menu is not None
    assert [a.text() for a in menu.actions()] == [b.text() for b in welcome.buttons]
    window.resize(1280, 800)
    QApplication.processEvents()
    assert welcome.buttons[0].isVisible()


def half(**changes: object) -> PrecisionPoint:
    plain = PrecisionPoint(
        precision="fp16", title="fp16", against=against(0.5),
        measured=measured(3, 5e-4, rms_rel_error=1e-3),
    )  # fmt: skip
    return msgspec.structs.replace(plain, **changes)


def test_the_answer_on_half_precision() -> None:
    def answer(*points: PrecisionPoint) -> str:
        first = [p for p in precision_study().points if p.precision in ("fp64", "fp32")]
        return half_answer(precision_study(points=[*first, *points]))

    assert answer() == ""
    assert answer(half()).startswith("Worth it: fp16 is 2.00× faster (1.96–2.04) than fp32, its")
    assert answer(half(against=against(2.0))).startswith("Not worth it here: fp16 is 2.00× slower")
    assert answer(half(against=against(1.0, "same"))).startswith("Not worth it here: fp16 is as")
    unclear = half(against=against(0.9, "can't tell"))
    untold = "That cannot be told yet: fp16: can't tell from fp32 (1.089–"
    assert answer(unclear).startswith(untold)
    slower = half(precision="bf16", against=against(2.0))
    told = answer(unclear, slower)
    assert told.startswith(untold) and "). bf16 is 2.00× slower (" in told
    assert told.endswith(" than fp32. More turns tell more: their number stands under Choices.")
    little = half(against=against(0.95, "can't tell"))
    assert answer(little, slower).startswith("Not worth it here: fp16 is 1.07× faster at most than")
    assert answer(little, msgspec.structs.replace(unclear, precision="bf16")).startswith(
        "That cannot be told yet: bf16"
    )
    far = half(measured=measured(3, 5e-4, wrong=True), against=against(0.9, "can't tell"))
    assert answer(far).startswith("Not worth it: fp16: can't tell from fp32 (1.089–")
    too_far = half(measured=measured(3, 5e-4, wrong=True))
    assert "is too large" in answer(too_far)
    both = half(precision="bf16", against=against(0.8))
    assert "bf16" in answer(both, too_far), "what is wrong does not count beside what is right"
    assert answer(half(fallback="fp32 ran")) == (
        "No half precision ran here: another ran in its place."
    )
