"""How large a window opens: as usual, or as a screen has room for."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QStyle, QWidget

from gpuexplorer.gui.typeface import for_text


def open_size(window: QWidget, width: int, height: int, screen: QSize | None = None) -> QSize:
    """Return the size in pixels for a window to open with, for which a screen has room.

    ``width`` and ``height`` were chosen for text of usual size; ``screen`` is by default what the
    window's own has free.
    """
    frame = window.style().pixelMetric(QStyle.PixelMetric.PM_TitleBarHeight)
    room = (screen or window.screen().availableSize()) - QSize(0, frame)
    return QSize(for_text(width), for_text(height)).boundedTo(room)
