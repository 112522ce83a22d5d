"""Garbage waits for its turn while the window is open, and is Python's again afterwards."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from tests.gui.conftest import OpenWindow


class Knot:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.itself = self


def test_cycles_are_collected_on_the_timer_only(qtbot: QtBot, open_window: OpenWindow) -> None:
    window = open_window()
    qtbot.waitUntil(lambda: not gc.isenabled(), timeout=20_000)
    knot = Knot()
    gone = weakref.ref(knot)
    del knot
    window.housekeeping.collect()
    assert gone() is None
    window.close()
    assert gc.isenabled()
