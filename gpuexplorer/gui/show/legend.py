"""What stands above a panel: its title, what its upright axis shows, and the series' names."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpuexplorer.charts.spec import Panel, Series
from gpuexplorer.charts.style import Theme
from gpuexplorer.core.language import tr
from gpuexplorer.gui import typeface
from gpuexplorer.gui.plots.base import line_pen
from gpuexplorer.gui.show.items import BAND_SHARE, colour_of, fill_of, pen_of, symbol_of
from gpuexplorer.gui.theme import blend, theme

SAMPLE_PX, GAP_PX, SIDE_PX, WORDS_GAP_PX = 22, 16, 8, 10
MARK_PX = 8.0


class Entry(msgspec.Struct, frozen=True):
    """A named series, and the markers on its line where it has any."""

    one: Series
    marked: Series | None = None


def entries_of(panel: Panel) -> tuple[Entry, ...]:
    """Return what a panel's legend explains, in its order."""
    found = []
    for one in panel.series:
        if one.name:
            alike = (
                other
                for other in panel.series
                if other.kind == "points"
                and not other.name
                and (other.role, other.colour) == (one.role, one.colour)
            )
            found.append(Entry(one, next(alike, None) if one.kind == "line" else None))
    return tuple(found)


class Head(QWidget):
    """Words and samples, in as many lines as they need."""

    def __init__(self) -> None:
        super().__init__()
        self._title = self._axis = ""
        self._entries: tuple[Entry, ...] = ()
        self._least_px = 0
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setSizePolicy(policy)
        theme().changed.connect(self.update)

    def show_words(self, title: str, axis: str, entries: Sequence[Entry]) -> None:
        """Show these; ``axis`` is what the upright axis shows."""
        if (title, axis, tuple(entries)) != (self._title, self._axis, self._entries):
            self._title, self._axis, self._entries = title, axis, tuple(entries)
            self.setToolTip(tr("\n".join(entry.one.name for entry in entries)))
            self._fit()
            self.update()

    @property
    def words(self) -> list[str]:
        """The names of what is explained."""
        return [entry.one.name for entry in self._entries]

    def sizeHint(self) -> QSize:
        """Return the height that the words need at the present width."""
        return QSize(100, self.height_for(self.width()))

    def minimumSizeHint(self) -> QSize:
        """Return the same."""
        return QSize(40, self.height_for(self.width()))

    def height_for(self, width: int) -> int:
        """Return the height in pixels at a width."""
        if not (self._title or self._axis or self._entries):
            return 0
        first = 0 if self._beside(width) else self._first_lines
        return self._line_px * (first + len(self._lines(width))) + 4

    @property
    def whole_width(self) -> int:
        """The width in which every name is seen whole."""
        advance = self._metrics().horizontalAdvance
        widest = max((advance(entry.one.name) for entry in self._entries), default=0)
        return widest + SAMPLE_PX + 8 + 2 * SIDE_PX if widest else 0

    def set_least(self, pixels: int) -> None:
        """Be at least so high, as those beside it are."""
        self._least_px = pixels
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Take the height that the new width asks for."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        wanted = max(self.height_for(self.width()), self._least_px)
        if wanted != self.minimumHeight() or wanted != self.maximumHeight():
            self.setFixedHeight(wanted)

    @property
    def _first_lines(self) -> int:
        return 1 if self._title or self._axis else 0

    def _beside(self, width: int) -> int:
        """Return from which pixel on the entries stand beside the first line's words.

        0 where they have a line, or several, of their own.
        """
        if not (self._first_lines and self._entries):
            return 0
        font = typeface.small(self.font())
        names = QFontMetrics(font).horizontalAdvance
        axis = names(self._axis) + WORDS_GAP_PX if self._axis else 0
        font.setBold(True)
        title = QFontMetrics(font).horizontalAdvance(self._title) + WORDS_GAP_PX
        start = SIDE_PX + axis + (title if self._title else 0) + GAP_PX - WORDS_GAP_PX
        wide = sum(SAMPLE_PX + 6 + names(entry.one.name) + GAP_PX for entry in self._entries)
        return start if start + wide - GAP_PX <= width - SIDE_PX else 0

    def _metrics(self) -> QFontMetrics:
        return QFontMetrics(typeface.small(self.font()))

    @property
    def _line_px(self) -> int:
        return self._metrics().height() + 3

    def _lines(self, width: int) -> list[list[tuple[Entry, str]]]:
        """Return the entries line by line, with their names as far as they fit."""
        metrics = self._metrics()
        room = max(60, width - 2 * SIDE_PX)
        lines: list[list[tuple[Entry, str]]] = []
        at = math.inf
        for entry in self._entries:
            name = metrics.elidedText(
                entry.one.name, Qt.TextElideMode.ElideMiddle, room - SAMPLE_PX - 8
            )
            wide = SAMPLE_PX + 6 + metrics.horizontalAdvance(name) + GAP_PX
            if at + wide - GAP_PX > room:
                lines.append([])
                at = 0
            lines[-1].append((entry, name))
            at += wide
        return lines

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw them."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours = theme().chart
        font = typeface.small(painter.font())
        line, y = self._line_px, 2.0
        beside = self._beside(self.width())
        if self._first_lines:
            font.setBold(True)
            painter.setFont(font)
            box = QRectF(SIDE_PX, y, self.width() - 2 * SIDE_PX, line)
            box = self._write(painter, box, self._title, colours.text)
            font.setBold(False)
            painter.setFont(font)
            self._write(painter, box, self._axis, colours.muted)
            y += 0 if beside else line
        painter.setFont(font)
        for entries in self._lines(self.width()):
            x = float(beside or SIDE_PX)
            for entry, name in entries:
                draw_sample(painter, QRectF(x, y, SAMPLE_PX, line), entry, colours)
                box = QRectF(x + SAMPLE_PX + 6, y, self.width(), line)
                left = self._write(painter, box, name, colours.text).left()
                x = left + GAP_PX - WORDS_GAP_PX
            y += line
        painter.end()

    @staticmethod
    def _write(painter: QPainter, box: QRectF, words: str, colour: str) -> QRectF:
        """Write words at the left of a box, and return what is left of it."""
        if not words:
            return box
        metrics = painter.fontMetrics()
        fitting = metrics.elidedText(words, Qt.TextElideMode.ElideRight, max(0, int(box.width())))
        painter.setPen(QColor(colour))
        painter.drawText(box, int(Qt.AlignmentFlag.AlignVCenter.value), fitting)
        return box.adjusted(metrics.horizontalAdvance(fitting) + WORDS_GAP_PX, 0, 0, 0)


