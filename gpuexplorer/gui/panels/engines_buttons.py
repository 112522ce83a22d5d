"""Buttons of the engines' window."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QPushButton


def button(
    words: str, name: str, tip: str, act: Callable[[], object], *, leads: bool = False
) -> QPushButton:
    """Return a button that acts when it is clicked; one that ``leads`` on stands out."""
    made = QPushButton(words)
    made.setObjectName(name)
    made.setToolTip(tip)
    made.setAutoDefault(False)
    made.setProperty("role", "leads" if leads else None)
    made.clicked.connect(lambda _=False: act())
    return made
