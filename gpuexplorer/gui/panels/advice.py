"""The advice on the current run: up to three cards, and nothing where there is none."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.analysis.advice.advice import MOST_SHOWN, Advice
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.language import tr
from gpuexplorer.core.units import percent
from gpuexplorer.gui.model.shown_advice import ShownAdvice
from gpuexplorer.gui.widgets.look import set_look

LONGEST_BUTTON = 22
"""A change of more characters than this stands in the tooltip alone."""

_BEFORE_UNIT = re.compile(r"(?<=\d) (?=[pnµmkMGTP]?(?:B|s|FLOP|Hz|W|J|%))")
NO_BREAK_SPACE, WORD_JOINER = "\u00a0", "\u2060"


def _unbroken(words: str) -> str:
    """Return words whose figures no line break parts from their units."""
    return _BEFORE_UNIT.sub(NO_BREAK_SPACE, words).replace("/", f"/{WORD_JOINER}")


class AdviceCard(QFrame):
    """Shows one advice; ``applied`` carries its change, ``why`` the heading that explains it."""

    applied = Signal(object)
    why = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("adviceCard")
        self._advice: Advice | None = None
        self.title = self._label("adviceTitle", "figure")
        self.evidence = self._label("adviceEvidence", "muted")
        self.apply_button = QPushButton()
        self.apply_button.setObjectName("adviceApply")
        self.apply_button.clicked.connect(self._apply)
        self.why_button = QToolButton()
        self.why_button.setObjectName("adviceWhy")
        self.why_button.setText(tr("Why?"))
        self.why_button.setToolTip(tr("Open the help page at the explanation"))
        self.why_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.why_button.clicked.connect(self._ask_why)
        buttons = QHBoxLayout()
        buttons.setSpacing(6)
        buttons.addWidget(self.apply_button)
        buttons.addStretch(1)
        buttons.addWidget(self.why_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(9, 7, 7, 6)
        layout.setSpacing(3)
        layout.addWidget(self.title)
        layout.addWidget(self.evidence)
        layout.addLayout(buttons)

    @staticmethod
    def _label(name: str, role: str) -> QLabel:
        label = QLabel()
        label.setObjectName(name)
        label.setProperty("role", role)
        label.setWordWrap(True)
        label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        return label

    @property
    def advice(self) -> Advice | None:
        """What is shown."""
        return self._advice

    def show_advice(self, advice: Advice, *, fresh: bool) -> None:
        """Show an advice; one that is not ``fresh`` speaks of the run before, and cannot act."""
        if advice != self._advice:
            self._advice = advice
            self.title.setText(tr(f"{advice.title}."))
            self.evidence.setText(
                tr(_unbroken(f"{advice.evidence[:1].upper()}{advice.evidence[1:]}."))
            )
            self._show_change(advice)
            set_look(self, kind=advice.kind)
        if self.isEnabled() != fresh:
            self.setEnabled(fresh)

    def _show_change(self, advice: Advice) -> None:
        change = advice.change
        self.apply_button.setVisible(change is not None)
        if change is None:
            return
        words = change.words
        self.apply_button.setText(tr(f"Use {words}" if len(words) <= LONGEST_BUTTON else "Apply"))
        tip = f"Set {words}. Ctrl+Z takes it back."
        if advice.saves > 0:
            tip = "\n".join([tip, f"It may save about {percent(advice.saves, 1)} of the time."])
        self.apply_button.setToolTip(tr(tip))
        self.apply_button.setAccessibleName(tr(f"Apply: {words}"))

    def _apply(self) -> None:
        if self._advice is not None and self._advice.change is not None:
            self.applied.emit(self._advice.change)

    def _ask_why(self) -> None:
        if self._advice is not None:
            self.why.emit(self._advice.section)


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
        self.title = QLabel(tr("Advice"))
        self.title.setProperty("role", "section")
        self.title.hide()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(5)
        layout.addWidget(self.title)
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
        self.title.setVisible(bool(shown.advice))
