"""The keys reach every control, and whatever has them shows it and has a name."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from gpuexplorer.gui.main_window import MainWindow
from tests.gui.driver import until

MOST_STOPS = 200


def stops(window: MainWindow) -> Iterator[QWidget]:
    """Yield what Tab leads to, once around from the tabs."""
    first = window.panels.places.place_bar
    first.setFocus(Qt.FocusReason.TabFocusReason)
    for _ in range(MOST_STOPS):
        stop = QApplication.focusWidget()
        assert stop is not None
        yield stop
        QTest.keyClick(stop, Qt.Key.Key_Tab)
        if QApplication.focusWidget() is first:
            return
    raise AssertionError("Tab does not come around")


def name_of(widget: QWidget) -> str:
    told = QAccessible.queryAccessibleInterface(widget)
    return told.text(QAccessible.Text.Name) if told is not None else ""


def shows_focus(widget: QWidget) -> bool:
    """Return whether a widget looks different with the keys and without them."""
    focused = widget.grab().toImage()
    widget.clearFocus()
    QApplication.processEvents()
    plain = widget.grab().toImage()
    widget.setFocus(Qt.FocusReason.TabFocusReason)
    QApplication.processEvents()
    return bool(focused != plain)


def test_each_stop_of_tab_in_each_view_has_a_ring_and_a_name(
    qtbot: QtBot, window: MainWindow
) -> None:
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.session.set_live(False)
    until(qtbot, window.isActiveWindow)
    places = window.panels.places
    seen: dict[QWidget, None] = {}
    wrong: list[str] = []
    for view in places.views:
        places.show_view(view)
        QApplication.processEvents()
        for stop in stops(window):
            if stop in seen:
                continue
            seen[stop] = None
            what = f"{places.title_of(view)}: {type(stop).__name__} {stop.objectName()}"
            if not name_of(stop):
                wrong.append(f"{what} has no name")
            if not shows_focus(stop):
                wrong.append(f"{what} looks as without the keys")
    assert not wrong, "\n".join(wrong)
    reached = {stop.objectName() for stop in seen}
    assert {"liveButton", "blockXSlider", "historyTable", "deviceBox", "blockMapCanvas"} <= reached
