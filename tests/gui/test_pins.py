"""The row of pinned ghosts: short words that tell them apart, and never wider than the window."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from gpuexplorer.gui.panels.pins import telling
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


def test_many_pins_leave_the_window_as_wide_as_it_is(qtbot: QtBot, open_window: OpenWindow) -> None:
    window = open_window()
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.session.experiment.set_size("N", 64)
    least = window.minimumSizeHint().width()
    for block in ((16, 16, 1), (8, 8, 1), (4, 4, 1), (2, 2, 1), (32, 1, 1)):
        window.session.experiment.set_block(block)
        wait_measured(qtbot, window)
        window.pin()
    until(qtbot, window.pins.isVisible)
    assert window.minimumSizeHint().width() == least
