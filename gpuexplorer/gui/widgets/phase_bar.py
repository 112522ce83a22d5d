"""The steps of the textbook program as one bar, each step as long as its share of the time."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpuexplorer.core.language import tr
from gpuexplorer.core.units import percent, quantity
from gpuexplorer.gui import typeface
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.typeface import for_text

TITLES = {
    "allocate": "allocate",
    "host_to_device": "host → device",
    "kernel": "kernel",
    "device_to_host": "device → host",
    "free": "free",
}
PATTERNS = {
    "allocate": Qt.BrushStyle.Dense4Pattern,
    "host_to_device": Qt.BrushStyle.BDiagPattern,
    "kernel": Qt.BrushStyle.SolidPattern,
    "device_to_host": Qt.BrushStyle.FDiagPattern,
    "free": Qt.BrushStyle.Dense6Pattern,
}
SLOTS = {"allocate": 4, "host_to_device": 1, "kernel": 0, "device_to_host": 2, "free": 3}
ROW = 17
BAR = 14
SHARE = 58
"""Width of the column of shares."""
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class PhaseBar(QWidget):
    """A stacked bar with a line for each phase: swatch, name, time, share."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._phases: dict[str, float] = {}
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme().changed.connect(self.update)

    def sizeHint(self) -> QSize:
        """Return the preferred size."""
        return QSize(220, BAR + 8 + for_text(ROW) * len(TITLES))

    def show_phases(self, phases_s: dict[str, float]) -> None:
        """Show times in seconds by phase; a phase that is not there was not measured."""
        if phases_s != self._phases:
            self._phases = dict(phases_s)
            total = sum(phases_s.values())
            self.setToolTip(tr(f"allocate to free: {quantity(total, 's')}" if total else ""))
            self.update()

    def _brush(self, name: str) -> QBrush:
        return QBrush(QColor(theme().chart.palette[SLOTS[name]]), PATTERNS[name])

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the bar and its legend."""
        colours, painter = theme(), QPainter(self)
        total = sum(self._phases.values())
        x = 0.0
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colours.q("raised"))
        painter.drawRect(QRectF(0, 0, self.width(), BAR))
        for name in TITLES:
            if total > 0 and name in self._phases:
                width = self._phases[name] / total * self.width()
                painter.fillRect(QRectF(x, 0, width, BAR), self._brush(name))
                x += width
        tall, share_width = for_text(ROW), for_text(SHARE)
        font = typeface.small(painter.font())
        painter.setFont(font)
        for row, (name, title) in enumerate(TITLES.items()):
            y = BAR + 6 + row * tall
            painter.fillRect(QRectF(0, y + (tall - 9) / 2, 10, 9), self._brush(name))
            painter.setPen(colours.q("muted"))
            painter.drawText(QRectF(16, y, self.width(), tall), LEFT, tr(title))
            value = self._phases.get(name)
            painter.setPen(colours.q("text" if value is not None else "disabled"))
            right = QRectF(0, y, self.width() - share_width - 2, tall)
            painter.drawText(right, RIGHT, tr(quantity(value, "s")))
            share = None if value is None or total <= 0 else value / total
            painter.setPen(colours.q("muted"))
            painter.drawText(
                QRectF(self.width() - share_width, y, share_width, tall),
                RIGHT,
                tr(percent(share)),
            )
        painter.end()
