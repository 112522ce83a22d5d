"""Setting up an engine as a user does it, from a folder of wheels that the test made."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QLabel,
    QLineEdit,
    QMessageBox,
    QPushButton,
    QRadioButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from gpuexplorer.core.cuda_driver import Driver, Gpu
from gpuexplorer.core.device import DeviceList, Unavailable
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.engine.candidates import FoundInterpreter
from gpuexplorer.engine.interpreters import BUILT_IN, Interpreters
from gpuexplorer.environments import driver, kinds, managed, plan, pythons
from gpuexplorer.environments.kinds import Kind
from gpuexplorer.environments.pythons import FoundPython
from gpuexplorer.gui.engine import SET_UP_ITEM
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.panels.engines import EnginesDialog
from gpuexplorer.gui.theme import make_theme
from tests.gui.conftest import OpenWindow
from tests.gui.driver import find, until, wait_measured
from tests.support.engine_wheels import SMALL, make_engine_wheels
from tests.support.pythons import pretend
from tests.support.wheels import tamper

NAME = "small"
PIP_MS = 200_000
"""How long pip may take on a machine that is busy."""


@pytest.fixture(scope="module")
def python() -> FoundPython:
    return pythons.look_at(sys.executable)


@pytest.fixture(autouse=True)
def machine(python: FoundPython, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a GPU, with one Python, and one kind of engine to choose."""
    monkeypatch.setattr(driver, "find_driver", lambda cancel=None: None)
    monkeypatch.setattr(kinds, "offers", lambda driver: (kinds.Offer(kind=SMALL),))
    monkeypatch.setattr(kinds, "find_kind", lambda name: SMALL)
    monkeypatch.setattr(pythons, "find_pythons", lambda cancel=None: [python])
    answer(monkeypatch, QMessageBox.StandardButton.Yes)  # a question would wait for ever


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    return make_engine_wheels(tmp_path / "wheels here")


@pytest.fixture
def busy() -> list[str]:
    """What else has the engine, in words; empty when nothing has."""
    return [""]


@pytest.fixture
def dialog(qtbot: QtBot, qapp: QApplication, busy: list[str]) -> Iterator[EnginesDialog]:
    """The dialog over an empty window."""
    make_theme(qapp, "dark")
    parent = QWidget()
    qtbot.addWidget(parent)
    made = EnginesDialog(parent, lambda: None, lambda: busy[0])
    made.show()
    yield made
    made.close_down()
    made.close()


def press(dialog: QWidget, name: str) -> None:
    button = dialog.findChild(QPushButton, name)
    assert button is not None and button.isEnabled() and button.isVisible(), name
    button.click()


def words(dialog: QWidget, name: str) -> str:
    label = dialog.findChild(QLabel, name)
    assert label is not None
    return label.text()


def answer(monkeypatch: pytest.MonkeyPatch, reply: QMessageBox.StandardButton) -> list[str]:
    """Have every question answered so; return the list that will hold what was asked."""
    asked: list[str] = []

    def question(*arguments: object) -> QMessageBox.StandardButton:
        asked.append(str(arguments[2]))
        return reply

    monkeypatch.setattr(QMessageBox, "question", question)
    return asked


def choose(qtbot: QtBot, dialog: EnginesDialog, folder: Path) -> None:
    """Answer the questions by keyboard and wait for the plan."""
    press(dialog, "setUpEngineButton")
    choice = dialog.setup.choice
    until(qtbot, lambda: choice.around is not None)
    assert choice.name.text() == NAME
    edit = dialog.findChild(QLineEdit, "wheelsFolder")
    assert edit is not None
    QTest.keyClicks(edit, str(folder))
    folder_choice = dialog.findChild(QRadioButton, "fromFolder")
    assert folder_choice is not None and folder_choice.isChecked()
    QTest.keyClick(edit, Qt.Key.Key_Return)
    until(qtbot, lambda: dialog.setup.stack.currentWidget() is not dialog.setup.waiting, PIP_MS)


def measures(window: MainWindow) -> bool:
    return window.session.live


def present(window: MainWindow) -> str | None:
    return window.session.options.python


def origins(dialog: EnginesDialog) -> dict[str, str]:
    return {row.name: row.origin for row in dialog.list.table.rows}


# ---- what is offered


