"""Sentences on a coloured ground that take no room while there are none."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget


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
