"""Themes: the sheet holds wherever the program lies, and a switch leaves nothing behind."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication, QComboBox
from pytestqt.qtbot import QtBot

from gpuexplorer.core import resources
from gpuexplorer.gui.settings import Settings
from gpuexplorer.gui.theme import Choice, Theme, forget_styles, theme
from tests.gui import looks
from tests.gui.conftest import OpenWindow
from tests.gui.driver import until

SESSION = Path(__file__).parents[1] / "written_by_0_1/session.gpux"


@pytest.mark.parametrize("choice", ["light", "dark"])
def test_a_folder_of_any_name_does_not_spoil_the_sheet(
    qtbot: QtBot,
    qapp: QApplication,
    qtlog: object,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    choice: Choice,
) -> None:
    lies = tmp_path / "Zoë's  programs «α») {"
    shutil.copytree(resources.folder(), lies)
    monkeypatch.setattr(resources, "folder", lambda: lies)
    theme = Theme(qapp, choice)
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
