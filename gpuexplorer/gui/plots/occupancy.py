"""Theoretical occupancy against the block size: a bar a size, in the colour of what limits it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QHelpEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gpuexplorer.analysis.static import CurvePoint, KernelAnalysis
from gpuexplorer.charts.occupancy import limiter_slot
from gpuexplorer.charts.words import block_words
from gpuexplorer.core.config import Block
from gpuexplorer.core.language import about, tr
from gpuexplorer.core.units import percent, plural
from gpuexplorer.gui.plots.base import Plot, line_pen
from gpuexplorer.gui.theme import blend, theme

BAR_WIDTH = 18.0
THREAD_TICKS = (
    (32, 128, 256, 384, 512, 640, 768, 896, 1024), (32, 256, 512, 768, 1024), (128, 512, 896),
)  # fmt: skip
"""The most of these whose words have room are at the axis."""
MOST_THREADS = 1084
"""End of the axis: the last bar's label needs room."""
SHARE_TICKS = (0, 25, 50, 75, 100)
LEAST_TOP = 112
"""Per cent at the upright axis' end; more where the plot is low, for words above a bar."""
NOT_COMPILED = "Not compiled yet."
OTHERS = 0.45
"""How strongly the bars are drawn that are not the present block's."""


def limiter_colour(limiter: str) -> str:
    """Return the colour that stands for what limits the occupancy."""
    palette = theme().chart.palette
    return palette[limiter_slot(limiter) % len(palette)]


