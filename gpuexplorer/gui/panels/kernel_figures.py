"""What a compiled kernel takes, as a list of figures."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFormLayout, QLabel, QWidget

from gpuexplorer.analysis.static import KernelAnalysis
from gpuexplorer.charts.words import block_words
from gpuexplorer.core.language import tr
from gpuexplorer.core.units import count, percent
from gpuexplorer.gui.typeface import for_text
from gpuexplorer.gui.widgets.words import Words

WIDTH = 244
FIGURES: tuple[tuple[str, str, str], ...] = (
    ("occupancy", "Occupancy", "Resident warps over the most a multiprocessor can hold, in theory"),
    ("limiter", "Limited by", "What has no room for one more block on a multiprocessor"),
    ("blocks", "Blocks", "Blocks, and their warps, that one multiprocessor holds at once"),
    ("registers", "Registers", "32-bit registers of one thread"),
    ("static", "Static shared", "Shared memory declared in the kernel, bytes a block"),
    ("dynamic", "Dynamic shared", "Shared memory asked for at the launch, bytes a block"),
    (
        "stack",
        "Stack",
        "Local memory of one thread: arrays, and registers that were spilled, bytes",
    ),
    ("spills", "Spilled", "Registers moved to local memory + and back, bytes of one thread"),
    ("bounds", "Launch bounds", "Threads of the largest block that __launch_bounds__ allows"),
)
"""Name, title and explanation of each."""


class FigureList(QWidget):
    """The figures of one kernel."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedWidth(for_text(WIDTH))
        form = QFormLayout(self)
        form.setContentsMargins(12, 6, 6, 6)
        form.setVerticalSpacing(4)
        self._figures: dict[str, Words] = {}
        for name, title, tip in FIGURES:
            head, figure = QLabel(tr(title)), Words("–")
            head.setProperty("role", "muted")
            figure.setProperty("role", "figure")
            figure.setObjectName(f"{name}OfKernel")
            figure.setAlignment(Qt.AlignmentFlag.AlignRight)
            for widget in (head, figure):
                widget.setToolTip(tr(tip))
            form.addRow(head, figure)
            self._figures[name] = figure

    def show_kernel(self, kernel: KernelAnalysis) -> None:
        """Show a kernel's figures."""
        for name, words in figure_words(kernel).items():
            self._figures[name].setText(tr(words))


def figure_words(kernel: KernelAnalysis) -> dict[str, str]:
    """Return a kernel's figures in words, by the names in ``FIGURES``."""
    blocks, warps = kernel.blocks_per_multiprocessor, kernel.warps_per_multiprocessor
    held = "–"
    if blocks is not None and warps is not None:
        resident = blocks * -(-kernel.threads_per_block // 32)
        held = f"{blocks} · {resident} of {warps} warps"
    store, load = kernel.spill_store_B, kernel.spill_load_B
    spills = "–"
    if store is not None and load is not None:
        spills = f"{count(store)} + {count(load)} B" if store or load else "none"
    bounds = kernel.max_threads_per_block
    return {
        "occupancy": f"{percent(kernel.occupancy)} at {block_words(kernel.block)}",
        "limiter": kernel.occupancy_limiter or "not known",
        "blocks": held,
        "registers": f"{kernel.registers_per_thread} a thread",
        "static": f"{count(kernel.static_shared_B)} B a block",
        "dynamic": f"{count(kernel.dynamic_shared_B)} B a block",
        "stack": f"{count(kernel.local_B)} B a thread",
        "spills": spills,
        "bounds": "none" if bounds is None else f"{count(bounds)} threads",
    }
