"""What the live plots share: axes with readable quantities, colours from the theme, fast curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyqtgraph as pg
from pyqtgraph.functions import create_qpolygonf, ndarray_from_qpolygonf
from PySide6.QtCore import QCoreApplication, QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QColor,
    QDragLeaveEvent,
    QFontMetrics,
    QFontMetricsF,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QGraphicsGridLayout,
    QGraphicsItem,
    QGraphicsView,
    QLabel,
    QSizePolicy,
    QWidget,
)

from gpuexplorer.charts.spec import Role
from gpuexplorer.charts.style import STROKES
from gpuexplorer.charts.ticks import LEAST_DECADES, MOST_DECADES, log_ticks, tick_words
from gpuexplorer.core.language import about, tr
from gpuexplorer.core.units import si_scale
from gpuexplorer.gui import typeface
from gpuexplorer.gui.model.trace import Floats
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.typeface import for_text
from gpuexplorer.gui.widgets.words import Words

pg.setConfigOption(
    "mouseRateLimit", 0
)  # else a pointer's last move, where it rests, may be left out

AXIS_WIDTH = 68
"""For text of usual size, as every length here."""
WORDS_APART_PX = 6
"""Between the words of two ticks."""
TICK_WIDE_PX, TICK_HIGH_PX = 70, 34
"""From one tick of a logarithmic axis to the next, at the least, as long as there are two."""
OUTSIDE_PX = 20
"""So far the words at the last tick may reach beyond the axis."""
TOP_PX = 8
"""Above a plot, for the upper half of the words at its highest tick."""
UNDER_WAY = "The first launch is not over yet."
"""What a plot of launches says meanwhile, in place of how to measure."""
SIDE_WIDTH = 216
"""Width of what stands at the right of a plot, so that stacked plots share their time axis."""


class QuantityAxis(pg.AxisItem):  # type: ignore[misc]
    """An axis in a base unit whose ticks carry the prefix, such as ``250 µs``; linear or log."""

    def __init__(self, orientation: str, unit: str) -> None:
        super().__init__(orientation)
        self._unit = unit
        self._bounds: tuple[tuple[object, ...], QRectF] = ((), QRectF())
        """What is drawn on, after all that it follows from."""
        self.enableAutoSIPrefix(False)
        # Drawn anew only when the range changes, not with each frame of what moves above its grid.
        self.setCacheMode(QGraphicsItem.CacheMode.DeviceCoordinateCache)
        self.setStyle(tickLength=-4, autoExpandTextSpace=False, autoReduceTextSpace=False)

    @property
    def _along(self) -> bool:
        return self.orientation in ("bottom", "top")

    def boundingRect(self) -> QRectF:
        """Return what is drawn on: a little beyond the ends of an upright axis, for the words.

        Nothing outside the plot: of what reaches far out of it Qt draws anew only what had not
        been there before, so that words of another size stay.
        """
        view, plot = self.linkedView(), self.parentItem()
        within = plot.rect() if plot is not None else QRectF()
        key = (self.geometry(), view.geometry() if view is not None else None, self.grid, within)
        if key != self._bounds[0]:  # each frame asks many times
            up = 0 if self._along else for_text(OUTSIDE_PX)
            bounds = QRectF(super().boundingRect()).adjusted(0, -up, 0, up)
            if plot is not None:
                bounds &= self.mapRectFromParent(within)
            self._bounds = (key, bounds)
        return self._bounds[1]

    def set_unit(self, unit: str) -> None:
        """Name ticks in another unit."""
        if unit != self._unit:
            self._unit = unit
            self.update()

    def paint(self, painter: QPainter, *args: object) -> None:
        """Draw at once: there is a cache, and fonts in a picture are looked up at each playing."""
        painter.save()
        painter.setFont(self.font())
        specs = self.generateDrawSpecs(painter)
        if specs is not None:
            self.drawPicture(painter, *specs)
        painter.restore()

    def tickValues(self, low: float, high: float, size: float) -> list[tuple[float, list[float]]]:
        """Return the ticks; a logarithmic axis has two at least, however short it is."""
        if not self.logMode:
            levels = list(super().tickValues(low, high, size)[:2])
            return self._far_enough(levels, (high - low) / max(size, 1.0))
        begin, end = (10.0 ** min(max(v, -MOST_DECADES), MOST_DECADES) for v in (low, high))
        step_px = for_text(TICK_WIDE_PX if self._along else TICK_HIGH_PX)
        found = log_ticks(begin, end, int(size / step_px))
        return [(1.0, [min(max(math.log10(v), low), high) for v in found])]

    def _far_enough(
        self, levels: list[tuple[float, list[float]]], per_px: float
    ) -> list[tuple[float, list[float]]]:
        """Leave out ticks along x whose words would run into each other on a short axis."""
        if not (self._along and levels and len(levels[0][1]) > 1):
            return levels
        spacing, values = levels[0]
        advance = QFontMetricsF(self.font()).horizontalAdvance
        wide = max(map(advance, self.tickStrings(values, 1.0, spacing))) + WORDS_APART_PX
        every = math.ceil(wide * per_px / spacing)
        if every < 2:
            return levels
        return [(every * spacing, [v for v in values if round(v / spacing) % every == 0])]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """Return the words at ticks."""
        if self.logMode:
            return [tr(words) for words in tick_words([10.0**v for v in values], self._unit)]
        if not values:
            return []
        factor, prefix = si_scale(max(abs(v) for v in values))
        decimals = max(0, -math.floor(math.log10(abs(spacing) * factor) + 1e-9)) if spacing else 0
        return [tr(f"{v * factor:.{decimals}f} {prefix}{self._unit}".strip()) for v in values]

    def logTickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """Return the words at ticks of a log axis."""
        return self.tickStrings(values, scale, spacing)


LOG_REACH = (-12, 18)
"""The powers of ten of a base unit between which a logarithmic axis can be zoomed."""
LEAST_HEIGHT = 66
"""Pixels that a plot has at least: two plots fit a window of 400, also where a system's font has
lines that are higher by a fifth, as those for Chinese have."""


class PlotArea(pg.GraphicsWidget):  # type: ignore[misc]
    """A view with an axis below it and one at its left.

    In place of pyqtgraph's ``PlotItem``, which makes some sixty widgets for its context menu: with
    them a plot takes ten times the memory, and a chart of a dozen panels a tenth of a second.
    """

    def __init__(self, x_axis: QuantityAxis, y_axis: QuantityAxis) -> None:
        super().__init__()
        self.x_axis, self.y_axis = x_axis, y_axis
        self.box = pg.ViewBox(parent=self, enableMenu=False)
        self.items: list[Any] = []
        """What is drawn in the view."""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        layout = QGraphicsGridLayout()
        layout.setContentsMargins(1, 1, 1, 1)
        layout.setSpacing(0)
        self.setLayout(layout)
        for axis, row, column in ((y_axis, 0, 0), (x_axis, 1, 1)):
            axis.linkToView(self.box)
            layout.addItem(axis, row, column)
            axis.setZValue(-1000)  # its grid is behind what is drawn
            axis.setFlag(QGraphicsItem.GraphicsItemFlag.ItemNegativeZStacksBehindParent)
        layout.addItem(self.box, 0, 1)
        layout.setRowStretchFactor(0, 100)
        layout.setColumnStretchFactor(1, 100)

    def show_grid(self, x: bool, y: bool, alpha: float) -> None:
        """Draw lines at the ticks of these axes, so opaque."""
        self.x_axis.setGrid(round(alpha * 255) if x else False)
        self.y_axis.setGrid(round(alpha * 255) if y else False)


class Plot(pg.GraphicsView):  # type: ignore[misc]
    """A plot in the theme's colours: drag pans, the wheel zooms in time, a double click follows."""

    painted = Signal()
    double_clicked = Signal()
    dragged = Signal()
    left = Signal()
    """The pointer is elsewhere now."""
    axis_class: type[QuantityAxis] = QuantityAxis

    def __init__(self, unit: str, x_unit: str = "s", parent: QWidget | None = None) -> None:
        self.x_axis = self.axis_class("bottom", x_unit)
        self.y_axis = self.axis_class("left", unit)
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.enableMouse(False)  # the view takes it
        # A picture of the empty ground, as large as the plot, is drawn no faster than a colour.
        self.setCacheMode(QGraphicsView.CacheModeFlag.CacheNone)
        self.log = False
        self.area = PlotArea(self.x_axis, self.y_axis)
        self.area.show_grid(x=False, y=True, alpha=0.12)
        self.area.setContentsMargins(0, for_text(TOP_PX), 6, 0)
        self.setCentralItem(self.area)
        self.y_axis.setWidth(for_text(AXIS_WIDTH))
        self.x_axis.setHeight(for_text(22))
        self.box: pg.ViewBox = self.area.box
        self.box.disableAutoRange()
        self.box.sigRangeChangedManually.connect(lambda _: self.dragged.emit())
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # it takes no keys
        self.says: Callable[[], str] | None = None
        """Says what is drawn, in the user's language; see ``gui.speech``."""
        self.setMinimumHeight(LEAST_HEIGHT)
        self.setFrameShape(self.Shape.NoFrame)
        self._empty = QLabel(self)
        self._empty.setObjectName("emptyWords")
        self._empty.setProperty("role", "muted")
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._empty.setWordWrap(True)
        self._empty.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._empty.hide()
        self.box.sigResized.connect(lambda _: self._place_empty())
        theme().changed.connect(self.repaint_theme)
        self.repaint_theme()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        """Leave drags to what is around: pyqtgraph lets none enter, and Qt would miss that."""
        event.ignore()

    def add(self, item: QGraphicsItem) -> None:
        """Draw an item in the view."""
        self.area.items.append(item)
        self.box.addItem(item, ignoreBounds=True)

    def remove(self, item: QGraphicsItem) -> None:
        """Draw an item no more."""
        self.area.items.remove(item)
        self.box.removeItem(item)

    def repaint_theme(self) -> None:
        """Take the theme's colours; subclasses colour their items too."""
        chart = theme().chart
        self.setBackground(chart.panel)
        for axis in (self.x_axis, self.y_axis):
            axis.setPen(line_pen(theme().colour("border")))
            axis.setTextPen(line_pen(chart.muted))

    def say_empty(self, words: str) -> None:
        """Say in the middle that nothing is drawn yet, and what to do; "" for no such words.

        There are no figures at the axes meanwhile: nothing has them.
        """
        told = tr(words)
        if told != self._empty.text():
            self._empty.setText(told)
            self._empty.setVisible(bool(words))
            for axis in (self.x_axis, self.y_axis):
                axis.setStyle(showValues=not words)
            self._place_empty()

    def spoken(self) -> str:
        """Return what is drawn in a sentence."""
        return self.empty_words or (self.says() if self.says is not None else "")

    @property
    def empty_words(self) -> str:
        """What stands in the middle of a plot in which nothing is drawn."""
        return self._empty.text()

    def _place_empty(self) -> None:
        if self._empty.text():
            area = self.mapFromScene(self.box.sceneBoundingRect()).boundingRect()
            self._empty.setGeometry(area.adjusted(8, 0, -8, 0))

    def set_log(self, on: bool) -> None:
        """Draw y on a logarithmic axis; the curves are transformed by ``scaled``."""
        self.log = on
        self.y_axis.setLogMode(y=on)
        low, high = LOG_REACH if on else (None, None)
        self.box.setLimits(minYRange=LEAST_DECADES if on else None, yMin=low, yMax=high)

    def scaled(self, y: Floats) -> Floats:
        """Return y values as this plot's view takes them."""
        if not self.log:
            return y
        with np.errstate(divide="ignore", invalid="ignore"):
            logs: Floats = np.log10(y)
        return logs

    def scaled_one(self, y: float) -> float:
        """Return one y value as this plot's view takes it."""
        return math.log10(y) if self.log and y > 0 else y

    def set_y(self, low: float, high: float) -> None:
        """Show ``low..high``, in the base unit."""
        self.box.setYRange(self.scaled_one(low), self.scaled_one(high), padding=0)

    def mouseDoubleClickEvent(self, event: Any) -> None:
        """Go back to following."""
        self.double_clicked.emit()
        event.accept()

    def close(self) -> bool:
        """Let go of everything: what is closed takes no other colours."""
        theme().changed.disconnect(self.repaint_theme)
        return bool(super().close())

    def leaveEvent(self, event: QEvent) -> None:
        """Say that the pointer has gone."""
        super().leaveEvent(event)
        self.left.emit()

    def paint_now(self) -> None:
        """Paint what has changed: by itself Qt waits some milliseconds for more to change."""
        QCoreApplication.sendPostedEvents(self.scene(), QEvent.Type.MetaCall)  # says what has
        self.viewport().repaint()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint, and say so."""
        super().paintEvent(event)
        self.painted.emit()


def line_pen(colour: str, width: int = 1) -> QPen:
    """Return an opaque solid pen, as wide on screen as it says."""
    pen = QPen(QColor(colour), width)
    pen.setCosmetic(True)
    return pen


def polygon(x: Floats, y: Floats) -> QPolygonF:
    """Return points as Qt takes them, without an object for each."""
    made: QPolygonF = create_qpolygonf(len(x))
    points = ndarray_from_qpolygonf(made)
    points[:, 0], points[:, 1] = x, y
    return made


def role_pen(role: Role, colour: str) -> QPen:
    """Return the pen of a role: its dashes are ``charts.style``'s, so files look alike."""
    stroke = STROKES[role]
    pen = QPen(QColor(colour), 2 if stroke.width_pt >= 1.6 else 1)
    pen.setCosmetic(True)
    if stroke.dash:
        pen.setDashPattern([float(d) for d in stroke.dash])
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    return pen


