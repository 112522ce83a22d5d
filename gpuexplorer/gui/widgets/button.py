"""Buttons with a name, a tip and what they do."""

from __future__ import annotations

import re
from collections.abc import Callable

from PySide6.QtWidgets import QPushButton, QToolButton

from gpuexplorer.core.language import as_is, tr


def button(
    words: str,
    name: str,
    tip: str = "",
    act: Callable[[], object] | None = None,
    *,
    leads: bool = False,
) -> QPushButton:
    """Return a button that acts when it is clicked; one that ``leads`` on stands out."""
    made = QPushButton(tr(words))
    made.setObjectName(name)
    made.setToolTip(tr(tip))
    made.setAutoDefault(False)
    made.setProperty("role", "leads" if leads else None)
    if act is not None:
        made.clicked.connect(lambda _=False: act())
    return made


def small_button(name: str, tip: str) -> QToolButton:
    """Return a quiet button, as for a plot's head line."""
    made = QToolButton()
    made.setObjectName(name)
    made.setProperty("role", "small")
    told = tr(tip)
    made.setToolTip(as_is(told))
    made.setAccessibleName(as_is(re.split("[:：]", told)[0]))
    return made
