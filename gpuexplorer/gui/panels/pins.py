"""The row of pinned ghosts: what each is, its median, and a way to let it go."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QToolButton, QWidget

from gpuexplorer.core.units import quantity
from gpuexplorer.gui.model.live import Pin
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.widgets.words import Words


class PinRow(QWidget):
    """Chips, one a ghost, cut where there is no room; hidden while there is none."""

    removed = Signal(object)

    def __init__(self, colour_of: Callable[[Pin], str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("pinRow")
        self._colour_of = colour_of
        self._pins: Sequence[Pin] = ()
        self._layout = QHBoxLayout(self)
        self._layout.setContentsMargins(12, 4, 12, 0)
        self._layout.setSpacing(8)
        theme().changed.connect(self._repaint_theme)
        self.hide()

    def _repaint_theme(self) -> None:
        self.show_pins(self._pins)

    def show_pins(self, pins: Sequence[Pin]) -> None:
        """Show these ghosts."""
        self._pins = tuple(pins)
        while (item := self._layout.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        label = QLabel("pinned")
        label.setProperty("role", "muted")
        self._layout.addWidget(label)
        for pin, words in zip(self._pins, telling([p.label for p in self._pins]), strict=True):
            self._layout.addWidget(self._chip(pin, words), 1)  # as wide as its words at the most
        self._layout.addStretch(0)
        self.setVisible(bool(pins))

    def _chip(self, pin: Pin, label: str) -> QFrame:
        chip = QFrame()
        chip.setObjectName("chip")
        chip.setToolTip(pin.words)
        swatch = QLabel("―")
        swatch.setStyleSheet(f"color: {self._colour_of(pin)}; font-weight: 700;")
        words = Words(f"{label}  {quantity(pin.median_s, 's')}")
        close = QToolButton()
        close.setObjectName("unpinButton")
        close.setIcon(theme().icon("close", "muted"))
        close.setToolTip("Remove this ghost")
        close.clicked.connect(lambda: self.removed.emit(pin.number))
        layout = QHBoxLayout(chip)
        layout.setContentsMargins(8, 1, 3, 1)
        layout.setSpacing(6)
        layout.addWidget(swatch)
        layout.addWidget(words, 1)
        layout.addWidget(close)
        for widget in (chip, swatch, words, close):
            widget.ensurePolished()  # its sizes are those of the style from here on
        layout.invalidate()
        beside = chip.sizeHint().width()  # in which words that may be cut have no width
        whole = words.fontMetrics().horizontalAdvance(words.text()) + 4
        chip.setMaximumWidth(beside + whole)
        return chip


def telling(labels: Sequence[str]) -> list[str]:
    """Return of several labels the parts in which they differ; whole where that cannot be said."""
    parts = [label.split(" · ") for label in labels]
    if len(parts) < 2 or len({len(one) for one in parts}) > 1:
        return list(labels)
    differ = [len(set(same_place)) > 1 for same_place in zip(*parts, strict=True)]
    if not any(differ):
        return list(labels)
    return [" · ".join(p for p, d in zip(one, differ, strict=True) if d) for one in parts]
