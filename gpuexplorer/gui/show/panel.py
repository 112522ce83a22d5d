"""One panel of a chart: its words, its axes, its series, and what is pointed at."""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpuexplorer.charts.labels import GAP, point_labels
from gpuexplorer.charts.spec import Axis, Floats, Kind, Panel, Series
from gpuexplorer.charts.ticks import LEAST_DECADES, MOST_DECADES
from gpuexplorer.core.language import tr
from gpuexplorer.gui.plots.base import muted_label
from gpuexplorer.gui.show.heat import ColourScale
from gpuexplorer.gui.show.items import Drawn, Frame, made
from gpuexplorer.gui.show.legend import Entry, Head
from gpuexplorer.gui.show.marks import Marks
from gpuexplorer.gui.show.overlay import Ring, Rings, Text, Texts
from gpuexplorer.gui.show.plot import PanelPlot
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.typeface import for_text, small

PAGE_PX, DOTS_PER_INCH = 960.0, 96.0
"""In which words beside points are given room: a page of ten inches."""
AXIS_PX = 22
ROW_PX, MOST_ROW_PX = 22, 96
"""A row of categories is at least and at most so high."""
LEAST_PX, LEAST_MAP_PX = 88, 190
"""Of the plot alone, and of a whole map."""
GRID = 0.25
"""How strongly the grid is drawn."""
BESIDE_PX = 9
AFTER_PX = 6
"""Right of words at a panel's end."""
INTERVAL_PX = 2 * GAP * PAGE_PX
"""Between an interval and its words."""
MOST_WORDS = 0.6
"""Of a panel's width, the words right of its bars are given this at the most."""


