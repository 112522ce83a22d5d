"""How one panel of a sweep's chart is drawn: lines, a heat map, or bars."""

from __future__ import annotations

import math
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QImage, QPainter, QPainterPath, QPen

from gpuexplorer.charts.colours import colour_at, is_light
from gpuexplorer.core.units import si_scale
from gpuexplorer.gui.model.sweep_picture import Facet, Line, Mark, SweepPicture, value_text
from gpuexplorer.gui.theme import blend, theme

MARK_PIXELS = 3.5
LEAST_WORDS = (34, 15)
"""Width and height of a tile that has room for its value."""
LABEL_SHARE = 0.45
"""How much of the width the names of bars may take."""
GAP = 6


@dataclass(frozen=True)
class Spot:
    """Where a mark was drawn."""

    mark: Mark
    rect: QRectF


def mark_path(slot: int, at: QPointF, size: float = MARK_PIXELS) -> QPainterPath:
    """Return the outline of a line's marks: each line has its own, so that it reads in grey."""
    path = QPainterPath()
    x, y = at.x(), at.y()
    kind = slot % 4
    if kind == 0:
        path.addEllipse(at, size, size)
    elif kind == 1:
        path.addRect(QRectF(x - size * 0.9, y - size * 0.9, size * 1.8, size * 1.8))
    else:
        turn = 1 if kind == 2 else -1
        corners = (
            [(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)] if kind == 3
            else [(0, -1.2 * turn), (1.15, 0.9 * turn), (-1.15, 0.9 * turn)]
        )  # fmt: skip
        path.moveTo(x + corners[0][0] * size, y + corners[0][1] * size)
        for dx, dy in corners[1:]:
            path.lineTo(x + dx * size, y + dy * size)
        path.closeSubpath()
    return path


def fraction_of(shown: SweepPicture, value: float) -> float:
    """Return where a value stands on the scale of colours: 0 is bad, 1 is good."""
    low, high = shown.low or value, shown.high or value
    if low >= high or value <= 0:
        return 1.0
    if shown.log:
        found = math.log(value / low) / math.log(high / low)
    else:
        found = (value - low) / (high - low)
    found = min(max(found, 0.0), 1.0)
    return 1.0 - found if shown.measure.less_is_better else found


class Drawer:
    """Draws one panel into a rectangle and returns where the marks are."""

    def __init__(self, painter: QPainter, room: QRectF, shown: SweepPicture, facet: Facet) -> None:
        self.painter, self.room, self.shown, self.facet = painter, room, shown, facet
        self.metrics = painter.fontMetrics()
        self.line_height = float(self.metrics.height())
        chart = theme().chart
        self.text, self.muted = QColor(chart.text), QColor(chart.muted)
        self.grid = QColor(chart.grid)
        self.spots: list[Spot] = []

    def draw(self) -> list[Spot]:
        """Draw and return the spots."""
        raise TypeError("a drawer draws something")

    def top(self) -> float:
        """Write the panel's title and return where the rest begins."""
        if not self.facet.title:
            return self.room.top() + GAP
        font = self.painter.font()
        font.setBold(True)
        self.painter.save()
        self.painter.setFont(font)
        self.write(
            QRectF(self.room.left() + GAP, self.room.top() + 2, self.room.width() - 2 * GAP,
                   self.line_height),
            self.facet.title, Qt.AlignmentFlag.AlignLeft, self.text,
        )  # fmt: skip
        self.painter.restore()
        return self.room.top() + self.line_height + GAP

    def write(
        self, rect: QRectF, words: str, side: Qt.AlignmentFlag, colour: QColor | None = None
    ) -> None:
        """Write a line of words, cut where it does not fit."""
        self.painter.setPen(colour or self.muted)
        fitting = self.metrics.elidedText(words, Qt.TextElideMode.ElideRight, int(rect.width()) + 2)
        self.painter.drawText(rect, int((side | Qt.AlignmentFlag.AlignVCenter).value), fitting)

    def width_of(self, words: list[str]) -> float:
        """Return the width of the longest of some words."""
        return float(max((self.metrics.horizontalAdvance(w) for w in words), default=0))

    def waiting_words(self, rect: QRectF) -> None:
        """Say that there is nothing yet."""
        self.write(rect, "nothing measured yet", Qt.AlignmentFlag.AlignHCenter)


