"""Advice in the window: it holds before it is shown, its button acts, and its page explains it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextDocument
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gpuexplorer.analysis.advice import choose
from gpuexplorer.analysis.advice.advice import Advice
from gpuexplorer.analysis.advice.rules_time import transfers
from gpuexplorer.core import resources
from gpuexplorer.core.change import Change
from gpuexplorer.core.result import Phases, TelemetrySummary
from gpuexplorer.gui.model.fit import first_knobs, with_change
from gpuexplorer.gui.model.steady import HOLD_S, NEW_WORDS_S, Steady
from gpuexplorer.gui.panels.advice import AdviceCard
from tests.gui.driver import until, wait_measured
from tests.support.situations import made_ceilings, shipped, situation

if TYPE_CHECKING:
    from gpuexplorer.gui.main_window import MainWindow

MOST_S = 0.01
"""What one turn of the panel may take of the window's thread."""


# ---- steady words


def test_nothing_is_shown_before_it_has_held() -> None:
    steady: Steady[str] = Steady()
    steady.take({"a": "one"}, 0.0)
    assert not steady.shown and not steady.settled
    steady.take({"a": "one"}, HOLD_S)
    assert steady.shown == {"a": "one"} and steady.settled


def test_what_comes_and_goes_faster_than_it_must_hold_is_never_shown() -> None:
    steady: Steady[str] = Steady()
    for step in range(100):
        steady.take({"a": "one"} if step % 2 else {}, step * HOLD_S / 4)
        assert not steady.shown


def test_what_is_gone_stays_for_a_while_and_a_short_gap_is_not_seen() -> None:
    steady: Steady[str] = Steady()
    steady.take({"a": "one"}, 0.0)
    steady.take({"a": "one"}, HOLD_S)
    steady.take({}, HOLD_S + 0.5)
    assert steady.shown and not steady.settled
    steady.take({"a": "one"}, HOLD_S + 0.9)
    steady.take({}, HOLD_S + 1.2)
    assert steady.shown
    steady.take({}, 2 * HOLD_S + 0.9)
    assert not steady.shown and steady.settled


def test_words_are_renewed_seldom_but_at_once_for_a_new_run_or_when_urgent() -> None:
    steady: Steady[str] = Steady(lambda old, new: "!" in new)
    steady.take({"a": "one"}, 0.0)
    steady.take({"a": "one"}, HOLD_S)
    steady.take({"a": "two"}, HOLD_S + 0.1)
    assert steady.shown == {"a": "one"}
    steady.take({"a": "three!"}, HOLD_S + 0.2)
    assert steady.shown == {"a": "three!"}
    steady.take({"a": "four"}, HOLD_S + 0.3, at_once=True)
    assert steady.shown == {"a": "four"}
    steady.take({"a": "five"}, HOLD_S + 0.4 + NEW_WORDS_S)
    assert steady.shown == {"a": "five"}


# ---- changes of knobs


def test_a_change_moves_only_what_it_names() -> None:
    workload = shipped()["matmul"]
    knobs = first_knobs(workload)
    turned = with_change(knobs, Change(block=(256, 1, 1)), workload)
    assert turned == msgspec.structs.replace(knobs, block=(256, 1, 1))
    cold = with_change(knobs, Change(cache="cold"), workload)
    assert (cold.cache, cold.block, cold.size) == ("cold", knobs.block, knobs.size)


def test_another_variant_keeps_the_block_and_takes_its_own_tunables() -> None:
    workload = shipped()["matmul"]
    knobs = with_change(first_knobs(workload), Change(block=(32, 8, 1)), workload)
    tiled = with_change(knobs, Change(variant="tiled"), workload)
    assert (tiled.variant, tiled.block, tiled.tunables) == ("tiled", (32, 8, 1), {"TILE": 16})
    library = with_change(tiled, Change(variant="numpy"), workload)
    assert (library.block, library.tunables) == (None, {})
    back = with_change(library, Change(variant="naive"), workload)
    assert back.block == (16, 16, 1)


# ---- the page


