"""pyqtgraph has the classes of Qt that are used, and these are Qt's own."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import gpuexplorer.gui
import pyqtgraph
from PySide6 import QtCore, QtWidgets
from pyqtgraph.Qt import QtGui

copy = pyqtgraph.QtWidgets
assert "QWizard" not in vars(copy), "a class that nothing uses was made"
assert copy.QWizard is QtWidgets.QWizard and "QWizard" in vars(copy)
assert pyqtgraph.QtCore.QPointF is QtCore.QPointF
assert {"QWizard", "QLabel"} <= set(dir(QtWidgets)), "Qt itself is as it was"
assert not hasattr(copy, "QNoSuchWidget")
assert QtGui.QFileSystemModel is QtWidgets.QFileSystemModel
print("alive")
"""


def test_a_class_of_qt_is_made_when_it_is_asked_for() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr
