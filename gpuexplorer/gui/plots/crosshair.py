"""Lines through the pointer over a plot, and what was measured there."""

from __future__ import annotations

from collections.abc import Callable

import pyqtgraph as pg
from PySide6.QtCore import QObject, QPointF

from gpuexplorer.core.language import tr
from gpuexplorer.core.units import quantity
from gpuexplorer.gui.plots.base import Plot, line_pen
from gpuexplorer.gui.show.overlay import Text, Texts
from gpuexplorer.gui.theme import blend, theme

OFFSET_PX = 10.0


class Crosshair(QObject):
    """Follows the pointer; ``words_at`` says what lies at a time, empty for nothing."""

    def __init__(self, plot: Plot, words_at: Callable[[float], str]) -> None:
        super().__init__()
        self._plot, self._words_at = plot, words_at
        self._at: QPointF | None = None
        self._upright, self._level = pg.InfiniteLine(angle=90), pg.InfiniteLine(angle=0)
        self.texts = Texts()
        for z, item in ((30, self._upright), (30, self._level), (31, self.texts)):
            item.setZValue(z)
            plot.add(item)
        self._show_lines(False)
        plot.scene().sigMouseMoved.connect(self._moved)
        plot.left.connect(self._left)

    def _show_lines(self, shown: bool) -> None:
        self._upright.setVisible(shown)
        self._level.setVisible(shown)

    def _moved(self, at: QPointF) -> None:
        inside = self._plot.box.sceneBoundingRect().contains(at)
        self._at = QPointF(at) if inside else None
        self.refresh()

    def _left(self) -> None:
        self._at = None
        self.refresh()

    def refresh(self) -> None:
        """Say anew what lies under the pointer, which rests while the plot moves on."""
        if self._at is None:
            if self._upright.isVisible():
                self._show_lines(False)
                self.texts.set_texts((), self._plot.font(), "")
            return
        chart = theme().chart
        place = self._plot.box.mapSceneToView(self._at)
        pen = line_pen(blend(chart.muted, chart.panel, 0.6))
        for line, value in ((self._upright, place.x()), (self._level, place.y())):
            line.setPen(pen)
            line.setValue(value)
        self._show_lines(True)
        left, _ = self._plot.box.viewRange()[0]
        value = 10.0 ** place.y() if self._plot.log else place.y()
        texts = [
            Text(
                tr(quantity(value, "s")), left, place.y(), chart.text, (0.0, 1.0), (4.0, -2.0),
                behind=chart.panel,
            )
        ]  # fmt: skip
        words = self._words_at(place.x())
        if words:
            texts.append(
                Text(
                    words, place.x(), place.y(), chart.text, (0.0, 0.0), (OFFSET_PX, OFFSET_PX),
                    behind=chart.panel,
                )
            )  # fmt: skip
        self.texts.set_texts(texts, self._plot.font(), "")
