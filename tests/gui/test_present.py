"""Present mode: the knobs and one chart alone, and everything back as it was afterwards."""

from __future__ import annotations

import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QSpinBox, QToolBar, QWidget
from pytestqt.qtbot import QtBot

from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.show.table import SheetTable
from gpuexplorer.gui.views.job_form import JobForm
from tests.gui.driver import find, until


def around(window: MainWindow) -> list[QWidget]:
    panels = window.panels
    return [
        window.menuBar(), window.statusBar(), *window.findChildren(QToolBar), panels.welcome,
        panels.places.row, panels.insight, panels.history, panels.strip, panels.traffic,
    ]  # fmt: skip


def is_presented(window: MainWindow) -> bool:
    assert window.present.on is window.isFullScreen()
    return window.isFullScreen()


def test_the_knobs_and_one_chart_are_left_and_all_comes_back(
    qtbot: QtBot, window: MainWindow
) -> None:
    panels, size = window.panels, window.font().pointSizeF()
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.session.set_live(False)
    until(qtbot, window.isActiveWindow)
    panels.places.show_view(panels.live)
    window.panel_rooms.fit_height()
    before = [widget.isHidden() for widget in around(window)]
    assert not all(before)

    QTest.keyClick(QApplication.focusWidget() or window, Qt.Key.Key_F11)
    assert is_presented(window)
    assert all(widget.isHidden() for widget in around(window))
    assert panels.experiment.isVisible() and panels.timing.isVisible()
    box = find(window, "sizeBox", QSpinBox)
    assert box.font().pointSizeF() > 1.2 * size, "letters are larger"
    box.setValue(64)
    assert window.session.experiment.knobs.size == {"N": 64}, "a knob turns"
    window.resize(1300, 900)
    assert panels.history.isHidden(), "no panel comes back by itself"

    panels.places.show_view(panels.lab)
    shown = [*panels.lab.findChildren(SheetTable), *panels.lab.findChildren(JobForm)]
    assert shown and not any(widget.isVisible() for widget in shown)

    panels.places.show_view(panels.live)
    shiboken6.invalidate(window.menuBar())  # as happens: the bar itself lives on
    QTest.keyClick(QApplication.focusWidget() or window, Qt.Key.Key_Escape)
    assert not is_presented(window)
    assert [widget.isHidden() for widget in around(window)] == before
    assert box.font().pointSizeF() == size
