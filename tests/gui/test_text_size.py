"""The window on small screens and with large text: it fits the screen, and panels give way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QFont, QFontMetrics
from PySide6.QtWidgets import QApplication, QPushButton, QScrollArea
from pytestqt.qtbot import QtBot

from gpuexplorer.core.fonts import LATIN
from gpuexplorer.gui import restart, typeface
from gpuexplorer.gui.main_window import USUAL_SIZE, MainWindow
from gpuexplorer.gui.screen import open_size
from gpuexplorer.gui.settings import TEXT_SIZES, Settings
from gpuexplorer.history.store import Store
from tests.gui import looks
from tests.gui.conftest import OpenWindow
from tests.gui.driver import find, until, wait_measured
from tests.gui.looking import LEAST

FULL_HD = QSize(1920, 1080)
SESSION = Path(__file__).parents[1] / "written_by_0_1/session.gpux"
AGAIN = """
import json, os, sys
from PySide6.QtCore import QTimer
from gpuexplorer.gui import app, restart

first = len(sys.argv) == 1
restart.module_command = lambda name, *words: [sys.executable, __file__, "again"]
created = app.create

def create(words):
    application, window = created([])
    knobs = window.session.experiment
    window.session.live_at_start = False

    def look():
        if knobs.knobs.size.get("N") != 96:
            return
        timer.stop()
        told = {"ratio": window.screen().devicePixelRatio(), "left": restart.VARIABLE in os.environ}
        print(json.dumps(told))
        window.close()

    timer = QTimer(window)
    timer.timeout.connect(look)
    if first:
        knobs.set_size("N", 96)
        window.commands.text_sizes[1.5].trigger()
        window.first_paint.connect(window.restart.begin)
    else:
        timer.start(50)
    return application, window

app.create = create
app.main([])
"""
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


@pytest.fixture
def higher_lines(qapp: QApplication) -> Iterator[None]:
    """Have the user choose a font with lines a fifth higher, as those of Noto Sans CJK are."""
    before = qapp.font()
    assert typeface._load(LATIN)
    higher = QFont(LATIN, 11)
    qapp.setFont(higher)
    yield
    qapp.setFont(before)
    typeface.choose(qapp)


def resize(window: MainWindow, size: QSize) -> None:
    window.resize(size)
    QApplication.processEvents()
    QApplication.processEvents()
    assert window.size() == size, window.minimumSizeHint()


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_it_fits_1280_by_800_at_twice_the_size_in_a_font_with_higher_lines(
    higher_lines: None, monkeypatch: pytest.MonkeyPatch, open_window: OpenWindow, language: str
) -> None:
    monkeypatch.setenv("GPUEXPLORER_LANGUAGE", language)
    window = open_window()
    assert typeface.for_text(100) > 114
    window.panels.welcome.close_button.click()
    for view in window.panels.places.views:
        window.panels.places.show_view(view)
        for _ in range(3):  # panels that fold away let it be smaller
            window.resize(LEAST)
            looks.settle()
        assert window.size() == LEAST, window.panels.places.title_of(view)


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


def test_a_window_of_half_a_small_screen_opens_no_larger_and_shows_the_device(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings()
    settings.welcome, settings.live_at_start = False, False
    settings.sync()
    room = QSize(640, 400)  # 1280 × 800 at 200 %
    monkeypatch.setattr("gpuexplorer.gui.main_window.open_size", lambda *_: room)
    window = open_window()
    until(qtbot, lambda: window.session.experiment.devices is not None)
    assert window.size() == room, window.minimumSizeHint()
    assert window.device_box.isVisible()
    assert (
        window.device_box.window()
        .rect()
        .contains(window.device_box.mapTo(window, window.device_box.rect().bottomRight()))
    )


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
    window.choices.settings = Settings(tmp_path / "window.ini")
    window.commands.text_sizes[1.5].trigger()
    window.choices.settings.sync()
    done = subprocess.run(
        [sys.executable, "-c", CHILD], capture_output=True, text=True, env=dict(os.environ),
        check=True, timeout=120,
    )  # fmt: skip
    told = json.loads(done.stdout.splitlines()[-1])
    assert told == {"ratio": 1.5, "inherited": None, "checked": [1.5]}


def test_restart_now_shows_the_same_in_a_window_that_is_drawn_anew(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window()
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.sessions.open(SESSION)
    until(qtbot, lambda: window.banner.text.startswith("Opened session.gpux"))
    window.session.experiment.set_size("N", 64)
    window.session.set_live(True)
    wait_measured(qtbot, window)
    window.pin()
    window.sessions.set_notes("a note")
    window.panels.places.show_view(window.panels.compare)
    pins = [(pin.label, pin.words) for pin in window.session.live_model.pins]
    held = {name: part.held() for name, part in window.panels.parts.items()}
    assert sum(one is not None for one in held.values()) > 2
    run = window.session.live_model.current
    assert run is not None and run.record is not None
    knobs, samples, ran = window.session.experiment.knobs, run.record.samples, run.record.id

    window.commands.text_sizes[2.0].trigger()
    assert window.banner.text == "Text is 200 % of its usual size from the next start on."
    (button,) = [b for b in window.banner.findChildren(QPushButton) if b.text() == "Restart now"]
    button.click()
    until(qtbot, lambda: window.restart.left is not None and not window.isVisible())
    left = window.restart.left
    assert left is not None and left.live and left.modified and left.path == str(SESSION)
    assert Path(left.session).is_file()

    monkeypatch.setenv(restart.VARIABLE, msgspec.json.encode(left).decode())
    again = open_window()
    assert restart.VARIABLE not in os.environ
    until(qtbot, lambda: bool(again.session.live_model.pins))
    model = again.session.live_model
    assert [(pin.label, pin.words) for pin in model.pins] == pins
    assert again.session.experiment.knobs == knobs
    assert again.panels.places.current is again.panels.compare
    for name, part in again.panels.parts.items():
        assert (part.held() is None) == (held[name] is None), name
    assert (again.sessions.notes, again.sessions.path) == ("a note", SESSION)
    assert again.sessions.modified and not Path(left.session).exists()
    again.sessions.path = None  # which it would ask about when it is closed
    shown = model.current
    assert shown is not None and shown.origin == "" and shown.record is not None
    until(qtbot, lambda: again.session.live)  # as it was
    with Store.open() as store:
        until(qtbot, lambda: store.get(ran).timing.samples >= samples)


def test_a_restart_that_cannot_be_prepared_closes_nothing(
    qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    until(qtbot, lambda: window.session.experiment.devices is not None)
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setattr(restart, "data_folder", lambda: blocked)
    window.commands.text_sizes[1.5].trigger()
    window.restart.begin()
    until(qtbot, lambda: "restart" in window.banner.text)
    assert window.isVisible() and window.restart.left is None
    window.commands.text_sizes[1.0].trigger()
    assert window.banner.isHidden(), "it is drawn so"


def test_the_program_starts_again_in_place_of_itself(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    monkeypatch.delenv("QT_SCALE_FACTOR", raising=False)
    script = tmp_path / "again.py"
    script.write_text(AGAIN, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=dict(os.environ),
        check=True, timeout=180,
    )  # fmt: skip
    assert json.loads(done.stdout.splitlines()[-1]) == {"ratio": 1.5, "left": False}
