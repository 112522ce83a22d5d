"""What tests of the window wait for; each is a condition, never a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from gpuexplorer.gui.export_dialog import ExportDialog
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.model.live import Run

PATIENCE_MS = 120_000


def move_pointer(widget: QWidget, at: QPoint) -> None:
    """Move the pointer over a widget, whatever windows of other tests lie there as well."""
    where, none = QPointF(at), Qt.MouseButton.NoButton
    move, held = QEvent.Type.MouseMove, Qt.KeyboardModifier.NoModifier
    place = QPointF(widget.mapToGlobal(at))
    QApplication.sendEvent(widget, QMouseEvent(move, where, place, none, none, held))


def turn_wheel(widget: QWidget, at: QPoint, degrees: int, *, ctrl: bool = False) -> None:
    """Turn the wheel over a widget, as the system tells its window; downwards is negative."""
    held = Qt.KeyboardModifier.ControlModifier if ctrl else Qt.KeyboardModifier.NoModifier
    place = QPointF(widget.mapTo(widget.window(), at))
    handle = widget.window().windowHandle()
    QTest.wheelEvent(handle, place, QPoint(0, 8 * degrees), QPoint(), held)


def until(qtbot: QtBot, condition: Callable[[], bool], patience_ms: int = PATIENCE_MS) -> None:
    """Handle events until ``condition`` holds."""
    qtbot.waitUntil(condition, timeout=patience_ms)


def export_to(parent: QWidget, path: Path) -> None:
    """Have the open dialog write a file, in the format in which its name ends."""
    (dialog,) = [d for d in parent.findChildren(ExportDialog) if d.isVisible()]
    dialog.path_box.selectAll()
    QTest.keyClicks(dialog.path_box, str(path))
    dialog.export_button.click()


def measured(window: MainWindow, samples: int = 10) -> Run | None:
    """Return the current run once it is the asked one and has ``samples``."""
    run = window.session.live_model.current
    wanted = window.session.config
    if run is None or run.summary is None or run.prepared is None or wanted is None:
        return None
    if run.summary.samples < samples or run.config.block != wanted.block:
        return None
    told = ("variant", "size", "precision", "workload", "cache", "fill", "include_transfers")
    same = all(getattr(run.config, name) == getattr(wanted, name) for name in told)
    return run if same and not run.over else None


def wait_measured(qtbot: QtBot, window: MainWindow, samples: int = 10) -> Run:
    """Wait until the present knobs are measured."""
    until(qtbot, lambda: measured(window, samples) is not None)
    run = measured(window, samples)
    assert run is not None
    return run


def find(window: MainWindow, name: str, kind: type[Any] = QWidget) -> Any:
    """Return the widget with an object name."""
    widget = window.findChild(kind, name)
    assert widget is not None, f"no widget called {name}"
    return widget
