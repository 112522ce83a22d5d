"""Whose a key is: the commands have theirs wherever nothing is typed."""

from __future__ import annotations

import gc
import random

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QScrollBar,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from gpuexplorer.gui.keys import KeyWindow
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.notice import Notice
from tests.gui.driver import find, until, wait_measured


@pytest.fixture
def ready(qtbot: QtBot, window: MainWindow) -> MainWindow:
    """Return the active window with a device, and nothing measuring."""
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.session.set_live(False)
    until(qtbot, window.isActiveWindow)
    return window


def press(key: Qt.Key, window: QWidget) -> None:
    """Press a key where the focus is."""
    QTest.keyClick(QApplication.focusWidget() or window, key)


def test_enter_takes_the_number_and_gives_the_keys_back(ready: MainWindow) -> None:
    box = find(ready, "sizeBox", QSpinBox)
    box.setFocus()
    box.selectAll()
    QTest.keyClicks(box, "64")
    press(Qt.Key.Key_Return, ready)
    assert ready.session.experiment.knobs.size == {"N": 64}
    assert not box.hasFocus()
    before = ready.commands.device_plots.isChecked()
    press(Qt.Key.Key_D, ready)
    assert ready.commands.device_plots.isChecked() is not before
    press(Qt.Key.Key_Space, ready)
    assert ready.session.live
    assert box.value() == 64


def values(window: MainWindow) -> QLineEdit | None:
    """Return a line that an axis' values are typed in, once there is one."""
    lines = window.panels.sweep.findChildren(QLineEdit)
    shown = (line for line in lines if line.objectName().startswith("sweepValues_"))
    return next((line for line in shown if line.isVisible()), None)


def test_enter_gives_the_keys_back_after_a_text_too(qtbot: QtBot, ready: MainWindow) -> None:
    ready.panels.places.show_view(ready.panels.sweep)
    until(qtbot, lambda: values(ready) is not None)
    field = values(ready)
    assert field is not None
    field.setFocus()
    field.setText("8, 16")
    press(Qt.Key.Key_Enter, ready)
    assert field.text() == "8, 16"
    assert QApplication.focusWidget() is None
    press(Qt.Key.Key_Space, ready)
    assert ready.session.live


def test_tab_goes_on_where_enter_left(ready: MainWindow) -> None:
    box = find(ready, "sizeBox", QSpinBox)
    box.setFocus()
    press(Qt.Key.Key_Tab, ready)
    after = QApplication.focusWidget()
    box.setFocus()
    press(Qt.Key.Key_Return, ready)
    press(Qt.Key.Key_Tab, ready)
    assert QApplication.focusWidget() is after


def test_shift_tab_goes_back_from_where_enter_left(ready: MainWindow) -> None:
    box = find(ready, "sizeBox", QSpinBox)
    box.setFocus()
    press(Qt.Key.Key_Backtab, ready)
    before = QApplication.focusWidget()
    box.setFocus()
    press(Qt.Key.Key_Return, ready)
    press(Qt.Key.Key_Backtab, ready)
    assert QApplication.focusWidget() is before


class Fields(KeyWindow):
    """Areas that are scrolled, with fields that come and go."""

    def __init__(self) -> None:
        super().__init__()
        self.banner = QWidget()  # type: ignore[assignment]  # never shown
        self._inside = QWidget()
        self.setCentralWidget(self._inside)
        self.columns: list[QVBoxLayout] = []
        self.lost: list[int] = []
        """The areas whose bars are gone while the window is there."""
        whole = QVBoxLayout(self._inside)
        for number in range(3):
            area, page = QScrollArea(), QWidget()
            area.setWidgetResizable(True)
            area.verticalScrollBar().destroyed.connect(lambda *_, n=number: self.lost.append(n))
            self.columns.append(QVBoxLayout(page))
            for _ in range(4):
                self.columns[-1].addWidget(QSpinBox())
            area.setWidget(page)
            whole.addWidget(area)

    def boxes(self) -> list[QSpinBox]:
        """Return the fields, in the order of Tab."""
        places = [(c, i) for c in self.columns for i in range(c.count())]
        found = [item.widget() for c, i in places if (item := c.itemAt(i)) is not None]
        return [box for box in found if isinstance(box, QSpinBox)]


