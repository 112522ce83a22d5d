"""The Roofline view: what this device can do at most, and where the run stands under it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QPushButton, QVBoxLayout, QWidget

from gpuexplorer.charts.roofline import Picture, Spot, roofline_chart
from gpuexplorer.gui.plots.base import muted_label, title_label
from gpuexplorer.gui.show.chart import ChartView
from gpuexplorer.gui.widgets.words import Words

INVITATION = "The roofs of this device are not known yet: press Calibrate to measure them."
CALIBRATE_TIP = (
    "Measure this device's ceilings: memory, caches, multiply-adds and matrix products.\n"
    "It takes a minute or a few; live measuring pauses and continues afterwards."
)


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
        self.shown: Picture | None = None
        """What is drawn."""
        self.calibrating = False
        """Whether the roofs are being measured, so that measuring them is not offered."""
        self._hovered: str | None = None
        self._step = ""
        self.plot = ChartView(
            "rooflinePlot",
            "Roofline: operations a second over operations for each byte",
            self._words_of,
        )
        self.invitation = QLabel(INVITATION)
        self.invitation.setObjectName("rooflineInvitation")
        self.invitation.setContentsMargins(12, 2, 12, 2)
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
        self.cancel.setToolTip("End it; the calibration before stays as it was, nothing is kept")
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
        column.addWidget(self.invitation)
        column.addWidget(self.plot, 1)
        column.addLayout(foot)

    def refresh(self) -> None:
        """Draw what is new; nothing while another view is shown."""
        if not self.isVisible():
            return
        self.shown = self._look()
        self.plot.show_chart(roofline_chart(self.shown, title="Roofline"))
        self._show_words(self.shown)

    def showEvent(self, event: Any) -> None:
        """Draw when this view comes to the front."""
        super().showEvent(event)
        self.refresh()

    def show_progress(self, step: tuple[int, int, str] | None) -> None:
        """Show how far the calibration is (done, of how many, what); None when none runs."""
        running = self.calibrating = step is not None
        self.button.setVisible(not running)
        for widget in (self.progress, self.cancel):
            widget.setVisible(running)
        self._step = ""
        if step is not None:
            done, total, words = step
            self._step = f"Calibrating, {done} of {total}: {words}"
            self.progress.setMaximum(max(total, 1))
            self.progress.setValue(done)
        if self.shown is not None:
            self._show_words(self.shown)
        else:
            self.words.setText(self._step)

    def spot_of(self, key: str) -> Spot | None:
        """Return the run of a mark; None where there is none any more."""
        spots = self.shown.spots if self.shown is not None else ()
        return spots[int(key)] if int(key) < len(spots) else None

    def _words_of(self, key: str) -> str:
        spot = self.spot_of(key)
        return self._say(self.shown, spot) if spot is not None and self.shown is not None else ""

    def _hover(self, key: str | None) -> None:
        self._hovered = key
        if self.shown is not None:
            self._show_words(self.shown)

    def _show_words(self, shown: Picture) -> None:
        hovered = self.spot_of(self._hovered) if self._hovered is not None else None
        self.words.setText(self._step if self._step else self._say(shown, hovered))
        self.notes.setText(" ".join(shown.notes))
        self.invitation.setVisible(not shown.calibrated and not self.calibrating)
