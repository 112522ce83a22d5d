"""The views in their places: one row of places and of the views of the one that is shown."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QTabBar, QWidget
from pytestqt.qtbot import QtBot

from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.model.session_document import View
from gpuexplorer.gui.places import Places
from tests.gui.driver import until


@pytest.fixture
def places(qtbot: QtBot) -> Places:
    made = Places()
    qtbot.addWidget(made)
    made.add("Near", (QLabel("a"), "A"), (QLabel("b"), "B"))
    made.add("Far", (QLabel("c"), "C"), (QLabel("d"), "D"))
    made.resize(500, 300)
    made.show()
    return made


def tabs(bar: QTabBar) -> list[str]:
    return [bar.tabText(tab) for tab in range(bar.count())]


def click(bar: QTabBar, words: str) -> None:
    where = bar.tabRect(tabs(bar).index(words)).center()
    QTest.mouseClick(bar, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, where)


def shown(places: Places) -> str:
    view: QWidget = places.current
    assert view.isVisible()
    assert places.view_bar.tabText(places.view_bar.currentIndex()) == places.title_of(view)
    return places.title_of(view)


def test_a_place_shows_its_own_views_and_comes_back_to_the_last(places: Places) -> None:
    assert tabs(places.place_bar) == ["Near", "Far"] and tabs(places.view_bar) == ["A", "B"]
    click(places.view_bar, "B")
    assert shown(places) == "B"
    click(places.place_bar, "Far")
    assert shown(places) == "C" and tabs(places.view_bar) == ["C", "D"]
    click(places.view_bar, "D")
    click(places.place_bar, "Near")
    assert shown(places) == "B"
    click(places.place_bar, "Far")
    assert shown(places) == "D"


def test_the_place_follows_the_view(places: Places) -> None:
    heard: list[str] = []
    places.changed.connect(lambda: heard.append(shown(places)))
    far = places.titled("D")
    assert far is not None
    places.show_view(far)
    places.show_view(far)
    assert places.place_bar.tabText(places.place_bar.currentIndex()) == "Far"
    places.turn(1)
    assert places.place_bar.tabText(places.place_bar.currentIndex()) == "Near"
    places.turn(-1)
    assert heard == ["D", "A", "D"]


def test_a_session_of_any_version_shows_its_view(window: MainWindow) -> None:
    panels = window.panels
    window._show_view(View(tab="Kernel"))  # as files had it when views were in one row
    assert panels.places.current is panels.kernel
    assert window._view().tab == "Kernel"
    window._show_view(View(tab="gone"))
    assert panels.places.current is panels.kernel


def test_a_view_has_its_letter_beside_its_number(qtbot: QtBot, window: MainWindow) -> None:
    until(qtbot, window.isActiveWindow)
    places = window.panels.places
    for key, title in ((Qt.Key.Key_S, "Sweep"), (Qt.Key.Key_T, "Tune")):
        held = Qt.KeyboardModifier
        pressed = held.ControlModifier if key == Qt.Key.Key_T else held.NoModifier
        QTest.keyClick(window, key, pressed)
        assert places.title_of(places.current) == title
