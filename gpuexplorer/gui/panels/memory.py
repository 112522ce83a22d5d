"""The insight panel's section on memory; there while the run is of a model."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QVBoxLayout, QWidget

from gpuexplorer.charts.memory import EXACT, PART_COLOURS, has_memory, memory_words
from gpuexplorer.core.language import tr
from gpuexplorer.core.memory import PARTS, MemoryUse
from gpuexplorer.core.units import percent, quantity
from gpuexplorer.gui import typeface
from gpuexplorer.gui.plain import plain_tip
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.typeface import for_text
from gpuexplorer.gui.widgets.words import Words

ROW = 17
BAR = 12
GAP = 4
SHARE = 48
"""Width of the column of shares."""
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class MemoryBar(QWidget):
    """Two bars of one scale, then a line for each part: swatch, name, bytes, share.

    Beside the predicted sum stands how far it lies from the counted one.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("memoryBar")
        self._use = MemoryUse()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme().changed.connect(self.update)

    @property
    def use(self) -> MemoryUse:
        """What is shown."""
        return self._use

    def _parts(self) -> list[tuple[str, str, float]]:
        """Return (name, title, bytes) of the parts that are there."""
        predicted = self._use.predicted
        if predicted is None:
            return []
        found = [(n, t, float(getattr(predicted, f"{n}_B"))) for n, t in PARTS.items()]
        return [part for part in found if part[2]]

    def sizeHint(self) -> QSize:
        """Return the preferred size."""
        rows = len(self._parts()) + 2  # what was predicted and what was counted
        return QSize(220, 2 * (BAR + GAP) + 2 + for_text(ROW) * rows)

    def minimumSizeHint(self) -> QSize:
        """Return the least size."""
        return self.sizeHint()

    def show_memory(self, use: MemoryUse) -> None:
        """Show a run's memory, predicted or counted or both."""
        if use == self._use:
            return
        before = self.sizeHint()
        self._use = use
        told = tr(f"The peak of one launch with its arrays: {memory_words(use)}.")
        self.setToolTip(plain_tip(told))
        if self.sizeHint() != before:
            self.updateGeometry()
        self.update()

    @staticmethod
    def _colour(name: str) -> QColor:
        """Return a part's colour, as the charts have it."""
        palette, slot = theme().chart.palette, PART_COLOURS[name]
        return QColor(palette[slot] if slot < len(palette) else theme().chart.muted)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the bars and their legend."""
        painter, colours, use = QPainter(self), theme(), self._use
        total_B = use.predicted.total_B if use.predicted is not None else 0.0
        longest_B = max(total_B, use.peak_B or 0.0)
        painter.setPen(Qt.PenStyle.NoPen)
        for row in range(2):
            painter.fillRect(QRectF(0, row * (BAR + GAP), self.width(), BAR), colours.q("raised"))
        x = 0.0
        for name, _, nbytes in self._parts():
            width = nbytes / longest_B * self.width()
            painter.fillRect(QRectF(x, 0, width, BAR), self._colour(name))
            x += width
        if use.peak_B:
            width = use.peak_B / longest_B * self.width()
            painter.fillRect(QRectF(0, BAR + GAP, width, BAR), colours.q("muted"))
        font = typeface.small(painter.font())
        painter.setFont(font)
        y = 2 * (BAR + GAP) + 2
        error = use.relative_error
        off = "" if error is None else _off(error)
        self._line(painter, y, None, "predicted", total_B or None, off)
        counted = "counted" if use.peak_B else "not counted"
        self._line(painter, y + for_text(ROW), None, counted, use.peak_B, "")
        for row, (name, title, nbytes) in enumerate(self._parts(), 2):
            share = percent(nbytes / total_B)
            self._line(painter, y + row * for_text(ROW), self._colour(name), title, nbytes, share)
        painter.end()

    def _line(
        self,
        painter: QPainter,
        y: float,
        swatch: QColor | None,
        title: str,
        nbytes: float | None,
        words: str,
    ) -> None:
        """Write one line of the legend, with a few words in its last column."""
        colours = theme()
        if swatch is not None:
            painter.fillRect(QRectF(0, y + (for_text(ROW) - 9) / 2, 10, 9), swatch)
        painter.setPen(colours.q("muted"))
        row, share = for_text(ROW), for_text(SHARE)
        begin = 16 if swatch is not None else 0
        painter.drawText(QRectF(begin, y, self.width(), row), LEFT, tr(title))
        painter.drawText(QRectF(self.width() - share, y, share, row), RIGHT, tr(words))
        painter.setPen(colours.q("text" if nbytes is not None else "disabled"))
        size = QRectF(0, y, self.width() - share - 2, row)
        painter.drawText(size, RIGHT, tr(quantity(nbytes, "B")))


def _off(error: float) -> str:
    """Return how far a prediction lies from what was counted, with its sign."""
    if abs(error) < EXACT:
        return "exact"
    return ("+" if error > 0 else "−") + percent(abs(error))


class MemorySection(QWidget):
    """Predicted parts, the counted peak, and what counted it or why nothing did."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("memorySection")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 5)
        layout.setSpacing(5)
        title = QLabel(tr("Where the memory goes"))
        title.setProperty("role", "section")
        self.bar = MemoryBar()
        self.counter = Words()
        self.counter.setObjectName("memoryCounter")
        self.counter.setProperty("role", "muted")
        for widget in (title, self.bar, self.counter):
            layout.addWidget(widget)
        self.hide()

    def show_memory(self, use: MemoryUse | None) -> None:
        """Show a run's memory; nothing where it is its arrays alone."""
        shown = use is not None and has_memory(use)
        if shown and use is not None:
            self.bar.show_memory(use)
            words = f"counted by {use.counter}" if use.counter else use.reason or ""
            self.counter.setText(tr(words))
            self.counter.setToolTip(tr(words))
        if self.isHidden() == shown:
            self.setVisible(shown)
