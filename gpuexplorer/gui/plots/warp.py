"""The pictures of the Accesses view: a grid with its blocks and warps, and a warp over memory."""

from __future__ import annotations

from PySide6.QtCore import QLineF, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpuexplorer.core.accesses import WARP, AccessProfile
from gpuexplorer.core.language import tr
from gpuexplorer.core.units import count
from gpuexplorer.gui import typeface
from gpuexplorer.gui.model.warp import RequestPicture
from gpuexplorer.gui.theme import blend, theme

MARGIN = 12.0
LEAST_CELL = 5.0
"""The chosen block is seen in the largest grid."""
MOST_SIDE, WARP_HIGH = 22.0, 16.0
"""Pixels of a block in the grid, and of a warp in the block, where there is room for that."""
LEAST_HEIGHT, MOST_HEIGHT = 64, 150
"""Pixels of grid and block; more than the most they take when the user gives it to them."""
MOST_CELLS = 48
"""Blocks that are drawn along an axis of the grid; more share a cell."""
LINKS = 0.45
"""Share of a lane's colour in the line to its memory."""
FOCUS_PX = 2.0


class _Drawn(QWidget):
    """A widget that paints in the theme's colours and shows that it has the focus."""

    def __init__(self, name: str, accessible: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(tr(accessible))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        theme().changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the picture, and a ring with the focus."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(typeface.small(self.font()))
        self.draw(painter)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(theme().q("accent"), FOCUS_PX))
            painter.drawRect(QRectF(self.rect()).adjusted(1, 1, -1, -1))

    def draw(self, painter: QPainter) -> None:
        """Draw the picture itself."""


