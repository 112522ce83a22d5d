"""The application object: macOS hands files to a running program as events, not as words."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication


class Application(QApplication):
    """Qt's application that also tells which file was opened with it, in the Finder say.

    An event filter would see every event of every widget in Python; this method sees the
    application's own few.
    """

    file_opened = Signal(object)
    """The file's path."""

    def event(self, event: QEvent) -> bool:
        """Tell of a file to open, and leave everything else to Qt."""
        if isinstance(event, QFileOpenEvent) and event.file():
            self.file_opened.emit(Path(event.file()))
            return True
        return super().event(event)
