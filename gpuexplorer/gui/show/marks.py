"""Which mark of a panel lies under the pointer, and where the mark of a key lies."""

from __future__ import annotations

import msgspec
import numpy as np
from PySide6.QtCore import QPointF, QRectF

from gpuexplorer.charts.spec import Floats
from gpuexplorer.gui.show.items import SPAN_HEIGHT, Frame

NEAR_PX = 16.0


class Marks(msgspec.Struct, frozen=True):
    """The marks of a panel that have a key: rectangles in the view's units, without extent points.

    With ``rows``, a row at a whole y belongs to its marks over the whole width.
    """

    keys: tuple[str, ...] = ()
    x: Floats = msgspec.field(default_factory=lambda: np.empty((0, 2)))
    """Left and right end of each."""
    y: Floats = msgspec.field(default_factory=lambda: np.empty((0, 2)))
    """Lower and upper end of each."""
    rows: bool = False

    @classmethod
    def of(cls, frame: Frame) -> Marks:
        """Return the marks of a panel."""
        keys: list[str] = []
        xs: list[Floats] = []
        ys: list[Floats] = []
        heat = frame.panel.z is not None
        for one in frame.panel.series:
            if not one.keys:
                continue
            x, y = one.x, one.y
            reach_x, reach_y = (0.0, 0.0), (0.0, 0.0)
            if one.kind == "stems" and one.sideways:
                x, y = y, x
            left, low = frame.x(x), frame.y(y)
            right = left
            if one.kind == "heat":
                reach_x = reach_y = (-0.5, 0.5)
            elif one.kind == "spans":
                right = frame.x(one.x + one.z)
                reach_y = (-SPAN_HEIGHT / 2, SPAN_HEIGHT / 2)
            known = np.isfinite(left) & np.isfinite(low) & np.array([k != "" for k in one.keys])
            keys += [key for key, drawn in zip(one.keys, known, strict=True) if drawn]
            xs.append(np.stack([left + reach_x[0], right + reach_x[1]], axis=1)[known])
            ys.append(np.stack([low + reach_y[0], low + reach_y[1]], axis=1)[known])
        if not keys:
            return cls()
        rows = bool(frame.panel.y.categories) and not heat
        return cls(tuple(keys), np.concatenate(xs), np.concatenate(ys), rows)

    def at(self, place: QPointF, unit_px: tuple[float, float]) -> str | None:
        """Return the key of the mark at a place of the view, or the nearest one near it.

        ``unit_px`` is how many pixels a unit of the view is wide and high.
        """
        if not self.keys:
            return None
        away_x = _outside(self.x, place.x()) * unit_px[0]
        away_y = _outside(self.y, place.y()) * unit_px[1]
        if self.rows:
            inside = np.abs(self.y.mean(axis=1) - place.y()) <= 0.5
            away = np.where(inside, away_x, np.inf)
            nearest = int(away.argmin())
            return self.keys[nearest] if np.isfinite(away[nearest]) else None
        away = np.hypot(away_x, away_y)
        nearest = int(away.argmin())
        return self.keys[nearest] if away[nearest] <= NEAR_PX else None

    def areas(self, key: str) -> list[QRectF]:
        """Return where the marks of a key lie in the view."""
        return [
            QRectF(QPointF(x[0], y[0]), QPointF(x[1], y[1]))
            for name, x, y in zip(self.keys, self.x, self.y, strict=True)
            if name == key
        ]


def _outside(ends: Floats, place: float) -> Floats:
    """Return how far a place lies outside of each of some ranges; 0 inside."""
    return np.maximum(np.maximum(ends[:, 0] - place, place - ends[:, 1]), 0.0)
