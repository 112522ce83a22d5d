"""The workload list: groups that are no choices, reached by keys and by letters."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip, QWidget
from pytestqt.qtbot import QtBot

from gpuexplorer.gui.model.experiment import Experiment
from gpuexplorer.gui.panels.experiment import ExperimentPanel
from gpuexplorer.gui.theme import make_theme
from gpuexplorer.gui.widgets.list_box import HEADING, LINE, ListBox
from gpuexplorer.gui.widgets.words import Remarks, Words
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


def test_the_lines_of_workloads_are_whole_where_the_window_has_room(qtbot: QtBot) -> None:
    window, panel = QWidget(), ExperimentPanel(Experiment(load()))
    qtbot.addWidget(window)
    window.resize(1280, 800)
    panel.setParent(window)
    panel.sync()
    box = panel.workload_box
    panel.resize(262, 800)
    window.show()
    panel.show()
    box.showPopup()
    view = box.view()
    assert view.sizeHintForColumn(0) <= view.viewport().width() < 1280
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


def test_words_with_two_lines_are_broken_between_words_and_cut_in_the_second(qtbot: QtBot) -> None:
    words = Words("Best 32 × 16 = 512 threads: 13.0 ms; 13 more cannot be told from it", lines=2)
    qtbot.addWidget(words)
    one, line = Words("Best"), words.fontMetrics().lineSpacing()
    qtbot.addWidget(one)
    assert words.sizeHint().height() == one.sizeHint().height() + line
    whole = words.fontMetrics().horizontalAdvance(words.text())
    for share, lines, cut in ((1.1, 1, False), (0.7, 2, False), (0.4, 2, True)):
        words.resize(int(share * whole), 2 * line)
        seen = words.fitting().splitlines()
        assert (len(seen), words.cut == words.text()) == (lines, cut), share
        assert all(words.fontMetrics().horizontalAdvance(s) <= words.width() for s in seen)
    assert words.fitting().endswith("…")
    words.setText("")
    assert words.fitting() == "" == words.cut


def test_remarks_leave_out_whole_sentences_and_take_a_second_line_where_they_need_it(
    qtbot: QtBot,
) -> None:
    parts = ["Measured in 12 turns each.", "Factors are speeds.", "Added up in fp32: fp16."]
    remarks = Remarks()
    qtbot.addWidget(remarks)
    remarks.show()
    remarks.say(["", *parts])
    assert remarks.text() == " ".join(parts)
    whole = remarks.fontMetrics().horizontalAdvance(remarks.text())
    line = remarks.fontMetrics().height()
    remarks.resize(2 * whole, line)
    assert remarks.fitting() == remarks.text() and remarks.sizeHint().height() == line
    remarks.resize(int(0.7 * whole), line)
    assert remarks.fitting().replace("\n", " ") == remarks.text() and not remarks.cut
    assert remarks.sizeHint().height() > line
    remarks.resize(int(0.42 * whole), line)
    assert remarks.fitting().replace("\n", " ") == f"{parts[0]} {parts[1]} …"
    assert remarks.cut.splitlines() == parts, "the tooltip has all"
    remarks.resize(int(0.1 * whole), line)
    assert remarks.fitting().startswith("Measured") and remarks.fitting().endswith("…")
    single = Remarks(lines=1, between=" · ")
    qtbot.addWidget(single)
    single.say(["498 launches", "a column is 4 launches"])
    single.resize(single.fontMetrics().horizontalAdvance("498 launches · a col"), line)
    assert single.fitting() == "498 launches · …"


def test_words_of_which_fewer_than_five_letters_are_seen_are_not_drawn(qtbot: QtBot) -> None:
    words, blank = Words("Measured in turns"), Words()
    for widget in (words, blank):
        qtbot.addWidget(widget)
        widget.setFixedSize(30, 20)
    assert words.grab().toImage() == blank.grab().toImage()
    words.setFixedSize(90, 20)
    blank.setFixedSize(90, 20)
    assert words.grab().toImage() != blank.grab().toImage()


def test_words_that_look_like_markup_are_told_as_they_are(qtbot: QtBot) -> None:
    words = Words("no <b>operator</b> for it")
    qtbot.addWidget(words)
    words.show()
    words.setFixedWidth(40)
    event = QHelpEvent(QEvent.Type.ToolTip, QPoint(2, 2), words.mapToGlobal(QPoint(2, 2)))
    assert words.event(event)
    assert "&lt;b&gt;operator" in QToolTip.text()
    QToolTip.hideText()
