"""Widgets that say something: a line that changes often, and boxed sentences.

A ``QLabel`` asks for a new layout with every new text, and its text is the least width of what it
stands in: a longer sentence can move the whole window. ``Words`` is one line, cut where it does
not fit.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QToolTip, QWidget

LEAST_WIDTH = 24


class Words(QLabel):
    """A label of one line that takes the width it is given; the whole text is its tooltip."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = text
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def set_width(self, pixels: int) -> None:
        """Take exactly this width."""
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setFixedWidth(pixels)

    def setText(self, text: str) -> None:
        """Show other words, in the place there is."""
        if text != self._text:
            self._text = text
            self.update()

    def text(self) -> str:
        """Return the words in full."""
        return self._text

    def sizeHint(self) -> QSize:
        """Return the height of a line; the width is whatever the layout gives."""
        margins = self.contentsMargins()
        height = self.fontMetrics().height() + margins.top() + margins.bottom()
        return QSize(LEAST_WIDTH, height)

    def minimumSizeHint(self) -> QSize:
        """Return the least size."""
        return self.sizeHint()

    def _fitting(self) -> str:
        return self.fontMetrics().elidedText(
            self._text, Qt.TextElideMode.ElideRight, self.contentsRect().width()
        )

    def event(self, event: QEvent) -> bool:
        """Show what was cut as the tooltip."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            parts = [self._text if self._fitting() != self._text else "", self.toolTip()]
            QToolTip.showText(event.globalPos(), "\n".join(p for p in parts if p), self)
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw as much as fits."""
        painter = QPainter(self)
        self.style().drawItemText(
            painter,
            self.contentsRect(),
            int((self.alignment() | Qt.AlignmentFlag.AlignVCenter).value),
            self.palette(),
            self.isEnabled(),
            self._fitting(),
            self.foregroundRole(),
        )
        painter.end()


class NoteBox(QLabel):
    """Shows sentences below each other; hidden without any."""

    def __init__(self, name: str, tooltip: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setToolTip(tooltip)
        self.setWordWrap(True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.hide()

    def show_sentences(self, sentences: Sequence[str]) -> None:
        """Show these, each with a capital and a full stop."""
        text = "\n".join(f"{s[:1].upper()}{s[1:].rstrip('.')}." for s in sentences)
        if text != self.text():
            self.setText(text)
        if self.isHidden() == bool(text):
            self.setVisible(bool(text))