def test_a_kind_of_no_use_to_the_gpu_is_shown_with_its_reason_and_cannot_be_chosen(
    qtbot: QtBot, dialog: EnginesDialog, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = "CUDA 13 begins at compute capability 7.5, and Tesla V100 has 7.0"
    useless = kinds.Offer(kind=Kind(name="cuda13", title="CUDA 13", teaches="-"), trouble=reason)
    volta = Driver((13, 0), (Gpu("Tesla V100", (7, 0)),), "580.1")
    monkeypatch.setattr(driver, "find_driver", lambda cancel=None: volta)
    monkeypatch.setattr(kinds, "offers", lambda driver: (kinds.Offer(kind=SMALL), useless))
    press(dialog, "setUpEngineButton")
    choice = dialog.setup.choice
    until(qtbot, lambda: choice.around is not None)
    assert words(dialog, "driverWords") == "Tesla V100, driver 580.1, CUDA 13.0 and older."
    assert words(dialog, "kind-cuda13") == f"Not here: CUDA 13. {reason}."
    offered = {radio.objectName() for radio in choice.findChildren(QRadioButton)}
    assert offered == {"kind-small", "fromIndex", "fromFolder"}
    assert choice.kind == SMALL


# ---- the whole way


def test_an_engine_is_set_up_stopped_taken_up_again_used_for_a_run_and_removed(
    qtbot: QtBot, open_window: OpenWindow, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window()
    session = window.session
    session.live_at_start = False
    until(qtbot, lambda: session.experiment.devices is not None)
    session.experiment.set_variant("numpy")
    session.experiment.set_size("N", 64)
    window.commands.engines.trigger()
    dialog = find(window, "enginesDialog", EnginesDialog)
    choose(qtbot, dialog, wheels)
    table = dialog.setup.plan_page.table
    packages = {table.item(row, 0).text() for row in range(table.rowCount())}
    assert packages == {"ballast", "beside"}
    facts = words(dialog, "planFacts")
    assert f"2 packages, 4.00 MB, from {wheels}" in facts
    assert "are free in" in facts
    assert not managed.list_managed(), "nothing was written yet"

    session.set_live(True)
    press(dialog, "setItUp")
    assert not measures(window), "nothing is measured while an engine is set up"
    with qtbot.waitSignal(session.notice) as told:
        window.panels.roofline.start()
    assert session.jobs.current is None
    assert told.args[0].text.startswith(f"Setting up '{NAME}' (Settings > Engines) would disturb")
    making = dialog.setup.making
    until(qtbot, lambda: making.progress is not None and making.progress.phase == "install", PIP_MS)
    press(dialog, "makingCancel")
    until(qtbot, lambda: making.state == "stopped")
    assert measures(window)
    session.set_live(False)
    assert "Continue sets up the rest" in words(dialog, "makingOutcome")
    assert NAME not in Interpreters().read().engines
    press(dialog, "makingBack")
    until(qtbot, lambda: origins(dialog).get(NAME) == "unfinished")
    dialog.list.table.setCurrentCell(1, 1)
    assert "cut off" in dialog.list.details.toPlainText()

    press(dialog, "goOnEngineButton")
    until(qtbot, lambda: making.state == "ready", PIP_MS)
    assert words(dialog, "makingOutcome").startswith(f"'{NAME}' is ready.")
    press(dialog, "makingUse")
    assert present(window) == NAME
    until(qtbot, lambda: session.engine_state == "ready")
    until(qtbot, lambda: session.experiment.devices is not None)
    session.set_live(True)
    run = wait_measured(qtbot, window, samples=3)
    assert run.prepared is not None and run.prepared.environment.engine == NAME
    session.set_live(False)
    until(qtbot, lambda: NAME in dialog.list.model.sizes_B)
    row = next(row for row in dialog.list.table.rows if row.name == NAME)
    assert row.origin == "managed" and row.in_use and (row.size_B or 0) > 4e6

    asked = answer(monkeypatch, QMessageBox.StandardButton.Yes)
    press(dialog, "removeEngineButton")
    assert "That frees" in asked[0]
    until(qtbot, lambda: "that freed" in words(dialog, "engineWords"))
    assert present(window) is None
    assert not Path(row.path).exists()
    assert NAME not in Interpreters().read().engines
    until(qtbot, lambda: list(origins(dialog)) == [BUILT_IN])


# ---- what goes wrong


def test_a_tampered_wheel_is_refused_by_its_name_and_can_be_mended(
    qtbot: QtBot,
    dialog: EnginesDialog,
    busy: list[str],
    wheels: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wheel = next(wheels.glob("ballast*"))
    whole = wheel.read_bytes()
    tamper(wheel)
    choose(qtbot, dialog, wheels)
    making = dialog.setup.making
    busy[0] = "sweeping"
    press(dialog, "setItUp")
    assert making.state == "refused", "nothing disturbs a measurement"
    assert "sweeping" in words(dialog, "makingOutcome")
    assert not managed.list_managed()
    busy[0] = ""
    press(dialog, "makingGoOn")
    until(qtbot, lambda: making.state == "failed", PIP_MS)
    assert words(dialog, "makingOutcome").startswith(f"{wheel.name} is refused")
    press(dialog, "copyMakingDetails")
    assert wheel.name in QApplication.clipboard().text()
    assert NAME not in Interpreters().read().engines

    wheel.write_bytes(whole)
    press(dialog, "makingGoOn")
    until(qtbot, lambda: making.progress is not None and making.progress.phase == "install", PIP_MS)
    press(dialog, "makingCancel")
    until(qtbot, lambda: making.state == "stopped")
    asked = answer(monkeypatch, QMessageBox.StandardButton.Cancel)
    press(dialog, "makingRemove")
    assert asked and managed.find_managed(NAME) is not None
    answer(monkeypatch, QMessageBox.StandardButton.Yes)
    press(dialog, "makingRemove")
    until(qtbot, lambda: managed.find_managed(NAME) is None)
    until(qtbot, lambda: "that freed" in words(dialog, "engineWords"))


def test_a_plan_that_cannot_be_says_why_where_it_was_chosen(
    qtbot: QtBot, dialog: EnginesDialog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(qtbot, dialog, tmp_path / "nowhere")
    assert dialog.setup.choice.isVisible()
    assert words(dialog, "engineChoiceWords").startswith(f"There is no folder {tmp_path}")
    dialog.setup.choice.name.setText("no name!")
    press(dialog, "setUpContinue")
    until(qtbot, lambda: "no name for an engine" in words(dialog, "engineChoiceWords"))

    def broken(*arguments: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(plan, "plan", broken)
    dialog.setup.choice.name.setText(NAME)
    press(dialog, "setUpContinue")
    until(qtbot, lambda: "RuntimeError('a bug')" in words(dialog, "engineChoiceWords"))
    press(dialog, "copyChoiceDetails")
    assert 'raise RuntimeError("a bug")' in QApplication.clipboard().text()

    def unreachable(*arguments: object) -> None:
        raise WorkFailed("the index cannot be reached", remedy="check it", detail="pip said so")

    monkeypatch.setattr(plan, "plan", unreachable)
    press(dialog, "setUpContinue")
    said = "The index cannot be reached; check it."
    until(qtbot, lambda: words(dialog, "engineChoiceWords") == said)
    press(dialog, "copyChoiceDetails")
    assert QApplication.clipboard().text() == f"{said}\n\npip said so"


def test_without_a_python_it_says_what_to_do(
    qtbot: QtBot, dialog: EnginesDialog, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = FoundPython(
        path="/usr/bin/python3.9", kind="system", version="3.9.2", problem="it is Python 3.9.2"
    )
    monkeypatch.setattr(pythons, "find_pythons", lambda cancel=None: [old])
    press(dialog, "setUpEngineButton")
    until(qtbot, lambda: dialog.setup.choice.around is not None)
    assert "install Python" in words(dialog, "pythonWords")
    assert not dialog.setup.choice.next_button.isEnabled()


# ---- the list


def test_found_pythons_are_asked_and_one_that_is_used_gets_a_name(
    qtbot: QtBot, dialog: EnginesDialog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dies = pretend(tmp_path / "dies" / "bin", "echo 'out of luck' >&2; exit 4")
    found = [FoundInterpreter(path=str(dies), kind="environment")]
    monkeypatch.setattr("gpuexplorer.gui.engines_checks.find_candidates", lambda: found)
    until(qtbot, lambda: not dialog.list.checks.searching)
    press(dialog, "findEnginesButton")
    until(qtbot, lambda: "1 Python found" in words(dialog, "engineWords"))
    assert origins(dialog) == {BUILT_IN: "built-in", str(dies): "found"}
    dialog.list.table.setCurrentCell(1, 1)
    assert "out of luck" in dialog.list.details.toPlainText()
    used: list[str] = []
    dialog.use_asked.connect(used.append)
    dialog.list.table.setFocus()
    QTest.keyClick(dialog.list.table, Qt.Key.Key_Return)
    assert used == ["dies"]
    assert Interpreters().default == "dies"
    assert origins(dialog) == {BUILT_IN: "built-in", "dies": "added"}


# ---- ways to this page


def test_a_driver_without_cuda_leads_here_and_closing_the_window_asks_and_stops_cleanly(
    qtbot: QtBot, open_window: OpenWindow, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window()
    window.session.live_at_start = False
    experiment = window.session.experiment
    until(qtbot, lambda: experiment.devices is not None)
    assert experiment.devices is not None
    assert window.device_box.findData(SET_UP_ITEM) < 0
    lacks = Unavailable(backend="cuda", reason="CuPy is not installed", remedy="pip install it")
    experiment.set_devices(DeviceList(devices=experiment.devices.devices, unavailable=(lacks,)))
    window.session.devices_changed.emit()
    before = window.device_box.currentData()
    window.device_box.setCurrentIndex(window.device_box.findData(SET_UP_ITEM))
    assert window.device_box.currentData() == before
    dialog = find(window, "enginesDialog", EnginesDialog)
    assert dialog.setup.choice.isVisible()
    press(dialog, "setUpBack")
    assert dialog.list.isVisible()
    dialog.close()
    window.insight.missing.set_up_asked.emit()
    assert dialog.setup.choice.isVisible()
    press(dialog, "setUpBack")

    choose(qtbot, dialog, wheels)
    press(dialog, "setItUp")
    dialog.close()
    assert "continues" in window.status.currentMessage()
    assert dialog.making == NAME, "closing the dialog stops nothing"
    asked = answer(monkeypatch, QMessageBox.StandardButton.Cancel)
    assert not window.close()
    assert asked and dialog.making == NAME
    until(qtbot, lambda: managed.find_managed(NAME) is not None)
    answer(monkeypatch, QMessageBox.StandardButton.Yes)
    assert window.close()
    left = managed.find_managed(NAME)
    assert left is not None and not left.ready
