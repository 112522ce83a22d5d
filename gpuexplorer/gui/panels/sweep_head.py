"""The Sweep tab's head: how it goes, and what can be done; the offer to go on with an old one."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QPushButton, QWidget

from gpuexplorer.charts.sweep_points import FIGURES
from gpuexplorer.gui.plots.base import small_button, title_label
from gpuexplorer.gui.sweeping import SweepControl
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.widgets.list_box import ListBox
from gpuexplorer.gui.widgets.words import Words


class SweepHead(QWidget):
    """Words, choice of the figure, progress and buttons."""

    def __init__(self, control: SweepControl) -> None:
        super().__init__()
        self._control = control
        self.words = Words("Choose what shall vary, then press Start.")
        self.words.setObjectName("sweepWords")
        self.measure = ListBox("sweepMeasure", "What the chart shows of each configuration")
        for name, (title, _) in FIGURES.items():
            self.measure.addItem(title, name)
        self.progress = QProgressBar()
        self.progress.setObjectName("sweepProgress")
        self.progress.setTextVisible(False)
        self.progress.setFixedSize(90, 8)
        self.start = _button(
            "Start", "sweepStart", control.start,
            "Measure every configuration of the space; Live pauses",
        )  # fmt: skip
        self.resume = _button(
            "Continue", "sweepContinue", control.go_on,
            "Measure what is left; nothing is measured twice",
        )  # fmt: skip
        self.pause = _button(
            "Pause", "sweepPause", control.pause, "Give the engine back to Live for a while"
        )
        self.cancel = _button(
            "Cancel", "sweepCancel", control.cancel,
            "Stop; what was measured is kept, and can be continued",
        )  # fmt: skip
        self.copy = small_button("sweepCopy", "Copy this sweep as a 'gpuexplorer sweep' command")
        self.copy.setAccessibleName("Copy command")
        theme().changed.connect(self._repaint_theme)
        self._repaint_theme()
        line = QHBoxLayout(self)
        line.setContentsMargins(12, 6, 8, 4)
        line.setSpacing(8)
        line.addWidget(title_label("Sweep"))
        line.addWidget(self.words, 1)
        for widget in (self.progress, self.measure, self.copy, self.start, self.resume,
                       self.pause, self.cancel):  # fmt: skip
            line.addWidget(widget)

    def _repaint_theme(self) -> None:
        self.copy.setIcon(theme().icon("copy"))

    def show_state(self) -> None:
        """Show what can be done now."""
        control, model = self._control, self._control.model
        state, held, busy = model.state, model.held, control.job is not None
        open_ones = model.waiting > 0 or model.unfinished > 0
        left = held is not None and held.workload is not None and open_ones
        self.start.setVisible(not busy)
        self.start.setEnabled(control.can_start and control.free)
        self.resume.setVisible(state == "paused" or (not busy and left))
        self.resume.setText("Resume" if state == "paused" else "Continue")
        self.resume.setEnabled(busy or control.free)
        self.pause.setVisible(busy and state != "paused")
        self.pause.setEnabled(state == "running")
        self.cancel.setVisible(busy)
        self.progress.setVisible(busy)
        self.progress.setMaximum(max(1, len(model.cells)))
        self.show_progress()
        self.copy.setEnabled(control.can_start or held is not None)

    def show_progress(self) -> None:
        """Show how far it is."""
        model = self._control.model
        self.progress.setValue(len(model.cells) - model.waiting)


class SweepOffer(QWidget):
    """Asks whether to go on with a sweep that was interrupted."""

    taken = Signal()
    forgotten = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("sweepOffer")
        line = QHBoxLayout(self)
        line.setContentsMargins(12, 2, 8, 4)
        self.words = QLabel()
        self.words.setObjectName("sweepOfferWords")
        self.words.setWordWrap(True)
        self.words.setTextFormat(Qt.TextFormat.PlainText)
        line.addWidget(self.words, 1)
        for words, name, act, tip in (
            ("Go on with it", "sweepOfferTake", self.taken.emit,
             "Measure what is left of it; nothing is measured twice"),
            ("Not now", "sweepOfferLeave", self.hide,
             "Ask again when the window is opened next"),
            ("Forget it", "sweepOfferForget", self._forget,
             "Do not ask again; its runs stay in the history"),
        ):  # fmt: skip
            line.addWidget(_button(words, name, act, tip))
        self.hide()

    def _forget(self) -> None:
        self.hide()
        self.forgotten.emit()

    def ask(self, words: str) -> None:
        """Show the question."""
        self.words.setText(words)
        self.show()


def _button(words: str, name: str, act: Callable[[], object], tip: str) -> QPushButton:
    button = QPushButton(words)
    button.setObjectName(name)
    button.setToolTip(tip)
    button.clicked.connect(lambda _=False: act())
    return button
