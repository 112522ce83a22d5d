"""About and the doctor are dialogs whose words can be selected and copied."""

from __future__ import annotations

import getpass
import socket
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

import gpuexplorer
from gpuexplorer.core import private
from gpuexplorer.gui.doctor import CAN_RUN, CHECKING, DoctorDialog
from gpuexplorer.gui.main_window import MainWindow
from tests.gui.driver import PATIENCE_MS, until, wait_measured

LONG_MS = 2 * PATIENCE_MS


def is_live(window: MainWindow) -> bool:
    return window.session.live


def clipboard() -> str:
    return QApplication.clipboard().text()


def test_about_tells_versions_and_closes_with_a_key(qtbot: QtBot, window: MainWindow) -> None:
    for key in (Qt.Key.Key_Escape, Qt.Key.Key_Return):
        window.commands.about.trigger()
        about = window.dialogs.about
        assert about is not None and about.isVisible()
        until(qtbot, about.isActiveWindow)
        about.text.selectAll()
        assert gpuexplorer.__version__ in about.text.textCursor().selectedText()
        QTest.mouseClick(about.copy_button, Qt.MouseButton.LeftButton)
        assert f"GPU Explorer {gpuexplorer.__version__}" in clipboard()
        assert "MIT licence" in clipboard() and "PySide6" in clipboard()
        QTest.keyClick(about, key)
        assert not about.isVisible()


@pytest.fixture
def doctor(qtbot: QtBot, window: MainWindow) -> DoctorDialog:
    """Return the doctor at work, opened by its command while Live measures."""
    wait_measured(qtbot, window)
    window.commands.doctor.trigger()
    opened = window.dialogs.doctor
    assert opened is not None and opened.isVisible()
    return opened


def test_the_doctor_gives_a_report_without_anything_private_and_live_goes_on(
    qtbot: QtBot, window: MainWindow, doctor: DoctorDialog, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = str(Path(__file__).parents[2])  # where the program is: take it for the home folder
    monkeypatch.setattr(private, "_homes", lambda: [data])
    assert not is_live(window)  # an engine beside it would disturb what is measured
    assert CHECKING in doctor.text.toPlainText() and not doctor.copy_button.isEnabled()
    until(qtbot, lambda: doctor.report is not None, LONG_MS)
    assert is_live(window)
    assert CAN_RUN in doctor.text.toPlainText()
    QTest.mouseClick(doctor.copy_button, Qt.MouseButton.LeftButton)
    report = clipboard()
    assert report.startswith("program\n  ✓ GPU Explorer: ") and report.endswith(CAN_RUN)
    assert f"✓ GPU Explorer: {gpuexplorer.__version__}, installed in ~/gpuexplorer" in report
    for secret in (data, f"/{getpass.getuser()}/", socket.gethostname()):
        assert secret not in report
    device = window.session.experiment.device
    assert device is not None and device.name in report
    QTest.mouseClick(doctor.again_button, Qt.MouseButton.LeftButton)
    assert doctor.report is None and not doctor.again_button.isEnabled()
    doctor.close()
    until(qtbot, lambda: window.session.live)
    assert window.session.jobs.current is None


def test_closing_the_doctor_stops_it(
    qtbot: QtBot, window: MainWindow, doctor: DoctorDialog
) -> None:
    QTest.keyClick(doctor, Qt.Key.Key_Escape)
    assert not doctor.isVisible()
    until(qtbot, lambda: window.session.live)
    assert doctor.report is None


def test_the_window_closes_while_the_doctor_works(window: MainWindow, doctor: DoctorDialog) -> None:
    assert window.session.jobs.current is not None
    window.close()
    assert not doctor.isVisible()
