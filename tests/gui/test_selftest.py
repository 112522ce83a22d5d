"""The self-test in the window: off its thread, live, to be stopped and exported."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from gpuexplorer.core import language
from gpuexplorer.core.language import tr
from gpuexplorer.gui.export_dialog import ExportDialog
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.model.job import Progress
from gpuexplorer.gui.views.selftest import SelfTestDialog, SelfTestWatch, told_apart
from gpuexplorer.selftest.context import SelfTestOptions
from gpuexplorer.selftest.report import SelfTestReport, sum_up
from tests.gui.driver import PATIENCE_MS, export_to, find, until


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
    assert dialog.view.options is not None
    dialog.view.options = replace(dialog.view.options, sections=sections)


def cell(dialog: SelfTestDialog, section: str, name: str) -> str:
    shown = dialog.view.table.shown
    row = next(row for row in shown.rows if row.key == section)
    return row.cells[name].text


def report_of(dialog: SelfTestDialog) -> SelfTestReport | None:
    result = dialog.view.model.result
    return result.report if result is not None else None


def measured_in_part(dialog: SelfTestDialog) -> bool:
    return cell(dialog, "kernels", "passed") != ""


def test_a_self_test_is_shown_and_exported(
    qtbot: QtBot, window: MainWindow, dialog: SelfTestDialog, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    device = window.session.experiment.device
    assert device is not None
    assert device.name in dialog.view.device_words.text()
    window.session.set_live(True)
    only(dialog, "occupancy", "telemetry")
    export = find(window, "selfTestExport", QPushButton)
    assert not export.isEnabled()
    find(window, "selfTestStart", QPushButton).click()
    assert not window.session.live  # a run beside it would disturb both
    assert dialog.view.running
    until(qtbot, lambda: not dialog.view.running, PATIENCE_MS * 2)
    until(qtbot, lambda: window.session.live)  # which goes on afterwards
    report = report_of(dialog)
    assert report is not None and report.ok and report.quick
    assert report.device.id == device.id
    assert dialog.view.head.words.text() == report.verdict
    passed = sum(section.passed for section in report.sections)
    assert f"{passed} checks passed, 0 failed" in dialog.words.text()
    by_name = {s.name: s for s in report.sections}
    assert cell(dialog, "telemetry", "passed") == str(by_name["telemetry"].passed)
    assert cell(dialog, "occupancy", "skipped") == "1"
    assert "Skipped in occupancy: " in dialog.view.details.toPlainText()

    path = tmp_path / "report.json"
    export.click()
    export_to(dialog, path)
    until(qtbot, lambda: dialog.words.text() == f"Saved {path}")
    assert msgspec.json.decode(path.read_bytes(), type=SelfTestReport) == report
    gone = tmp_path / "gone"
    gone.mkdir()
    export.click()
    (asking,) = [d for d in dialog.findChildren(ExportDialog) if d.isVisible()]
    asking.path_box.setText(str(gone / "r.json"))
    gone.rmdir()
    asking.export_button.click()
    until(qtbot, lambda: dialog.words.text().startswith("Cannot write "))
    table = tmp_path / "report.csv"
    export.click()
    export_to(dialog, table)
    until(qtbot, lambda: dialog.words.text() == f"Saved {table}")
    assert len(table.read_text(encoding="utf-8").splitlines()) == 1 + len(report.checks)


def test_a_self_test_can_be_stopped(
    qtbot: QtBot, window: MainWindow, dialog: SelfTestDialog
) -> None:
    only(dialog, "kernels")
    dialog.view.start()
    until(qtbot, lambda: measured_in_part(dialog), PATIENCE_MS * 2)
    assert " of " in cell(dialog, "kernels", "checks")
    assert re.match(
        r"\d+ of [\d\u202f]+ checks done, .* left: kernels · ", dialog.view.head.words.text()
    )
    find(window, "selfTestStop", QPushButton).click()
    until(qtbot, lambda: not dialog.view.running)
    report = report_of(dialog)
    assert report is not None and report.interrupted and not report.failures
    assert 0 < len(report.checks) < sum(s.planned for s in report.sections)
    assert find(window, "selfTestStart", QPushButton).isVisible()


def test_a_device_that_cannot_be_tested_is_said(qtbot: QtBot, dialog: SelfTestDialog) -> None:
    dialog.view.options = SelfTestOptions(device="opencl:99")
    dialog.view.start()
    until(qtbot, lambda: not dialog.view.running, PATIENCE_MS * 2)
    assert report_of(dialog) is None
    assert "No device 'opencl:99'" in dialog.view.head.words.text()
    assert not dialog.export_button.isEnabled()


def test_closing_the_window_ends_a_self_test(
    qtbot: QtBot, window: MainWindow, dialog: SelfTestDialog
) -> None:
    only(dialog, "kernels")
    dialog.view.start()
    until(qtbot, lambda: measured_in_part(dialog), PATIENCE_MS * 2)
    window.close()
    assert window.session.jobs.current is None or window.session.jobs.current.isFinished()


def test_the_self_test_is_copied_as_a_command(dialog: SelfTestDialog) -> None:
    dialog.view.head.copy.click()
    words = shlex.split(QApplication.clipboard().text())
    assert words[:2] == ["gpuexplorer", "selftest"] and "--quick" in words
    dialog.view.quick_box.setChecked(False)
    dialog.view.head.copy.click()
    assert "--quick" not in QApplication.clipboard().text()


def test_how_far_it_is_is_told_in_the_language() -> None:
    told: list[tuple[Progress, object]] = []
    watch = SelfTestWatch(lambda step: told.append(step))  # type: ignore[arg-type]
    watch.planned([sum_up("kernels", "Kernels", 3, [])])
    watch.running("kernels", "matmul/naive")
    ((progress, _),) = told
    assert progress.line == "0 of 3 checks done: kernels · matmul/naive"
    language.use("zh_CN")
    try:
        assert tr(progress.line) == "已完成 3 项检查中的 0 项：核函数 · matmul/naive"
    finally:
        language.use("en")


def test_each_reason_is_told_by_itself_in_the_language() -> None:
    skipped = [
        "Skipped in kernels: TensorFlow is not installed here: 5 checks left out; install it with "
        "python -m pip install tensorflow-cpu",
        "Skipped in kernels: torch:cpu (a CPU) does not offer tf32; it offers fp64, fp32",
    ]
    language.use("zh_CN")
    try:
        first, second = told_apart("\n\n".join(skipped)).split("\n\n")
        assert [first, second] == [tr(one) for one in skipped]
        assert first.endswith("安装") and "安装" not in second
    finally:
        language.use("en")