class GridPlot(_Drawn):
    """The grid's blocks at the left, the warps and lanes of one block at the right.

    ``warp_picked`` carries the number of a warp, ``block_picked`` a block's x and y.
    """

    warp_picked = Signal(int)
    block_picked = Signal(int, int)

    def __init__(self) -> None:
        super().__init__("gridPlot", "Grid of blocks, and the warps of one block")
        self.setMinimumHeight(typeface.for_text(LEAST_HEIGHT))
        self.setToolTip(
            tr("Click a block or a warp to count its accesses; Up and Down take another warp")
        )
        self._profile: AccessProfile | None = None
        self._at_once = 1

    def sizeHint(self) -> QSize:
        """Return a strip above the warp, as high as grid and block need."""
        if self._profile is None:
            return QSize(400, typeface.for_text(130))
        down = min(self._profile.grid[1], MOST_CELLS)
        high = max(min(down * MOST_SIDE, MOST_HEIGHT), self._profile.warps * WARP_HIGH)
        return QSize(400, round(min(max(high + 12, LEAST_HEIGHT), MOST_HEIGHT)))

    def show_profile(self, profile: AccessProfile, at_once: int) -> None:
        """Draw another grid; ``at_once`` blocks run at a time."""
        self._profile, self._at_once = profile, at_once
        self.updateGeometry()
        self.update()

    def _grid(self, profile: AccessProfile) -> tuple[QRectF, int, int]:
        """Return where the grid is, and how many cells it has along x and y."""
        across, down = (min(size, MOST_CELLS) for size in profile.grid[:2])
        room = QRectF(self.rect()).adjusted(MARGIN, 6, 0, -6)
        room.setWidth(self.width() * 0.42)
        side = min(room.width() / across, room.height() / down, MOST_SIDE)
        return QRectF(room.left(), room.top(), side * across, side * down), across, down

    def _warps(self, profile: AccessProfile) -> tuple[QRectF, float]:
        """Return where the block is, and how high a warp of it."""
        room = QRectF(self.rect()).adjusted(self.width() * 0.47, 6, -MARGIN, -6)
        high = min(room.height() / profile.warps, WARP_HIGH)
        return QRectF(room.left(), room.top(), min(room.width(), WARP * 14.0),
                      high * profile.warps), high  # fmt: skip

    def draw(self, painter: QPainter) -> None:
        """Draw grid and block."""
        profile = self._profile
        if profile is None:
            return
        self._draw_grid(painter, profile)
        self._draw_block(painter, profile)

    def _draw_grid(self, painter: QPainter, profile: AccessProfile) -> None:
        chart, (where, across, down) = theme().chart, self._grid(profile)
        side, (gx, gy, _) = where.width() / across, profile.grid
        gap = 1.0 if side > 4 else 0.0
        blocks = gx * gy * profile.grid[2]
        last_turn = blocks - blocks % self._at_once if blocks > self._at_once else blocks
        plain, late = QColor(chart.grid), QColor(blend(chart.palette[1], chart.panel, 0.55))
        painter.setPen(Qt.PenStyle.NoPen)
        for j in range(down):
            for i in range(across):
                number = (j * gy // down) * gx + i * gx // across
                painter.setBrush(late if number >= last_turn else plain)
                at = QRectF(where.left() + i * side, where.top() + j * side, side - gap, side - gap)
                painter.drawRect(at)
        x, y, _ = profile.look.block
        seen = max(side - gap, LEAST_CELL)
        chosen = QRectF(where.left() + x * across // gx * side,
                        where.top() + y * down // gy * side, seen, seen)  # fmt: skip
        painter.setBrush(QColor(chart.palette[0]))
        painter.drawRect(chosen)

    def _draw_block(self, painter: QPainter, profile: AccessProfile) -> None:
        chart, (where, high) = theme().chart, self._warps(profile)
        wide, (x, y, z) = where.width() / WARP, profile.block
        threads = x * y * z
        gap = 1.0 if high > 3 else 0.0
        used, looked = QColor(chart.grid), QColor(chart.palette[0])
        for warp in range(profile.warps):
            for lane in range(WARP):
                cell = QRectF(where.left() + lane * wide, where.top() + warp * high,
                              wide - 1, high - gap)  # fmt: skip
                if warp * WARP + lane < threads:
                    painter.setPen(Qt.PenStyle.NoPen)
                    painter.setBrush(looked if warp == profile.look.warp else used)
                    painter.drawRect(cell)
                else:
                    painter.setPen(QPen(QColor(chart.muted), 0.6))
                    painter.setBrush(Qt.BrushStyle.NoBrush)
                    painter.drawRect(cell.adjusted(0.5, 0.5, -0.5, -0.5))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Pick the block or the warp that was clicked."""
        profile, at = self._profile, event.position()
        if profile is None or event.button() != Qt.MouseButton.LeftButton:
            return
        where, across, down = self._grid(profile)
        block, high = self._warps(profile)
        if where.contains(at):
            side = where.width() / across
            i, j = int((at.x() - where.left()) / side), int((at.y() - where.top()) / side)
            self.block_picked.emit(i * profile.grid[0] // across, j * profile.grid[1] // down)
        elif block.contains(at):
            self.warp_picked.emit(min(int((at.y() - block.top()) / high), profile.warps - 1))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Pick the warp above or below."""
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()), 0)
        if self._profile is None or not step:
            super().keyPressEvent(event)
            return
        self.warp_picked.emit((self._profile.look.warp + step) % self._profile.warps)


