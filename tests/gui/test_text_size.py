"""The window on small screens and with large text: it fits the screen, and panels give way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QFont, QFontMetrics
from PySide6.QtWidgets import QApplication, QScrollArea
from pytestqt.qtbot import QtBot

from gpuexplorer.gui import typeface
from gpuexplorer.gui.main_window import USUAL_SIZE, MainWindow
from gpuexplorer.gui.screen import open_size
from gpuexplorer.gui.settings import TEXT_SIZES, Settings
from tests.gui.driver import find, until

FULL_HD = QSize(1920, 1080)
CHILD = """
import json, os, sys
from gpuexplorer.gui.app import create
application, window = create(["gpuexplorer"])
screen = window.screen()
print(json.dumps({
    "ratio": screen.devicePixelRatio(), "inherited": os.environ.get("QT_SCALE_FACTOR"),
    "checked": [size for size, one in window.commands.text_sizes.items() if one.isChecked()],
}))
window.close_down()
"""


@pytest.fixture
def large_font(qapp: QApplication) -> Iterator[None]:
    """Have the system's font be twice as large."""
    before = qapp.font()
    larger = QFont(before)
    larger.setPointSizeF(2 * before.pointSizeF())
    qapp.setFont(larger)
    yield
    qapp.setFont(before)
    typeface.choose(qapp)


def resize(window: MainWindow, size: QSize) -> None:
    window.resize(size)
    QApplication.processEvents()
    QApplication.processEvents()
    assert window.size() == size, window.minimumSizeHint()


@pytest.mark.parametrize("times", TEXT_SIZES)
def test_it_opens_within_a_screen_and_cuts_nothing(
    qtbot: QtBot, window: MainWindow, times: float
) -> None:
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.session.set_live(False)
    screen = QSize(round(FULL_HD.width() / times), round(FULL_HD.height() / times))
    window.resize(open_size(window, *USUAL_SIZE, screen))
    QApplication.processEvents()
    QApplication.processEvents()
    assert window.width() <= screen.width() and window.height() < screen.height()
    panels = window.panels
    for view in panels.places.views:
        panels.places.show_view(view)
        QApplication.processEvents()
        name = panels.places.title_of(view)
        assert panels.rect().contains(panels.across.geometry()), name
        for part in (panels.experiment, panels.places, panels.insight):
            if part.isVisible():
                assert panels.across.rect().contains(part.geometry()), name
                assert part.width() >= part.minimumWidth(), name
    assert panels.experiment.isVisible()
    assert panels.insight.isVisible() == (times < 2)
    assert window.rect().contains(window.status.geometry())


def test_the_column_asked_for_takes_the_others_place(qtbot: QtBot, window: MainWindow) -> None:
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.session.set_live(False)
    panels, rooms = window.panels, window.panel_rooms
    knobs, figures = rooms._columns
    resize(window, QSize(900, 516))
    assert panels.experiment.isVisible() and not panels.insight.isVisible()
    figures.trigger()
    QApplication.processEvents()
    assert panels.insight.isVisible() and not panels.experiment.isVisible()
    resize(window, QSize(1280, 800))
    assert panels.insight.isVisible() and panels.experiment.isVisible()
    knobs.trigger()  # hidden by the user: it stays so
    resize(window, QSize(1300, 800))
    assert not panels.experiment.isVisible()
    knobs.trigger()
    assert panels.experiment.isVisible() and panels.insight.isVisible()


@pytest.mark.usefixtures("large_font")
def test_what_is_painted_has_room_for_a_larger_font_of_the_system(window: MainWindow) -> None:
    line = window.fontMetrics().height()
    small = QFontMetrics(typeface.small(window.font())).height()
    assert line > 25, "the font is larger"
    assert window.history_table.verticalHeader().defaultSectionSize() >= line
    assert window.traffic.legend["peak"].sizeHint().height() >= small
    assert window.strip.lines[0].sizeHint().height() >= line + small
    assert window.insight.phases.sizeHint().height() >= 5 * small
    row = window.experiment_panel.block_rows[0]
    assert row.slider.sizeHint().height() >= 19 + QFontMetrics(typeface.small(row.font())).ascent()
    assert row.box.width() >= row.box.fontMetrics().horizontalAdvance("1024")


def test_the_legend_of_the_traffic_is_scrolled_where_the_view_is_low(
    qtbot: QtBot, window: MainWindow
) -> None:
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.session.set_live(False)
    legend = find(window, "trafficLegend", QScrollArea)
    resize(window, QSize(960, 516))
    assert legend.verticalScrollBar().maximum() > 0
    resize(window, QSize(1280, 1000))
    assert legend.verticalScrollBar().maximum() == 0


def test_the_size_of_text_is_that_of_the_next_start(
    window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUEXPLORER_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    monkeypatch.delenv("QT_SCALE_FACTOR", raising=False)
    assert window.commands.text_sizes[1.0].isChecked()
    window.settings = Settings(tmp_path / "window.ini")
    window.commands.text_sizes[1.5].trigger()
    window.settings.sync()
    done = subprocess.run(
        [sys.executable, "-c", CHILD], capture_output=True, text=True, env=dict(os.environ),
        check=True, timeout=120,
    )  # fmt: skip
    told = json.loads(done.stdout.splitlines()[-1])
    assert told == {"ratio": 1.5, "inherited": None, "checked": [1.5]}
