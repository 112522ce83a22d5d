"""A view that is made when it is first shown, so that the window opens without it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from gpuexplorer.gui.widgets.scroll_room import ScrollArea


class LateView(QWidget):
    """Stands where the view will be; ``view`` is it, None before it was first shown.

    A view that needs more room than there is can be scrolled: it widens nothing around it.
    """

    def __init__(self, name: str, make: Callable[[], QWidget]) -> None:
        super().__init__()
        self.setObjectName(name)
        self._make = make
        self.view: QWidget | None = None
        column = self._column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)

    def made(self) -> QWidget:
        """Return the view, made now or before."""
        if self.view is None:
            self.view = self._make()
            self._column.addWidget(scrolled(self.view))
        return self.view

    def showEvent(self, event: QShowEvent) -> None:
        """Make the view, once."""
        self.made()
        super().showEvent(event)


def scrolled(view: QWidget) -> ScrollArea:
    """Return a place for a view in which it is scrolled where it has too little room."""
    area = ScrollArea()
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setWidget(view)
    for widget in (view, area.viewport()):
        widget.setAutoFillBackground(False)
    return area
