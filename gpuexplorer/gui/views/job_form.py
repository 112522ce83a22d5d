"""The choices of a job beside the knobs, one beneath the other, with what they come to."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from gpuexplorer.core.language import tr
from gpuexplorer.core.units import count, plural
from gpuexplorer.gui.plain import plain_tip
from gpuexplorer.gui.typeface import for_text
from gpuexplorer.gui.widgets.scroll_room import ScrollArea

SHOWN_REASONS = 4


class JobForm(ScrollArea):
    """A subclass fills ``column``; ``changed`` says that something else is wanted."""

    changed = Signal()

    def __init__(self, name: str) -> None:
        """``name`` begins the names of its parts."""
        super().__init__()
        self._name = name
        self.setObjectName(f"{name}Form")
        self.setAccessibleName(tr("What is measured"))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumWidth(for_text(232))
        inside = QWidget()
        inside.setObjectName("jobFormContent")
        whole = QVBoxLayout(inside)
        whole.setContentsMargins(12, 8, 10, 8)
        whole.setSpacing(6)
        self.column = QVBoxLayout()
        whole.addLayout(self.column)
        self.total, self.reasons = self.line("Total"), self.line("Reasons", "muted")
        self.estimate = self.line("Estimate")
        for label in (self.total, self.reasons, self.estimate):
            whole.addWidget(label)
        self.show_total("", "")
        whole.addStretch(1)
        self.setWidget(inside)

    def section(self, words: str) -> QLabel:
        """Add a heading."""
        label = QLabel(tr(words))
        label.setProperty("role", "section")
        self.column.addWidget(label)
        return label

    def line(self, name: str, role: str = "") -> QLabel:
        """Return a label for a sentence."""
        label = QLabel()
        label.setObjectName(f"{self._name}{name}")
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        if role:
            label.setProperty("role", role)
        return label

    def show_total(self, total: str, takes: str, reasons: Sequence[tuple[str, int]] = ()) -> None:
        """Say what is wanted comes to, how long it takes, and why some of it cannot be."""
        lines = [f"{count(number)} × {reason}" for reason, number in reasons[:SHOWN_REASONS]]
        if (more := len(reasons) - SHOWN_REASONS) > 0:
            lines.append(plural(more, "and {number} more reason", "and {number} more reasons"))
        self.reasons.setToolTip(plain_tip(tr("\n".join(f"{count(n)} × {r}" for r, n in reasons))))
        for label, words in (
            (self.total, total), (self.reasons, "\n".join(lines)), (self.estimate, takes),
        ):  # fmt: skip
            label.setText(tr(words))
            label.setVisible(bool(words))
