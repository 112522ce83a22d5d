"""Model files in the window: asked about, run in the engine alone, measured like any workload."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.own_model import dropped_model
from gpuexplorer.gui.panels.operators import OperatorsView
from gpuexplorer.workloads import trust
from gpuexplorer.workloads.own_model import read_model
from tests.gui.conftest import OpenWindow
from tests.gui.driver import find, until
from tests.support.own_models import GOOD, write

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"
)


@pytest.fixture(autouse=True)
def nothing_agreed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust, "_agreed", set())


def quiet(open_window: OpenWindow, *argv: str) -> MainWindow:
    window = open_window(*argv)
    window.session.live_at_start = False
    return window


def test_a_new_file_is_asked_about_and_not_run_without_a_yes(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = quiet(open_window)
    path = write(tmp_path, GOOD)
    window.own_models.open(path)
    dialog = window.own_models.dialog
    assert dialog is not None and dialog.isVisible()
    model = read_model(path)
    assert find(window, "trustPath", QLabel).text() == str(path)
    assert find(window, "trustHash", QLabel).text() == model.sha256
    assert dialog.cancel_button.isDefault() and not dialog.run_button.isDefault()
    dialog.cancel_button.click()
    until(qtbot, lambda: window.own_models.dialog is None)
    assert "model" not in window.session.experiment.workloads
    assert not trust.is_trusted(model.sha256)


@needs_torch
def test_a_file_becomes_a_workload_and_is_measured(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = quiet(open_window)
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.own_models.open(write(tmp_path, GOOD))
    dialog = window.own_models.dialog
    assert dialog is not None
    dialog.run_button.click()
    until(qtbot, lambda: window.session.experiment.workload.name == "model")
    assert window.session.experiment.knobs.size == {"batch": 8, "width": 32}
    window.session.set_live(True)
    live = window.session.live_model
    until(qtbot, lambda: bool(live.current and live.current.prepared and live.current.trace.total))
    prepared = live.current.prepared if live.current else None
    assert prepared is not None and prepared.verification is not None
    assert prepared.verification.ok and prepared.config.workload == "model"
    window.session.set_live(False)

    # Its operators, and those of a shipped model that PyTorch runs.
    window.panels.places.show_view(window.panels.operators)
    view = window.panels.operators.view
    assert isinstance(view, OperatorsView)
    for name in ("model", "softmax"):
        window.session.experiment.set_workload(name)
        window.session.experiment.set_variant("torch")
        until(qtbot, lambda: view.record_button.isEnabled())
        view.record_button.click()
        until(qtbot, lambda: view.shown is not None and window.session.jobs.current is None)
        recorded, view.shown = view.shown, None
        assert recorded is not None and recorded.profile.config.workload == name
        wanted = {"model": "aten::addmm", "softmax": "aten::_softmax"}[name]
        assert wanted in {o.name for o in recorded.profile.operators}
        assert len(recorded.flame.row) == recorded.profile.calls_total

    window.session.experiment.set_workload("model")
    window.panels.places.show_view(window.panels.kernel)
    until(qtbot, lambda: "def build(batch=8" in window.panels.kernel.source.toPlainText())
    assert window.panels.kernel.source_title.text() == str(tmp_path / "model.py")

    # A changed file is asked about again before anything of it runs.
    write(tmp_path, f"{GOOD}\n# changed\n")
    window.kernels.reload()
    again = window.own_models.dialog
    assert again is not None
    again.run_button.click()
    until(qtbot, lambda: window.own_models.dialog is None)
    source = window.session.experiment.workloads["model"].source
    assert "# changed" in source.files["model.py"]


def test_a_file_with_a_mistake_is_told_without_a_question(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = quiet(open_window)
    window.own_models.open(write(tmp_path, "def build(\n"))
    assert window.own_models.dialog is None
    assert "model.py:1:" in window.panels.banner.text


def test_a_file_named_at_the_start_is_asked_about(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = quiet(open_window, "--kernels", str(write(tmp_path, GOOD)))
    until(qtbot, lambda: window.own_models.dialog is not None)
    dialog = window.own_models.dialog
    assert dialog is not None
    dialog.cancel_button.click()
    until(qtbot, lambda: window.own_models.dialog is None)


def test_a_python_file_can_be_dropped_on_the_window(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = quiet(open_window)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(write(tmp_path, GOOD)))])
    action, buttons = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    keys = Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPointF(5, 5).toPoint(), action, data, buttons, keys)
    QApplication.sendEvent(window, enter)
    assert enter.isAccepted()
    drop = QDropEvent(QPointF(5, 5), action, data, buttons, keys)
    QApplication.sendEvent(window, drop)
    dialog = window.own_models.dialog
    assert dialog is not None
    dialog.cancel_button.click()
    until(qtbot, lambda: window.own_models.dialog is None)


def test_only_one_local_python_file_counts_as_dropped() -> None:
    one = QUrl.fromLocalFile("/a/model.py")
    assert dropped_model([one]) == Path("/a/model.py")
    assert dropped_model([one, one]) is None
    assert dropped_model([QUrl("https://example.org/model.py")]) is None
    assert dropped_model([QUrl.fromLocalFile("/a/bench.gpux")]) is None
