"""The Roofline view: what this device can do at most, and where the run stands under it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from gpuexplorer.charts.roofline import Picture, Roof, Spot
from gpuexplorer.charts.spec import Role
from gpuexplorer.gui.plots.base import Plot, line_pen, muted_label, role_pen, title_label
from gpuexplorer.gui.plots.free_place import Anchor, free_anchor, words_at
from gpuexplorer.gui.theme import blend, theme
from gpuexplorer.gui.widgets.words import Words

HOVER_PIXELS = 16
RATE_WIDTH = 92
"""Width of the axis at the left, whose words are long."""
TRAIL_SHARE = 0.5
"""How strongly the trail is drawn."""
ALONG_PX = 14.0
"""How far from its lower end a slope's words begin, so that their corner is in the plot."""
LINE_PX = 2.0
"""What a line takes of the room for words."""
BESIDE_CACHES: tuple[Anchor, ...] = ((1.05, 1.0), (0.5, 1.15), (-0.05, -0.15))
"""Where the words of a cache's ridge may stand: left above it, above, right below."""
BESIDE_MEMORYS: tuple[Anchor, ...] = ((-0.05, -0.15), (0.5, 1.15), (-0.05, 1.0), (1.05, 1.0))
"""Where those of the main memory's may stand: right below it, above, right above, left above."""
INVITATION = "The roofs of this device are not known yet: press Calibrate to measure them."
CALIBRATE_TIP = (
    "Measure this device's ceilings: memory, caches, multiply-adds and matrix products.\n"
    "It takes a minute or a few; live measuring pauses and goes on afterwards."
)


