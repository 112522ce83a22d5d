"""F1 opens the page on what has the focus."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from gpuexplorer.gui.help import PAGES
from gpuexplorer.gui.help_here import page_of
from gpuexplorer.gui.main_window import MainWindow
from tests.gui.driver import until


def opened(window: MainWindow, qtbot: QtBot) -> str:
    """Press F1 and return the page that is shown then."""
    QTest.keyClick(window, Qt.Key.Key_F1)
    shown = window.dialogs.help
    assert shown is not None and shown.isVisible()
    row = shown.list.currentRow()
    shown.close()
    until(qtbot, window.isActiveWindow)
    return list(PAGES)[row]


def test_f1_follows_the_focus_and_the_view_in_front(qtbot: QtBot, window: MainWindow) -> None:
    until(qtbot, window.isActiveWindow)
    panels = window.panels
    panels.places.show_view(panels.roofline)
    panels.places.place_bar.setFocus()
    assert opened(window, qtbot) == "roofline"
    panels.history.table.setFocus()
    assert opened(window, qtbot) == "history"
    window.experiment_panel.block_rows[0].slider.setFocus()
    assert opened(window, qtbot) == "first-steps"
    panels.places.show_view(panels.live)
    panels.places.place_bar.setFocus()
    assert opened(window, qtbot) == "reading-the-plots"


def test_each_part_names_a_page_that_there_is(window: MainWindow) -> None:
    places = window.panels.places
    for view in places.views[1:]:
        assert page_of(view) in PAGES, places.title_of(view)
    named = {page_of(widget) for widget in window.findChildren(QWidget)} - {None}
    assert named <= set(PAGES) and len(named) > 8
