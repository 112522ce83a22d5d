"""How each kind of series is drawn: one class a kind, updated in place when new values come."""

from __future__ import annotations

import msgspec
import numpy as np
import pyqtgraph as pg
from PySide6.QtGui import QPen

from gpuexplorer.charts.spec import Floats, Panel, Series
from gpuexplorer.charts.style import STROKES, Theme, marker_of
from gpuexplorer.gui.plots.base import line_pen, role_pen
from gpuexplorer.gui.theme import blend

SYMBOLS = {"o": "o", "s": "s", "D": "d", "^": "t1", "v": "t", "P": "+"}
"""pyqtgraph's names of markers."""
POINT_PX, RUN_PX = 6, 10
"""Of a point among many, and of one that stands for a run by itself."""
SPAN_HEIGHT = 0.66
STEM_PX = 2
BAND_SHARE, FILL_SHARE = 0.18, 0.75
"""How strongly areas are drawn over their ground."""
FEW = 200
"""Points of a line that is drawn smoothly; of a longer one that takes too long."""
FRAME = 0.47
"""Half of a cell's frame, where a cell is 1 wide."""


class Frame(msgspec.Struct, frozen=True):
    """What a series is drawn in: the panel, the lowest places of its view, and the colours."""

    panel: Panel
    left: float
    bottom: float
    theme: Theme

    def x(self, values: Floats) -> Floats:
        """Return x values as the view takes them."""
        return _scaled(values, self.panel.x.scale == "log")

    def y(self, values: Floats) -> Floats:
        """Return y values as the view takes them."""
        return _scaled(values, self.panel.y.scale == "log")


def _scaled(values: Floats, log: bool) -> Floats:
    if not log:
        return values
    with np.errstate(divide="ignore", invalid="ignore"):
        logs: Floats = np.log10(values)
    return logs


def colour_of(one: Series, theme: Theme) -> str:
    """Return the colour of a series on its panel; a slot beyond the palette is grey."""
    if one.kind == "spans" and one.colour >= len(theme.palette):
        return theme.muted
    return blend(theme.colour(one.colour, one.role), theme.panel, STROKES[one.role].opacity)


def pen_of(one: Series, theme: Theme) -> QPen:
    """Return the pen of a series' lines; a level without a name is dashed."""
    pen = role_pen(one.role, colour_of(one, theme))
    if one.kind == "hline" and not one.name and not STROKES[one.role].dash:
        pen.setDashPattern([3.0, 2.0])
    return pen


def symbol_of(one: Series) -> str:
    """Return pyqtgraph's name of the marker of a series."""
    return SYMBOLS[marker_of(one.role, one.colour)]


def fill_of(one: Series, theme: Theme) -> str:
    """Return the colour inside its markers."""
    return colour_of(one, theme) if STROKES[one.role].filled else theme.panel


class Drawn:
    """The items of one series, the lowest first."""

    def __init__(self, *items: tuple[float, pg.GraphicsObject]) -> None:
        self.items = [item for _, item in items]
        self._shown: tuple[object, ...] = ()
        for z, item in items:
            item.setZValue(z)

    def show(self, one: Series, frame: Frame) -> None:
        """Show other values of the same kind, where they differ."""
        shown = (one, frame.panel.x, frame.panel.y, frame.panel.z, frame.theme)
        if shown != self._shown:
            self._shown = shown
            self.draw(one, frame)

    def draw(self, one: Series, frame: Frame) -> None:
        """Draw these values."""
        raise NotImplementedError


class Curve(Drawn):
    """A line through points, or steps from each to the next."""

    def __init__(self) -> None:
        self._curve = pg.PlotCurveItem(connect="finite")
        super().__init__((2, self._curve))

    def draw(self, one: Series, frame: Frame) -> None:
        x, y = one.x, one.y
        if one.kind == "step" and len(x):
            x, y = np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]
        self._curve.setData(frame.x(x), frame.y(y), antialias=len(x) <= FEW)
        self._curve.setPen(pen_of(one, frame.theme))


class Level(Drawn):
    """A line across the whole panel, level or upright."""

    def __init__(self, upright: bool) -> None:
        self._line = pg.InfiniteLine(angle=90 if upright else 0)
        super().__init__((1.5, self._line))

    def draw(self, one: Series, frame: Frame) -> None:
        place = frame.x(one.x) if one.kind == "vline" else frame.y(one.y)
        self._line.setPos(float(place[0]))
        self._line.setPen(pen_of(one, frame.theme))


class Band(Drawn):
    """The area between lower and upper values."""

    def __init__(self) -> None:
        self._area = pg.PlotCurveItem(fillLevel="enclosed")
        super().__init__((0.5, self._area))

    def draw(self, one: Series, frame: Frame) -> None:
        x, half = frame.x(one.x), len(one.x)
        y = frame.y(one.y)
        outline = np.concatenate([y[:half], y[half:][::-1]])
        self._area.setData(np.concatenate([x, x[::-1]]), outline)
        self._area.setPen(None)
        self._area.setBrush(blend(colour_of(one, frame.theme), frame.theme.panel, BAND_SHARE))