class Lines(Drawer):
    def draw(self) -> list[Spot]:
        top = self.top()
        low, high = self._range()
        ticks = _ticks(low, high, log=self.shown.log)
        labels = [value_text(self.shown.measure, t, 2) for t in ticks]
        left = self.room.left() + self.width_of(labels) + 2 * GAP
        bottom = self.room.bottom() - 2 * self.line_height - GAP
        plot = QRectF(left, top, self.room.right() - left - 2 * GAP, max(bottom - top, 10))
        self._axes(plot, ticks, labels, low, high)
        if self.shown.low is None:
            self.waiting_words(plot)
            return []
        self.painter.setClipRect(plot.adjusted(0, -GAP, GAP, 0))
        for line in self.facet.lines:
            self._line(line, plot, low, high)
        return self.spots

    def _range(self) -> tuple[float, float]:
        low, high = self.shown.low or 1.0, self.shown.high or 10.0
        if self.shown.log:
            return low / 1.25, high * 1.25
        return 0.0, high * 1.08

    def _y(self, value: float, plot: QRectF, low: float, high: float) -> float:
        if self.shown.log:
            share = math.log(value / low) / math.log(high / low)
        else:
            share = (value - low) / (high - low)
        return plot.bottom() - share * plot.height()

    def _x(self, position: float, plot: QRectF) -> float:
        low, high = min(self.shown.x.positions), max(self.shown.x.positions)
        if low == high:
            return plot.center().x()
        inset = 8.0
        share = (position - low) / (high - low)
        return plot.left() + inset + share * (plot.width() - 2 * inset)

    def _axes(
        self, plot: QRectF, ticks: list[float], labels: list[str], low: float, high: float
    ) -> None:
        for tick, label in zip(ticks, labels, strict=True):
            y = self._y(tick, plot, low, high)
            self.painter.setPen(QPen(self.grid, 1))
            self.painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y))
            self.write(
                QRectF(self.room.left(), y - self.line_height / 2, plot.left() - GAP
                       - self.room.left(), self.line_height),
                label, Qt.AlignmentFlag.AlignRight,
            )  # fmt: skip
        drawn_to = -math.inf
        pairs = sorted(zip(self.shown.x.positions, self.shown.x.words, strict=True))
        for position, words in pairs:
            x = self._x(position, plot)
            wide = self.metrics.horizontalAdvance(words) / 2 + 5
            if x - wide < drawn_to:
                continue
            drawn_to = x + wide
            self.write(
                QRectF(x - wide, plot.bottom() + 2, 2 * wide, self.line_height), words,
                Qt.AlignmentFlag.AlignHCenter,
            )  # fmt: skip
        self.write(
            QRectF(plot.left(), plot.bottom() + self.line_height + 2, plot.width(),
                   self.line_height),
            self.shown.x.title, Qt.AlignmentFlag.AlignHCenter,
        )  # fmt: skip

    def _line(self, line: Line, plot: QRectF, low: float, high: float) -> None:
        chart = theme().chart
        colour = QColor(chart.colour(line.slot))
        measured = [m for m in line.marks if m.y is not None and not m.suspect]
        path = QPainterPath()
        for number, mark in enumerate(measured):
            at = QPointF(self._x(mark.x, plot), self._y(mark.y or low, plot, low, high))
            if number:
                path.lineTo(at)
            else:
                path.moveTo(at)
        self.painter.setBrush(Qt.BrushStyle.NoBrush)
        self.painter.setPen(QPen(QColor(blend(colour.name(), chart.panel, 0.75)), 1.5))
        self.painter.drawPath(path)
        for mark in line.marks:
            if mark.y is None:
                continue
            at = QPointF(self._x(mark.x, plot), self._y(mark.y, plot, low, high))
            if mark.low is not None and mark.high is not None:
                self.painter.setPen(QPen(colour, 1))
                self.painter.drawLine(
                    QPointF(at.x(), self._y(max(mark.low, 1e-300), plot, low, high)),
                    QPointF(at.x(), self._y(max(mark.high, 1e-300), plot, low, high)),
                )
            outline = QColor(chart.ceiling) if mark.suspect else QColor(chart.panel)
            if mark.index == self.shown.best:
                outline = QColor(chart.text)
            self.painter.setPen(QPen(outline, 1.6 if mark.index == self.shown.best else 1))
            self.painter.setBrush(QBrush(QColor(chart.panel) if mark.suspect else colour))
            size = MARK_PIXELS * (1.5 if mark.index == self.shown.best else 1)
            shape = mark_path(line.slot, at, size)
            self.painter.drawPath(shape)
            self.spots.append(Spot(mark, shape.boundingRect()))


