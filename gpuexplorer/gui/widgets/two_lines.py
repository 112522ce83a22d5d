"""Widgets in a line, of which the second half has a line of its own where it is narrow."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QSizePolicy, QWidget


class TwoLines(QWidget):
    """Two halves beside each other, or one above the other; never wider than the wider half."""

    def __init__(
        self,
        first: Sequence[QWidget],
        second: Sequence[QWidget],
        *,
        grows: QWidget | None = None,
        margins: tuple[int, int, int, int] = (12, 2, 8, 2),
        spacing: int = 6,
    ) -> None:
        """``grows`` takes what room is left; without it that stands between the halves."""
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._lines = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._lines.setContentsMargins(*margins)
        self._lines.setSpacing(spacing)
        self._halves = (QHBoxLayout(), QHBoxLayout())
        for half, widgets in zip(self._halves, (first, second), strict=True):
            half.setSpacing(spacing)
            for widget in widgets:
                half.addWidget(widget, int(widget is grows))
            if grows not in widgets:
                half.addStretch()
            self._lines.addLayout(half)
        self._lines.setStretchFactor(self._halves[int(grows in second)], 1)

    def minimumSizeHint(self) -> QSize:
        """Return the size on two lines, or of the one line there is room for."""
        margins, least = self._lines.contentsMargins(), self._lines.minimumSize()
        wide = max(half.minimumSize().width() for half in self._halves)
        return QSize(wide + margins.left() + margins.right(), least.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Take a second line, or give it back."""
        super().resizeEvent(event)
        self._arrange()

    def event(self, event: QEvent) -> bool:
        """Do so, too, when what stands in it needs more or less."""
        if event.type() == QEvent.Type.LayoutRequest:
            self._arrange()
        return super().event(event)

    def _arrange(self) -> None:
        margins, directions = self._lines.contentsMargins(), QBoxLayout.Direction
        wanted = sum(half.sizeHint().width() for half in self._halves)
        wanted += self._lines.spacing() + margins.left() + margins.right()
        self._lines.setDirection(
            directions.LeftToRight if wanted <= self.width() else directions.TopToBottom
        )
