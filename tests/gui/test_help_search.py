"""The help finds words in all its pages."""

from __future__ import annotations

import re

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QTextDocument
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gpuexplorer.gui.help import PAGES, HelpWindow, contents
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.model.help_search import marked, plain_text, search
from tests.gui.driver import until

PICTURES = {
    page: re.findall(r"!\[[^]]*\]\(([^)]+)\)", text) for page, (_, text) in contents().items()
}
IMAGE = int(QTextDocument.ResourceType.ImageResource.value)
SOME = {
    "one": ("The roofline", "# The roofline\n\nSpeed of a [ridge](roofline.md) and **its** roofs."),
    "two": ("Sweeps", "A sweep under the roofline of a *device*, then the ridge of a roof."),
    "three": ("History", "Nothing of that: 2 ≤ x, İstanbul."),
}


def test_titles_come_first_then_the_words_side_by_side() -> None:
    assert [found.page for found in search(SOME, "roofline")] == ["one", "two"]
    assert [found.page for found in search(SOME, "ridge of a roof")] == ["two", "one"]
    assert [found.page for found in search(SOME, "ROOF device")] == ["two"]
    assert search(SOME, "  ") == [] and search(SOME, "(") == []


def test_an_excerpt_is_plain_and_has_what_was_found() -> None:
    assert plain_text(SOME["one"][1]) == "The roofline Speed of a ridge and its roofs."
    for page, (title, text) in contents().items():
        for typed in (title.split()[-1], plain_text(text)[-20:].split()[-1]):
            found = {one.page: one for one in search(contents(), typed)}[page]
            pieces = marked(found.excerpt, typed)
            assert "".join(piece for piece, _ in pieces) == found.excerpt
            assert len(found.excerpt) < 110
            if typed.casefold() in plain_text(text).casefold():
                assert any(is_match for _, is_match in pieces), (page, typed, found.excerpt)


def shown_pages(shown: HelpWindow) -> list[str]:
    return [shown.list.item(row).text() for row in range(shown.list.count())]


@pytest.fixture
def shown(window: MainWindow, qtbot: QtBot) -> HelpWindow:
    """Return the help, opened by its key."""
    until(qtbot, window.isActiveWindow)
    QTest.keyClick(window, Qt.Key.Key_F1)
    opened = window.dialogs.help
    assert opened is not None
    until(qtbot, opened.isActiveWindow)
    return opened


def marks(shown: HelpWindow) -> set[str]:
    return {mark.cursor.selectedText().lower() for mark in shown.browser.extraSelections()}


def test_words_are_found_with_the_keys_alone(shown: HelpWindow, qtbot: QtBot) -> None:
    QTest.keyClick(shown, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert shown.field.hasFocus()
    QTest.keyClicks(shown.field, "history")
    assert shown_pages(shown)[0] == "History"
    assert 2 <= shown.list.count() < len(PAGES)
    assert marks(shown) == {"history"}
    first = shown.browser.toPlainText()
    places = []
    for _ in range(3):
        places.append(shown.browser.textCursor().position())
        QTest.keyClick(shown.field, Qt.Key.Key_Return)
    assert places == sorted(set(places))
    QTest.keyClick(shown.field, Qt.Key.Key_Down)
    assert shown.list.currentRow() == 1 and shown.browser.toPlainText() != first
    assert "history" in shown.browser.toPlainText().lower() and marks(shown) == {"history"}
    page = shown.list.currentItem().text()
    QTest.keyClick(shown.field, Qt.Key.Key_Escape)
    assert shown.isVisible() and shown_pages(shown) == list(PAGES.values())
    assert shown.list.currentItem().text() == page and not marks(shown)
    QTest.keyClick(shown.field, Qt.Key.Key_Escape)
    assert not shown.isVisible()


def test_what_no_page_has_is_said(shown: HelpWindow) -> None:
    assert PICTURES["accesses"] == ["accesses.png"]
    for page, names in PICTURES.items():
        shown.open_page(page)
        for name in names:
            picture = shown.browser.loadResource(IMAGE, QUrl(name))
            assert picture, name
    QTest.keyClicks(shown.field, "zebra")
    assert shown.list.count() == 0
    assert shown.nothing.isVisible() and shown.nothing.text() == "No page has “zebra”."
    shown.field.clear()
    assert shown.list.count() == len(PAGES) and not shown.nothing.isVisible()


def test_an_excerpt_fits_into_its_row(shown: HelpWindow) -> None:
    QTest.keyClicks(shown.field, "memory")
    line = shown.list.fontMetrics().lineSpacing()
    heights = [shown.list.visualItemRect(shown.list.item(row)).height() for row in range(3)]
    assert all(3 * line <= height <= 9 * line for height in heights), (line, heights)
