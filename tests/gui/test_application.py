"""What the system tells the window: a file to open, as macOS does, and Ctrl-C."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.sessions import whole_file

SCRIPT = """
import sys
from pathlib import Path
from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QFileOpenEvent
from gpuexplorer.gui.app import create

path = Path(sys.argv[1])
application, window = create()
QCoreApplication.sendEvent(application, QFileOpenEvent(str(path)))
window.sessions.replaced.connect(application.quit)
application.exec()
print(window.sessions.path == path, window.session.live)
window.close()
"""
STYLED = """
from PySide6.QtWidgets import QApplication
from gpuexplorer.gui import app

class Watched(app.MainWindow):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.sheet_when_made = QApplication.instance().styleSheet()

app.MainWindow = Watched
application, window = app.create()
assert window.sheet_when_made == "", "each widget was styled again whenever it got a parent"
assert "QToolBar" in application.styleSheet()
window.choices.choose_theme("light")
light = application.styleSheet()
window.choices.choose_theme("dark")
assert application.styleSheet() not in ("", light)
window.close()
"""
IMPORTED = """
import gc
from gpuexplorer.gui import app

application, window = app.create()
walked = {id(found) for found in gc.get_objects()}
assert id(app.MainWindow) not in walked and id(app.Session.start) not in walked
window.close()
"""
WAKES = """
from gpuexplorer.gui import app, scheduling
from gpuexplorer.gui.task import Task

def slice_ns():
    found = scheduling.attributes()
    return found and found.runtime_ns  # nothing before Linux 6.12

usual_ns = slice_ns()
application, window = app.create()
told = []
task = Task("told", lambda _: slice_ns(), told.append)
task.start()
while not told:
    application.processEvents()
expected_ns = usual_ns and scheduling.SLICE_NS
assert slice_ns() == expected_ns and told == [expected_ns], (slice_ns(), told)
window.close()
"""
INTERRUPTED = """
import os
import signal
import sys
from gpuexplorer.gui import app
from gpuexplorer.gui.main_window import MainWindow

true_paint = MainWindow.paintEvent

def paint(self, event):
    true_paint(self, event)
    os.kill(os.getpid(), signal.SIGINT)
    sum(range(100))  # Python handles the signal here

MainWindow.paintEvent = paint
sys.exit(app.main([]))
"""


def test_a_file_opened_with_the_program_is_shown_and_nothing_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "béch mark.gpux"
    path.write_bytes(whole_file())
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path)],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "HOME": str(tmp_path)},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", "False"], done.stderr


@pytest.mark.parametrize(
    "script",
    [STYLED, IMPORTED, WAKES],
    ids=["styled once", "imports not walked", "served soon when it wakes"],
)
def test_the_window_is_up_soon(tmp_path: Path, script: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "HOME": str(tmp_path)},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal's Ctrl-C is a POSIX signal here")
def test_ctrl_c_in_the_middle_of_a_repaint_closes_the_window_without_a_word(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "HOME": str(tmp_path)},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    offscreen = "This plugin does not support propagateSizeHints()"
    assert done.returncode == 0
    assert [line for line in done.stderr.splitlines() if line != offscreen] == []
