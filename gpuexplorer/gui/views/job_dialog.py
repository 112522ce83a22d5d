"""A job's view in a window of its own, with buttons and a message below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtWidgets import QDialog, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from gpuexplorer.gui.export import Exporter
from gpuexplorer.gui.help import PAGE
from gpuexplorer.gui.settings import Settings
from gpuexplorer.gui.views.job_control import JobControl
from gpuexplorer.gui.widgets.words import Words


class JobDialog(QDialog):
    """A subclass makes the view, and offers what was found when the view has ``changed``."""

    def __init__(
        self, parent: QWidget, title: str, name: str, page: str, settings: Settings
    ) -> None:
        """``name`` begins the names of its parts; ``page`` is the help page on it."""
        super().__init__(parent)
        self._name = name
        self.setObjectName(f"{name}Dialog")
        self.setProperty(PAGE, page)
        self.setWindowTitle(title)
        self.exporter = Exporter(self, settings)
        self.words = Words()
        self.words.setObjectName(f"{name}Message")

    def button(self, words: str, name: str, tip: str) -> QPushButton:
        """Return a button for below the view."""
        made = QPushButton(words)
        made.setObjectName(f"{self._name}{name}")
        made.setToolTip(tip)
        return made

    def put_together(
        self, view: JobControl[Any, Any], left: Sequence[QWidget], right: Sequence[QWidget]
    ) -> None:
        """Lay out the view above its buttons and the message between them; Enter starts the job."""
        self._view = view
        view.message.connect(self.words.setText)
        close_button = self.button("C&lose", "Close", "")
        close_button.clicked.connect(lambda _=False: self.reject())
        foot = QHBoxLayout()
        foot.setContentsMargins(12, 6, 12, 10)
        foot.setSpacing(8)
        for widget in left:
            foot.addWidget(widget)
        foot.addWidget(self.words, 1)
        for widget in (*right, close_button):
            foot.addWidget(widget)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(view, 1)
        column.addLayout(foot)
        for button in self.findChildren(QPushButton):
            button.setAutoDefault(False)
        view.head.start.setDefault(True)

    def close_down(self) -> None:
        """Close, and end what the view has started; the session ends the job."""
        self.reject()
        self._view.close_down()
        self.exporter.wait()
