"""A file that the system hands to the window as an event, as macOS does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.benches import whole_file

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