def draw_sample(painter: QPainter, box: QRectF, entry: Entry, colours: Theme) -> None:
    """Draw what a series looks like into a box."""
    one = entry.one
    middle = box.center()
    colour = colour_of(one, colours)
    if one.kind in ("band", "histogram", "spans"):
        fill = blend(colour, colours.panel, BAND_SHARE) if one.kind == "band" else colour
        painter.fillRect(QRectF(box.left(), middle.y() - 4, box.width(), 8), QColor(fill))
        return
    if one.kind == "outline":
        painter.setPen(line_pen(colour, 2))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(QRectF(middle.x() - 6, middle.y() - 5, 12, 10))
        return
    if one.kind != "points":
        painter.setPen(pen_of(one, colours))
        painter.drawLine(QPointF(box.left(), middle.y()), QPointF(box.right(), middle.y()))
    marked = one if one.kind in ("points", "stems") else entry.marked
    if marked is not None:
        painter.save()
        painter.translate(middle)
        painter.scale(MARK_PX, MARK_PX)
        painter.setPen(line_pen(colour_of(marked, colours)))
        painter.setBrush(QColor(fill_of(marked, colours)))
        painter.drawPath(pg.graphicsItems.ScatterPlotItem.Symbols[symbol_of(marked)])
        painter.restore()
