"""A scroll bar whose room is always there."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractSlider, QScrollArea, QScrollBar


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
    area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
