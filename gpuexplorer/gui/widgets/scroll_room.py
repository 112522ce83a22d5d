"""A scroll bar whose room is always there."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QScrollArea


def keep_room(area: QScrollArea) -> None:
    """Keep the vertical bar's room, so that no line breaks anew when there is more to scroll.

    A bar without anything to scroll is not seen.
    """
    area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
    bar = area.verticalScrollBar()
    bar.rangeChanged.connect(lambda low, high: bar.setEnabled(high > low))