class Points(Drawn):
    """Markers, with intervals where there are any."""

    def __init__(self) -> None:
        self._intervals = pg.PlotCurveItem(connect="pairs")
        self._markers = pg.ScatterPlotItem(pxMode=True)
        super().__init__((2.5, self._intervals), (3, self._markers))

    def draw(self, one: Series, frame: Frame) -> None:
        theme = frame.theme
        alone = len(one.x) == 1 or len(one.low) > 0
        colour = colour_of(one, theme)
        x, y = frame.x(one.x), frame.y(one.y)
        known = np.isfinite(x) & np.isfinite(y)
        self._markers.setData(
            x=x[known], y=y[known], symbol=symbol_of(one), size=RUN_PX if alone else POINT_PX,
            pen=line_pen(colour, 2 if alone else 1), brush=fill_of(one, theme),
        )  # fmt: skip
        self._draw_intervals(one, frame, x, y)
        self._intervals.setPen(line_pen(colour, 2))

    def _draw_intervals(self, one: Series, frame: Frame, x: Floats, y: Floats) -> None:
        has = np.isfinite(one.low) & np.isfinite(one.high) if len(one.low) else np.zeros(0, bool)
        if not has.any():
            self._intervals.setData([], [])
            return
        ends = np.stack([one.low[has], one.high[has]], axis=1).ravel()
        place = np.repeat((y if one.sideways else x)[has], 2)
        if one.sideways:
            self._intervals.setData(frame.x(ends), place)
        else:
            self._intervals.setData(place, frame.y(ends))


class Stems(Drawn):
    """A stem from zero to a marker; on a logarithmic axis it comes from below the panel."""

    def __init__(self) -> None:
        self._stems = pg.PlotCurveItem(connect="pairs")
        self._markers = pg.ScatterPlotItem(size=RUN_PX, pxMode=True)
        super().__init__((2, self._stems), (3, self._markers))

    def draw(self, one: Series, frame: Frame) -> None:
        theme, colour = frame.theme, colour_of(one, frame.theme)
        along = frame.x(one.y) if one.sideways else frame.y(one.y)
        across = frame.y(one.x) if one.sideways else frame.x(one.x)
        axis = frame.panel.x if one.sideways else frame.panel.y
        start = (frame.left if one.sideways else frame.bottom) - 10 if axis.scale == "log" else 0.0
        ends = np.stack([np.full(len(along), start), along], axis=1).ravel()
        both = np.repeat(across, 2)
        places = (ends, both) if one.sideways else (both, ends)
        self._stems.setData(*places)
        pen = role_pen(one.role, colour)
        pen.setWidth(STEM_PX)
        self._stems.setPen(pen)
        tips = (along, across) if one.sideways else (across, along)
        known = np.isfinite(along)
        self._markers.setData(
            x=tips[0][known], y=tips[1][known], symbol=symbol_of(one), pen=line_pen(colour, 2),
            brush=fill_of(one, theme),
        )  # fmt: skip


class Rectangles(Drawn):
    """Bars of a histogram, or spans along x."""

    def __init__(self) -> None:
        self._bars = pg.BarGraphItem(x0=[], x1=[], y0=[], y1=[])
        super().__init__((1, self._bars))

    def draw(self, one: Series, frame: Frame) -> None:
        theme = frame.theme
        if one.kind == "spans":
            x0, x1 = frame.x(one.x), frame.x(one.x + one.z)
            y0, y1 = one.y - SPAN_HEIGHT / 2, one.y + SPAN_HEIGHT / 2
            colour = colour_of(one, theme)
        else:
            zero = np.zeros(len(one.y))
            x0, x1, y0, y1 = one.x[:-1], one.x[1:], zero, one.y
            if one.sideways:
                x0, x1, y0, y1 = y0, y1, x0, x1
            x0, x1, y0, y1 = frame.x(x0), frame.x(x1), frame.y(y0), frame.y(y1)
            x0 = np.where(np.isfinite(x0), x0, frame.left - 10)
            y0 = np.where(np.isfinite(y0), y0, frame.bottom - 10)
            colour = blend(colour_of(one, theme), theme.panel, FILL_SHARE)
        self._bars.setOpts(x0=x0, x1=x1, y0=y0, y1=y1, brush=colour, pen=line_pen(colour))


class Frames(Drawn):
    """Frames around cells."""

    def __init__(self) -> None:
        self._curve = pg.PlotCurveItem(connect="finite")
        super().__init__((4, self._curve))

    def draw(self, one: Series, frame: Frame) -> None:
        corners_x = np.array([-FRAME, FRAME, FRAME, -FRAME, -FRAME, np.nan])
        corners_y = np.array([-FRAME, -FRAME, FRAME, FRAME, -FRAME, np.nan])
        self._curve.setData(
            (one.x[:, None] + corners_x).ravel(), (one.y[:, None] + corners_y).ravel()
        )
        self._curve.setPen(line_pen(colour_of(one, frame.theme), 2))


class Heat(Drawn):
    """Cells coloured by value."""

    def __init__(self) -> None:
        from gpuexplorer.gui.show.heat import HeatItem

        self._cells = HeatItem()
        super().__init__((1, self._cells))

    def draw(self, one: Series, frame: Frame) -> None:
        self._cells.show(one, frame.panel, frame.theme)


def made(kind: str) -> Drawn:
    """Return the drawing of a kind of series, with nothing in it yet."""
    match kind:
        case "points":
            return Points()
        case "stems":
            return Stems()
        case "hline" | "vline":
            return Level(upright=kind == "vline")
        case "band":
            return Band()
        case "histogram" | "spans":
            return Rectangles()
        case "outline":
            return Frames()
        case "heat":
            return Heat()
    return Curve()