def test_every_rule_is_explained_under_a_heading_of_the_page() -> None:
    page = resources.text("help", "advice.md")
    headings = {line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")}
    folder = Path(choose.__file__).parent
    sources = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    named = set(re.findall(r'section="([^"]+)"', sources))
    named |= set(re.findall(r'^SECTION = "([^"]+)"', sources, re.MULTILINE))
    assert named == headings


# ---- the window


def test_the_button_that_leaves_copies_out_of_the_samples_promises_no_time(qtbot: QtBot) -> None:
    phases = Phases(host_to_device=8e-3, kernel=2e-3, device_to_host=0.0)
    run = situation(switches={"include_transfers": True}, gathered={"phases_s": phases})
    advice = transfers(run)
    assert advice is not None
    card = AdviceCard()
    qtbot.addWidget(card)
    card.show_advice(advice, fresh=True)
    assert card.apply_button.text() == "Use the kernel alone"
    assert card.apply_button.toolTip() == "Set the kernel alone. Ctrl+Z takes it back."


def cards(window: MainWindow) -> list[AdviceCard]:
    return [card for card in window.insight.advice.cards if not card.isHidden()]


def card_that(window: MainWindow, accepts: Callable[[Advice], bool]) -> AdviceCard | None:
    found = [c for c in cards(window) if c.advice is not None and accepts(c.advice)]
    return found[0] if found and found[0].isEnabled() else None


@pytest.fixture
def columns(window: MainWindow, qtbot: QtBot) -> MainWindow:
    """Return the window measuring columns of threads, with advice on the block shown."""
    window.show()
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.session.experiment.set_size("N", 256)
    window.session.experiment.set_block((1, 256, 1))
    wait_measured(qtbot, window, 3)
    until(qtbot, lambda: card_that(window, turns_block) is not None)
    return window


def turns_block(advice: Advice) -> bool:
    return advice.change is not None and advice.change.block is not None


def test_the_button_turns_the_block_and_undo_takes_it_back(
    columns: MainWindow, qtbot: QtBot
) -> None:
    before = wait_measured(qtbot, columns, 5)
    assert before.summary is not None
    slow_s = before.summary.min_s  # a neighbour only ever slows
    card = card_that(columns, turns_block)
    assert card is not None
    QTest.mouseClick(card.apply_button, Qt.MouseButton.LeftButton)
    block = columns.session.experiment.knobs.block
    assert block is not None and block[0] >= 16
    assert not card.isEnabled(), "it speaks of another configuration now"
    after = wait_measured(qtbot, columns, 10)

    def ratio() -> float:
        return slow_s / after.summary.min_s if after.summary is not None else 0.0

    if "Intel" in (after.prepared.device.driver if after.prepared else ""):
        until(qtbot, lambda: ratio() >= 3)
    until(qtbot, lambda: card_that(columns, turns_block) is None)
    advice = columns.insight.advice
    said = [card for card in advice.cards if not card.isHidden()]
    assert advice.title.isHidden() is (not said)
    columns.session.experiment.undo()
    assert columns.session.experiment.knobs.block == (1, 256, 1)


def test_why_opens_the_page_at_its_heading(columns: MainWindow, qtbot: QtBot) -> None:
    card = card_that(columns, turns_block)
    assert card is not None and card.advice is not None
    QTest.mouseClick(card.why_button, Qt.MouseButton.LeftButton)
    help_window = columns.dialogs.help
    assert help_window is not None
    browser = help_window.browser
    assert help_window.list.currentItem().text() == "Advice, explained"
    top_px = heading_top_px(browser.document(), card.advice.section)
    above_px = browser.verticalScrollBar().value()
    assert above_px <= top_px < above_px + browser.viewport().height()
    assert above_px > 0, "the heading is not on the first screen"
    help_window.close()


def heading_top_px(document: QTextDocument, words: str) -> float:
    block = document.begin()
    while block.isValid() and not (block.blockFormat().headingLevel() and block.text() == words):
        block = block.next()
    assert block.isValid(), words
    return document.documentLayout().blockBoundingRect(block).top()


def test_cards_cannot_act_once_the_knobs_stand_elsewhere(columns: MainWindow, qtbot: QtBot) -> None:
    columns.session.set_live(False)
    until(qtbot, lambda: (r := columns.session.live_model.current) is not None and r.over)
    assert cards(columns)[0].isEnabled()
    columns.session.experiment.set_block((2, 64, 1))
    assert not cards(columns)[0].isEnabled()
    columns.session.experiment.undo()
    assert cards(columns)[0].isEnabled()


@pytest.mark.alone
def test_advice_is_quick_on_the_windows_thread(columns: MainWindow, qtbot: QtBot) -> None:
    for work in (
        columns.insight.advice.look,
        lambda: columns.insight.show_run(columns.session.live_model.current),
    ):
        took = []
        for _ in range(9):
            began = time.perf_counter()
            work()
            took.append(time.perf_counter() - began)
        assert median(took) < MOST_S


def test_words_of_the_series_are_shown_once_they_have_held(
    columns: MainWindow, qtbot: QtBot
) -> None:
    columns.session.set_live(False)
    run = columns.session.live_model.current
    assert run is not None
    until(qtbot, lambda: run.over)

    def gone() -> bool:
        run.warnings = ()
        columns.insight.show_run(run)
        return columns.insight.notes.isHidden()

    def shown() -> bool:
        run.warnings = ("the times drift: the last fifth is 8 % slower than the first",)
        columns.insight.show_run(run)
        return not columns.insight.notes.isHidden()

    run.state = None  # without a word on what else keeps the processor busy
    until(qtbot, gone)  # the run's own words go: a busy machine makes its times drift
    assert not shown()
    until(qtbot, shown)
    assert columns.insight.notes.text().startswith("The times drift: the last fifth is 8 %")
    assert columns.insight.notes.text().endswith("first.")
    until(qtbot, gone)


def test_an_impossible_figure_is_shown_above_everything(columns: MainWindow, qtbot: QtBot) -> None:
    columns.session.set_live(False)
    run = columns.session.live_model.current
    assert run is not None and run.record is not None
    until(qtbot, lambda: run.over)
    run.record.ceilings = made_ceilings(memory=None, compute=1e6)

    def shown() -> bool:
        columns.insight.show_run(run)
        return not columns.insight.suspect.isHidden()

    until(qtbot, shown)
    assert "times the 1.00 MFLOP/s" in columns.insight.suspect.text()

    def first() -> bool:
        columns.insight.advice.look()
        said = [card.advice for card in cards(columns)]
        return bool(said) and said[0] is not None and said[0].rule == "suspect"

    until(qtbot, first)


def test_energy_of_a_launch_stands_beside_its_reason(columns: MainWindow) -> None:
    figures = columns.insight.figures
    figures.show_energy(TelemetrySummary(power_W=300.0, energy_per_launch_J=0.0123))
    assert figures.energy.text() == "12.3 mJ"
    figures.show_energy(TelemetrySummary(power_W=300.0, energy_reason="too short to tell"))
    assert figures.energy.text() == "not known yet"
    assert "too short to tell" in figures.energy.toolTip()
    figures.show_energy(TelemetrySummary())
    assert figures.energy.isHidden()
