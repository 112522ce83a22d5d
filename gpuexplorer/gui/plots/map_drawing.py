"""The block map drawn: cells over threads x and y, marks on them, axes and a colour bar."""

from __future__ import annotations

import itertools
import math

from PySide6.QtCore import QPointF, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QFontMetricsF,
    QLinearGradient,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpuexplorer.charts.colours import INK, colour_at, words_at
from gpuexplorer.core.config import Block
from gpuexplorer.core.language import tr
from gpuexplorer.gui import typeface
from gpuexplorer.gui.model.knobs import is_power_of_two
from gpuexplorer.gui.model.map_look import Look, guesses, occupancy_of, place_of
from gpuexplorer.gui.model.map_surface import Surface
from gpuexplorer.gui.theme import blend, theme
from gpuexplorer.gui.typeface import for_text
from gpuexplorer.search.blockmap import MapCell

LEFT, TOP, BOTTOM, RIGHT = 62, 10, 44, 104
BAR_GAP, BAR_WIDTH = 20, 14
USUAL_POINTS = 9.0
"""The size of text for which those of values in cells were chosen."""
GUESS_SHARE = 0.22
"""How strongly a cell that is still to be measured shows its neighbour's colour."""
STALE_SHARE = 0.45
HATCH_SHARE = 0.3
ROOMY = QSizeF(26, 16)
"""Cells at least so large have round corners, a gap between them, and occupancy as a bar."""
WORDS_ROOM = 6
"""Pixels beside a value in its cell."""


