"""The insight panel's section on memory."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gpuexplorer.core.memory import MemoryParts, MemoryUse
from gpuexplorer.gui.panels.memory import MemorySection
from gpuexplorer.gui.theme import make_theme

PREDICTED = MemoryParts.of({"weights": 4e6, "gradients": 4e6, "activations": 2e6})


@pytest.fixture(autouse=True)
def light(qapp: QApplication) -> None:
    make_theme(qapp, "light")


def shown(qtbot: QtBot, use: MemoryUse | None) -> MemorySection:
    section = MemorySection()
    qtbot.addWidget(section)
    section.resize(260, 300)
    section.show_memory(use)
    return section


def test_it_is_there_for_models_alone(qtbot: QtBot) -> None:
    assert shown(qtbot, None).isHidden()
    arrays = MemoryUse(predicted=MemoryParts.of({"inputs": 8.0}), reason="nobody counts here")
    assert shown(qtbot, arrays).isHidden()
    assert not shown(qtbot, MemoryUse(predicted=PREDICTED)).isHidden()


def test_a_prediction_is_followed_by_the_count(qtbot: QtBot) -> None:
    section = shown(qtbot, MemoryUse(predicted=PREDICTED, reason="the run has not ended"))
    assert section.counter.text() == "the run has not ended"
    height = section.bar.sizeHint().height()
    section.show_memory(MemoryUse(predicted=PREDICTED, peak_B=9e6, counter="a counter"))
    assert section.counter.text() == "counted by a counter"
    assert section.bar.sizeHint().height() == height  # nothing moves
    assert "11 % too much" in section.bar.toolTip()
    section.show_memory(None)
    assert section.isHidden()


def test_why_nothing_was_counted_is_told_as_it_stands_in_a_file(qtbot: QtBot) -> None:
    use = MemoryUse(predicted=PREDICTED, reason="no <b>counter</b> here")
    assert "&lt;b&gt;counter" in shown(qtbot, use).bar.toolTip()


def test_bars_are_drawn_in_their_colours(qtbot: QtBot) -> None:
    section = shown(qtbot, MemoryUse(predicted=PREDICTED, peak_B=10e6, counter="a counter"))
    bar = section.bar
    bar.resize(200, bar.sizeHint().height())
    image = bar.grab().toImage()
    ratio = image.devicePixelRatio()

    def colour(share: float, y: float) -> str:
        return image.pixelColor(int(share * 200 * ratio), int(y * ratio)).name()

    first, second, third = (colour(share, 6) for share in (0.1, 0.6, 0.9))
    assert len({first, second, third}) == 3
    assert colour(0.1, 22) == colour(0.9, 22)  # the counted peak in one piece