def test_going_on_with_tab_takes_no_scroll_bar_away(qtbot: QtBot) -> None:
    """Qt for Python took widgets that follow each other for children of each other."""
    window, chance = Fields(), random.Random(1)
    qtbot.addWidget(window)
    window.show()
    until(qtbot, window.isActiveWindow)
    for _ in range(200):
        box = chance.choice(window.boxes())
        box.setFocus()
        press(Qt.Key.Key_Return, window)
        assert QApplication.focusWidget() is None
        others = [one for one in window.boxes() if chance.random() < 0.9]
        for one in others:  # so that the next one is some areas away
            one.setEnabled(False)
        press(chance.choice((Qt.Key.Key_Tab, Qt.Key.Key_Backtab)), window)
        for one in others:
            one.setEnabled(True)
        del one, others
        gone, column = chance.choice(window.boxes()), chance.choice(window.columns)
        gone.hide()
        gone.deleteLater()
        column.addWidget(QSpinBox())
        del box, gone
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        QApplication.processEvents()
        gc.collect()
        assert not window.lost
    assert all(bar.maximum() >= 0 for bar in window.findChildren(QScrollBar))


@pytest.mark.parametrize("leaves", ["hide", "disable"])
def test_tab_goes_on_from_a_control_that_can_have_no_keys_any_more(
    qtbot: QtBot, leaves: str
) -> None:
    window = Fields()
    qtbot.addWidget(window)
    window.show()
    until(qtbot, window.isActiveWindow)
    boxes = window.boxes()
    boxes[2].setFocus()
    if leaves == "hide":
        boxes[2].hide()
    else:
        boxes[2].setEnabled(False)
    assert QApplication.focusWidget() is None
    press(Qt.Key.Key_Tab, window)
    assert QApplication.focusWidget() is boxes[3]


def test_space_presses_the_button_that_has_the_focus(ready: MainWindow) -> None:
    box = find(ready, "includeTransfers", QAbstractButton)
    assert box.isEnabled()
    before = box.isChecked()
    box.setFocus()
    press(Qt.Key.Key_Space, ready)
    assert box.isChecked() is not before
    assert not ready.session.live


@pytest.mark.parametrize("name", ["blockXSlider", "workloadBox", "historyTable"])
def test_space_is_live_where_nothing_is_typed(ready: MainWindow, name: str) -> None:
    find(ready, name).setFocus()
    assert QApplication.focusWidget() is find(ready, name)
    press(Qt.Key.Key_Space, ready)
    assert ready.session.live


def test_escape_hides_the_banner_before_it_stops_live(qtbot: QtBot, ready: MainWindow) -> None:
    ready.session.set_live(True)
    wait_measured(qtbot, ready)
    ready.show_notice(Notice("warning", "Something is odd."))
    find(ready, "blockXSlider").setFocus()
    press(Qt.Key.Key_Escape, ready)
    assert not ready.banner.isVisible()
    assert ready.session.live
    press(Qt.Key.Key_Escape, ready)
    assert not ready.session.live


def test_escape_empties_and_leaves_the_search_before_it_stops_live(
    qtbot: QtBot, ready: MainWindow
) -> None:
    ready.session.set_live(True)
    wait_measured(qtbot, ready)
    search = ready.panels.history.bar.search
    ready.panels.history.focus_search()
    QTest.keyClicks(search, "matmul")
    press(Qt.Key.Key_Escape, ready)
    assert search.text() == ""
    assert search.hasFocus()
    press(Qt.Key.Key_Escape, ready)
    assert not search.hasFocus()
    assert ready.session.live
    press(Qt.Key.Key_Escape, ready)
    assert not ready.session.live


def test_escape_closes_the_palette_before_it_stops_live(qtbot: QtBot, ready: MainWindow) -> None:
    ready.session.set_live(True)
    wait_measured(qtbot, ready)
    ready.commands.palette.trigger()
    palette = ready.dialogs.palette
    assert palette is not None
    QTest.keyClick(palette.field, Qt.Key.Key_Escape)
    assert not palette.isVisible()
    assert ready.session.live


def test_starting_a_job_gives_the_focus_to_nothing_else(qtbot: QtBot, ready: MainWindow) -> None:
    ready.session.experiment.set_size("N", 64)
    ready.panels.places.show_view(ready.panels.sweep)
    until(qtbot, lambda: ready.panels.sweep.findChild(QPushButton, "sweepStart") is not None)
    start = find(ready, "sweepStart", QPushButton)
    until(qtbot, lambda: start.isVisible() and start.isEnabled())
    start.setFocus()
    press(Qt.Key.Key_Space, ready)
    until(qtbot, lambda: ready.session.jobs.current is not None)
    assert not start.isVisible()
    assert QApplication.focusWidget() is None
    press(Qt.Key.Key_Escape, ready)
    until(qtbot, lambda: ready.session.jobs.current is None)


def test_the_window_is_repainted_without_pythons_lock() -> None:
    own = [cls for cls in MainWindow.__mro__ if cls.__module__.startswith("gpuexplorer.")]
    assert own, "Qt's own method lets other threads go on while it paints; one in Python does not"
    assert not [cls for cls in own if "event" in vars(cls)]
