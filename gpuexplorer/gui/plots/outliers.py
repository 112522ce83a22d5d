"""Launches that took far longer than the rest, ringed on the trace."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPixmap

from gpuexplorer.gui.model.trace import Drawing, Floats
from gpuexplorer.gui.plots.base import Plot
from gpuexplorer.gui.theme import theme

MOST = 200
"""Rings drawn at once: the longest of what is shown."""
MOST_COLUMNS = 40
"""Columns ringed at once; where more reach so far, that is the rule, and the columns show it."""
SIZE_PX = 7
LINE_PX = 1.5
BOX_PX = 10
FINER = 2
"""Pixels of the drawn ring to one of the screen."""
EDGE = 0.02
"""Share of the height at which a launch above the range is ringed, so that it is seen at all."""


class Rings(pg.GraphicsObject):  # type: ignore[misc]
    """Rings of ``SIZE_PX`` around points, whatever the plot's scale."""

    def __init__(self) -> None:
        super().__init__()
        self._points: list[QPointF] = []
        self._bounds = QRectF()
        self._ring = QPixmap()

    @property
    def points(self) -> list[tuple[float, float]]:
        """What is ringed, in the plot's coordinates."""
        return [(point.x(), point.y()) for point in self._points]

    def set_look(self, pen: QPen) -> None:
        """Take the line that rings are drawn with."""
        self._ring = _ring(pen)
        self.update()

    def set_points(self, x: Floats, y: Floats, within: QRectF) -> None:
        """Ring these points; ``within`` is the part of the plot that they lie in."""
        self.prepareGeometryChange()
        self._bounds = within if len(x) else QRectF()
        self._points = [QPointF(*at) for at in zip(x.tolist(), y.tolist(), strict=True)]
        self.update()

    def boundingRect(self) -> QRectF:
        """Return what is covered."""
        return self._bounds

    def paint(self, painter: QPainter, *args: object) -> None:
        """Draw the rings in pixels."""
        scale = painter.transform()
        half = QPointF(BOX_PX / 2, BOX_PX / 2)
        painter.save()
        painter.resetTransform()
        for point in self._points:
            painter.drawPixmap(scale.map(point) - half, self._ring)
        painter.restore()


def _ring(pen: QPen) -> QPixmap:
    """Return one ring, drawn finely enough for any screen."""
    pixmap = QPixmap(BOX_PX * FINER, BOX_PX * FINER)
    pixmap.setDevicePixelRatio(FINER)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(pen)
    painter.drawEllipse(QPointF(BOX_PX / 2, BOX_PX / 2), SIZE_PX / 2, SIZE_PX / 2)
    painter.end()
    return pixmap


class OutlierMarks:
    """The rings; they follow the trace and cost next to nothing while there are none."""

    def __init__(self, plot: Plot) -> None:
        self._plot = plot
        self._rings = Rings()
        self._rings.setZValue(8)
        plot.add(self._rings)
        self.shown = 0

    def repaint_theme(self) -> None:
        """Take the theme's colours."""
        self._rings.set_look(QPen(QColor(theme().chart.palette[1]), LINE_PX))

    def clear(self) -> None:
        """Ring nothing."""
        if self.shown:
            self._rings.set_points(np.empty(0), np.empty(0), QRectF())
        self.shown = 0

    def draw(self, drawing: Drawing, above_s: float | None) -> None:
        """Ring what lies above ``above_s`` among the points drawn; None rings nothing.

        Nor are there any where many columns of many launches reach above it.
        """
        far = np.flatnonzero(drawing.y > above_s) if above_s is not None else np.empty(0, np.intp)
        if drawing.stretch > 1 and len(far) > MOST_COLUMNS:
            far = far[:0]
        if len(far) > MOST:
            far = far[np.argpartition(drawing.y[far], -MOST)[-MOST:]]
        if len(far) or self.shown:
            view = self._plot.box.viewRect()
            low, high = self._plot.box.viewRange()[1]
            heights = self._plot.scaled(drawing.y[far])
            self._rings.set_points(
                drawing.x[far], np.minimum(heights, high - EDGE * (high - low)), view
            )
        self.shown = len(far)
