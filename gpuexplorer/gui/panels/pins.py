"""The row of pinned ghosts: what each is, its median, and a way to let it go."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QToolButton, QWidget

from gpuexplorer.core.units import quantity
from gpuexplorer.gui.model.live import Pin
from gpuexplorer.gui.theme import theme


class PinRow(QWidget):
    """Chips, one a ghost; hidden while there is none."""

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
        for pin in pins:
            self._layout.addWidget(self._chip(pin))
        self._layout.addStretch(1)
        self.setVisible(bool(pins))

    def _chip(self, pin: Pin) -> QFrame:
        chip = QFrame()
        chip.setObjectName("chip")
        chip.setToolTip(pin.words)
        swatch = QLabel("―")
        swatch.setStyleSheet(f"color: {self._colour_of(pin)}; font-weight: 700;")
        words = QLabel(f"{pin.label}  {quantity(pin.median_s, 's')}")
        close = QToolButton()
        close.setObjectName("unpinButton")
        close.setIcon(theme().icon("close", "muted"))
        close.setToolTip("Remove this ghost")
        close.clicked.connect(lambda: self.removed.emit(pin.number))
        layout = QHBoxLayout(chip)
        layout.setContentsMargins(8, 1, 3, 1)
        layout.setSpacing(6)
        for widget in (swatch, words, close):
            layout.addWidget(widget)
        return chip