class HeatMap(Drawer):
    def draw(self) -> list[Spot]:
        top = self.top()
        shown = self.shown
        assert shown.y is not None
        rows = sorted(zip(shown.y.positions, shown.y.words, strict=True))
        columns = sorted(zip(shown.x.positions, shown.x.words, strict=True))
        left = self.room.left() + self.line_height + self.width_of([w for _, w in rows]) + 2 * GAP
        bottom = self.room.bottom() - 2 * self.line_height - GAP
        plot = QRectF(left, top, self.room.right() - left - GAP, max(bottom - top, 10))
        wide, tall = plot.width() / len(columns), plot.height() / len(rows)
        self._names(plot, columns, rows, wide, tall)
        for line in self.facet.lines:
            for mark in line.marks:
                left, above = plot.left() + mark.x * wide, plot.bottom() - (mark.row + 1) * tall
                self.spots.append(Spot(mark, QRectF(left, above, wide, tall)))
        self._tiles(plot, len(columns), len(rows))
        if wide >= LEAST_WORDS[0] and tall >= LEAST_WORDS[1]:
            self._values()
        best = next((s for s in self.spots if s.mark.index == shown.best), None)
        if best is not None:
            self.painter.setBrush(Qt.BrushStyle.NoBrush)
            self.painter.setPen(QPen(QColor(theme().chart.ceiling), 2.4))
            self.painter.drawRect(best.rect.adjusted(1, 1, -1, -1))
        return self.spots

    def _names(
        self,
        plot: QRectF,
        columns: list[tuple[float, str]],
        rows: list[tuple[float, str]],
        wide: float,
        tall: float,
    ) -> None:
        assert self.shown.y is not None
        every = max(1, math.ceil((self.width_of([w for _, w in columns]) + 6) / max(wide, 1)))
        for number, (position, words) in enumerate(columns):
            if number % every == 0:
                x = plot.left() + (position + 0.5) * wide
                half = max(wide, every * wide) / 2
                self.write(
                    QRectF(x - half, plot.bottom() + 2, 2 * half, self.line_height), words,
                    Qt.AlignmentFlag.AlignHCenter,
                )  # fmt: skip
        every = max(1, math.ceil(self.line_height / max(tall, 1)))
        for number, (position, words) in enumerate(rows):
            if number % every == 0:
                y = plot.bottom() - (position + 0.5) * tall
                self.write(
                    QRectF(self.room.left(), y - self.line_height / 2,
                           plot.left() - GAP - self.room.left(), self.line_height),
                    words, Qt.AlignmentFlag.AlignRight,
                )  # fmt: skip
        self.write(
            QRectF(plot.left(), plot.bottom() + self.line_height + 2, plot.width(),
                   self.line_height),
            self.shown.x.title, Qt.AlignmentFlag.AlignHCenter,
        )  # fmt: skip
        self.painter.save()
        self.painter.translate(self.room.left() + 2, plot.bottom())
        self.painter.rotate(-90)
        self.write(
            QRectF(0, 0, plot.height(), self.line_height), self.shown.y.title,
            Qt.AlignmentFlag.AlignHCenter,
        )  # fmt: skip
        self.painter.restore()

    def _tiles(self, plot: QRectF, columns: int, rows: int) -> None:
        """Draw all tiles as one small picture made large: many take no longer than few."""
        chart = theme().chart
        image = QImage(columns, rows, QImage.Format.Format_RGB32)
        image.fill(QColor(blend(chart.grid, chart.panel, 0.35)))
        hatched: dict[bool, list[QRect]] = {False: [], True: []}
        for spot in self.spots:
            mark = spot.mark
            if mark.y is not None and not mark.suspect:
                colour = QColor(colour_at(fraction_of(self.shown, mark.y)))
                image.setPixelColor(int(mark.x), rows - 1 - mark.row, colour)
            elif mark.skipped or mark.suspect:
                hatched[mark.suspect].append(spot.rect.toRect())
        painter = self.painter
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.drawImage(plot, image)
        painter.setPen(Qt.PenStyle.NoPen)
        for suspect, rects in hatched.items():
            colour = QColor(chart.ceiling if suspect else chart.muted)
            colour.setAlphaF(0.45)
            painter.setBrush(QBrush(colour, Qt.BrushStyle.BDiagPattern))
            painter.drawRects(rects)
        painter.setPen(QPen(QColor(chart.panel), 1))
        for column in range(columns + 1):
            x = plot.left() + column * plot.width() / columns
            painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()))
        for row in range(rows + 1):
            y = plot.top() + row * plot.height() / rows
            painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y))
        painter.restore()

    def _values(self) -> None:
        """Write each tile's value, dark on light and light on dark."""
        factor, _ = si_scale(self.shown.high or 1.0)
        percent = self.shown.measure.unit == "%"
        for spot in self.spots:
            value = spot.mark.y
            if value is None or spot.mark.suspect:
                continue
            words = f"{value:.0f}" if percent else _short(value * factor)
            light = is_light(fraction_of(self.shown, value))
            colour = QColor("#14181c" if light else "#ffffff")
            self.write(spot.rect, words, Qt.AlignmentFlag.AlignHCenter, colour)


