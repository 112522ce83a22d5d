"""The workload list: groups that are no choices, reached by keys and by letters."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gpuexplorer.gui.model.experiment import Experiment
from gpuexplorer.gui.panels.experiment import ExperimentPanel
from gpuexplorer.gui.theme import make_theme
from gpuexplorer.gui.widgets.list_box import HEADING, LINE, ListBox
from gpuexplorer.workloads.loader import load


@pytest.fixture(autouse=True)
def themed(qapp: QApplication) -> None:
    make_theme(qapp, "light")


def shown(qtbot: QtBot) -> tuple[ExperimentPanel, Experiment, ListBox]:
    experiment = Experiment(load())
    panel = ExperimentPanel(experiment)
    experiment.on_change = panel.sync
    qtbot.addWidget(panel)
    panel.show()
    box = panel.workload_box
    assert isinstance(box, ListBox)
    box.setFocus()
    return panel, experiment, box


def headings(box: ListBox) -> list[int]:
    return [index for index in range(box.count()) if box.itemData(index, HEADING)]


def test_group_names_cannot_be_chosen_by_keys(qtbot: QtBot) -> None:
    _, experiment, box = shown(qtbot)
    assert [box.itemText(index) for index in headings(box)] == ["Kernels", "Models"]
    box.setCurrentIndex(box.findData("vector_add"))
    assert box.currentIndex() + 1 in headings(box)
    QTest.keyClick(box, Qt.Key.Key_Down)
    assert experiment.knobs.workload == box.currentData() != "vector_add"
    QTest.keyClick(box, Qt.Key.Key_Up)
    assert experiment.knobs.workload == "vector_add"
    QTest.keyClick(box, Qt.Key.Key_Home)
    assert experiment.knobs.workload == box.itemData(1)


def test_letters_find_a_workload(qtbot: QtBot) -> None:
    _, experiment, box = shown(qtbot)
    experiment.set_workload("vector_add")
    QTest.keyClicks(box, "mat")
    assert experiment.knobs.workload == "matmul"


def test_letters_of_a_group_choose_nothing(qtbot: QtBot) -> None:
    _, experiment, box = shown(qtbot)
    experiment.set_workload("vector_add")
    QTest.keyClicks(box, "kern")
    assert experiment.knobs.workload == "vector_add"


def test_each_workload_has_room_for_its_line_in_the_opened_list(qtbot: QtBot) -> None:
    _, experiment, box = shown(qtbot)
    at = box.findData("matmul")
    assert box.itemData(at, LINE) == experiment.workload.manifest.summary
    box.showPopup()
    rows = [box.view().sizeHintForRow(index) for index in (headings(box)[0], at)]
    assert rows[1] > 1.3 * rows[0]
    box.hidePopup()
