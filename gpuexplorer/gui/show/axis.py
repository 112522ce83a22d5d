"""The axis of a panel: quantities with prefixes, categories in words, or ticks of its own."""

from __future__ import annotations

import math

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFontMetricsF

from gpuexplorer.charts.spec import Axis
from gpuexplorer.core.units import quantity
from gpuexplorer.gui.plots.base import QuantityAxis

NAMES_SHARE = 0.38
"""Of a panel's width, the names of categories at its left have this at the most."""
GAP_PX = 10
OUTSIDE_PX = 20
"""So far the words at the last tick may reach beyond the axis."""


class ChartAxis(QuantityAxis):
    """Shows what an ``Axis`` says; ticks are as many as have room."""

    def __init__(self, orientation: str, unit: str) -> None:
        super().__init__(orientation, unit)
        self.shown = Axis(label="")
        self._names_px = 400.0
        self.bare = False
        """Whether there are no words at the ticks."""

    def boundingRect(self) -> QRectF:
        """Return what is drawn on: a little beyond the ends, for the words there."""
        across, up = (OUTSIDE_PX, 0) if self._along else (0, OUTSIDE_PX)
        return QRectF(super().boundingRect()).adjusted(-across, -up, across, up)

    @property
    def _along(self) -> bool:
        return self.orientation in ("bottom", "top")

    def show_axis(self, axis: Axis) -> None:
        """Show another axis."""
        if axis == self.shown:
            return
        self.shown = axis
        self.set_unit("" if axis.unit == "%" else axis.unit)
        self.setLogMode(axis.scale == "log")
        self.picture = None
        self.update()

    def width_wanted(self, panel_px: float) -> float:
        """Return the width that the words at an upright axis need in a panel."""
        metrics = QFontMetricsF(self.font())
        if self.bare:
            return 6.0
        if self.shown.categories:
            self._names_px = NAMES_SHARE * panel_px
            widest = max(map(metrics.horizontalAdvance, self.shown.categories))
            return min(widest, self._names_px) + 2 * GAP_PX
        sample = quantity(888e-6, self.shown.unit) if self.shown.unit not in ("", "%") else "8888 %"
        return metrics.horizontalAdvance(sample) + 2 * GAP_PX

    def tickValues(self, low: float, high: float, size: float) -> list[tuple[float, list[float]]]:
        """Return the ticks that have room in ``size`` pixels."""
        axis = self.shown
        low, high = min(low, high), max(low, high)  # the other way round where the first is on top
        if axis.categories:
            places = [
                float(i) for i in range(len(axis.categories)) if low - 1e-6 <= i <= high + 1e-6
            ]
            return [(1.0, self._with_room(places, low, high, size))]
        if axis.ticks:
            ticks = [self._view(tick) for tick in axis.ticks]
            inside = sorted(t for t in ticks if low - 1e-9 <= t <= high + 1e-9)
            return [(1.0, self._with_room(inside, low, high, size))]
        return super().tickValues(low, high, size)

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """Return the words at ticks."""
        axis = self.shown
        if self.bare:
            return ["" for _ in values]
        if axis.categories:
            return [self._fitting(axis.categories[round(v)]) for v in values]
        if axis.ticks:
            return [f"{self._value(v):g}" for v in values]
        if axis.unit == "%":
            return [f"{v:g} %" for v in values]
        if not axis.unit and not self.logMode:
            return [f"{v:g}" for v in values]
        return super().tickStrings(values, scale, spacing)

    def _view(self, value: float) -> float:
        return math.log10(value) if self.logMode and value > 0 else value

    def _value(self, place: float) -> float:
        return float(f"{10.0**place:.6g}") if self.logMode else place

    def _fitting(self, name: str) -> str:
        if self._along:
            return name
        metrics = QFontMetricsF(self.font())
        return metrics.elidedText(name, Qt.TextElideMode.ElideRight, self._names_px)

    def _with_room(self, places: list[float], low: float, high: float, size: float) -> list[float]:
        """Return those places whose words do not run into the one kept before."""
        metrics = QFontMetricsF(self.font())
        per_unit = size / max(high - low, 1e-12)
        words = self.tickStrings(places, 1.0, 1.0) if not self.bare else [""] * len(places)
        kept: list[float] = []
        taken = -math.inf
        for place, word in zip(places, words, strict=True):
            half = (
                metrics.horizontalAdvance(word) + GAP_PX if self._along else metrics.height()
            ) / 2
            at = (place - low) * per_unit
            if at - half >= taken - 0.5:
                kept.append(place)
                taken = at + half
        return kept
