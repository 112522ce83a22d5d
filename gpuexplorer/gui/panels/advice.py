"""The advice on the current run: up to three cards, or a quiet word that there is none."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from gpuexplorer.analysis.advice.advice import MOST_SHOWN, NOTHING
from gpuexplorer.core.config import RunConfig
from gpuexplorer.gui.model.shown_advice import ShownAdvice
from gpuexplorer.gui.widgets.advice_card import AdviceCard

LOOK_GAP_S = 0.2
AGAIN_MS = 300
"""While advice is on its way in or out and nothing new arrives, it is looked at so often."""


class AdviceSection(QWidget):
    """Shows what ``look`` returns; ``applied`` and ``why`` are those of the cards.

    ``settled`` says whether another look would show the same.
    """

    applied = Signal(object)
    why = Signal(str)

    def __init__(
        self,
        look: Callable[[], ShownAdvice],
        settled: Callable[[], bool],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("adviceSection")
        self._look, self._settled = look, settled
        self._shown = ShownAdvice()
        self._due_s = 0.0
        self._present: RunConfig | None = None
        title = QLabel("Advice")
        title.setProperty("role", "section")
        self.quiet = QLabel(NOTHING)
        self.quiet.setWordWrap(True)
        self.quiet.setObjectName("adviceQuiet")
        self.quiet.setProperty("role", "muted")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(5)
        layout.addWidget(title)
        layout.addWidget(self.quiet)
        self.cards = [AdviceCard() for _ in range(MOST_SHOWN)]
        for card in self.cards:
            card.hide()
            card.applied.connect(self.applied)
            card.why.connect(self.why)
            layout.addWidget(card)
        self._again = QTimer(self)
        self._again.setSingleShot(True)
        self._again.setInterval(AGAIN_MS)
        self._again.timeout.connect(self.look)

    def set_present(self, config: RunConfig | None) -> None:
        """Note how the knobs stand; cards about another configuration cannot act."""
        self._present = config
        self._show()

    def refresh(self) -> None:
        """Judge the current run again, unless that was done just now."""
        if time.monotonic() >= self._due_s:
            self.look()

    def look(self) -> None:
        """Judge the current run and show what has held."""
        self._due_s = time.monotonic() + LOOK_GAP_S
        self._shown = self._look()
        self._show()
        if self.isVisible() and self._shown.config is not None and not self._settled():
            self._again.start()

    def hideEvent(self, event: QHideEvent) -> None:
        """Look no more while it is hidden."""
        self._again.stop()
        super().hideEvent(event)

    def _show(self) -> None:
        shown = self._shown
        fresh = shown.config is not None and shown.config == self._present
        for index, card in enumerate(self.cards):
            if index < len(shown.advice):
                card.show_advice(shown.advice[index], fresh=fresh)
            if card.isHidden() == (index < len(shown.advice)):
                card.setVisible(index < len(shown.advice))
        self._show_quiet(said=shown.nothing and fresh, room=not shown.advice)

    def _show_quiet(self, *, said: bool, room: bool) -> None:
        """Say that there is nothing, and keep the words' room where no card stands instead."""
        policy = self.quiet.sizePolicy()
        if policy.retainSizeWhenHidden() != room:
            policy.setRetainSizeWhenHidden(room)
            self.quiet.setSizePolicy(policy)
        if self.quiet.isHidden() == said:
            self.quiet.setVisible(said)
