"""Text of several paragraphs, from Markdown, that takes the width it is given."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from gpuexplorer.core.language import as_is
from gpuexplorer.gui.typeface import for_text

WIDEST = 840
"""Pixels of a line: longer ones are hard to read."""


class Prose(QLabel):
    """Markdown that is read, can be selected, and opens links in a browser."""

    def __init__(self, name: str, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setTextFormat(Qt.TextFormat.MarkdownText)
        self.setWordWrap(True)
        self.setOpenExternalLinks(True)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.LinksAccessibleByMouse
        )
        self.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setMaximumWidth(for_text(WIDEST))
        self.setText(as_is(text))

    def heightForWidth(self, width: int) -> int:
        """Return the height that the text needs in a width, of which it takes so much at most."""
        return super().heightForWidth(min(width, self.maximumWidth()))
