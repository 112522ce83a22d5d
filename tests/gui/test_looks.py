"""Every view and dialog, at every size, in both themes: all of it is seen, read, and reached."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QPushButton,
    QSlider,
    QTabBar,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.theme import make_theme, theme
from gpuexplorer.gui.widgets.caption import Veil
from tests.gui import looks
from tests.gui.conftest import OpenWindow
from tests.gui.driver import until
from tests.gui.looking import (
    THEMES,
    dialogs,
    each_or_every,
    every_size,
    fill,
    in_turn,
    sizes_in_turn,
    walk_keys,
    walk_sizes,
)


@pytest.fixture
def filled(qtbot: QtBot, open_window: OpenWindow) -> MainWindow:
    """Return the window with something in each view."""
    return fill(qtbot, open_window())


@each_or_every
def test_nothing_is_cut_and_nothing_overlaps_at_any_size(
    qtbot: QtBot, filled: MainWindow, every: bool
) -> None:
    places = filled.panels.places
    filled.panels.welcome.close_button.click()  # as a small window's user will
    wrong: list[str] = []
    for number, view in enumerate(places.views):
        places.show_view(view)
        looks.settle()
        sizes = every_size() if every else sizes_in_turn(number)
        wrong += walk_sizes(filled, places.title_of(view), sizes, exact=True)
    for number, dialog in enumerate(dialogs(qtbot, filled)):
        sizes = every_size() if every else sizes_in_turn(number)
        wrong += walk_sizes(dialog, dialog.windowTitle(), sizes, exact=False)
    assert not wrong, "\n".join(wrong)


@each_or_every
def test_in_both_themes_text_stands_out_and_tab_reaches_every_control(
    qtbot: QtBot, filled: MainWindow, every: bool
) -> None:
    places = filled.panels.places
    wrong: list[str] = []
    before = theme().choice
    seen: dict[QWidget, None] = {}
    reached: set[str] = set()
    try:
        for turn, choice in enumerate(THEMES):
            filled.choices.choose_theme(choice)
            if every:
                seen.clear()
            for view in in_turn(places.views, turn, every=every):
                places.show_view(view)
                looks.settle()
                what = f"{choice}, {places.title_of(view)}"
                wrong += [f"{what}: {one}" for one in looks.faint(filled)]
                wrong += walk_keys(filled, places.place_bar, seen, what)
            reached |= {stop.objectName() for stop in seen}
            for number, dialog in enumerate(dialogs(qtbot, filled)):
                if not every and number % len(THEMES) != turn:
                    continue
                what = f"{choice}, {dialog.windowTitle()}"
                wrong += [f"{what}: {one}" for one in looks.faint(dialog)]
                first = next(
                    one for one in looks.seen(dialog)
                    if isinstance(one, QPushButton | QLineEdit) and one.isEnabled()
                )  # fmt: skip
                wrong += walk_keys(dialog, first, seen, what)
        assert {"liveButton", "blockXSlider", "historyTable", "blockMapCanvas"} <= reached
    finally:
        filled.choices.choose_theme(before)
    assert not wrong, "\n".join(wrong)


@each_or_every
def test_what_the_knobs_have_moved_on_from_is_still_read(
    qtbot: QtBot, filled: MainWindow, every: bool
) -> None:
    places, wrong, before = filled.panels.places, list[str](), theme().choice
    try:
        for turn, choice in enumerate(THEMES):
            filled.choices.choose_theme(choice)
            for view in in_turn(places.views, turn, every=every):
                places.show_view(view)
                looks.settle()
                veils = [
                    one for one in filled.findChildren(Veil)
                    if (under := one.parentWidget()) is not None and under.isVisible()
                ]  # fmt: skip
                for veil in veils:
                    veil.show()
                looks.settle()
                what = f"{choice}, {places.title_of(view)}, hatched"
                wrong += [f"{what}: {one}" for one in looks.faint(filled)]
                for veil in veils:
                    veil.hide()
    finally:
        filled.choices.choose_theme(before)
    assert not wrong, "\n".join(wrong)


# ---- the looks find what is wrong


@pytest.fixture
def sample(qtbot: QtBot, qapp: QApplication) -> QWidget:
    """Return a window with nothing wrong."""
    make_theme(qapp, "light")
    root = QWidget()
    qtbot.addWidget(root)
    root.setObjectName("sample")
    column = QVBoxLayout(root)
    wrapped = QLabel("Words that take several lines where there is little room for them.")
    wrapped.setWordWrap(True)
    button, field, box, tabs = QPushButton("A button"), QLineEdit(), QComboBox(), QTabBar()
    field.setPlaceholderText("A hint")
    field.setAccessibleName("A field")
    box.addItem("A choice")
    box.setAccessibleName("A list")
    tabs.addTab("A tab")
    tabs.setAccessibleName("Tabs")
    for widget in (QLabel("A label"), wrapped, button, field, box, tabs):
        widget.setObjectName(type(widget).__name__)
        column.addWidget(widget)
    root.resize(300, 320)
    root.show()
    until(qtbot, root.isActiveWindow)
    looks.settle()
    return root


def found_wrong(root: QWidget) -> list[str]:
    looks.settle()
    first = root.findChild(QPushButton)
    assert first is not None
    return [
        *looks.cut(root), *looks.overlaps(root), *looks.faint(root),
        *walk_keys(root, first, {}, "sample"),
    ]  # fmt: skip


def test_the_looks_find_nothing_where_nothing_is_wrong(sample: QWidget) -> None:
    assert found_wrong(sample) == []


def narrow(root: QWidget, kind: type[QWidget]) -> None:
    widget = root.findChild(kind)
    assert widget is not None
    widget.setFixedWidth(24)


def low(root: QWidget) -> None:
    wrapped = next(label for label in root.findChildren(QLabel) if label.wordWrap())
    wrapped.setFixedSize(120, 20)


def out(root: QWidget) -> None:
    label = QLabel("far out", root)
    label.move(280, 4)
    label.show()


def over(root: QWidget) -> None:
    label = QLabel("above another", root)
    label.move(40, 20)
    label.show()


def pale(root: QWidget) -> None:
    root.setStyleSheet("QLabel { background: #ffffff; color: #8a8a8a; }")


def pale_hint(root: QWidget) -> None:
    root.setStyleSheet("QLineEdit { background: #202020; placeholder-text-color: #606060; }")


def skipped(root: QWidget) -> None:
    field = root.findChild(QLineEdit)
    assert field is not None
    field.setFocusPolicy(Qt.FocusPolicy.ClickFocus)


def ringless(root: QWidget) -> None:
    root.setStyleSheet("QPushButton { border: 1px solid #777777; outline: none; }")


def unnamed(root: QWidget) -> None:
    slider = QSlider(Qt.Orientation.Horizontal)
    layout = root.layout()
    assert layout is not None
    layout.addWidget(slider)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda root: narrow(root, QLabel), "of words in 24×"),
        (lambda root: narrow(root, QPushButton), "QPushButton in QPushButton 'A button'"),
        (lambda root: narrow(root, QLineEdit), "'A hint' of"),
        (lambda root: narrow(root, QComboBox), "its tip does not have them"),
        (lambda root: narrow(root, QTabBar), "the tab A tab"),
        (low, "px of words in 20"),
        (out, "reaches out of"),
        (over, "share"),
        (pale, "contrast 3.4"),
        (pale_hint, "QLineEdit in QLineEdit '' : contrast"),
        (skipped, "QLineEdit in QLineEdit '': Tab does not lead there"),
        (ringless, "looks as without the keys"),
        (unnamed, "has no name"),
    ],
)  # fmt: skip
def test_the_looks_find_what_is_wrong(sample: QWidget, spoil: object, told: str) -> None:
    assert callable(spoil)
    spoil(sample)
    wrong = found_wrong(sample)
    assert any(told in one for one in wrong), wrong
