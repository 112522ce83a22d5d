"""The insight panel's section on memory; there while the run is of a model."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from gpuexplorer.charts.memory import has_memory
from gpuexplorer.core.memory import MemoryUse
from gpuexplorer.gui.widgets.memory_bar import MemoryBar
from gpuexplorer.gui.widgets.words import Words


class MemorySection(QWidget):
    """Predicted parts, the counted peak, and what counted it or why nothing did."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("memorySection")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 5)
        layout.setSpacing(5)
        title = QLabel("Where the memory goes")
        title.setProperty("role", "section")
        self.bar = MemoryBar()
        self.counter = Words()
        self.counter.setObjectName("memoryCounter")
        self.counter.setProperty("role", "muted")
        for widget in (title, self.bar, self.counter):
            layout.addWidget(widget)
        self.hide()

    def show_memory(self, use: MemoryUse | None) -> None:
        """Show a run's memory; nothing where it is its arrays alone."""
        shown = use is not None and has_memory(use)
        if shown and use is not None:
            self.bar.show_memory(use)
            words = f"by {use.counter}" if use.counter else use.reason or ""
            self.counter.setText(words)
            self.counter.setToolTip(words)
        if self.isHidden() == shown:
            self.setVisible(shown)