class WarpPlot(_Drawn):
    """The 32 lanes of a warp over the sectors or banks of one request.

    ``stepped`` carries by how many requests a key goes on or back.
    """

    stepped = Signal(int)

    def __init__(self) -> None:
        super().__init__("warpPlot", "Lanes of a warp over memory")
        self.setMinimumHeight(typeface.for_text(112))
        self.setToolTip(tr("One request of the warp; Left and Right show the one before and after"))
        self.shown: RequestPicture | None = None

    def sizeHint(self) -> QSize:
        """Return room for lanes, lines and memory."""
        return QSize(400, typeface.for_text(170))

    def show_request(self, shown: RequestPicture | None) -> None:
        """Draw another request."""
        self.shown = shown
        self.setAccessibleDescription(tr(shown.words if shown is not None else ""))
        self.update()

    def draw(self, painter: QPainter) -> None:
        """Draw the lanes, what they want, and lines between them."""
        shown = self.shown
        if shown is None:
            return
        letters = painter.fontMetrics().height()
        room = QRectF(self.rect()).adjusted(MARGIN, 6 + letters, -MARGIN, -6 - letters)
        wide = room.width() / WARP
        tall = min(wide, 18.0)
        lanes = [QRectF(room.left() + i * wide + 1, room.top(), wide - 2, tall)
                 for i in range(WARP)]  # fmt: skip
        cells = self._cells(shown, room.adjusted(0, tall + 0.35 * room.height(), 0, 0))
        self._draw_links(painter, shown, lanes, cells)
        self._draw_memory(painter, shown, cells, letters)
        self._draw_lanes(painter, shown, lanes, letters)

    @staticmethod
    def _cells(shown: RequestPicture, room: QRectF) -> dict[tuple[int, int], QRectF]:
        boxes = max(shown.boxes, 1)
        wide = min(room.width() / boxes, 150.0)
        left = room.left() + (room.width() - wide * boxes) / 2
        found = {}
        for box in range(boxes):
            start = left + box * wide
            for place in range(shown.deep):
                if shown.shared:
                    high = min(room.height() / shown.deep, 16.0)
                    at = QRectF(start + 1, room.top() + place * high, wide - 2, high - 1)
                else:
                    inner = (wide - 4) / shown.deep
                    high = min(room.height(), 22.0)
                    at = QRectF(start + 2 + place * inner, room.top(), inner, high)
                found[box, place] = at
        return found

    @staticmethod
    def _colour(slot: int) -> QColor:
        chart = theme().chart
        return QColor(chart.palette[slot % len(chart.palette)])

    def _draw_links(
        self,
        painter: QPainter,
        shown: RequestPicture,
        lanes: list[QRectF],
        cells: dict[tuple[int, int], QRectF],
    ) -> None:
        for lane, cell in shown.links:
            colour = self._colour(shown.touched[cell])
            painter.setPen(QPen(QColor(blend(colour.name(), theme().chart.panel, LINKS)), 1.0))
            top, bottom = lanes[lane], cells[cell]
            painter.drawLine(QLineF(QPointF(top.center().x(), top.bottom()),
                                    QPointF(bottom.center().x(), bottom.top())))  # fmt: skip

    def _draw_memory(
        self,
        painter: QPainter,
        shown: RequestPicture,
        cells: dict[tuple[int, int], QRectF],
        letters: int,
    ) -> None:
        chart = theme().chart
        for cell, at in cells.items():
            slot = shown.touched.get(cell)
            if slot is None and shown.shared and cell[1]:
                continue  # below a bank's first word only those are there that it is asked for
            painter.setPen(QPen(QColor(chart.grid), 0.8))
            painter.setBrush(self._colour(slot) if slot is not None else QColor(chart.panel))
            painter.drawRect(at)
        painter.setPen(QColor(chart.muted))
        right = 0.0
        for box in range(shown.boxes):
            words = str(box) if shown.shared else count(shown.starts[box])
            first = cells[box, shown.deep - 1 if shown.shared else 0]
            wide = painter.fontMetrics().horizontalAdvance(words)
            if first.left() >= right:
                painter.drawText(QPointF(first.left(), first.bottom() + letters), words)
                right = first.left() + wide + 10

    def _draw_lanes(
        self, painter: QPainter, shown: RequestPicture, lanes: list[QRectF], letters: int
    ) -> None:
        chart = theme().chart
        for lane, at in enumerate(lanes):
            slot = shown.lanes[lane]
            painter.setPen(QPen(QColor(chart.muted), 0.8) if slot is None else Qt.PenStyle.NoPen)
            painter.setBrush(Qt.BrushStyle.NoBrush if slot is None else self._colour(slot))
            painter.drawRect(at)
            if lane % 4 == 0:
                painter.setPen(QColor(chart.muted))
                painter.drawText(QPointF(at.left(), at.top() - 0.3 * letters), str(lane))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Step through the requests."""
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()), 0)
        if step:
            self.stepped.emit(step)
        else:
            super().keyPressEvent(event)
