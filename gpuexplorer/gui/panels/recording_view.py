"""What views share that record something of the present configuration and show it in two parts."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.charts.caption import Caption, Measured
from gpuexplorer.core.language import tr
from gpuexplorer.gui.model.part_file import origin_words
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.widgets.caption import CaptionLine
from gpuexplorer.gui.widgets.words import EmptyState, Words


class RecordingView(QWidget):
    """A button and a status above, and below them what was recorded, or what there will be.

    ``name`` names its widgets; ``title`` and ``about`` say what the button will show.
    """

    restored = Signal(object)
    """A configuration that the knobs shall take."""

    def __init__(self, session: Session, name: str, title: str, about: str) -> None:
        super().__init__()
        self.setObjectName(f"{name}View")
        self.setAutoFillBackground(True)
        self.setBackgroundRole(self.palette().ColorRole.Base)
        self._session = session
        self._name = name
        self.origin = ""
        """The session file that what is shown comes from; empty where it was recorded here."""
        self.status = Words()
        self.status.setObjectName(f"{name}Status")
        self.status.setProperty("role", "muted")
        self.split = QSplitter(Qt.Orientation.Vertical)
        self.split.setChildrenCollapsible(False)
        self.split.setHandleWidth(1)
        self._title, self._about = title, about
        self.empty = EmptyState(f"{name}Empty")
        self.pages = QStackedWidget()
        self.pages.addWidget(self.empty)
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

    def take_caption(self, profile: Measured, device: str, origin: str) -> None:
        """Say what was recorded, and where it comes from."""
        self.origin = origin
        words = origin_words(origin, device) if origin else ""
        self.caption.show_caption(Caption.of([profile]), words)

    def let_go(self) -> None:
        """Show nothing but what there will be to see."""
        self.origin = ""
        self.caption.show_caption(None)
        self.pages.setCurrentWidget(self.empty)
        self.refresh()

    def follow_caption(self, *, measuring: bool) -> None:
        """Say whether what is shown was measured with the present knobs and source."""
        session = self._session
        source = session.experiment.workload.sha256
        self.caption.follow(session.config, source, measuring=measuring)

    def say(self, headline: str, why_not: str) -> None:
        """Say what was recorded, or what there will be to see and why not yet."""
        self.status.setText(tr(headline))
        self.empty.say(self._title, (self._about, why_not))

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