class OccupancyPlot(Plot):
    """The curve of one kernel; ``block_chosen`` carries the block of a bar that was clicked."""

    block_chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__("%", "")
        self.setObjectName("occupancyPlot")
        self.setAccessibleName(tr("Occupancy by block size"))
        self._kernel: KernelAnalysis | None = None
        self.y_axis.setTicks([[(float(s), f"{s} %") for s in SHARE_TICKS]])
        self.box.setMouseEnabled(x=False, y=False)
        self.box.setRange(xRange=(0, MOST_THREADS), yRange=(0, LEAST_TOP), padding=0)
        self._bars = pg.BarGraphItem(x=[], height=[], width=BAR_WIDTH)
        self._here = pg.TextItem(anchor=(0.5, 1.0))
        self._here.setVisible(False)
        self.add(self._bars)
        self.add(self._here)
        self.says = self._spoken
        self.scene().sigMouseClicked.connect(self._clicked)
        self.say_empty(NOT_COMPILED)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Have room for words above bars, and as many numbers of threads as fit at the axis."""
        super().resizeEvent(event)
        if not hasattr(self, "_here"):
            return
        high, words = self.box.height(), self._here.boundingRect().height()
        top = 100 * high / max(high - words, words, 1.0)
        self.box.setRange(yRange=(0, max(top, LEAST_TOP)), padding=0)
        word_px = self.fontMetrics().horizontalAdvance("1024  ")
        room = self.box.width() / MOST_THREADS * 128 / word_px
        ticks = THREAD_TICKS[0 if room >= 1 else 1 if room >= 0.5 else 2]
        self.x_axis.setTicks([[(float(t), str(t)) for t in ticks]])

    @property
    def curve(self) -> Sequence[CurvePoint]:
        """What is drawn."""
        return self._kernel.curve if self._kernel is not None else ()

    def show_kernel(self, kernel: KernelAnalysis | None) -> None:
        """Draw a kernel's curve with its present block marked; None draws nothing."""
        self._kernel = kernel
        self._draw()

    def repaint_theme(self) -> None:
        """Take the theme's colours."""
        super().repaint_theme()
        if hasattr(self, "_here"):
            self._draw()

    def _draw(self) -> None:
        panel = theme().chart.panel
        points = self.curve
        colours = [
            limiter_colour(p.limiter)
            if self._is_here(p)
            else blend(limiter_colour(p.limiter), panel, OTHERS)
            for p in points
        ]
        self.say_empty("" if points else NOT_COMPILED)
        self._bars.setVisible(bool(points))
        if points:  # pyqtgraph's bars fail on empty lists of pens
            self._bars.setOpts(
                x=[float(p.threads) for p in points],
                height=[max(p.occupancy * 100, 0.8) for p in points],  # none is seen, too
                width=BAR_WIDTH,
                brushes=[QBrush(QColor(c)) for c in colours],
                pens=[line_pen(c) for c in colours],
            )
        here = next((p for p in points if self._is_here(p)), None)
        self._here.setVisible(here is not None)
        if here is not None:
            self._here.setText(about(block_words(here.block), percent(here.occupancy)))
            self._here.setColor(theme().q("text"))
            self._here.setAnchor((min(max(here.threads / 1024, 0.1), 0.9), 1.0))
            self._here.setPos(here.threads, here.occupancy * 100)

    def _spoken(self) -> str:
        """Return the occupancy of the block that is chosen."""
        return self._here.toPlainText() if self._here.isVisible() else ""

    def _is_here(self, point: CurvePoint) -> bool:
        return self._kernel is not None and point.block == self._kernel.block

    def point_at(self, threads: float) -> CurvePoint | None:
        """Return the bar nearest to a number of threads; None where there is none near."""
        nearest = min(self.curve, key=lambda p: abs(p.threads - threads), default=None)
        near = nearest is not None and abs(nearest.threads - threads) <= BAR_WIDTH
        return nearest if near else None

    def _clicked(self, event: Any) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            return
        where = self.box.mapSceneToView(event.scenePos())
        point = self.point_at(where.x())
        if point is not None and self.box.sceneBoundingRect().contains(event.scenePos()):
            self.choose(point.block)

    def choose(self, block: Block) -> None:
        """Ask for a block."""
        self.block_chosen.emit(block)

    def viewportEvent(self, event: QEvent) -> bool:
        """Show a bar's figures as its tooltip."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            point = self.point_at(self.box.mapSceneToView(self.mapToScene(event.pos())).x())
            QToolTip.showText(
                event.globalPos(), tr("" if point is None else point_words(point)), self
            )
            return True
        return bool(super().viewportEvent(event))


def point_words(point: CurvePoint) -> str:
    """Return one bar in words."""
    blocks = plural(
        point.blocks_per_multiprocessor,
        "{number} block a multiprocessor, limited by {limiter}",
        "{number} blocks a multiprocessor, limited by {limiter}",
        limiter=point.limiter,
    )
    return (
        f"{block_words(point.block)}, {point.threads} threads: {percent(point.occupancy)}\n"
        f"{blocks}\n"
        "A click chooses this block."
    )


class LimiterLegend(QWidget):
    """The limiters of a curve with their colours, in a row."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("limiterLegend")
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setToolTip(tr("What has no room for one more block on a multiprocessor"))
        self.limiters: tuple[str, ...] = ()

    def show_limiters(self, limiters: Sequence[str]) -> None:
        """Name these."""
        if tuple(limiters) != self.limiters:
            self.limiters = tuple(limiters)
            self.update()

    def sizeHint(self) -> QSize:
        """Return the height of a line."""
        return QSize(200, self.fontMetrics().height() + 4)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw a swatch and a name for each."""
        painter = QPainter(self)
        left, middle = 6, self.height() / 2
        for limiter in self.limiters:
            painter.fillRect(QRectF(left, middle - 5, 10, 10), QColor(limiter_colour(limiter)))
            painter.setPen(theme().q("muted"))
            words = tr(f"limited by {limiter}" if left == 6 else limiter)
            wide = self.fontMetrics().horizontalAdvance(words)
            where = QRectF(left + 15, 0, wide + 2, self.height())
            painter.drawText(where, Qt.AlignmentFlag.AlignVCenter, words)
            left += 15 + wide + 16
        painter.end()