class PanelView(QWidget):
    """Draws a ``Panel``; another of the same shape changes what is there and keeps the zoom."""

    def __init__(self) -> None:
        super().__init__()
        self.head = Head()
        self.plot = PanelPlot()
        self.scale = ColourScale()
        self.axis_words = muted_label()
        self.axis_words.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        row = QHBoxLayout()
        row.setSpacing(0)
        row.addWidget(self.plot, 1)
        row.addWidget(self.scale)
        column = QVBoxLayout(self)
        column.setContentsMargins(2, 0, 2, 2)
        column.setSpacing(0)
        column.addWidget(self.head)
        column.addLayout(row, 1)
        column.addWidget(self.axis_words)
        self.panel: Panel | None = None
        self._entries: tuple[Entry, ...] = ()
        self._drawn: list[tuple[Kind, Drawn]] = []
        self._texts, self._rings = Texts(), Rings()
        for z, item in ((8, self._texts), (9, self._rings)):
            item.setZValue(z)
            self.plot.add(item)
        self._zoomed = False
        self._drawing = False
        """Whether words are still to be written, so that they need not be before."""
        self._ringed: tuple[str | None, str | None] = (None, None)
        self.plot.dragged.connect(self._dragged)
        self.plot.double_clicked.connect(self.show_all)
        self.plot.box.sigResized.connect(lambda _: self._resized())
        self.plot.box.sigRangeChanged.connect(lambda *_: self._write())
        theme().changed.connect(self._repaint_theme)

    # ---- what is shown

    def show_panel(self, panel: Panel, entries: tuple[Entry, ...]) -> None:
        """Draw a panel, with these of its series explained above it."""
        before, self.panel = self.panel, panel
        if before == panel and entries == self._entries:
            return
        self._entries = entries
        if before is None or _shape(before) != _shape(panel):
            self._zoomed = False
        told = panel.share_y or panel.y.label.lower() == panel.title.lower()
        y_words = "" if told else panel.y.label
        self.head.show_words(panel.title, y_words, entries)
        self.axis_words.setText(tr(panel.x.label))
        self.axis_words.setVisible(bool(panel.x.label))
        self.scale.setVisible(panel.z is not None and bool(panel.z.label))
        if panel.z is not None:
            self.scale.show_axis(panel.z)
        self._drawing = True
        self._show_axes(panel)
        if not self._zoomed:
            self._fit(panel)
        self._drawing = False
        self._draw(panel)

    def share_y_with(self, left: PanelView | None) -> None:
        """Show the same of the upright axis as the panel at the left, where they share it."""
        shared = left is not None and self.panel is not None and self.panel.share_y
        self.plot.box.setYLink(left.plot.box if shared and left is not None else None)

    def show_all(self) -> None:
        """Show the whole of the axes again."""
        self._zoomed = False
        if self.panel is not None:
            self._fit(self.panel)

    def show_rings(self, hovered: str | None, current: str | None) -> None:
        """Ring the marks of the key pointed at, and of that which is measured now."""
        self._ringed = hovered, current
        colours = theme()
        self._rings.set_rings(
            [
                Ring(area, colours.colour(colour))
                for key, colour in ((current, "accent"), (hovered, "text"))
                if key is not None
                for area in self.plot.marks.areas(key)
            ]
        )

    @property
    def least_px(self) -> int:
        """The least height in which the panel can be read."""
        panel = self.panel
        if panel is None:
            return 0
        frame = self.head.height_for(self.width()) + for_text(AXIS_PX) + 24
        if panel.z is not None:
            return LEAST_MAP_PX
        if panel.y.categories:
            rows = frame + for_text(ROW_PX) * max(2, len(panel.y.categories))
            return max(rows, self.minimumSizeHint().height())
        return frame + LEAST_PX

    @property
    def most_px(self) -> int:
        """The height above which rows of categories would stand too far apart."""
        panel = self.panel
        if panel is None or panel.z is not None or not panel.y.categories:
            return 100_000
        frame = self.head.height_for(self.width()) + for_text(AXIS_PX) + 24
        return frame + for_text(MOST_ROW_PX) * max(2, len(panel.y.categories))

    # ---- axes

    def _show_axes(self, panel: Panel) -> None:
        plot = self.plot
        plot.y_axis.bare = panel.share_y
        plot.x_axis.show_axis(panel.x)
        plot.y_axis.show_axis(panel.y)
        heat = panel.z is not None
        plot.area.show_grid(
            x=not (heat or panel.x.categories), y=not (heat or panel.y.categories), alpha=GRID
        )
        plot.x_axis.setZValue(-1)
        plot.y_axis.setZValue(-1)
        plot.box.setMouseEnabled(x=not panel.x.categories, y=not panel.y.categories)
        plot.box.invertY(bool(panel.y.categories) and not heat)
        plot.x_axis.setHeight(for_text(AXIS_PX))
        (left, right), (low, high) = panel_ranges(panel)
        wide, tall = right - left, high - low
        plot.box.setLimits(
            xMin=left - wide,
            xMax=right + wide,
            yMin=low - tall,
            yMax=high + tall,
            minXRange=LEAST_DECADES if panel.x.scale == "log" else None,
            minYRange=LEAST_DECADES if panel.y.scale == "log" else None,
        )  # so that the way back is never far

    def axis_width_wanted(self) -> float:
        """Return the width that the words at the upright axis need."""
        return float(self.plot.y_axis.width_wanted(self.width()))

    def set_axis_width(self, pixels: float) -> None:
        """Take this width for the upright axis, so that panels above each other share theirs."""
        self.plot.y_axis.setWidth(int(pixels))

    def _fit(self, panel: Panel) -> None:
        """Show all of the axes, and whole words right of bars."""
        x, y = panel_ranges(panel)
        if panel.y.categories:
            x = x[0], self._right_for_words(panel, x)
        self.plot.box.setRange(xRange=x, yRange=y, padding=0)

    def _right_for_words(self, panel: Panel, x: tuple[float, float]) -> float:
        """Return the right end of the axis along x at which no words reach beyond it."""
        (left, right), room = x, self.plot.box.width()
        log = panel.x.scale == "log"
        advance = QFontMetricsF(small(self.font())).horizontalAdvance
        for words, low, high in _words_beside(panel):
            wide = advance(words) + AFTER_PX
            if low is not None:  # of an interval, whose words may stand left of it
                wide += INTERVAL_PX
                if (scaled(low, log) - left) / (x[1] - left) * room > wide:
                    continue
            share = 1.0 - min(wide / max(room, 1.0), MOST_WORDS)
            right = max(right, left + (scaled(high, log) - left) / share)
        return right

    def _resized(self) -> None:
        if self.panel is not None and _words_beside(self.panel) and not self._zoomed:
            self._fit(self.panel)
        self._write()

    def _dragged(self) -> None:
        self._zoomed = True

    # ---- series

    def _draw(self, panel: Panel) -> None:
        (left, _), (bottom, _) = panel_ranges(panel)
        frame = Frame(panel, left, bottom, theme().chart)
        kinds = [one.kind for one in panel.series]
        kept = [kind for kind, _ in self._drawn]
        if kinds != kept:
            same = next(
                (i for i, (a, b) in enumerate(zip(kinds, kept, strict=False)) if a != b),
                min(len(kinds), len(kept)),
            )
            for _, drawn in self._drawn[same:]:
                for item in drawn.items:
                    self.plot.remove(item)
            self._drawn = self._drawn[:same]
            for kind, one in zip(kinds[same:], panel.series[same:], strict=True):
                drawn = made(one.kind)
                for item in drawn.items:
                    self.plot.add(item)
                self._drawn.append((kind, drawn))
        for (_, drawn), one in zip(self._drawn, panel.series, strict=True):
            drawn.show(one, frame)
        self.plot.marks = Marks.of(frame)
        self._write()
        self.show_rings(*self._ringed)

    def _write(self) -> None:
        """Write the words beside points, stems and in spans, and the annotations."""
        panel = self.panel
        if panel is None or self._drawing:
            return
        colours = theme().chart
        (left, right), (low, high) = self.plot.box.viewRange()
        log_x, log_y = panel.x.scale == "log", panel.y.scale == "log"
        texts = [
            Text(note.text, scaled(note.x, log_x), scaled(note.y, log_y), colours.text)
            for note in panel.annotations
        ]
        texts += [text for one in panel.series for text in _stem_words(one, panel, colours.text)]
        size = self.plot.box.size()
        if size.width() > 1 and size.height() > 1:
            labels = [words for one in panel.series for words in one.labels if words]
            advance = QFontMetricsF(small(self.font())).horizontalAdvance
            placed = point_labels(
                panel,
                (value_at(left, log_x), value_at(right, log_x)),
                (value_at(low, log_y), value_at(high, log_y)),
                height_in=size.height() / DOTS_PER_INCH,
                width=size.width() / PAGE_PX,
                letter=max((advance(words) / len(words) for words in labels), default=0) / PAGE_PX,
            )
            for label in placed:
                point = scaled(label.point[0], log_x), scaled(label.point[1], log_y)
                texts.append(
                    Text(
                        label.words, scaled(label.x, log_x), scaled(label.y, log_y),
                        colours.text, behind=colours.panel, leader=point if label.far else None,
                    )
                )  # fmt: skip
        self._texts.set_texts(texts, self.font(), colours.muted)

    def words(self) -> list[str]:
        """Return the words that stand in the panel."""
        return [text.words for text in self._texts.texts]

    def _repaint_theme(self) -> None:
        if self.panel is not None:
            self._draw(self.panel)


