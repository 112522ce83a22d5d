"""A file that is dropped on the window."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QWidget

ENTERS, DROPS = QEvent.Type.DragEnter, QEvent.Type.Drop


class FileDrops(QObject):
    """Takes one local file of those that ``accepts`` says yes to, and has it opened."""

    def __init__(
        self, window: QWidget, accepts: Callable[[Path], bool], take: Callable[[Path], None]
    ) -> None:
        super().__init__(window)
        self._accepts, self._take = accepts, take
        window.setAcceptDrops(True)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take a file that is dropped on the window."""
        if isinstance(event, QDropEvent) and event.type() in (ENTERS, DROPS):
            path = dropped_file(event.mimeData().urls(), self._accepts)
            if path is not None:
                event.acceptProposedAction()
                if event.type() == DROPS:
                    self._take(path)
                return True
        return super().eventFilter(watched, event)


def dropped_file(urls: list[QUrl], accepts: Callable[[Path], bool]) -> Path | None:
    """Return the file that was dropped; None unless it is one, local and accepted."""
    if len(urls) != 1 or not urls[0].isLocalFile():
        return None
    path = Path(urls[0].toLocalFile())
    return path if accepts(path) else None
