"""Whatever the window offers to press has the words in use (CONTRIBUTING.md, "Words")."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLabel, QWidget

from gpuexplorer.core.result import Verification
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.plots.base import LineSample
from gpuexplorer.gui.views.selftest import SelfTestDialog
from gpuexplorer.gui.widgets.words import Words
from tests.gui.conftest import OpenWindow
from tests.support.prepared import prepared
from tests.test_words import NOT_IN_USE

TERMS = re.compile(r"compulsory|freivalds with|manifest's own|all is clear", re.IGNORECASE)
"""Words that need an explanation, which stands in a tooltip, not on the window."""
KEEPS_NOTHING = re.compile(r"nothing|as it was")
KEEPS = re.compile(r"\bkept\b")


def plain(words: str) -> str:
    """Return a button's words without the mark of its key."""
    return words.replace("&", "")


@pytest.fixture
def window(open_window: OpenWindow) -> MainWindow:
    """The window with every view and every dialog that offers an act."""
    made = open_window()
    made.show()
    for view in made.panels.places.views:  # a view is made when it is first shown
        made.panels.places.show_view(view)
    made.engine._made().setup  # noqa: B018  (made when it is first asked for)
    SelfTestDialog(made, made.session, made.settings)
    return made


def pressed(window: QWidget) -> Iterator[tuple[str, str, str]]:
    """Yield name, words and tip of everything that can be pressed."""
    for button in window.findChildren(QAbstractButton):
        yield button.objectName(), plain(button.text()), button.toolTip()
    for action in window.findChildren(QAction):
        yield action.objectName(), plain(action.text()), action.toolTip()


def test_nothing_to_press_or_read_has_a_word_that_is_not_in_use(window: MainWindow) -> None:
    said = [text for _, words, tip in pressed(window) for text in (words, tip)]
    said += [label.text() for label in window.findChildren(QLabel)]
    said += [widget.toolTip() for widget in window.findChildren(QWidget)]
    assert len(said) > 300
    assert [text for text in said if NOT_IN_USE.search(text)] == []


def test_cancel_is_said_where_nothing_is_kept_and_stop_where_something_is(
    window: MainWindow,
) -> None:
    offered = [one for one in pressed(window) if one[1] in ("Cancel", "Stop")]
    assert {name for name, words, _ in offered if words == "Cancel"} >= {
        "tuneCancel", "planningCancel", "calibrationCancel",
    }  # fmt: skip
    assert {name for name, words, _ in offered if words == "Stop"} >= {
        "makingCancel", "tuneStop", "blockMapStop", "compareStop",
    }  # fmt: skip
    for name, words, tip in offered:
        if words == "Cancel":
            assert KEEPS_NOTHING.search(tip), f"{name} keeps something: {tip}"
        elif name:
            assert KEEPS.search(tip), f"{name} does not say what is kept: {tip}"


def test_terms_stand_in_tooltips_and_plain_words_on_the_window(window: MainWindow) -> None:
    shown = [label.text() for label in window.findChildren(QLabel)]
    shown += [line.spoken() for line in window.findChildren(LineSample)]
    for box in window.findChildren(QComboBox):
        shown += [box.itemText(index) for index in range(box.count())]
    assert "needed read" in shown and "The workload's own" in shown
    assert [words for words in shown if TERMS.search(words)] == []
    assert "Compulsory" in window.traffic.legend["compulsory_read"].toolTip()


def test_how_a_result_was_checked_is_said_in_whole_words(window: MainWindow) -> None:
    insight, made = window.insight, prepared()
    method = "freivalds with 4 random vectors, float64"
    check = Verification(ok=True, max_rel_error=1e-7, tolerance=2e-5, method=method)
    insight._show_check(msgspec.structs.replace(made, verification=check))
    said = "Checked against float64 by 4 random vectors (Freivalds), tolerance 2e-05"
    assert insight.check.text() == said
    assert insight.check.wordWrap() and not isinstance(insight.check, Words)