class RooflinePlot(Plot):
    """Draws a ``Picture``; ``hovered`` carries the run under the pointer, or None."""

    hovered = Signal(object)

    def __init__(self) -> None:
        super().__init__("FLOP/s", "")
        self.setObjectName("rooflinePlot")
        self.calibrating = False
        """Whether the roofs are being measured, so that nobody needs to be asked to."""
        self.setAccessibleName("Roofline: operations a second over operations for each byte")
        self._shown: Picture | None = None
        self._hovered: Spot | None = None
        self.set_log(True)
        self.x_axis.setLogMode(x=True)
        self.y_axis.setWidth(RATE_WIDTH)
        self.getPlotItem().showGrid(x=True, y=True, alpha=0.12)
        self.box.setMouseEnabled(x=False, y=False)
        self._roofs: list[pg.PlotCurveItem] = []
        self._words: list[pg.TextItem] = []
        self._taken: list[QRectF] = []
        """What lines and words cover, in pixels of the plot."""
        self._ridges = pg.ScatterPlotItem(size=7)
        self._trail = pg.PlotCurveItem()
        self._past = pg.ScatterPlotItem(size=6)
        self._spots = pg.ScatterPlotItem(size=11)
        layers = ((1, self._ridges), (2, self._trail), (3, self._past), (5, self._spots))
        for z, item in layers:
            item.setZValue(z)
            self.addItem(item, ignoreBounds=True)
        self.scene().sigMouseMoved.connect(self._moved)

    @property
    def shown(self) -> Picture | None:
        """What is drawn."""
        return self._shown

    def show_picture(self, shown: Picture) -> None:
        """Draw a picture, as far as it differs from the last."""
        before, self._shown = self._shown, shown
        if before is None or (before.roofs, before.x, before.y) != (shown.roofs, shown.x, shown.y):
            self._draw_roofs(shown)
        if before is None or before.spots != shown.spots:
            self._draw_spots(shown)

    def set_calibrating(self, on: bool) -> None:
        """Ask for a calibration, or not while one goes on."""
        self.calibrating = on
        if self._shown is not None:
            self._draw_roofs(self._shown)

    def repaint_theme(self) -> None:
        """Take the theme's colours."""
        super().repaint_theme()
        shown = getattr(self, "_shown", None)
        if shown is not None:
            self._draw_roofs(shown)
            self._draw_spots(shown)

    # ---- drawing

    def _draw_roofs(self, shown: Picture) -> None:
        for item in (*self._roofs, *self._words):
            self.removeItem(item)
        self._roofs, self._words, self._taken = [], [], []
        low, high = (math.log10(v) for v in shown.x)
        bottom, top = (math.log10(v) for v in shown.y)
        self.box.setRange(xRange=(low, high), yRange=(bottom, top), padding=0)
        slopes = [roof for roof in shown.roofs if roof.kind == "memory"]
        lowest = min(slopes, key=lambda s: s.y[0] / s.x[0]) if len(slopes) > 1 else None
        for roof in shown.roofs:
            role: Role = "ceiling" if roof.stated else "model"
            colour = theme().chart.colour(roof.colour, role)
            curve = pg.PlotCurveItem(np.log10(roof.x), np.log10(roof.y))
            curve.setPen(role_pen(role, colour))
            self.addItem(curve, ignoreBounds=True)
            self._roofs.append(curve)
            if roof.name:
                self._name(roof, colour, below=roof is lowest)
        for ridge in shown.ridges:
            anchors = BESIDE_CACHES if ridge.of_cache else BESIDE_MEMORYS
            self._write(ridge.words, ridge.intensity, ridge.flop_per_s, anchors, "muted")
        self._ridges.setData(
            [math.log10(r.intensity) for r in shown.ridges],
            [math.log10(r.flop_per_s) for r in shown.ridges],
            brush=theme().chart.panel,
            pen=line_pen(theme().chart.muted, 2),
        )
        if not shown.calibrated and not self.calibrating:
            above = (10 ** ((low + high) / 2), 10 ** (top - 0.03 * (top - bottom)))
            self._write(INVITATION, *above, ((0.5, 0.0),), "text")

    def _name(self, roof: Roof, colour: str, *, below: bool) -> None:
        """Write a roof's words: at the right end of a flat one, along the lower end of a slope.

        ``below``: on the right side of a slope, for its left neighbour may be close.
        """
        if roof.kind == "compute":
            left, right = (self._pixel(roof.x[end], roof.y[end]) for end in (0, 1))
            self._taken.append(
                QRectF(left.x(), left.y() - LINE_PX / 2, right.x() - left.x(), LINE_PX)
            )
            self._write(roof.name, roof.x[1], roof.y[1], ((1.0, 1.0),), colour)
        else:
            slope = math.radians(self._slope())
            (low, high), _ = self.box.viewRange()
            pixels = ALONG_PX * (2 if below else 1)
            along = pixels * math.cos(slope) * (high - low) / max(self.box.width(), 1.0)
            up = 10**along  # a memory's roof: as many times as high as it is further right
            anchor = (0.0, 0.0 if below else 1.0)
            self._write(roof.name, roof.x[0] * up, roof.y[0] * up, (anchor,), colour, slope=True)

    def _pixel(self, x: float, y: float) -> QPointF:
        """Return where a place of the picture is in the plot, in pixels."""
        (low, high), (bottom, top) = self.box.viewRange()
        across = (math.log10(x) - low) / max(high - low, 1e-9)
        down = (top - math.log10(y)) / max(top - bottom, 1e-9)
        return QPointF(across * self.box.width(), down * self.box.height())

    def _write(
        self,
        text: str,
        x: float,
        y: float,
        anchors: tuple[Anchor, ...],
        colour: str,
        *,
        slope: bool = False,
    ) -> None:
        """Write words where they hide least; ``anchors`` says where they may stand."""
        words = pg.TextItem(text, angle=self._slope() if slope else 0.0)
        words.setColor(theme().q(colour) if not colour.startswith("#") else colour)
        font = self.font()
        font.setPointSizeF(font.pointSizeF() * 0.9)
        words.setFont(font)
        at, size = self._pixel(x, y), words.textItem.boundingRect().size()
        inside = QRectF(0.0, 0.0, self.box.width(), self.box.height())
        anchor = free_anchor(at, size, anchors, self._taken, inside)
        words.setAnchor(anchor)
        if not slope:
            self._taken.append(words_at(at, size, anchor))
        words.setPos(math.log10(x), math.log10(y))
        self.addItem(words, ignoreBounds=True)
        self._words.append(words)

    def _slope(self) -> float:
        """Return the angle at which a memory roof rises on screen, in degrees."""
        (low, high), (bottom, top) = self.box.viewRange()
        wide = self.box.width() / max(high - low, 1e-9)
        tall = self.box.height() / max(top - bottom, 1e-9)
        return math.degrees(math.atan2(tall, max(wide, 1e-9)))

    def resizeEvent(self, event: Any) -> None:
        """Keep the words along their roofs."""
        super().resizeEvent(event)
        shown = getattr(self, "_shown", None)
        if shown is not None:
            self._draw_roofs(shown)

    def _draw_spots(self, shown: Picture) -> None:
        chart = theme().chart
        trail = [s for s in shown.spots if s.kind == "past"]
        now = [s for s in shown.spots if s.kind == "current"]
        path = [*trail, *now]
        thin = blend(chart.palette[0], chart.panel, TRAIL_SHARE)
        self._trail.setData(*_points(path))
        self._trail.setPen(line_pen(blend(chart.palette[0], chart.panel, 0.3)))
        self._past.setData(*_points(trail), brush=thin, pen=None)
        marked = [s for s in shown.spots if s.kind != "past"]
        self._spots.setData(
            *_points(marked),
            brush=[chart.panel if s.suspect else chart.palette[s.colour] for s in marked],
            pen=[line_pen(chart.ceiling if s.suspect else chart.panel, 2) for s in marked],
            symbol=["o" if s.kind == "current" else "d" for s in marked],
        )

    # ---- hovering

    def spot_at(self, where: QPointF) -> Spot | None:
        """Return the run nearest to a point of the scene; None where there is none near."""
        best, nearest = None, float(HOVER_PIXELS)
        for spot in self._shown.spots if self._shown is not None else ():
            at = self.box.mapViewToScene(
                QPointF(math.log10(spot.intensity), math.log10(spot.flop_per_s))
            )
            distance = math.hypot(at.x() - where.x(), at.y() - where.y())
            if distance <= nearest:
                best, nearest = spot, distance
        return best

    def _moved(self, where: QPointF) -> None:
        self._hover(self.spot_at(where))

    def leaveEvent(self, event: QEvent) -> None:
        """Say nothing of a run that the pointer has left."""
        self._hover(None)
        super().leaveEvent(event)

    def _hover(self, spot: Spot | None) -> None:
        if spot is not self._hovered:
            self._hovered = spot
            self.hovered.emit(spot)