class MapDrawing(QWidget):
    """Draws a ``Surface`` map; what the pointer and the keys do, a subclass says."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("blockMapCanvas")
        self.setAccessibleName(tr("Block map: threads y over threads x, lighter is faster"))
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(260, 160)
        self._held: Surface | None = None
        self._look: Look | None = None
        self._guesses: dict[int, float] = {}
        self._stale = False
        self._block: Block | None = None
        self._occupancy = False
        self._message = ""
        self._hovered: int | None = None
        self._layer: QPixmap | None = None
        """The cells as they were drawn last: what moves over them does not draw them again."""
        theme().changed.connect(self._draw_anew)

    # ---- what is shown

    def show_map(
        self, held: Surface | None, look: Look | None, *, stale: bool, message: str
    ) -> None:
        """Draw a map with its look; ``message`` stands over it, or in its place."""
        self._held, self._look, self._stale, self._message = held, look, stale, message
        self._guesses = guesses(held) if held is not None and not stale else {}
        if held is None or (self._hovered is not None and self._hovered >= len(held.cells)):
            self._hovered = None
        self._draw_anew()

    def _draw_anew(self) -> None:
        self._layer = None
        self.update()

    def show_block(self, block: Block | None) -> None:
        """Mark where the sliders stand."""
        if block != self._block:
            self._block = block
            self.update()

    def show_occupancy(self, on: bool) -> None:
        """Lay theoretical occupancy over the cells, or take it away."""
        self._occupancy = on
        self._draw_anew()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Draw for the new size."""
        super().resizeEvent(event)
        self._layer = None

    @property
    def hovered_cell(self) -> MapCell | None:
        """The cell under the pointer."""
        if self._held is None or self._hovered is None:
            return None
        return self._held.cells[self._hovered]

    def sizeHint(self) -> QSize:
        """Return the preferred size."""
        return QSize(640, 420)

    # ---- geometry

    @property
    def area(self) -> QRectF:
        """Where the cells are."""
        wide, tall = (
            self.width() - for_text(LEFT) - for_text(RIGHT),
            self.height() - for_text(TOP) - for_text(BOTTOM),
        )
        return QRectF(for_text(LEFT), for_text(TOP), max(wide, 10), max(tall, 10))

    @property
    def bar(self) -> QRectF:
        """Where the colour bar is."""
        area = self.area
        return QRectF(
            area.right() + for_text(BAR_GAP),
            area.top() + for_text(18),
            BAR_WIDTH,
            area.height() - for_text(18),
        )

    def cell_rect(self, number: int) -> QRectF:
        """Return where a cell is, its gap included; y rises upward."""
        assert self._held is not None
        grid, area = self._held.wanted.grid, self.area
        row, column = divmod(number, len(grid.x))
        wide, tall = area.width() / len(grid.x), area.height() / len(grid.y)
        return QRectF(area.left() + column * wide, area.bottom() - (row + 1) * tall, wide, tall)

    def number_at(self, where: QPointF) -> int | None:
        """Return the cell under a point."""
        if self._held is None or not self.area.contains(where):
            return None
        return self._nearest(where)

    def _nearest(self, where: QPointF) -> int | None:
        """Return the cell nearest to a point, which may lie outside."""
        if self._held is None:
            return None
        grid, area = self._held.wanted.grid, self.area
        column = int((where.x() - area.left()) / area.width() * len(grid.x))
        row = int((area.bottom() - where.y()) / area.height() * len(grid.y))
        column = min(max(column, 0), len(grid.x) - 1)
        row = min(max(row, 0), len(grid.y) - 1)
        return row * len(grid.x) + column

    # ---- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the map."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme().q("panel"))
        if self._held is None or self._look is None:
            self._paint_message(painter, QRectF(self.rect()), in_place=True)
        else:
            painter.drawPixmap(0, 0, self._cells_layer(self._held, self._look))
            self._paint_marks(painter, self._held)
            self._paint_pointer(painter, self._look)
            if self._message:
                self._paint_message(painter, self.area, in_place=False)
        if self.hasFocus():
            painter.setPen(theme().q("accent"))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        painter.end()

    def _cells_layer(self, held: Surface, look: Look) -> QPixmap:
        """Return the cells, axes and colour bar, drawn when they have changed."""
        if self._layer is None:
            ratio = self.devicePixelRatioF()
            layer = QPixmap((QSizeF(self.size()) * ratio).toSize())
            layer.setDevicePixelRatio(ratio)
            layer.fill(theme().q("panel"))
            painter = QPainter(layer)
            painter.setFont(self.font())
            self._paint_cells(painter, held, look)
            self._paint_axes(painter, held)
            self._paint_bar(painter, look)
            painter.end()
            self._layer = layer
        return self._layer

    def _paint_cells(self, painter: QPainter, held: Surface, look: Look) -> None:
        first = self.cell_rect(0)
        roomy = first.width() >= ROOMY.width() and first.height() >= ROOMY.height()
        gap = 1.0 if roomy else 0.5
        radius = 3.0 if roomy else 0.0
        font = self._value_font(painter, first)
        painter.setPen(Qt.PenStyle.NoPen)
        if radius:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, bool(radius))
        for number, cell in enumerate(held.cells):
            if cell.state == "cannot":
                continue
            rect = self.cell_rect(number).adjusted(gap, gap, -gap, -gap)
            shade = look.shade(cell)
            if cell.state == "measured" and shade is not None:
                self._fill(painter, rect, radius, QColor(self._colour(shade)))
                if self._occupancy:
                    self._paint_occupancy(painter, rect, cell, look, shade)
                best = cell.block == held.best and not self._stale
                if font is not None:
                    self._write_value(painter, rect, font, look.text(cell), shade, best=best)
                elif best:
                    self._star(painter, rect)
            elif cell.state == "waiting":
                guess = self._guesses.get(number)
                at = look.shade_of(guess) if guess else None
                colour = theme().colour("raised")
                if at is not None:
                    colour = blend(self._colour(at), colour, GUESS_SHARE)
                self._fill(painter, rect, radius, QColor(colour))
            else:
                self._paint_failed(painter, rect, radius, cell, font)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        self._hatch_unable(painter, held)

    def _hatch_unable(self, painter: QPainter, held: Surface) -> None:
        """Hatch what cannot run, a row's neighbours in one go."""
        colour = QColor(blend(theme().colour("muted"), theme().colour("panel"), HATCH_SHARE))
        brush = QBrush(colour, Qt.BrushStyle.BDiagPattern)
        columns = len(held.wanted.grid.x)
        run: QRectF | None = None
        for number, cell in enumerate(held.cells):
            if cell.state == "cannot":
                rect = self.cell_rect(number)
                run = rect if run is None else run.united(rect)
            if run is not None and (cell.state != "cannot" or (number + 1) % columns == 0):
                painter.fillRect(run.adjusted(1, 0, 0, 0), brush)
                run = None

    def _colour(self, shade: float) -> str:
        colour = colour_at(shade)
        if not self._stale:
            return colour
        grey = QColor(colour).lightness()
        return blend(f"#{grey:02x}{grey:02x}{grey:02x}", theme().colour("panel"), STALE_SHARE)

    @staticmethod
    def _fill(painter: QPainter, rect: QRectF, radius: float, colour: QColor) -> None:
        if radius:
            painter.setBrush(colour)
            painter.drawRoundedRect(rect, radius, radius)
        else:
            painter.fillRect(rect, colour)

    def _paint_failed(
        self, painter: QPainter, rect: QRectF, radius: float, cell: MapCell, font: QFont | None
    ) -> None:
        """Draw a cell that was tried and has no time: hatched in its colour, with a sign."""
        pattern = Qt.BrushStyle.BDiagPattern
        colour = theme().q("warning" if cell.state in ("long", "suspect") else "bad")
        back = theme().q("warning_back" if cell.state in ("long", "suspect") else "bad_back")
        self._fill(painter, rect, radius, back)
        painter.setBrush(QBrush(colour, pattern))
        painter.drawRoundedRect(rect, radius, radius)
        if font is not None:
            sign = {"long": tr("long"), "suspect": "?"}.get(cell.state, "✕")
            box = QRectF(0, 0, QFontMetricsF(font).horizontalAdvance(sign) + 8, for_text(15))
            box.moveCenter(rect.center())
            self._fill(painter, box, 3.0, back)
            painter.setFont(font)
            painter.setPen(colour)
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, sign)
            painter.setPen(Qt.PenStyle.NoPen)

    def _value_font(self, painter: QPainter, cell: QRectF) -> QFont | None:
        """Return the largest font in which values fit into cells; None when none does."""
        font = QFont(painter.font())
        for points in (10.5, 9.5, 8.5, 7.5):
            font.setPointSizeF(points * painter.font().pointSizeF() / USUAL_POINTS)
            metrics = QFontMetricsF(font)
            if (
                metrics.horizontalAdvance("8.88") + WORDS_ROOM <= cell.width()
                and metrics.height() <= cell.height()
            ):
                return font
        return None

    def _write_value(
        self, painter: QPainter, rect: QRectF, font: QFont, text: str, shade: float, *, best: bool
    ) -> None:
        """Write a value as far as it fits; the best has a star, instead of it where both do not."""
        room, advance = rect.width() - 2, QFontMetricsF(font).horizontalAdvance
        text = tr(text)
        if best:
            text = f"★{text}" if advance(f"★{text}") <= room else "★"
        if advance(text) > room:
            return
        painter.setFont(font)
        if self._stale:
            painter.setPen(theme().q("text"))
        else:
            painter.setPen(QColor(words_at(shade)))
        painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, text)
        painter.setPen(Qt.PenStyle.NoPen)

    def _paint_occupancy(
        self, painter: QPainter, rect: QRectF, cell: MapCell, look: Look, shade: float
    ) -> None:
        """Draw occupancy as a bar along the cell's foot, and a sign where time disagrees."""
        occupancy = occupancy_of(cell)
        if occupancy is None:
            return
        ink = QColor(words_at(shade))
        roomy = rect.width() >= ROOMY.width() and rect.height() >= ROOMY.height()
        if roomy:
            faint = QColor(ink)
            faint.setAlphaF(0.25)
            foot = QRectF(rect.left() + 3, rect.bottom() - 5, rect.width() - 6, 2.5)
            painter.fillRect(foot, faint)
            foot.setWidth(foot.width() * min(occupancy, 1.0))
            painter.fillRect(foot, ink)
        disagrees = look.disagreement(cell)
        if disagrees is not None:
            at = QPointF(rect.right() - 6, rect.top() + 6) if roomy else rect.center()
            size = 4.0 if roomy else 2.2
            up = size if disagrees == "fast though not full" else -size
            painter.setBrush(ink)
            painter.drawPolygon(
                [
                    at + QPointF(0, -up),
                    at + QPointF(size, 0.75 * up),
                    at + QPointF(-size, 0.75 * up),
                ]
            )

    def _paint_marks(self, painter: QPainter, held: Surface) -> None:
        """Draw what stands out: the tie band, the best, what is measured now, the sliders."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        numbers = {c.block: n for n, c in enumerate(held.cells)}
        if not self._stale:
            for block in held.ties:
                if block in numbers and len(held.ties) > 1:
                    self._ring(painter, self.cell_rect(numbers[block]), QColor(INK), 1.4, 2.5)
            if held.step is not None and held.step.next in numbers:
                rect = self.cell_rect(numbers[held.step.next])
                self._ring(painter, rect, theme().q("accent"), 2.0, 1.0)
        if self._hovered is not None:
            self._ring(painter, self.cell_rect(self._hovered), theme().q("muted"), 1.5, 0.5)
        self._paint_sliders(painter, held, numbers)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def _paint_sliders(self, painter: QPainter, held: Surface, numbers: dict[Block, int]) -> None:
        if self._block is None:
            return
        first = self.cell_rect(0)
        roomy = first.width() >= ROOMY.width() and first.height() >= ROOMY.height()
        if roomy and self._block in numbers:
            rect = self.cell_rect(numbers[self._block])
            self._ring(painter, rect, theme().q("panel"), 5.0, 0.0)
            self._ring(painter, rect, theme().q("good"), 2.6, 0.0)
            if self.hasFocus():
                self._ring(painter, rect, theme().q("text"), 1.0, -3.0)
            return
        place = place_of(held.wanted.grid, self._block)
        if place is None:
            return
        grid, area = held.wanted.grid, self.area
        centre = QPointF(
            area.left() + (place[0] + 0.5) * area.width() / len(grid.x),
            area.bottom() - (place[1] + 0.5) * area.height() / len(grid.y),
        )
        for colour, width in ((theme().q("panel"), 5.0), (theme().q("good"), 2.6)):
            painter.setPen(QPen(colour, width))
            painter.drawEllipse(centre, 6, 6)

    @staticmethod
    def _ring(painter: QPainter, rect: QRectF, colour: QColor, width: float, inset: float) -> None:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        room = min(rect.width(), rect.height())
        if room < ROOMY.height():
            width, inset = min(width, 2.0), min(inset, 1.0)
        painter.setPen(QPen(colour, width))
        radius = min(3.0, room / 8)
        painter.drawRoundedRect(rect.adjusted(inset, inset, -inset, -inset), radius, radius)

    @staticmethod
    def _star(painter: QPainter, rect: QRectF) -> None:
        """Mark the best where its cell has no room for words."""
        font = QFont(painter.font())
        font.setPointSizeF(7)
        painter.setFont(font)
        painter.setPen(QColor(INK))
        corner = QRectF(rect.left() + 2, rect.top() + 1, 14, 13)
        painter.drawText(corner, Qt.AlignmentFlag.AlignCenter, "★")
        painter.setPen(Qt.PenStyle.NoPen)

    def _paint_axes(self, painter: QPainter, held: Surface) -> None:
        grid, area = held.wanted.grid, self.area
        font = typeface.small(self.font())
        metrics = QFontMetricsF(font)
        painter.setFont(font)
        painter.setPen(theme().q("muted"))
        wide, tall = area.width() / len(grid.x), area.height() / len(grid.y)
        for column in named(grid.x, metrics.horizontalAdvance("0000") + 8, wide):
            box = QRectF(
                area.left() + (column + 0.5) * wide - 40, area.bottom() + 4, 80, for_text(16)
            )
            painter.drawText(box, Qt.AlignmentFlag.AlignHCenter, str(grid.x[column]))
        for row in named(grid.y, metrics.height(), tall):
            middle = area.bottom() - (row + 0.5) * tall
            box = QRectF(
                area.left() - for_text(46), middle - for_text(10), for_text(40), for_text(20)
            )
            side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(box, side, str(grid.y[row]))
        painter.setPen(theme().q("text"))
        foot = QRectF(area.left(), area.bottom() + for_text(22), area.width(), for_text(18))
        painter.drawText(foot, Qt.AlignmentFlag.AlignHCenter, tr("threads x"))
        painter.save()
        painter.translate(for_text(14), area.center().y())
        painter.rotate(-90)
        painter.drawText(
            QRectF(-for_text(80), -for_text(10), for_text(160), for_text(18)),
            Qt.AlignmentFlag.AlignCenter,
            tr("threads y"),
        )
        painter.restore()

    def _paint_bar(self, painter: QPainter, look: Look) -> None:
        """Draw the colour bar with its marks, once it has any."""
        if look.best_s is None:
            return
        area, bar = self.area, self.bar
        gradient = QLinearGradient(bar.bottomLeft(), bar.topLeft())
        for i in range(33):
            gradient.setColorAt(i / 32, QColor(self._colour(i / 32)))
        painter.fillRect(bar, gradient)
        font = typeface.small(self.font())
        painter.setFont(font)
        painter.setPen(theme().q("text"))
        side = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(
            QRectF(bar.left() - 6, area.top() - 4, for_text(92), for_text(18)), side, tr(look.unit)
        )
        room = max(3, int(bar.height() / for_text(26)))
        for tick in look.ticks(room):
            y = bar.bottom() - tick.place * bar.height()
            painter.setPen(theme().q("muted"))
            painter.drawLine(QPointF(bar.right() + 1, y), QPointF(bar.right() + 5, y))
            painter.drawText(
                QRectF(bar.right() + 9, y - for_text(9), for_text(60), for_text(18)),
                side,
                tr(tick.words),
            )

    def _paint_pointer(self, painter: QPainter, look: Look) -> None:
        """Show where the cell under the pointer lies on the colour bar."""
        bar, cell = self.bar, self.hovered_cell
        shade = look.shade(cell) if cell is not None and cell.state == "measured" else None
        if shade is not None:
            shade = min(max(shade, 0.0), 1.0)
            y = bar.bottom() - shade * bar.height()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme().q("text"))
            tip = QPointF(bar.left() - 1, y)
            painter.drawPolygon([tip, tip + QPointF(-8, -5), tip + QPointF(-8, 5)])
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def _paint_message(self, painter: QPainter, room: QRectF, *, in_place: bool) -> None:
        """Write a sentence: on a card in the map's free corner, or where there is no map."""
        flags = int((Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap).value)
        font = self.font()
        wide = min(room.width() * (0.9 if in_place else 0.55), 460.0)
        message = tr(self._message)
        bounds = QFontMetricsF(font).boundingRect(QRectF(0, 0, wide, 1000), flags, message)
        card = QRectF(0, 0, bounds.width() + 32, bounds.height() + 20)
        if in_place:
            card.moveCenter(room.center())
        else:
            card.moveTopRight(room.topRight())
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(theme().q("warning"), 1))
            painter.setBrush(theme().q("warning_back"))
            painter.drawRoundedRect(card, 6, 6)
        painter.setFont(font)
        painter.setPen(theme().q("muted" if in_place else "text"))
        painter.drawText(card.adjusted(12, 6, -12, -6), flags, message)


def named(counts: tuple[int, ...], length: float, room: float) -> list[int]:
    """Return which counts are named beside an axis: all, or else powers of two, as many as fit.

    ``length`` is that of a name, ``room`` that of a cell.
    """
    places = list(range(len(counts)))
    if length > room:
        powers = [i for i, count in enumerate(counts) if is_power_of_two(count)]
        places = powers if len(powers) > 2 else places
    if len(places) < 2:
        return places
    least = min(b - a for a, b in itertools.pairwise(places[-4:])) * room
    return places[:: max(1, math.ceil(length / least))]
