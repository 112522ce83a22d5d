"""A kernel's instructions with what they come to: how many of each kind, and the registers."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QVBoxLayout, QWidget

from gpuexplorer.analysis.instructions import KIND_TITLES, Kind
from gpuexplorer.analysis.listing import KernelListing, line_differences, own_place, remarks
from gpuexplorer.core.language import tr
from gpuexplorer.core.units import percent, plural
from gpuexplorer.gui import typeface
from gpuexplorer.gui.code.instructions import InstructionsText, rows_of
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.widgets.words import Remarks, Words

FAMILIES: dict[str, tuple[Kind, ...]] = {
    "float": ("fp32", "fp64", "fp16", "special function"),
    "tensor": ("tensor",),
    "integer": ("integer",),
    "global": ("global load", "global store", "atomic"),
    "shared": ("shared load", "shared store"),
    "local": ("local load", "local store"),
}
"""Kinds that share a colour of the palette; those in none are "control" and "other"."""


class MixStrip(QWidget):
    """How many instructions there are of each family: a bar, and a legend below it."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("instructionMix")
        self.setAccessibleName(tr("Instructions by kind"))
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._kinds: Mapping[Kind, int] = {}
        self.families: dict[str, int] = {}
        theme().changed.connect(self.update)

    def show_mix(self, mix: Mapping[Kind, int]) -> None:
        """Show other numbers."""
        known = {kind: family for family, kinds in FAMILIES.items() for kind in kinds}
        found = dict.fromkeys([*FAMILIES, "control", "other"], 0)
        for kind, number in mix.items():
            found[known.get(kind, "control" if kind == "control" else "other")] += number
        self._kinds = mix
        self.families = {family: number for family, number in found.items() if number}
        self.update()

    def legend(self) -> list[str]:
        """Return the words of the legend, each with how many there are."""
        return [tr(_legend(family, number)) for family, number in self.families.items()]

    def sizeHint(self) -> QSize:
        """Return the height of the bar and two lines."""
        return QSize(220, 14 + 2 * (self.fontMetrics().height() + 2))

    def event(self, event: QEvent) -> bool:
        """Tell every kind in the tooltip."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            total = sum(self._kinds.values())
            lines = [
                f"{KIND_TITLES[kind]}: {number}, {percent(number / total)}"
                for kind, number in self._kinds.items()
            ]
            QToolTip.showText(event.globalPos(), tr("\n".join(lines)), self)
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the bar and the names, in two lines where one is too short."""
        painter, colours = QPainter(self), theme()
        painter.setFont(typeface.small(painter.font()))
        total = sum(self.families.values())
        swatches = dict(zip(FAMILIES, map(QColor, colours.chart.palette), strict=False))
        swatches |= {"control": colours.q("muted"), "other": colours.q("disabled")}
        left, at, row = 0.0, 0, 0
        tall = painter.fontMetrics().height() + 2
        for (family, number), words in zip(self.families.items(), self.legend(), strict=True):
            colour = swatches[family]
            wide = self.width() * number / total
            painter.fillRect(QRectF(left, 2, max(wide - 1, 1), 8), colour)
            left += wide
            needed = 14 + painter.fontMetrics().horizontalAdvance(words) + 8
            if at and at + needed > self.width():
                at, row = 0, row + 1
            top = 13 + row * tall
            painter.fillRect(QRectF(at, top + (tall - 9) / 2, 9, 9), colour)
            painter.setPen(colours.q("muted"))
            place = QRectF(at + 13, top, needed, tall)
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, words)
            at += needed
        painter.end()


def _legend(family: str, number: int) -> str:
    """Return what the legend says of a family."""
    return {
        "float": f"float {number}",
        "tensor": f"tensor {number}",
        "integer": f"integer {number}",
        "global": f"global {number}",
        "shared": f"shared {number}",
        "local": f"local {number}",
        "control": f"control {number}",
        "other": f"other {number}",
    }[family]


class ListingColumn(QWidget):
    """One kernel's listing with its figures; ``line_chosen`` carries a row that was clicked."""

    line_chosen = Signal(int)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.kernel: KernelListing | None = None
        self._left: tuple[str, str, int] | None = None
        """Title, form and place of what was shown when the view was left."""
        self.title = Words()
        self.title.setProperty("role", "title")
        self.figures = Remarks(lines=1, between=" · ")
        self.figures.setObjectName(f"{name}Figures")
        self.mix = MixStrip()
        self.text = InstructionsText(name)
        self.text.line_chosen.connect(self.line_chosen)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 4, 0, 0)
        column.setSpacing(2)
        for widget in (self.title, self.figures, self.mix):
            column.addWidget(widget)
        column.addWidget(self.text, 1)

    def show_kernel(self, kernel: KernelListing, form: str) -> None:
        """Show a kernel in a form."""
        self.kernel = kernel
        self.title.setText(tr(kernel.title))
        instructions = plural(len(kernel.sass), "{number} instruction", "{number} instructions")
        alive = kernel.most_live_registers
        facts = [f"{kernel.registers_per_thread} registers a thread"]
        facts += [] if alive is None else [f"{alive} alive at most"]
        self.figures.say([*facts, instructions])
        self.figures.setToolTip(tr("\n".join(remarks(kernel))))
        self.mix.show_mix(kernel.mix)
        self.text.show_rows(rows_of(kernel, form))
        if self._left is not None:
            *shown, at = self._left
            if shown == [kernel.title, form]:
                self.text.verticalScrollBar().setValue(at)
            self._left = None

    def leave(self, form: str) -> None:
        """Hold no rows, which take memory by the thousand, until a kernel is shown again."""
        if self.kernel is not None:
            self._left = self.kernel.title, form, self.text.verticalScrollBar().value()
        self.kernel = None
        self.text.show_rows([])


def differing_rows(
    kernel: KernelListing, other: KernelListing, sources: Collection[str]
) -> list[int]:
    """Return the rows whose opcodes the same line of another kernel has not, or has fewer of."""
    lines = {one.place: one.first for one in line_differences(kernel, other, sources)}
    found = []
    for number, one in enumerate(kernel.sass):
        place = own_place(one, sources) or (one.places[0] if one.places else None)
        if place in lines and one.opcode in lines[place]:
            found.append(number)
    return found
