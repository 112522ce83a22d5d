"""Words that come from a file, such as a compiler's, shown as they are in tooltips."""

from __future__ import annotations

from html import escape

from PySide6.QtGui import Qt


def plain_tip(words: str) -> str:
    """Return words that a tooltip shows as they are, where Qt would take them for HTML."""
    if not Qt.mightBeRichText(words):
        return words
    return f"<qt>{escape(words, quote=False).replace(chr(10), '<br>')}</qt>"
