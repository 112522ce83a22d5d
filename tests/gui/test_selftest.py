"""The self-test in the window: off its thread, live, to be stopped and exported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from PySide6.QtWidgets import QFileDialog, QPushButton
from pytestqt.qtbot import QtBot

from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.selftest import ROWS, SelfTestDialog
from gpuexplorer.selftest.context import SelfTestOptions
from gpuexplorer.selftest.report import SelfTestReport
from tests.gui.driver import PATIENCE_MS, find, until


@pytest.fixture
def dialog(qtbot: QtBot, window: MainWindow) -> SelfTestDialog:
    """Return the dialog, opened by its command for the device that was found."""
    until(qtbot, lambda: window.session.experiment.device is not None)
    window.commands.self_test.trigger()
    made: SelfTestDialog = find(window, "selfTestDialog", SelfTestDialog)
    assert made.isVisible()
    return made


def only(dialog: SelfTestDialog, *sections: str) -> None:
    """Have the dialog run a few sections."""
    dialog._options = replace(dialog._options, sections=sections)


def cell(dialog: SelfTestDialog, section: str, column: int) -> str:
    item = dialog.table.item(ROWS[section], column)
    assert item is not None
    return item.text()


def test_a_self_test_is_shown_and_exported(
    qtbot: QtBot, window: MainWindow, dialog: SelfTestDialog, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    device = window.session.experiment.device
    assert device is not None
    assert device.name in dialog.device_words.text()
    window.session.set_live(True)
    only(dialog, "occupancy", "telemetry")
    export = find(window, "selfTestExport", QPushButton)
    assert not export.isEnabled()
    find(window, "selfTestStart", QPushButton).click()
    assert not window.session.live  # a run beside it would disturb both
    assert dialog.running
    until(qtbot, lambda: not dialog.running, PATIENCE_MS * 2)
    report = dialog.report
    assert report is not None and report.ok and report.quick
    assert report.device.id == device.id
    assert dialog.words.text() == report.verdict
    by_name = {s.name: s for s in report.sections}
    assert cell(dialog, "telemetry", 2) == str(by_name["telemetry"].passed)
    assert cell(dialog, "occupancy", 4) == "1"
    assert "Skipped in occupancy: " in dialog.details.toPlainText()

    path = tmp_path / "report.json"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    export.click()
    assert dialog.words.text() == f"Saved {path}"
    assert msgspec.json.decode(path.read_bytes(), type=SelfTestReport) == report
    monkeypatch.setattr(
        QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "no" / "r.json"), "")
    )
    export.click()
    assert dialog.words.text().startswith("The report was not saved: ")


def test_a_self_test_can_be_stopped(
    qtbot: QtBot, window: MainWindow, dialog: SelfTestDialog
) -> None:
    only(dialog, "kernels")
    dialog.start()
    until(qtbot, lambda: cell(dialog, "kernels", 2) != "", PATIENCE_MS * 2)
    assert " of " in cell(dialog, "kernels", 1)
    find(window, "selfTestStart", QPushButton).click()
    until(qtbot, lambda: not dialog.running)
    report = dialog.report
    assert report is not None and report.interrupted
    assert 0 < len(report.checks) < sum(s.planned for s in report.sections)
    assert find(window, "selfTestStart", QPushButton).text() == "&Start"


def test_a_device_that_cannot_be_tested_is_said(qtbot: QtBot, dialog: SelfTestDialog) -> None:
    dialog._options = SelfTestOptions(device="opencl:99")
    dialog.start()
    until(qtbot, lambda: not dialog.running, PATIENCE_MS * 2)
    assert dialog.report is None
    assert "no device 'opencl:99'" in dialog.words.text()
    assert not dialog.export_button.isEnabled()


def test_closing_the_window_ends_a_self_test(
    qtbot: QtBot, window: MainWindow, dialog: SelfTestDialog
) -> None:
    only(dialog, "kernels")
    dialog.start()
    until(qtbot, lambda: cell(dialog, "kernels", 2) != "", PATIENCE_MS * 2)
    window.close()
    assert not dialog.running
