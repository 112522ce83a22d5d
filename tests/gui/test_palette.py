"""Every command can be found by its name; views have keys."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.palette import Entry, Palette, matching, plain
from tests.gui.driver import until


def press(widget: QWidget, key: Qt.Key, control: bool = False, shift: bool = False) -> None:
    held = Qt.KeyboardModifier.NoModifier
    held |= Qt.KeyboardModifier.ControlModifier if control else held
    held |= Qt.KeyboardModifier.ShiftModifier if shift else held
    QTest.keyClick(widget, key, held)


@pytest.fixture
def palette(qtbot: QtBot, window: MainWindow) -> Palette:
    until(qtbot, window.isActiveWindow)
    press(window, Qt.Key.Key_K, control=True)
    until(qtbot, lambda: window.dialogs.palette is not None)
    palette = window.dialogs.palette
    assert palette is not None and palette.isVisible()
    return palette


def words(palette: Palette) -> list[str]:
    items = [palette.list.topLevelItem(i) for i in range(palette.list.topLevelItemCount())]
    return [item.text(0) for item in items if item is not None]


def test_each_command_of_the_menus_is_there_with_its_key(
    palette: Palette, window: MainWindow
) -> None:
    shown = words(palette)
    assert "File › Export › PNG image" in shown or "File › Export" in shown
    assert "View › Explore › Roofline" in shown
    commands = {a.text().replace("&", "").removesuffix("…") for a in vars(window.commands).values()
                if isinstance(a, QAction) and a.isVisible()}  # fmt: skip
    assert commands <= {line.split(" › ")[-1] for line in shown}
    row = shown.index("Run › Use tuned")
    item = palette.list.topLevelItem(row)
    assert item is not None and item.text(1) == "Ctrl+U"


def test_menus_have_no_marks_of_their_keys_in_any_language() -> None:
    assert [plain(words) for words in ("&File", "文件(&F)", "Export…", "f(x)")] == [
        "File", "文件", "Export", "f(x)",
    ]  # fmt: skip


def test_typing_narrows_and_enter_does_it(
    palette: Palette, window: MainWindow, qtbot: QtBot
) -> None:
    QTest.keyClicks(palette.field, "roofl")
    assert words(palette) == ["View › Explore › Roofline"]
    press(palette.field, Qt.Key.Key_Return)
    assert not palette.isVisible()
    assert window.panels.places.current is window.panels.roofline


def test_the_arrows_choose(palette: Palette, window: MainWindow) -> None:
    QTest.keyClicks(palette.field, "view explore")
    assert len(words(palette)) == 3
    press(palette.field, Qt.Key.Key_Down)
    press(palette.field, Qt.Key.Key_Return)
    assert window.panels.places.current is window.panels.block_map


def test_a_command_that_cannot_be_done_is_grey_and_is_not(
    palette: Palette, window: MainWindow
) -> None:
    assert not window.commands.redo.isEnabled()
    QTest.keyClicks(palette.field, "redo")
    (row,) = (i for i, line in enumerate(words(palette)) if line.endswith("Redo"))
    item = palette.list.topLevelItem(row)
    assert item is not None and not item.flags()
    press(palette.field, Qt.Key.Key_Return)
    assert palette.isVisible(), "nothing was done"
    press(palette.field, Qt.Key.Key_Escape)
    assert not palette.isVisible()


def test_what_a_name_begins_with_stands_first(qapp: QApplication) -> None:
    found = [Entry(("File",), QAction("Export")), Entry(("Run",), QAction("Pin")),
             Entry(("View",), QAction("Report pins"))]  # fmt: skip
    assert [e.words for e in matching(found, "pin")] == ["Run › Pin", "View › Report pins"]
    assert [e.words for e in matching(found, "VIEW rep")] == ["View › Report pins"]
    assert matching(found, "nothing") == []
    assert matching(found, "") == found


def test_views_have_keys(window: MainWindow, qtbot: QtBot) -> None:
    until(qtbot, window.isActiveWindow)
    places = window.panels.places
    for number, view in enumerate(places.views[:9]):
        press(window, Qt.Key(Qt.Key.Key_1.value + number), control=True)
        assert places.current is view
    places.show_view(places.views[-1])
    press(window, Qt.Key.Key_Tab, control=True)
    assert places.current is places.views[0]
    press(window, Qt.Key.Key_Tab, control=True, shift=True)
    assert places.current is places.views[-1]
