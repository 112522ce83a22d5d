"""What assistive technology is told: a chart in a sentence, and news that nobody looked for.

Charts are painted, so Qt knows nothing of what they show. Their sentence is made when it is asked
for, and nothing at all is done while no assistive technology is there.
"""

from __future__ import annotations

import atexit
from functools import cache
from typing import Any
from weakref import WeakSet

import shiboken6
from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QAccessibleInterface
from PySide6.QtWidgets import QAccessibleWidget, QWidget

_alive: WeakSet[_Spoken] = WeakSet()


class _Spoken(QAccessibleWidget):
    """A painted widget that has ``spoken() -> str``, which says what it shows.

    With a name of its own it is a chart, and the sentence stands in its description, which else is
    the tool tip. Without one it is a line of words, such as a legend's entry with its value.
    """

    def __init__(self, shown: QWidget) -> None:
        self._where = QAccessible.Text.Description
        role = QAccessible.Role.Chart
        if not shown.accessibleName():
            self._where, role = QAccessible.Text.Name, QAccessible.Role.StaticText
        super().__init__(shown, role)
        _alive.add(self)

    def text(self, kind: QAccessible.Text) -> str:
        """Return its name or description."""
        shown: Any = self.object()
        told = shown.spoken() if kind == self._where and shown is not None else ""
        return told or super().text(kind)


def _made(_: str, about: QObject) -> QAccessibleInterface | None:
    """Return what stands for a widget that can say what it shows; None: Qt's own does."""
    if isinstance(about, QWidget) and hasattr(about, "spoken"):
        return _Spoken(about)
    return None


@cache
def speak() -> None:
    """Have charts say what they show, in this process from now on."""
    QAccessible.installFactory(_made)
    atexit.register(_fall_silent)


def _fall_silent() -> None:
    """Delete what stands for charts while Qt still knows of it.

    At exit Qt for Python frees these objects first, and then Qt deletes each of them again.
    """
    for spoken in list(_alive):
        if shiboken6.isValid(spoken):
            QAccessible.deleteAccessibleInterface(QAccessible.uniqueId(spoken))


def announce(about: QWidget, words: str, *, urgent: bool = False) -> None:
    """Have a screen reader say what happened, told words; ``urgent``: at once, over the rest."""
    if not words or not QAccessible.isActive():
        return
    event = QAccessibleAnnouncementEvent(about, words)
    manners = QAccessible.AnnouncementPoliteness
    event.setPoliteness(manners.Assertive if urgent else manners.Polite)
    QAccessible.updateAccessibility(event)
