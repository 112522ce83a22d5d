"""Places whose content is scrolled, and a scroll bar whose room is always there."""

from __future__ import annotations

import time

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QAbstractSlider, QScrollArea, QScrollBar, QWidget

MOST_TURNS, SOON_S = 8, 1.0
"""So often, and each time so soon after the time before, content may become wider or narrower in an
area of one size; then the bar stays."""
AS_NEEDED = Qt.ScrollBarPolicy.ScrollBarAsNeeded
ALWAYS = Qt.ScrollBarPolicy.ScrollBarAlwaysOn


class ScrollArea(QScrollArea):
    """A place that its content fills, and where it is scrolled when it needs more room.

    Content that is lower where it is narrower can do without the bar only while the bar is there.
    Qt fits it anew from within each fitting, deeper each time, until the stack ends; here it is
    fitted once, and the bar stays when it has come and gone a few times.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self._fitting = self._steadied = False
        self._size = QSize()
        self._turns, self._turned_s = 0, 0.0
        """How often the content became wider or narrower one time soon after the other, and when it
        did last."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Fit the content when it was resized, but for what a fitting resizes."""
        if not isinstance(event, QResizeEvent):
            return super().eventFilter(watched, event)
        if event.size().width() != event.oldSize().width():
            now_s = time.monotonic()
            self._turns = self._turns + 1 if now_s < self._turned_s + SOON_S else 1
            self._turned_s = now_s
        if self._fitting:
            return False
        self._fitting = True
        try:
            done = super().eventFilter(watched, event)
            if self._turns >= MOST_TURNS and self.verticalScrollBarPolicy() == AS_NEEDED:
                self._steadied = True
                self.setVerticalScrollBarPolicy(ALWAYS)
        finally:
            self._fitting = False
        return done

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Begin anew in another size."""
        super().resizeEvent(event)
        if self.size() != self._size:
            self._size, self._turns = self.size(), 0
            if self._steadied:
                self._steadied = False
                self.setVerticalScrollBarPolicy(AS_NEEDED)


class RoomBar(QScrollBar):
    """A bar that is not seen while there is nothing to scroll."""

    def sliderChange(self, change: QAbstractSlider.SliderChange) -> None:
        """Follow what there is to scroll."""
        super().sliderChange(change)
        if change is QAbstractSlider.SliderChange.SliderRangeChange:
            self.setEnabled(self.maximum() > self.minimum())


def keep_room(area: QScrollArea) -> None:
    """Keep the vertical bar's room, so that no line breaks anew when there is more to scroll."""
    area.setVerticalScrollBar(RoomBar(Qt.Orientation.Vertical))
    area.setVerticalScrollBarPolicy(ALWAYS)
