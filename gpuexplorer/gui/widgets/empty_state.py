"""What stands where a chart will be: what there will be to see, and how to get it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

WIDEST = 460
"""Pixels of a line: longer ones are hard to read."""


class EmptyState(QWidget):
    """A title over a few sentences, in the middle of the place there is."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self._title = QLabel()
        self._title.setProperty("role", "title")
        self._words = QLabel()
        self._words.setProperty("role", "muted")
        self._words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        page = QWidget()
        page.setMaximumWidth(WIDEST)
        column = QVBoxLayout(page)
        column.setContentsMargins(24, 16, 24, 16)
        column.setSpacing(8)
        column.addStretch(2)
        for label in (self._title, self._words):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
            column.addWidget(label)
        column.addStretch(3)
        middle = QHBoxLayout(self)
        middle.setContentsMargins(0, 0, 0, 0)
        middle.addStretch(1)
        middle.addWidget(page, 100)
        middle.addStretch(1)

    @property
    def text(self) -> str:
        """Everything that is said, a line each."""
        return f"{self._title.text()}\n{self._words.text()}"

    def say(self, title: str, sentences: Sequence[str]) -> None:
        """Show these words; empty sentences are left out."""
        self._title.setText(title)
        self._words.setText("\n\n".join(s for s in sentences if s))
