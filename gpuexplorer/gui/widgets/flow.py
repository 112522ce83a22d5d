"""Widgets in lines, as many lines as it takes where there is little room."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, QRect, QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget


class Flow(QWidget):
    """Widgets beside each other; those that no longer fit begin another line."""

    def __init__(self, widgets: Sequence[QWidget], spacing: int = 4) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._widgets, self._spacing = tuple(widgets), spacing
        self._high = 0
        for widget in widgets:
            widget.setParent(self)
            widget.show()

    def _hints(self) -> list[QSize]:
        for widget in self._widgets:
            widget.ensurePolished()  # its size is that of the style from here on
        return [widget.sizeHint() for widget in self._widgets]

    def sizeHint(self) -> QSize:
        """Return the size of one line, or the height of as many as it takes by now."""
        hints = self._hints()
        wide = sum(hint.width() for hint in hints) + self._spacing * (len(hints) - 1)
        return QSize(wide, self._high or max(hint.height() for hint in hints))

    def minimumSizeHint(self) -> QSize:
        """Return the width of the widest, and the height of the lines that it takes by now."""
        return QSize(max(hint.width() for hint in self._hints()), self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Begin lines where they are needed now."""
        super().resizeEvent(event)
        self._arrange()

    def event(self, event: QEvent) -> bool:
        """Make room for words that have changed."""
        if event.type() == QEvent.Type.LayoutRequest:
            self._arrange()
            self.updateGeometry()
        return super().event(event)

    def _arrange(self) -> None:
        hints = self._hints()
        line = max(hint.height() for hint in hints)
        at = QPoint(0, 0)
        for widget, hint in zip(self._widgets, hints, strict=True):
            if at.x() and at.x() + hint.width() > self.width():
                at = QPoint(0, at.y() + line + self._spacing // 2)
            widget.setGeometry(QRect(at, hint))
            at.setX(at.x() + hint.width() + self._spacing)
        high = at.y() + line
        if high != self._high:
            self._high = high
            self.updateGeometry()
