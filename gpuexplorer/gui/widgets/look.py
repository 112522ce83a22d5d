"""The look of a widget by the properties that the style sheet names: its role, its kind."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget


def set_look(widget: QWidget, **properties: object) -> None:
    """Give a widget properties that the style sheet names, and their look."""
    changed = {name: value for name, value in properties.items() if widget.property(name) != value}
    for name, value in changed.items():
        widget.setProperty(name, value)
    if changed:
        widget.style().unpolish(widget)
        widget.style().polish(widget)
