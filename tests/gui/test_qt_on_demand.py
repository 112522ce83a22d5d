"""pyqtgraph has the classes of Qt, and of its own, that are used; the others when asked for."""

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
assert {"QWizard", "QLabel", "QDial"} <= set(dir(QtWidgets)), "Qt itself is as it was"
assert not hasattr(copy, "QNoSuchWidget")
assert QtGui.QFileSystemModel is QtWidgets.QFileSystemModel
print("alive")
"""


def test_a_class_of_qt_is_made_when_it_is_asked_for() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


UNUSED = """
import gpuexplorer.gui
import sys
import pyqtgraph

for name in ("parametertree", "multiprocess", "imageview", "widgets.SpinBox", "graphicsItems.ROI"):
    assert f"pyqtgraph.{name}" not in sys.modules, name
assert "cuda" not in sys.modules, "this process never touches a GPU"
for name in ("SpinBox", "ROI", "ImageView", "ImageItem"):
    assert isinstance(getattr(pyqtgraph, name), type), name
assert not hasattr(pyqtgraph, "NoSuchItem")
import pyqtgraph.exporters
import pyqtgraph.widgets.TableWidget
assert pyqtgraph.widgets.TableWidget.TableWidget
print("alive")
"""


def test_what_is_not_used_of_pyqtgraph_is_loaded_when_it_is_asked_for() -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNUSED], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr
