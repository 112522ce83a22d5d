"""Themes: the sheet holds wherever the program lies, and a switch leaves nothing behind."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import shiboken6
from PySide6.QtCore import QDir, Qt
from PySide6.QtGui import QAccessibilityHints, QGuiApplication, QIcon
from PySide6.QtWidgets import QApplication, QComboBox
from pytestqt.qtbot import QtBot

from gpuexplorer.charts.style import THEMES
from gpuexplorer.core import resources
from gpuexplorer.gui.code.instructions import TINT
from gpuexplorer.gui.settings import Settings
from gpuexplorer.gui.theme import Choice, Theme, blend, forget_styles, theme
from tests.gui import looks
from tests.gui.conftest import OpenWindow
from tests.gui.driver import until

SESSION = Path(__file__).parents[1] / "written_by_0_1/session.gpux"


@pytest.fixture
def another_theme(qapp: QApplication) -> Iterator[Callable[..., Theme]]:
    """Make a theme beside the application's; afterwards everything looks as before."""
    sheet, palette, icons = qapp.styleSheet(), qapp.palette(), QDir.searchPaths("icons")
    scheme = QGuiApplication.styleHints().colorScheme()
    made: list[Theme] = []

    def make(choice: Choice, *, dressed: bool = True) -> Theme:
        made.append(Theme(qapp, choice, dressed=dressed))
        return made[-1]

    yield make
    for look in made:
        shiboken6.delete(look)
    QDir.setSearchPaths("icons", icons)
    QGuiApplication.styleHints().setColorScheme(scheme)
    qapp.setPalette(palette)
    qapp.setStyleSheet(sheet)


@pytest.mark.parametrize("choice", ["light", "dark", "contrast"])
def test_a_folder_of_any_name_does_not_spoil_the_sheet(
    qtbot: QtBot,
    qapp: QApplication,
    qtlog: object,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    another_theme: Callable[..., Theme],
    choice: Choice,
) -> None:
    lies = tmp_path / "Zoë's  programs «α») {"
    shutil.copytree(resources.folder(), lies)
    monkeypatch.setattr(resources, "folder", lambda: lies)
    theme = another_theme(choice)
    box = QComboBox()
    qtbot.addWidget(box)
    box.show()
    qtbot.waitExposed(box)
    said = [record.message for record in qtlog.records]  # type: ignore[attr-defined]
    assert not [words for words in said if "stylesheet" in words or "Could not" in words]
    assert str(lies) not in qapp.styleSheet()
    assert not QIcon(f"icons:arrow-{theme.scheme}.svg").pixmap(10, 10).isNull()


def test_a_switch_leaves_nothing_of_the_other_colours_whatever_was_shown_before(
    qtbot: QtBot, qapp: QApplication, open_window: OpenWindow
) -> None:
    settings = Settings()
    settings.theme, settings.live_at_start = "dark", False
    settings.sync()
    before = theme().choice if qapp.findChild(Theme) else "system"
    window = open_window(str(SESSION))
    until(qtbot, lambda: window.banner.text.startswith("Opened session.gpux"))
    window.sessions.path = None  # which it would ask about when it is closed
    wrong: list[str] = []
    try:
        views = window.panels.places.views
        for view in views[::2]:  # the others are made in other colours than the window's first
            window.panels.places.show_view(view)
            looks.settle()
        switches: tuple[tuple[Choice, Choice], ...] = (("light", "dark"), ("dark", "light"))
        for choice, other in switches:
            forget_styles(qapp)  # as every half minute
            window.choices.choose_theme(choice)
            for view in views:
                window.panels.places.show_view(view)
                looks.settle()
                title = window.panels.places.title_of(view)
                wrong += [f"{choice}, {title}: {one}" for one in looks.left_over(window, other)]
    finally:
        window.choices.choose_theme(before)
    assert not wrong, "\n".join(wrong[:40])


WORDS = (
    "text", "muted", "accent", "good", "warning", "bad", "code_word", "code_cuda", "code_number",
    "code_text", "code_remark",
)  # fmt: skip
BEHIND = (
    "window",
    "panel",
    "raised",
    "hover",
    "selection",
    "warning_back",
    "bad_back",
    "info_back",
)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_words_of_high_contrast_stand_out_seven_times() -> None:
    """As WCAG 2 asks of enhanced contrast (1.4.6)."""
    colours = tomllib.loads(resources.text("themes", "contrast.toml"))
    faint = {
        (word, behind): ratio
        for word in WORDS
        for behind in BEHIND
        if (ratio := (luminance(colours[word]) + 0.05) / (luminance(colours[behind]) + 0.05)) < 7
    }
    assert not faint
    chart = THEMES["contrast"]
    assert chart.panel == colours["panel"]
    assert all((luminance(c) + 0.05) / 0.05 > 7 for c in (chart.text, chart.muted))


@pytest.mark.parametrize("name", ["light", "dark", "contrast"])
def test_code_stands_out_from_its_page_and_from_lines_that_are_marked(name: str) -> None:
    colours = tomllib.loads(resources.text("themes", f"{name}.toml"))
    chart = THEMES[name]
    tint = blend(chart.palette[1], chart.panel, TINT)
    faint = {
        (word, behind): ratio
        for word in WORDS
        if word == "text" or word.startswith("code_")
        for behind in (colours["panel"], colours["selection"], colours["hover"], tint)
        for low, high in [sorted((luminance(colours[word]), luminance(behind)))]
        if (ratio := (high + 0.05) / (low + 0.05)) < 4.5
    }
    assert not faint


def test_a_system_of_high_contrast_is_followed(
    another_theme: Callable[..., Theme], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Qt.ContrastPreference.HighContrast
    monkeypatch.setattr(QAccessibilityHints, "contrastPreference", lambda _: asked)
    look = another_theme("system", dressed=False)
    assert look.scheme == "contrast"
    look.choose("light")
    assert look.scheme == "light", "a choice goes before"
