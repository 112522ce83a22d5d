"""An error in what overrides Qt is told like any other; the process lives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import cli_environment

PROGRAM = """
import sys
import gpuexplorer.gui
import pyqtgraph
from PySide6.QtCore import QAbstractTableModel, QEvent, QSize, QTimer
from PySide6.QtTest import QTest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QApplication, QDialog, QGraphicsRectItem, QGraphicsScene, QGraphicsView, QPushButton,
    QTableView, QWidget,
)

application = QApplication([])
told = []
sys.excepthook = lambda kind, error, trace: told.append((kind.__name__, str(error)))

def wrong():
    return [][1]

class Widget(QWidget):
    def mousePressEvent(self, event): wrong()
    def sizeHint(self): return 1 / 0
    def customEvent(self, event): wrong()

class Model(QAbstractTableModel):
    def rowCount(self, parent=None): return 1
    def columnCount(self, parent=None): return 1
    def data(self, index, role=0): wrong()

class Item(QGraphicsRectItem):
    def paint(self, painter, option, widget=None): wrong()

class Plot(pyqtgraph.PlotItem):
    def mouseClickEvent(self, event): wrong()

class Dialog(QDialog):
    closed = 0
    def reject(self):
        Dialog.closed += 1

def press():
    widget = Widget(); widget.show()
    QTest.mousePress(widget, Qt.MouseButton.LeftButton)

def hint():
    Widget().adjustSize()

def post():
    widget = Widget()
    application.postEvent(widget, QEvent(QEvent.Type.User))
    application.sendPostedEvents()

def data():
    view, model = QTableView(), Model()
    view.setModel(model); view.resize(100, 100); view.show(); view.grab()

def paint():
    scene = QGraphicsScene(); scene.addItem(Item(0, 0, 10, 10))
    QGraphicsView(scene).grab()

def plot():
    Plot().mouseClickEvent(None)

def slot():
    dialog = Dialog()
    button = QPushButton()
    button.clicked.connect(dialog.reject)
    button.click()
    assert Dialog.closed == 1
    told.append(("ZeroDivisionError", ""))

try:
    globals()[sys.argv[1]]()
except (IndexError, ZeroDivisionError) as error:  # where Python asked Qt, it is told of it
    told.append((type(error).__name__, str(error)))
assert told and told[0][0] in ("IndexError", "ZeroDivisionError"), told
print("alive")
"""


@pytest.mark.parametrize("where", ["press", "hint", "post", "data", "paint", "plot", "slot"])
def test_an_error_in_an_override_does_not_end_the_process(where: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, where],
        env=cli_environment(QT_QPA_PLATFORM="offscreen"),
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr
