"""A box to choose from a list, whose choices that cannot be chosen look so."""

from __future__ import annotations

from PySide6.QtWidgets import QComboBox, QStyledItemDelegate

WIDEST = 420
"""Pixels of an opened list at the most."""


class ListBox(QComboBox):
    """A combo box with a name and a tooltip.

    Its list is drawn by a delegate that follows the style sheet: the one that Qt takes by itself
    paints choices that cannot be chosen like the others.
    """

    def __init__(self, name: str, tooltip: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setToolTip(tooltip)
        self.setItemDelegate(QStyledItemDelegate(self))

    def showPopup(self) -> None:
        """Let the list be as wide as its longest choice, however narrow the box is."""
        view = self.view()
        wide = view.sizeHintForColumn(0) + view.verticalScrollBar().sizeHint().width()
        view.setMinimumWidth(max(self.width(), min(wide, WIDEST)))
        super().showPopup()