class LineSample(QWidget):
    """A legend entry: the very pen of a line, its name, and its latest value."""

    def __init__(self, name: str, explanation: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name, self._value = name, ""
        self._pen: QPen | None = None
        self._fill: QBrush | None = None
        self.setToolTip(tr(explanation))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_look(self, pen: QPen | None, fill: QBrush | None = None) -> None:
        """Take the line's pen, or the fill of an area."""
        if (pen, fill) != (self._pen, self._fill):
            self._pen, self._fill = pen, fill
            self.update()

    def set_value(self, value: str) -> None:
        """Show the latest value in words."""
        if value != self._value:
            self._value = value
            self.update()

    @property
    def value(self) -> str:
        """The value as shown."""
        return self._value

    def spoken(self) -> str:
        """Return the line's name with its latest value."""
        return about(self._name, self._value) if self._value else tr(self._name)

    def sizeHint(self) -> QSize:
        """Return the preferred size."""
        wide = self.fontMetrics().horizontalAdvance(tr(self._name)) + 34
        return QSize(wide, QFontMetrics(typeface.small(self.font())).height() + 5)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the sample and the words."""
        painter = QPainter(self)
        painter.setFont(typeface.small(painter.font()))
        middle = self.height() // 2
        if self._fill is not None:
            painter.fillRect(QRectF(0, middle - 4, 24, 8), self._fill)
        if self._pen is not None:
            painter.setPen(self._pen)
            painter.drawLine(0, middle, 24, middle)
        words = QRectF(30, 0, self.width() - 30, self.height())
        painter.setPen(theme().q("muted"))
        painter.drawText(
            words, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, tr(self._name)
        )
        painter.setPen(theme().q("text"))
        painter.drawText(
            words, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, tr(self._value)
        )
        painter.end()


class SampleRow(QWidget):
    """Legend entries side by side, as many as there is room for."""

    def __init__(self, samples: Sequence[LineSample], spacing: int) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._samples, self._spacing = tuple(samples), spacing
        for sample in samples:
            sample.setParent(self)

    def minimumSizeHint(self) -> QSize:
        """Return the height of one entry: there may be room for none."""
        return QSize(0, max(sample.sizeHint().height() for sample in self._samples))

    def sizeHint(self) -> QSize:
        """Return the room that all of them take."""
        hints = [sample.sizeHint().width() for sample in self._samples]
        return QSize(sum(hints) + self._spacing * (len(hints) - 1), self.minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show the first ones, as many as fit."""
        super().resizeEvent(event)
        left = 0
        for sample in self._samples:
            hint = sample.sizeHint()
            top = (self.height() - hint.height()) // 2
            sample.setGeometry(left, top, hint.width(), hint.height())
            left += hint.width()
            sample.setVisible(left <= self.width())
            left += self._spacing


class SideHistogram(pg.GraphicsObject):  # type: ignore[misc]
    """A histogram lying on its side: bins along y, lengths along x; filled, or an outline."""

    def __init__(self) -> None:
        super().__init__()
        self._edges: Floats = np.empty(0)
        self._lengths: Floats = np.empty(0)
        self._brush: QBrush | None = None
        self._pen: QPen | None = None
        self._bounds = QRectF()

    def set_look(self, brush: QBrush | None, pen: QPen | None) -> None:
        """Take fill and outline."""
        self._brush, self._pen = brush, pen
        self.update()

    def set_data(self, edges: Floats, lengths: Floats) -> None:
        """Take n + 1 edges in view units and n lengths."""
        self.prepareGeometryChange()
        self._edges, self._lengths = edges, lengths
        if len(lengths):
            low, high = float(edges[0]), float(edges[-1])
            self._bounds = QRectF(0, low, max(float(lengths.max()), 1e-30), high - low)
        else:
            self._bounds = QRectF()
        self.update()

    def boundingRect(self) -> QRectF:
        """Return what is covered."""
        return self._bounds

    def paint(self, painter: QPainter, *args: object) -> None:
        """Draw the bins."""
        edges, lengths = self._edges.tolist(), self._lengths.tolist()
        if self._brush is not None:
            for low, high, length in zip(edges, edges[1:], lengths, strict=False):
                if length > 0:
                    painter.fillRect(QRectF(0, low, length, high - low), self._brush)
        if self._pen is not None:
            painter.setPen(self._pen)
            last = 0.0
            for low, high, length in zip(edges, edges[1:], lengths, strict=False):
                if length != last:
                    painter.drawLine(pg.Point(last, low), pg.Point(length, low))
                if length > 0:
                    painter.drawLine(pg.Point(length, low), pg.Point(length, high))
                last = length


def title_label(words: str) -> QLabel:
    """Return a plot's title."""
    label = QLabel(tr(words))
    label.setProperty("role", "title")
    return label


def muted_label(words: str = "") -> Words:
    """Return a quiet note of one line."""
    label = Words(words)
    label.setProperty("role", "muted")
    return label
