"""The Kernel view: what the chosen kernel would be on any GPU, without running it there."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QSignalBlocker, Qt
from PySide6.QtGui import QFontDatabase, QShowEvent
from PySide6.QtWidgets import (
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.analysis.architectures import ARCHITECTURES, gpu_words
from gpuexplorer.analysis.static import KernelAnalysis
from gpuexplorer.charts.words import block_words
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.units import count, percent
from gpuexplorer.gui.panels.kernel_source import SourceView
from gpuexplorer.gui.panels.kernel_worker import KernelWorker, Question
from gpuexplorer.gui.plots.base import muted_label, title_label
from gpuexplorer.gui.plots.occupancy import LimiterLegend, OccupancyPlot
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.settings import Settings
from gpuexplorer.gui.widgets.list_box import ListBox
from gpuexplorer.gui.widgets.words import Words

DEFAULT = "sm_90"
"""Chosen until the user chooses, where no NVIDIA GPU is at hand."""
DETAIL_LINES = 12
"""Of a compiler's messages: the first ones tell, and more would push the source away."""
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


class KernelPanel(QWidget):
    """Figures, occupancy by block size and source of the present variant.

    Nothing is compiled while the view is hidden, and never in this process. Its parts are made
    when it is first shown, so that the window opens no later for it.
    """

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.setObjectName("kernelView")
        self.setAutoFillBackground(True)
        self.setBackgroundRole(self.palette().ColorRole.Base)
        self._session = session
        self._ticket = 0
        self._asked: object = None
        self._built = False
        self._chosen: str | None = None
        self.kernels: list[KernelAnalysis] = []
        """Every launch of the variant, once it was analysed."""
        self.worker = KernelWorker()
        self.worker.compiling.connect(self._say_compiling)
        self.worker.answered.connect(self._take)
        session.knobs_changed.connect(self.refresh)
        session.devices_changed.connect(self._devices_changed)
        session.state_changed.connect(self.refresh)

    # ---- construction

    def _build(self) -> None:
        self._built = True
        split = QSplitter(Qt.Orientation.Vertical)
        split.setChildrenCollapsible(False)
        split.setHandleWidth(1)
        split.addWidget(self._result())
        split.addWidget(self._source_part())
        split.setStretchFactor(0, 1)
        split.setStretchFactor(1, 1)
        split.setSizes([330, 230])
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(self._head())
        column.addWidget(split, 1)

    def _head(self) -> QHBoxLayout:
        self.architecture_box = ListBox(
            "architectureBox", "The GPU to compile for; it need not be in this machine"
        )
        self.architecture_box.setAccessibleName("Architecture")
        self._fill_architectures()
        self.architecture_box.activated.connect(
            lambda _: self.choose_architecture(str(self.architecture_box.currentData()))
        )
        self.entry_box = ListBox("entryBox", "Which launch of the variant")
        self.entry_box.setAccessibleName("Kernel")
        self.entry_box.currentIndexChanged.connect(lambda _: self._show_kernel())
        self.status = muted_label()
        self.status.setObjectName("kernelStatus")
        head = QHBoxLayout()
        head.setContentsMargins(12, 8, 12, 4)
        head.setSpacing(8)
        label = title_label("On")
        label.setBuddy(self.architecture_box)
        for widget in (label, self.architecture_box, self.entry_box):
            head.addWidget(widget)
        head.addWidget(self.status, 1)
        return head

    def _result(self) -> QWidget:
        """Return the figures beside the curve, or a message in their place."""
        form = QFormLayout()
        form.setContentsMargins(12, 6, 6, 6)
        form.setVerticalSpacing(4)
        self.figures: dict[str, Words] = {}
        for name, title, tip in FIGURES:
            head, figure = QLabel(title), Words("–")
            head.setProperty("role", "muted")
            figure.setProperty("role", "figure")
            figure.setObjectName(f"{name}OfKernel")
            figure.setAlignment(Qt.AlignmentFlag.AlignRight)
            for widget in (head, figure):
                widget.setToolTip(tip)
            form.addRow(head, figure)
            self.figures[name] = figure
        side = QWidget()
        side.setLayout(form)
        side.setFixedWidth(272)
        self.plot = OccupancyPlot()
        self.plot.block_chosen.connect(self._session.experiment.set_block)
        self.legend = LimiterLegend()
        curve = QVBoxLayout()
        curve.setContentsMargins(0, 4, 0, 0)
        curve.setSpacing(0)
        curve.addWidget(title_label("Occupancy by threads per block"))
        curve.addWidget(self.legend)
        curve.addWidget(self.plot, 1)
        known = QWidget()
        row = QHBoxLayout(known)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(side)
        row.addLayout(curve, 1)
        self._pages = QStackedWidget()
        self._pages.addWidget(known)
        self._pages.addWidget(self._message_page())
        return self._pages

    def _message_page(self) -> QWidget:
        self.message = QLabel()
        self.message.setObjectName("kernelMessage")
        self.message.setWordWrap(True)
        self.message.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.detail = QLabel()
        self.detail.setObjectName("kernelMessageDetail")
        self.detail.setProperty("role", "muted")
        self.detail.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.detail.setWordWrap(True)
        self.detail.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.retry_button = QPushButton("Try again")
        self.retry_button.setObjectName("kernelRetryButton")
        self.retry_button.clicked.connect(self._retry)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(16, 16, 16, 16)
        column.addWidget(self.message)
        column.addWidget(self.detail)
        column.addWidget(self.retry_button, 0, Qt.AlignmentFlag.AlignLeft)
        column.addStretch(1)
        return page

    def _source_part(self) -> QWidget:
        self.source_title = muted_label()
        self.source_title.setContentsMargins(12, 4, 12, 4)
        self.source = SourceView()
        part = QWidget()
        column = QVBoxLayout(part)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.source_title)
        column.addWidget(self.source, 1)
        return part

    # ---- the architecture

    def _fill_architectures(self) -> None:
        """List every architecture, the present device's marked and, if it is new, added."""
        own = self._own_architecture()
        names = list(dict.fromkeys([*ARCHITECTURES, *([own] if own else []), self.architecture]))
        with QSignalBlocker(self.architecture_box):
            self.architecture_box.clear()
            for name in names:
                title = ARCHITECTURES[name].title if name in ARCHITECTURES else name
                here = " · this GPU" if name == own else ""
                self.architecture_box.addItem(f"{title}{here}", name)
            self.architecture_box.setCurrentIndex(names.index(self.architecture))

    def _own_architecture(self) -> str | None:
        device = self._session.experiment.device
        if device is None or device.backend != "cuda" or device.compute_capability is None:
            return None
        major, minor = device.compute_capability
        return f"sm_{major}{minor}"

    @property
    def architecture(self) -> str:
        """The chosen one, such as ``sm_90``; before anything is chosen the present GPU's."""
        return self._chosen or self._own_architecture() or DEFAULT

    def choose_architecture(self, name: str) -> None:
        """Choose an architecture by name."""
        self._chosen = name
        if self._built:
            self._fill_architectures()
        self.refresh()

    def restore(self, settings: Settings) -> None:
        """Choose the architecture that was chosen last."""
        name = bytes(settings.bytes_of("architecture").data()).decode(errors="replace")
        if name in ARCHITECTURES:
            self.choose_architecture(name)

    def remember(self, settings: Settings) -> None:
        """Keep the architecture for the next time, if the user chose one."""
        if self._chosen is not None:
            settings.set_bytes("architecture", QByteArray(self.architecture.encode()))

    def _devices_changed(self) -> None:
        if self._built:
            self._fill_architectures()
        self.refresh()

    # ---- asking

    def showEvent(self, event: QShowEvent) -> None:
        """Analyse what is chosen, now that somebody looks."""
        super().showEvent(event)
        if not self._built:
            self._build()
        self.refresh()

    def refresh(self) -> None:
        """Ask for the present variant's figures, if it is another question than before."""
        if not (self._built and self.isVisible()):
            return
        experiment = self._session.experiment
        knobs, workload = experiment.knobs, experiment.workload
        asked = (
            workload.sha256, knobs.variant, knobs.size, knobs.precision, knobs.block,
            knobs.tunables, self.architecture, self._session.options.python,
        )  # fmt: skip
        if asked == self._asked:
            return
        self._asked = asked
        self._ticket += 1
        self._fill_entries()
        if experiment.variant.library is not None:
            self.kernels = []
            self._show_message(
                InputError(f"the library call {experiment.variant.library} has its own kernels"),
                "Choose a variant with a kernel to see its source and what it takes.",
            )
            return
        self.worker.ask(
            Question(
                ticket=self._ticket,
                workload=workload,
                request=knobs.request(),
                arch=self.architecture,
                python=self._session.options.python,
            )
        )

    def _retry(self) -> None:
        self.worker.forget_failures()
        self._asked = None
        self.refresh()

    def close_down(self) -> None:
        """End the thread."""
        self.worker.close()

    # ---- showing

    def _fill_entries(self) -> None:
        """List the variant's launches, and show the source of the first."""
        steps = self._session.experiment.variant.launch
        entries = [step.entry for step in steps]
        present = [self.entry_box.itemText(i) for i in range(self.entry_box.count())]
        if entries != present:
            with QSignalBlocker(self.entry_box):
                self.entry_box.clear()
                self.entry_box.addItems(entries)
        self.entry_box.setVisible(len(entries) > 1)
        self._show_source()

    def _show_source(self) -> None:
        experiment = self._session.experiment
        at = self.entry_box.currentIndex()
        if not 0 <= at < len(experiment.variant.launch):
            self.source_title.setText("no source: a library call")
            self.source.show_source("", "")
            return
        step = experiment.variant.launch[at]
        self.source_title.setText(f"{step.source} · {step.entry}")
        self.source.show_source(experiment.workload.source.files[step.source], step.entry)

    def _say_compiling(self, ticket: int) -> None:
        if ticket != self._ticket:
            return
        device = self._session.device
        disturbs = self._session.live and device is not None and device.kind == "cpu"
        self.status.setText(
            f"Compiling for {self.architecture}…"
            + (" This may disturb what is measured on the processor now." if disturbs else "")
        )

    def _take(self, ticket: int, answer: object) -> None:
        if ticket != self._ticket:
            return
        self.kernels = answer if isinstance(answer, list) else []
        if isinstance(answer, ExplorerError):
            self._show_message(answer)
        else:
            self._show_kernel()

    def _show_message(self, error: ExplorerError, detail: str | None = None) -> None:
        """Show why there are no figures, in their place."""
        words = str(error)
        self.message.setText(f"{words[:1].upper()}{words[1:]}.")
        lines = (error.detail if detail is None else detail).splitlines()
        more = [f"… {len(lines) - DETAIL_LINES} more lines"] if len(lines) > DETAIL_LINES else []
        self.detail.setText("\n".join([*lines[:DETAIL_LINES], *more]))
        self.retry_button.setVisible(not isinstance(error, InputError))
        self._pages.setCurrentIndex(1)
        self.status.setText("")

    def _show_kernel(self) -> None:
        """Show the chosen launch's figures."""
        self._show_source()
        at = self.entry_box.currentIndex()
        if not 0 <= at < len(self.kernels):
            return
        kernel = self.kernels[at]
        for name, words in figure_words(kernel).items():
            self.figures[name].setText(words)
        self.legend.show_limiters(list(dict.fromkeys(p.limiter for p in kernel.curve)))
        self.plot.show_kernel(kernel)
        self._pages.setCurrentIndex(0)
        gpus = gpu_words(kernel.arch)
        on = f"{kernel.arch} ({gpus})" if gpus else kernel.arch
        self.status.setText(f"Compiled for {on}, {kernel.precision}; nothing was run.")


def figure_words(kernel: KernelAnalysis) -> dict[str, str]:
    """Return a kernel's figures in words, by the names in ``FIGURES``."""
    blocks, warps = kernel.blocks_per_multiprocessor, kernel.warps_per_multiprocessor
    held = "–"
    if blocks is not None and warps is not None:
        held = f"{blocks} · {blocks * -(-kernel.threads_per_block // 32)} of {warps} warps"
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
