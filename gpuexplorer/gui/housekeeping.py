"""Garbage is collected between the window's frames, never in the middle of one."""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QApplication

from gpuexplorer.gui import allocator
from gpuexplorer.gui.theme import forget_styles

INTERVAL_MS = 1000
FULL_EVERY = 30
"""Every so many collections walk through everything; the others only through what is young."""


class Housekeeping(QObject):
    """Collects on a timer of its own, in place of Python's collections at any moment.

    A full collection takes some milliseconds; inside a repaint they would be a visible hitch.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._turn = 0
        self._timer = QTimer(self)
        self._timer.setInterval(INTERVAL_MS)
        self._timer.timeout.connect(self.collect)

    def start(self) -> None:
        """Take collecting over; what is there now stays and need not be walked through again."""
        gc.collect()
        gc.freeze()
        gc.disable()
        self._timer.start()

    def stop(self) -> None:
        """Give collecting back to Python."""
        self._timer.stop()
        gc.enable()

    def collect(self) -> None:
        """Collect the young, or everything when it is time."""
        self._turn += 1
        if self._turn % FULL_EVERY:
            gc.collect(1)
        else:
            gc.collect()
            application = QApplication.instance()
            if isinstance(application, QApplication):
                forget_styles(application)
            allocator.give_back()
