"""Garbage waits for its turn while the window is open, and is Python's again afterwards."""

from __future__ import annotations

import gc
import linecache
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import SIGNAL, QCoreApplication, QEvent
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QSpinBox,
    QToolButton,
    QWidget,
)

from gpuexplorer.gui.housekeeping import FULL_EVERY, MOST_PUT_OFF, Housekeeping
from gpuexplorer.gui.theme import make_theme
from gpuexplorer.gui.widgets.layouts import empty
from tests.gui.driver import find
from tests.support.heap import can_be_asked, in_hand_B

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from tests.gui.conftest import OpenWindow


MADE = 200


class Knot:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.itself = self


def test_cycles_are_collected_on_the_timer_only(qtbot: QtBot, open_window: OpenWindow) -> None:
    window = open_window()
    qtbot.waitUntil(lambda: not gc.isenabled() and window.preloader.done, timeout=60_000)
    knot = Knot()
    gone = weakref.ref(knot)
    del knot
    window.housekeeping.collect()
    assert gone() is None
    window.close()
    assert gc.isenabled()


def test_a_collection_waits_for_a_knobs_answer_but_not_for_ever(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = open_window()
    qtbot.waitUntil(lambda: not gc.isenabled() and window.preloader.done, timeout=60_000)
    window.housekeeping.stop()
    gc.disable()
    gone = weakref.ref(Knot())
    for _ in range(MOST_PUT_OFF):
        window.session.requests.moved_at = time.perf_counter()
        window.housekeeping.take_turn()
        assert gone() is not None
    window.session.requests.moved_at = time.perf_counter()
    window.housekeeping.take_turn()
    assert gone() is None
    again = weakref.ref(Knot())
    window.session.requests.moved_at = None
    window.housekeeping.take_turn()
    assert again() is None


def test_source_files_that_qt_for_python_reads_are_let_go(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = open_window()
    qtbot.waitUntil(lambda: window.preloader.done, timeout=60_000)
    assert held_lines() < 20_000, "every module's source is kept"
    linecache.getlines(__file__)
    assert __file__ in linecache.cache
    linecache.cache["<made>"] = (1, None, ["of no file"], "<made>")
    for _ in range(FULL_EVERY):
        window.housekeeping.collect()
    assert __file__ not in linecache.cache and "<made>" in linecache.cache
    del linecache.cache["<made>"]
    assert "linecache" in "".join(linecache.getlines(__file__))  # it is read again when wanted


def held_lines() -> int:
    """Return how many lines of source files are kept."""
    return sum(len(one[2]) for one in linecache.cache.values() if len(one) == 4)


def list_box() -> QComboBox:
    """Return a list to choose from."""
    box = QComboBox()
    box.addItem("one")
    return box


@pytest.mark.skipif(not can_be_asked(), reason="glibc's heap alone can be asked")
@pytest.mark.parametrize("made", [QSpinBox, list_box])
def test_what_qt_keeps_of_deleted_widgets_goes(
    qtbot: QtBot, qapp: QApplication, made: Callable[[], QWidget]
) -> None:
    make_theme(qapp, "light")
    parent = QWidget()
    qtbot.addWidget(parent)
    housekeeping = Housekeeping(parent, awaited=lambda: False)

    between = []
    for _ in range(MADE):
        widget = made()
        widget.setParent(parent)
        widget.deleteLater()
        del widget
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        between += [bytearray(700), bytearray(260)]  # so that the next lies elsewhere
    gc.collect()
    before_B = in_hand_B()
    for _ in range(FULL_EVERY):
        housekeeping.collect()
    assert before_B - in_hand_B() > 300 * MADE
    assert len(between) == 2 * MADE


@pytest.mark.skipif(not can_be_asked(), reason="glibc's heap alone can be asked")
def test_what_is_taken_out_of_a_layout_is_gone(qtbot: QtBot) -> None:
    view = QWidget()
    qtbot.addWidget(view)
    layout = QHBoxLayout(view)
    kept = QLabel("kept")
    layout.addWidget(kept)
    before_B = 0
    more = 10 * MADE
    for number in range(MADE + more):
        layout.addWidget(taken := QLabel("taken"))
        layout.addStretch()
        empty(layout, 1)
        assert taken.isHidden() and layout.count() == 1
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        if number == MADE:
            before_B = in_hand_B()
    assert in_hand_B() - before_B < 20 * more
    assert layout.indexOf(kept) == 0


def test_a_button_listens_once_to_a_command_that_changes(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = open_window()
    for name in ("liveButton", "exportButton"):
        button = find(window, name, QToolButton)
        command = button.defaultAction()
        changed = SIGNAL("changed()")
        command.setEnabled(False)
        listening = command.receivers(changed)
        for enabled in (True, False, True):
            command.setEnabled(enabled)
            assert button.isEnabled() is enabled
        assert command.receivers(changed) == listening
