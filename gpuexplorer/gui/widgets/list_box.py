"""A box to choose from a list, whose choices that cannot be chosen look so."""

from __future__ import annotations

from PySide6.QtWidgets import QComboBox, QStyledItemDelegate


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
