"""The code bench as a user meets it, in a real window.

Run with ``xvfb-run python tests/bench/code_bench.py``. Prints JSON: seconds from dropping the
textbook's whole program on the window to its verified time, with what should come out typed and
Enter pressed as soon as the sheet is there; from the last key of an edit to its verified time
beside the version before; and to a compiler's message on its line. ``pause_s`` is the part of the
latter two in which the window waits for further keys.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

LINE = "float sum = 0.0f;"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=int, default=50)
    parser.add_argument("--mistakes", type=int, default=20)
    parser.add_argument("--timeout", type=float, default=60.0)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="gpuexplorer-bench-"))
    os.environ["GPUEXPLORER_CONFIG_DIR"] = os.environ["GPUEXPLORER_DATA_DIR"] = str(folder)

    from gui_probe import wait_until
    from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
    from PySide6.QtGui import QDragEnterEvent, QDropEvent
    from PySide6.QtTest import QTest
    from PySide6.QtWidgets import QApplication

    from gpuexplorer.gui.app import create
    from gpuexplorer.gui.code.editing import PAUSE_MS
    from tests.support.own_kernels import TEXTBOOK

    path = folder / "product.cu"
    path.write_text(TEXTBOOK, encoding="utf-8")
    _, window = create(["--threads", str(max(1, (os.cpu_count() or 2) - 1))])
    session, experiment = window.session, window.session.experiment

    def waited_for(what: str, condition: Callable[[], bool]) -> float:
        began = time.perf_counter()
        if not wait_until(condition, options.timeout):
            raise SystemExit(f"no {what} within {options.timeout:g} s")
        return time.perf_counter() - began

    def verified() -> bool:
        run = session.live_model.current
        prepared = run.prepared if run is not None and run.summary is not None else None
        return (
            prepared is not None
            and prepared.verified
            and prepared.environment.source_sha256 == experiment.workload.sha256
        )

    waited_for("devices", lambda: experiment.devices is not None)
    waited_for("samples of the first kernel", verified)

    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    how = Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    began = time.perf_counter()
    QApplication.sendEvent(window, QDragEnterEvent(QPointF(5, 5).toPoint(), *how))
    QApplication.sendEvent(window, QDropEvent(QPointF(5, 5), *how))
    waited_for("sheet", lambda: window.own_files.sheet is not None)
    sheet = window.own_files.sheet
    assert sheet is not None
    answer = sheet.focusWidget()
    QTest.keyClicks(answer, "A @ B")
    QTest.keyClick(answer, Qt.Key.Key_Return)
    waited_for("verified time", lambda: experiment.workload.name == "product" and verified())
    dropped_s = time.perf_counter() - began

    window.panels.places.show_view(window.panels.kernel)
    view, bench = window.panels.kernel.code.view, window.panels.kernel.editing.bench

    def type_over(old: str, new: str) -> None:
        cursor = view.document().find(old)
        view.setTextCursor(cursor)
        view.setFocus()
        QTest.keyClicks(view, new)

    def versions() -> int:
        return len(bench.of(experiment.workload))

    def more_than(known: int) -> Callable[[], bool]:
        return lambda: versions() > known

    def is_said(word: str) -> Callable[[], bool]:
        return lambda: any(word in m.words for m in view.messages)

    waited_for("source", lambda: LINE in view.text and not view.isReadOnly())
    edits, mistakes, line = [], [], LINE
    for number in range(options.edits):
        known = versions()
        new = f"float sum = {number}.0f * 0;"
        type_over(line, new)
        line = new
        edits.append(waited_for("version", more_than(known)))
        if bench.of(experiment.workload)[-1].run is None:
            raise SystemExit(f"edit {number}: {bench.of(experiment.workload)[-1].error}")
    for number in range(options.mistakes):
        new = f"float sum = unknown{number};"
        type_over(line, new)
        line = new
        mistakes.append(waited_for("message", is_said(f"unknown{number}")))
    window.close()
    document = {
        "drop_to_verified_s": dropped_s,
        "pause_s": PAUSE_MS / 1000,
        "edit_median_s": statistics.median(edits),
        "edit_slowest_s": max(edits),
        "message_median_s": statistics.median(mistakes),
        "message_slowest_s": max(mistakes),
    }
    print(json.dumps(document, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
