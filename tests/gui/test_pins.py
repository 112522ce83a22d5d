"""The row of pinned ghosts: short words that tell them apart, and never wider than the window."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QApplication, QFrame
from pytestqt.qtbot import QtBot

from gpuexplorer.core.units import quantity
from gpuexplorer.gui.panels.pins import telling
from gpuexplorer.gui.widgets.words import Words
from tests.gui.conftest import OpenWindow
from tests.gui.driver import until, wait_measured


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (["naive · N = 64 · 16×16 · fp32"], ["naive · N = 64 · 16×16 · fp32"]),
        (["naive · N = 64 · 16×16", "naive · N = 64 · 8×8"], ["16×16", "8×8"]),
        (["naive · N = 64 · 8×8", "tiled · N = 32 · 8×8"], ["naive · N = 64", "tiled · N = 32"]),
        (["naive · 8×8", "naive · 8×8"], ["naive · 8×8", "naive · 8×8"]),
        (["naive · 8×8", "naive · 8×8 · cold"], ["naive · 8×8", "naive · 8×8 · cold"]),
        ([], []),
    ],
)  # fmt: skip
def test_pins_say_what_tells_them_apart(labels: list[str], told: list[str]) -> None:
    assert telling(labels) == told


def test_the_caption_has_the_line_and_gives_pins_what_their_words_need(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = open_window()
    window.resize(1280, 800)
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.session.experiment.set_size("N", 64)
    wait_measured(qtbot, window)
    words, line = window.panels.caption.words, window.panels.places
    until(qtbot, lambda: words.width() > 0.9 * line.width())
    window.pin()
    until(qtbot, window.pins.isVisible)
    QApplication.processEvents()
    assert isinstance(words, Words) and not words.cut, "one pin leaves the caption whole"
    (chip,) = window.pins.findChildren(QFrame, "chip")
    (told,) = chip.findChildren(Words)
    assert told.fitting().startswith(quantity(window.session.live_model.pins[0].median_s, "s"))
    window.session.experiment.set_block((8, 8, 1))
    wait_measured(qtbot, window)
    window.pin()
    until(qtbot, lambda: len(window.pins.findChildren(QFrame, "chip")) == 2)
    chips = window.pins.findChildren(QFrame, "chip")

    def whole() -> bool:
        told = [one for chip in chips for one in chip.findChildren(Words)]
        return all(one.fontMetrics().horizontalAdvance(one.text()) <= one.width() for one in told)

    until(qtbot, whole)


def test_many_pins_are_read_below_the_caption_and_leave_the_window_as_wide_as_it_is(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = open_window()
    window.resize(1280, 800)
    least = window.minimumSizeHint().width()
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.session.experiment.set_size("N", 64)
    for block in ((16, 16, 1), (8, 8, 1), (4, 4, 1), (2, 2, 1), (32, 1, 1)):
        window.session.experiment.set_block(block)
        wait_measured(qtbot, window)
        window.pin()
    until(qtbot, window.pins.isVisible)
    assert window.minimumSizeHint().width() == least
    medians = {quantity(pin.median_s, "s") for pin in window.session.live_model.pins}

    def told() -> set[str]:
        seen = [one for one in window.pins.findChildren(Words) if one.isVisible()]
        return {one.fitting().partition("  ")[0] for one in seen}

    until(qtbot, lambda: told() == medians)
    caption = window.panels.caption
    assert isinstance(caption.words, Words) and not caption.words.cut
    assert window.pins.geometry().top() >= caption.geometry().bottom()
    for pin in list(window.session.live_model.pins)[1:]:
        window.pins.removed.emit(pin.number)
    until(qtbot, lambda: window.pins.geometry().top() < caption.geometry().bottom())
