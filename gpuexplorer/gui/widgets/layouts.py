"""What is done with the layouts of any view."""

from __future__ import annotations

import shiboken6
from PySide6.QtWidgets import QLayout


def empty(layout: QLayout, first: int = 0) -> None:
    """Take all items from the ``first`` on out of a layout.

    Their widgets are hidden now and deleted soon.
    """
    while (item := layout.takeAt(first)) is not None:
        if (widget := item.widget()) is not None:
            widget.hide()
            widget.deleteLater()
        shiboken6.delete(item)  # it is the caller's, and Qt for Python does not delete it
