"""Themes: the sheet holds wherever the program lies."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication, QComboBox
from pytestqt.qtbot import QtBot

from gpuexplorer.gui import resources
from gpuexplorer.gui.theme import Choice, Theme


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