class Bars(Drawer):
    def draw(self) -> list[Spot]:
        top = self.top()
        shown = self.shown
        marks = {int(m.x): m for line in self.facet.lines for m in line.marks}
        names = list(shown.x.words)
        left = min(self.width_of(names) + 2 * GAP, self.room.width() * LABEL_SHARE)
        values = [value_text(shown.measure, m.y) for m in marks.values()]
        plot = QRectF(
            self.room.left() + left, top,
            self.room.width() - left - self.width_of([*values, "not measured"]) - 3 * GAP,
            self.room.bottom() - top - GAP,
        )  # fmt: skip
        tall = min(plot.height() / max(len(names), 1), 34.0)
        for row, name in enumerate(names):
            middle = plot.top() + (row + 0.5) * tall
            self.write(
                QRectF(self.room.left() + GAP, middle - self.line_height / 2, left - 2 * GAP,
                       self.line_height),
                name, Qt.AlignmentFlag.AlignRight,
            )  # fmt: skip
            mark = marks.get(row)
            if mark is not None:
                self._bar(mark, plot, middle, min(tall * 0.62, 18.0))
        return self.spots

    def _bar(self, mark: Mark, plot: QRectF, middle: float, thick: float) -> None:
        chart = theme().chart
        whole = QRectF(
            plot.left(), middle - thick / 2, self.room.right() - plot.left() - GAP, thick
        )
        self.spots.append(Spot(mark, whole))
        if mark.y is None:
            words = "cannot run" if mark.skipped else "–"
            self.write(whole, words, Qt.AlignmentFlag.AlignLeft)
            return
        share = mark.y / (self.shown.high or mark.y)
        colour = QColor(chart.ceiling if mark.suspect else chart.colour(0))
        bar = QRectF(plot.left(), middle - thick / 2, max(share * plot.width(), 1.0), thick)
        strong = 1.0 if mark.index == self.shown.best else 0.6
        self.painter.fillRect(bar, QColor(blend(colour.name(), chart.panel, strong)))
        right = bar.right()
        if mark.low is not None and mark.high is not None:
            self.painter.setPen(QPen(self.text, 1.2))
            ends = [min(plot.left() + v / (self.shown.high or v) * plot.width(), plot.right() + GAP)
                    for v in (mark.low, mark.high)]  # fmt: skip
            self.painter.drawLine(QPointF(ends[0], middle), QPointF(ends[1], middle))
            right = max(right, ends[1])
        self.write(
            QRectF(right + GAP, middle - self.line_height / 2, 200, self.line_height),
            value_text(self.shown.measure, mark.y), Qt.AlignmentFlag.AlignLeft, self.text,
        )  # fmt: skip


def _short(value: float) -> str:
    """Return three digits, two of what is below one; all of those before the point."""
    return f"{value:.0f}" if abs(value) >= 99.95 else f"{value:#.{3 if value >= 1 else 2}g}"


def _ticks(low: float, high: float, *, log: bool) -> list[float]:
    """Return round values between the ends of an axis."""
    if log:
        found = [
            m * 10.0**d
            for d in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
            for m in ((1,) if high / low > 1000 else (1, 2, 5))
            if low <= m * 10.0**d <= high
        ]
        every = math.ceil(len(found) / 7)
        return found[::every] if every else found
    if high <= low:
        return [low]
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in (1, 2, 2.5, 5, 10) if s * power >= rough)
    return [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


DRAWERS: dict[str, type[Drawer]] = {"lines": Lines, "heat": HeatMap, "bars": Bars}
