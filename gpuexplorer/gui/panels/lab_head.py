"""The Lab tab's head: which study is shown, how it goes, and what can be done."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QProgressBar,
    QPushButton,
    QToolButton,
    QWidget,
)

from gpuexplorer.gui.model.lab import TITLES, Kind
from gpuexplorer.gui.plots.base import small_button
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.widgets.words import Words

TIPS: dict[Kind, str] = {
    "precision": "Speed against accuracy, over every precision that the workload has here",
    "switches": "What each switch of a model's structure buys, by itself and with the others",
    "speedup": "Times on two devices over a range of sizes, with and without transfers",
}
ASK = "Choose what to look at, then press Start."


class LabHead(QWidget):
    """Buttons and words; what the buttons do is the view's to say.

    ``view_asked`` carries the kind of study that shall be shown.
    """

    view_asked = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._group = QButtonGroup(self)
        self.views: dict[Kind, QToolButton] = {}
        line = QHBoxLayout(self)
        line.setContentsMargins(10, 6, 8, 4)
        line.setSpacing(4)
        for kind, title in TITLES.items():
            view = QToolButton()
            view.setObjectName(f"labView_{kind}")
            view.setText(title)
            view.setToolTip(TIPS[kind])
            view.setProperty("role", "view")
            view.setCheckable(True)
            view.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            view.clicked.connect(partial(self._clicked, kind))
            self._group.addButton(view)
            self.views[kind] = view
            line.addWidget(view)
        self.words = Words(ASK)
        self.words.setObjectName("labWords")
        self.progress = QProgressBar()
        self.progress.setObjectName("labProgress")
        self.progress.setTextVisible(False)
        self.progress.setFixedSize(90, 8)
        self.copy = small_button("labCopy", "Copy this study as a 'gpuexplorer study' command line")
        self.copy.setAccessibleName("Copy command")
        theme().changed.connect(self._repaint_theme)
        self._repaint_theme()
        self.start = _button(
            "Start", "labStart",
            "Measure; Live pauses meanwhile, and every run is kept in the history",
        )  # fmt: skip
        self.pause = _button("Pause", "labPause", "Give the engine back to Live for a while")
        self.cancel = _button("Cancel", "labCancel", "Stop; what was measured is kept")
        line.addSpacing(6)
        line.addWidget(self.words, 1)
        for widget in (self.progress, self.copy, self.start, self.pause, self.cancel):
            line.addWidget(widget)

    def _clicked(self, kind: Kind, _checked: bool = False) -> None:
        self.view_asked.emit(kind)

    def _repaint_theme(self) -> None:
        self.copy.setIcon(theme().icon("copy"))


def _button(words: str, name: str, tip: str) -> QPushButton:
    button = QPushButton(words)
    button.setObjectName(name)
    button.setToolTip(tip)
    return button
