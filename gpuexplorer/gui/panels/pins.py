"""The row of pinned ghosts: what each is, its median, and a way to let it go."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QHBoxLayout, QLabel, QToolButton, QWidget

from gpuexplorer.core.language import tr
from gpuexplorer.core.units import quantity
from gpuexplorer.gui.model.live import Pin
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.typeface import for_text
from gpuexplorer.gui.widgets.layouts import empty
from gpuexplorer.gui.widgets.words import Words

WIDEST = 220
"""Pixels of a chip; a pin's tooltip says all of it, and the caption beside has to be read."""


CAPTION = 400
"""Pixels that a caption beside the chips has to have, whatever it says: it changes with a knob."""


class PinRow(QWidget):
    """Chips, one a ghost, cut where there is no room; hidden while there is none.

    Its place stays, so that the plots stay where they are. ``resized`` tells that it needs another
    width.
    """

    removed = Signal(object)
    resized = Signal()

    def __init__(self, colour_of: Callable[[Pin], str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("pinRow")
        self._colour_of = colour_of
        self._pins: Sequence[Pin] = ()
        self._layout = QHBoxLayout(self)
        self._layout.setContentsMargins(12, 4, 12, 0)
        self._layout.setSpacing(8)
        self._layout.addWidget(_strut())
        _keep_place(self)
        theme().changed.connect(self._repaint_theme)
        self.show_pins(())

    def _repaint_theme(self) -> None:
        self.show_pins(self._pins)

    def show_pins(self, pins: Sequence[Pin]) -> None:
        """Show these ghosts."""
        self._pins = tuple(pins)
        empty(self._layout, 1)
        label = QLabel(tr("pins"))
        label.setProperty("role", "muted")
        self._layout.addWidget(label)
        chips = [
            self._chip(pin, words)
            for pin, words in zip(self._pins, telling([p.label for p in self._pins]), strict=True)
        ]
        for chip in chips:
            self._layout.addWidget(chip, 1)  # as wide as its words at the most
        self._layout.addStretch(0)
        margins, gaps = self._layout.contentsMargins(), self._layout.spacing() * (len(chips) + 1)
        whole = sum(chip.maximumWidth() for chip in chips) + label.sizeHint().width() + gaps
        self.setMaximumWidth((whole if chips else 0) + margins.left() + margins.right())
        self.setVisible(bool(pins))
        self.resized.emit()

    def _chip(self, pin: Pin, label: str) -> QFrame:
        close = QToolButton()
        close.setObjectName("unpinButton")
        close.setToolTip(tr("Remove this ghost"))
        close.setAccessibleName(tr("Remove this ghost"))
        close.clicked.connect(lambda: self.removed.emit(pin.number))
        text = tr(f"{quantity(pin.median_s, 's')}  {label}")  # where it is cut, the figure is seen
        chip, words = _frame(text, self._colour_of(pin), close)
        chip.setObjectName("chip")
        chip.setToolTip(tr(pin.words))
        for widget in (chip, *chip.findChildren(QWidget)):
            widget.ensurePolished()  # its sizes are those of the style from here on
        layout = chip.layout()
        assert layout is not None
        layout.invalidate()
        beside = chip.sizeHint().width()  # in which words that may be cut have no width
        whole = words.fontMetrics().horizontalAdvance(words.text()) + 4
        chip.setMaximumWidth(min(beside + whole, for_text(WIDEST)))
        return chip


class CaptionAndPins(QWidget):
    """A caption with the pins beside it, or below it where both would be cut."""

    def __init__(self, caption: QWidget, pins: PinRow) -> None:
        super().__init__()
        self._pins = pins
        self._line = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._line.setContentsMargins(0, 0, 0, 0)
        self._line.setSpacing(0)
        self._line.addWidget(caption, 2)
        self._line.addWidget(pins, 3)  # as wide as they need at the most
        pins.resized.connect(self._arrange)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the pins where there is room."""
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        beside = self._pins.maximumWidth() + for_text(CAPTION) <= self.width()
        directions = QBoxLayout.Direction
        below = not beside and not self._pins.isHidden()
        self._line.setDirection(directions.TopToBottom if below else directions.LeftToRight)


def _frame(text: str, colour: str, close: QToolButton) -> tuple[QFrame, Words]:
    """Return a chip and its words."""
    chip = QFrame()
    chip.setProperty("role", "chip")
    swatch = QLabel("―")
    swatch.setStyleSheet(f"color: {colour}; font-weight: 700;")
    words = Words(text)
    close.setIcon(theme().icon("close", "muted"))
    layout = QHBoxLayout(chip)
    layout.setContentsMargins(8, 1, 3, 1)
    layout.setSpacing(6)
    layout.addWidget(swatch)
    layout.addWidget(words, 1)
    layout.addWidget(close)
    return chip, words


def _strut() -> QFrame:
    """Return a chip that is not seen and keeps the height of one."""
    chip, _ = _frame("", "transparent", QToolButton())
    chip.setFixedWidth(0)
    _keep_place(chip)
    chip.hide()
    return chip


def _keep_place(widget: QWidget) -> None:
    policy = widget.sizePolicy()
    policy.setRetainSizeWhenHidden(True)
    widget.setSizePolicy(policy)


def telling(labels: Sequence[str]) -> list[str]:
    """Return of several labels the parts in which they differ; whole where that cannot be said."""
    parts = [label.split(" · ") for label in labels]
    if len(parts) < 2 or len({len(one) for one in parts}) > 1:
        return list(labels)
    differ = [len(set(same_place)) > 1 for same_place in zip(*parts, strict=True)]
    if not any(differ):
        return list(labels)
    return [" · ".join(p for p, d in zip(one, differ, strict=True) if d) for one in parts]
