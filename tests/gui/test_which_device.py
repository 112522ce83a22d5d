"""One list has the devices of all machines; choosing one of another machine switches the engine."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox
from pytestqt.qtbot import QtBot

from gpuexplorer.core.device import DeviceList
from gpuexplorer.engine.interpreters import Interpreters
from gpuexplorer.engine.known_devices import remember_devices
from gpuexplorer.gui.main_window import MainWindow
from tests.gui.conftest import OpenWindow
from tests.gui.driver import move_pointer, until, wait_measured
from tests.telemetry.stand_ins import gpu


def titles(box: QComboBox) -> list[str]:
    return [box.itemText(row) for row in range(box.count())]


def engine_of(window: MainWindow) -> str | None:
    return window.session.options.python


def choose(qtbot: QtBot, window: MainWindow, title: str) -> None:
    """Take a line of the opened list with the mouse."""
    box = window.device_box
    box.showPopup()
    view = box.view()
    row = titles(box).index(title)
    view.scrollTo(box.model().index(row, 0))
    place = view.visualRect(box.model().index(row, 0)).center()
    move_pointer(view.viewport(), place)
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)


def test_a_device_of_another_machine_is_chosen_and_left_again(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "gpuexplorer.engine.machine.shutil.which", lambda name: None
    )  # nobody is connected to
    Interpreters().add("gpu", "ssh://me@gpubox/home/me/env/bin/python")
    remember_devices("gpu", DeviceList(devices=(gpu(),)))
    window = open_window()
    wait_measured(qtbot, window)
    session, box = window.session, window.device_box
    shown = titles(box)
    assert shown.index("On gpubox, engine 'gpu'") == shown.index("Test · cuda:0") - 1
    assert "Automatic" in shown[0]
    heading = box.model().index(shown.index("On gpubox, engine 'gpu'"), 0)
    assert not heading.flags() & Qt.ItemFlag.ItemIsEnabled

    choose(qtbot, window, "Test · cuda:0")
    assert engine_of(window) == "gpu"
    assert session.experiment.knobs.device == "cuda:0"
    until(qtbot, lambda: session.engine_state == "lost")
    shown = titles(box)
    assert shown[0] == "looking for devices…"
    assert "On this machine" in shown
    there = shown.index("On this machine") + 1
    choose(qtbot, window, shown[there])
    assert engine_of(window) is None
    until(qtbot, lambda: session.experiment.devices is not None)
    session.set_live(True)
    wait_measured(qtbot, window)
    assert "On gpubox, engine 'gpu'" in titles(box)