def _points(spots: list[Spot]) -> tuple[list[float], list[float]]:
    return [math.log10(s.intensity) for s in spots], [math.log10(s.flop_per_s) for s in spots]


class RooflineView(QWidget):
    """The plot under its title, words and the calibration's button."""

    calibrate_asked = Signal()
    cancel_asked = Signal()

    def __init__(self, look: Callable[[], Picture], say: Callable[[Picture, Any], str]) -> None:
        """``look`` makes the picture of now, ``say`` the words on a run in it (None: current)."""
        super().__init__()
        self.setObjectName("rooflineView")
        self.setAutoFillBackground(True)
        self.setBackgroundRole(self.palette().ColorRole.Base)
        self._look, self._say = look, say
        self._hovered: Spot | None = None
        self._step = ""
        self.plot = RooflinePlot()
        self.words = Words("No samples yet.")
        self.words.setObjectName("rooflineWords")
        self.words.setToolTip("The current run, or the one under the pointer")
        self.notes = muted_label()
        self.notes.setObjectName("rooflineNotes")
        self.button = QPushButton("Calibrate")
        self.button.setObjectName("calibrateButton")
        self.button.setToolTip(CALIBRATE_TIP)
        self.cancel = QPushButton("Cancel")
        self.cancel.setObjectName("cancelCalibrationButton")
        self.cancel.setToolTip("Stop calibrating; the calibration before stays as it was")
        self.progress = QProgressBar()
        self.progress.setObjectName("calibrationProgress")
        self.progress.setTextVisible(False)
        self.progress.setFixedSize(150, 8)
        self.button.clicked.connect(self.calibrate_asked)
        self.cancel.clicked.connect(self.cancel_asked)
        self.plot.hovered.connect(self._hover)
        self._lay_out()
        self.show_progress(None)

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(12, 6, 8, 0)
        head.setSpacing(10)
        head.addWidget(title_label("Roofline"))
        head.addWidget(self.words, 1)
        for widget in (self.progress, self.cancel, self.button):
            head.addWidget(widget)
        foot = QHBoxLayout()
        foot.setContentsMargins(12, 0, 12, 6)
        foot.addWidget(self.notes, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(head)
        column.addWidget(self.plot, 1)
        axis = muted_label(
            "arithmetic intensity: useful operations for each compulsory byte, FLOP/B"
        )
        axis.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(axis)
        column.addLayout(foot)

    def refresh(self) -> None:
        """Draw what is new; nothing while another view is shown."""
        if not self.isVisible():
            return
        shown = self._look()
        self.plot.show_picture(shown)
        self._show_words(shown)

    def showEvent(self, event: Any) -> None:
        """Draw when this view comes to the front."""
        super().showEvent(event)
        self.refresh()

    def show_progress(self, step: tuple[int, int, str] | None) -> None:
        """Show how far the calibration is (done, of how many, what); None when none runs."""
        running = step is not None
        if running != self.plot.calibrating:
            self.plot.set_calibrating(running)
        self.button.setVisible(not running)
        for widget in (self.progress, self.cancel):
            widget.setVisible(running)
        self._step = ""
        if step is not None:
            done, total, words = step
            self._step = f"Calibrating, {done} of {total}: {words}"
            self.progress.setMaximum(max(total, 1))
            self.progress.setValue(done)
        if self.plot.shown is not None:
            self._show_words(self.plot.shown)
        else:
            self.words.setText(self._step)

    def _hover(self, spot: Spot | None) -> None:
        self._hovered = spot
        if self.plot.shown is not None:
            self._show_words(self.plot.shown)

    def _show_words(self, shown: Picture) -> None:
        self.words.setText(self._step if self._step else self._say(shown, self._hovered))
        self.notes.setText(" ".join(shown.notes))
