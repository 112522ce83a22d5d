"""The workload list: groups that are no choices, reached by keys and by letters."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from gpuexplorer.gui.model.experiment import Experiment
from gpuexplorer.gui.panels.experiment import ExperimentPanel
from gpuexplorer.gui.theme import make_theme
from gpuexplorer.gui.widgets.list_box import HEADING, LINE, ListBox
from gpuexplorer.gui.widgets.words import Words
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


def test_words_and_choices_that_are_cut_are_told_whole_above_the_tooltip(qtbot: QtBot) -> None:
    words, box = Words("Measured in 12 turns of each"), ListBox("box", "What the chart shows")
    words.setToolTip("How it goes")
    box.addItem("useful operations over time")
    tips: list[str] = []
    for widget in (words, box):
        qtbot.addWidget(widget)
        widget.show()
        for width in (600, 60):
            widget.setFixedWidth(width)
            event = QHelpEvent(QEvent.Type.ToolTip, QPoint(2, 2), widget.mapToGlobal(QPoint(2, 2)))
            assert widget.event(event)
            tips.append(QToolTip.text())
    QToolTip.hideText()
    assert tips == [
        "How it goes", "Measured in 12 turns of each\nHow it goes",
        "What the chart shows", "useful operations over time\nWhat the chart shows",
    ]  # fmt: skip


def test_words_of_which_fewer_than_five_letters_are_seen_are_not_drawn(qtbot: QtBot) -> None:
    words, blank = Words("Measured in turns"), Words()
    for widget in (words, blank):
        qtbot.addWidget(widget)
        widget.setFixedSize(30, 20)
    assert words.grab().toImage() == blank.grab().toImage()
    words.setFixedSize(90, 20)
    blank.setFixedSize(90, 20)
    assert words.grab().toImage() != blank.grab().toImage()