def _shape(panel: Panel) -> tuple[object, ...]:
    """Return what must not change for a zoom to make sense still."""
    return tuple(
        (axis.label, axis.unit, axis.scale, len(axis.categories)) for axis in (panel.x, panel.y)
    )


def _words_beside(panel: Panel) -> list[tuple[str, float | None, float]]:
    """Return the words at the ends of bars and of level intervals, and the ends along x.

    The lower end is None for a bar, whose words stand right of it.
    """
    found: list[tuple[str, float | None, float]] = []
    found += [(tr(note.text), None, note.x) for note in panel.annotations]
    for one in panel.series:
        if one.kind == "points" and one.sideways:
            lows, highs = (ends if len(ends) else one.x for ends in (one.low, one.high))
            for words, x, low, high in zip(one.labels, one.x, lows, highs, strict=False):
                if words:
                    left, right = (float(x if math.isnan(end) else end) for end in (low, high))
                    found.append((tr(words), left, right))
    return found


def _stem_words(one: Series, panel: Panel, colour: str) -> list[Text]:
    """Return the words at the ends of stems."""
    if one.kind != "stems":
        return []
    log_x, log_y = panel.x.scale == "log", panel.y.scale == "log"
    found = []
    for position, length, words in zip(one.x, one.y, one.labels, strict=False):
        x, y = (length, position) if one.sideways else (position, length)
        anchor, offset = ((0.0, 0.5), (BESIDE_PX, 0.0)) if one.sideways else (
            (0.5, 1.0), (0.0, -BESIDE_PX),
        )  # fmt: skip
        found.append(
            Text(words, scaled(float(x), log_x), scaled(float(y), log_y), colour, anchor, offset)
        )
    return found


MARGIN = 0.05
"""Around values where an axis has no range of its own."""


def scaled(value: float, log: bool) -> float:
    """Return a value as the view takes it."""
    return math.log10(value) if log and value > 0 else value


def value_at(place: float, log: bool) -> float:
    """Return the value at a place of the view; the inverse of ``scaled``, without overflow."""
    return float(10.0 ** min(max(place, -MOST_DECADES), MOST_DECADES)) if log else place


def panel_ranges(panel: Panel) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return what the axes along and upright show."""
    return (
        axis_range(panel.x, _values(panel, along_x=True)),
        axis_range(panel.y, _values(panel, along_x=False)),
    )


def _values(panel: Panel, *, along_x: bool) -> Floats:
    """Return everything that an axis without a range of its own has to hold."""
    found = [np.empty(0)]
    for one in panel.series:
        values = (
            one.x if along_x != (one.sideways and one.kind in ("stems", "histogram")) else one.y
        )
        found.append(values)
        if one.kind == "spans" and along_x:
            found.append(one.x + one.z)
        if one.kind in ("stems", "histogram") and along_x == one.sideways:
            found.append(np.zeros(1))
        if len(one.low) and along_x == one.sideways:
            found += [one.low, one.high]
    return np.concatenate(found)


def axis_range(axis: Axis, values: Floats) -> tuple[float, float]:
    """Return what an axis shows, as the view takes it: its own range, or that of the values."""
    if axis.categories:
        own = (-0.5, len(axis.categories) - 0.5)
        return own[0] if axis.low is None else axis.low, own[1] if axis.high is None else axis.high
    log = axis.scale == "log"
    known = values[np.isfinite(values) & ((values > 0) | (not log))]
    low, high = (float(known.min()), float(known.max())) if len(known) else (1.0, 10.0)
    low, high = scaled(low, log), scaled(high, log)
    margin = MARGIN * (high - low) or 0.5
    low, high = low - margin, high + margin
    if axis.low is not None and (axis.low > 0 or not log):
        low = scaled(axis.low, log)
    if axis.high is not None:
        high = scaled(axis.high, log)
    return low, high if high > low else low + 1.0
