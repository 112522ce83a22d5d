"""What views share that record something of the present configuration and show it in two parts."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.gui.session import Session
from gpuexplorer.gui.widgets.caption import CaptionLine
from gpuexplorer.gui.widgets.words import Words


class RecordingView(QWidget):
    """A button and a status above, and below them a message or what was recorded.

    ``name`` names its widgets, ``nothing_yet`` says what the button will show.
    """

    restored = Signal(object)
    """A configuration that the knobs shall take."""

    def __init__(self, session: Session, name: str, nothing_yet: str) -> None:
        super().__init__()
        self.setObjectName(f"{name}View")
        self.setAutoFillBackground(True)
        self.setBackgroundRole(self.palette().ColorRole.Base)
        self._session = session
        self._name = name
        self.status = Words()
        self.status.setObjectName(f"{name}Status")
        self.status.setProperty("role", "muted")
        self.split = QSplitter(Qt.Orientation.Vertical)
        self.split.setChildrenCollapsible(False)
        self.split.setHandleWidth(1)
        self.message = QLabel(nothing_yet)
        self.message.setObjectName(f"{name}Message")
        self.message.setWordWrap(True)
        self.message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.message.setProperty("role", "muted")
        self.message.setContentsMargins(60, 20, 60, 60)
        self.pages = QStackedWidget()
        self.pages.addWidget(self.message)
        self.pages.addWidget(self.split)
        self.caption = CaptionLine(name, dims=(self.split,))
        self.caption.restored.connect(self.restored)

    def arrange(
        self,
        button: QPushButton,
        controls: Sequence[QWidget],
        upper: QWidget,
        lower: QWidget,
        sizes: tuple[int, int],
    ) -> None:
        """Put button and controls before the status, and the two parts below each other."""
        head = QHBoxLayout()
        head.setContentsMargins(12, 8, 12, 6)
        head.setSpacing(10)
        for widget in (button, *controls):
            head.addWidget(widget)
        head.addWidget(self.status, 1)
        self.split.addWidget(upper)
        self.split.addWidget(lower)
        self.split.setSizes(list(sizes))
        column = column_of(self)
        column.addLayout(head)
        column.addWidget(self.caption)
        column.addWidget(self.pages, 1)
        session = self._session
        for changed in (session.knobs_changed, session.devices_changed, session.state_changed):
            changed.connect(self.refresh)

    def refresh(self) -> None:
        """Say whether the present knobs can be recorded."""
        raise NotImplementedError

    def showEvent(self, event: QShowEvent) -> None:
        """Bring up to date what was hidden."""
        super().showEvent(event)
        self.refresh()


def column_of(widget: QWidget) -> QVBoxLayout:
    """Return a column in a widget, without any space around it."""
    column = QVBoxLayout(widget)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(0)
    return column
