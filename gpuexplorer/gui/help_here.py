"""Which help page is on a widget: it is named where the widget is made."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

PAGE = "helpPage"
"""The property of a widget that names the page on it and on what is in it."""


def page_of(widget: QWidget | None) -> str | None:
    """Return the page on a widget: its own, or that of what it lies in; None without any."""
    while widget is not None:
        page = widget.property(PAGE)
        if page:
            return str(page)
        widget = widget.parentWidget()
    return None
