"""What is dragged over a plot is for what is around it."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gpuexplorer.gui.plots.base import Plot
from gpuexplorer.gui.theme import make_theme


def test_a_run_dragged_over_a_plot_and_out_again_is_no_warning(
    qtbot: QtBot, qapp: QApplication, qtlog: pytest.LogCaptureFixture
) -> None:
    make_theme(qapp, "light")
    plot = Plot("s")
    qtbot.addWidget(plot)
    plot.show()
    enter = QDragEnterEvent(
        QPoint(5, 5),
        Qt.DropAction.CopyAction,
        QMimeData(),
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    qapp.sendEvent(plot.viewport(), enter)
    assert not enter.isAccepted()
    qapp.sendEvent(plot.viewport(), QDragLeaveEvent())
    assert [one.message for one in qtlog.records if "drag leave" in str(one.message)] == []
