"""The Kernel view: what the chosen kernel would be on any GPU, without running it there."""

from __future__ import annotations

import msgspec
from PySide6.QtCore import QByteArray, QSignalBlocker, Qt, QTimer, Slot
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QSplitter,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.analysis.architectures import ARCHITECTURES, DEFAULT_ARCHITECTURE
from gpuexplorer.analysis.static import KernelAnalysis
from gpuexplorer.charts.caption import Caption, asked_for
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.language import tr
from gpuexplorer.gui.code.editing import Editing, file_of
from gpuexplorer.gui.panels.kernel_figures import FigureList
from gpuexplorer.gui.panels.kernel_pages import MessagePage, entry_line
from gpuexplorer.gui.panels.kernel_worker import Answer, Beside, KernelWorker, Question
from gpuexplorer.gui.plots.base import title_label
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.settings import Settings
from gpuexplorer.gui.widgets.caption import CaptionLine
from gpuexplorer.gui.widgets.late import scrolled
from gpuexplorer.gui.widgets.list_box import ListBox
from gpuexplorer.gui.widgets.words import Words
from gpuexplorer.workloads.frameworks import FRAMEWORKS, framework_of, is_own
from gpuexplorer.workloads.manifest import VariantSpec
from gpuexplorer.workloads.workload import MODEL_FILE

ARCHITECTURE_TIP = "The GPU to compile for; it need not be in this machine"
LEAST_WIDTH = 120
"""Pixels of the list of architectures in a narrow window, which cuts its titles."""


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
        self._compiled = "", ""
        """The hash of the source, and the variant, that was asked for last."""
        self._asked_for: RunConfig
        """What the latest question is about."""
        self._built = False
        self._chosen: str | None = None
        self._architectures: list[str] = []
        self._refusal: ExplorerError | None = None
        """Why the present source could not be analysed."""
        self.answer = Answer([])
        """What is known of every launch of the variant, once it was analysed."""
        self.editing = Editing(self, session)
        self.worker = KernelWorker()
        self.worker.compiling.connect(self._say_compiling)
        self.worker.answered.connect(self._take)
        session.knobs_changed.connect(self.refresh)
        session.devices_changed.connect(self._devices_changed)
        session.state_changed.connect(self.refresh)

    @property
    def kernels(self) -> list[KernelAnalysis]:
        """Every launch of the variant, once it was analysed."""
        return self.answer.kernels

    # ---- construction

    def _build(self) -> None:
        from gpuexplorer.gui.panels.kernel_listings import Listings

        self._built = True
        split = QSplitter(Qt.Orientation.Vertical)
        split.setChildrenCollapsible(False)
        split.setHandleWidth(1)
        split.addWidget(self._result())
        below = QSplitter(Qt.Orientation.Horizontal)
        below.setChildrenCollapsible(False)
        below.setHandleWidth(1)
        below.addWidget(self._source_part())
        self.listings = Listings(self.source)
        self.listings.asked.connect(self.refresh)
        below.addWidget(self.listings)
        below.setSizes([400, 600])
        split.addWidget(below)
        split.setStretchFactor(0, 2)
        split.setStretchFactor(1, 3)
        split.setSizes([260, 320])
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(self._head())
        self.caption = CaptionLine("kernel", dims=(self._pages, self.listings), back=False)
        column.addWidget(self.caption)
        column.addWidget(split, 1)

    def _head(self) -> QHBoxLayout:
        self.architecture_box = ListBox("architectureBox", ARCHITECTURE_TIP)
        self.architecture_box.setAccessibleName(tr("Architecture"))
        self.architecture_box.setMinimumWidth(LEAST_WIDTH)
        self._fill_architectures()
        self.architecture_box.activated.connect(
            lambda _: self.choose_architecture(str(self.architecture_box.currentData()))
        )
        self.entry_box = ListBox("entryBox", "Which launch of the variant")
        self.entry_box.setAccessibleName(tr("Kernel"))
        self.entry_box.setVisible(False)  # until there are several
        self.entry_box.currentIndexChanged.connect(lambda _: self._show_kernel())
        self.status = Words(lines=2)
        self.status.setProperty("role", "muted")
        self.status.setObjectName("kernelStatus")
        head = QHBoxLayout()
        head.setContentsMargins(12, 8, 12, 4)
        head.setSpacing(8)
        label = title_label("On")
        label.setBuddy(self.architecture_box)
        for widget in (label, self.architecture_box, self.entry_box):
            head.addWidget(widget)
        head.addWidget(self.status, 1)
        self.occupancy_button, self.instructions_button = QToolButton(), QToolButton()
        pages = QButtonGroup(self)
        for button, name, tip in (
            (self.occupancy_button, "Occupancy", "What it takes, and occupancy by block size"),
            (self.instructions_button, "Instructions", "What each line of the source becomes"),
        ):
            button.setObjectName(f"kernel{name}")
            button.setText(tr(name))
            button.setToolTip(tr(tip))
            button.setProperty("role", "view")
            button.setCheckable(True)
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            pages.addButton(button)
            head.addWidget(button)
        self.occupancy_button.setChecked(True)
        self.instructions_button.toggled.connect(self._turn)
        return head

    def _result(self) -> QWidget:
        """Return the figures beside the curve, or a message in their place."""
        from gpuexplorer.gui.plots.occupancy import LimiterLegend, OccupancyPlot

        self.figures = FigureList()
        self.plot = OccupancyPlot()
        self.plot.block_chosen.connect(self._session.experiment.set_block)
        self.legend = LimiterLegend()
        curve = QVBoxLayout()
        curve.setContentsMargins(0, 4, 0, 0)
        curve.setSpacing(0)
        title = Words(tr("By threads per block"))
        title.setProperty("role", "title")
        curve.addWidget(title)
        curve.addWidget(self.legend)
        curve.addWidget(self.plot, 1)
        known = QWidget()
        row = QHBoxLayout(known)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.figures)
        row.addLayout(curve, 1)
        self._pages = QStackedWidget()
        self._pages.addWidget(scrolled(known))
        self.message = MessagePage()
        self.message.retry.connect(self._retry)
        self._pages.addWidget(scrolled(self.message))
        return self._pages

    def _source_part(self) -> QWidget:
        from gpuexplorer.gui.code.pane import CodePane

        self.code = CodePane(self.editing)
        self.editing.bench.changed.connect(self._mark_lines)
        self.source = self.code.view
        return self.code

    # ---- the architecture

    def _fill_architectures(self) -> None:
        """List every architecture, the present device's marked and, if it is new, added."""
        own = self._own_architecture()
        names = list(dict.fromkeys([*ARCHITECTURES, *([own] if own else []), self.architecture]))
        with QSignalBlocker(self.architecture_box):
            self.architecture_box.clear()
            for name in names:
                title = ARCHITECTURES[name].title if name in ARCHITECTURES else name
                self.architecture_box.addItem(
                    tr(f"{title} · this GPU" if name == own else title), name
                )
            self.architecture_box.setCurrentIndex(names.index(self.architecture))
        self._architectures = names
        self._offer_beside()

    # ---- what stands beside

    def _others(self) -> dict[str, Beside]:
        """Return what may stand beside by its key: architectures, variants, versions that ran."""
        experiment = self._session.experiment
        workload, request = experiment.workload, experiment.knobs.request()
        here = self.architecture
        found = {
            name: Beside(workload, request, name) for name in self._architectures if name != here
        }
        for name, variant in workload.manifest.variants.items():
            if variant.launch and name != experiment.knobs.variant:
                other = msgspec.structs.replace(request, variant=name, block=None, tunables={})
                found[f"variant {name}"] = Beside(workload, other, here, name)
        for version in self.editing.bench.of(workload):
            if version.run is not None and version.workload.sha256 != workload.sha256:
                title = f"version {version.number}"
                found[title] = Beside(version.workload, request, here, title)
        return found

    def _offer_beside(self) -> None:
        keys = self._others()
        known = {key: ARCHITECTURES[key].title for key in keys if key in ARCHITECTURES}
        self.listings.offer({key: known.get(key, key) for key in keys})

    def _beside(self) -> Beside | None:
        chosen = self.listings.beside
        return None if chosen is None else self._others().get(chosen)

    def _own_architecture(self) -> str | None:
        device = self._session.experiment.device
        if device is None or device.backend != "cuda" or device.compute_capability is None:
            return None
        major, minor = device.compute_capability
        return f"sm_{major}{minor}"

    @property
    def architecture(self) -> str:
        """The chosen one, such as ``sm_90``; before anything is chosen the present GPU's."""
        return self._chosen or self._own_architecture() or DEFAULT_ARCHITECTURE

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
        """Analyse what is chosen, now that the view is shown."""
        super().showEvent(event)
        if self._built:
            self.refresh()
        else:  # the parts first, what they show in the event loop's next turn
            self._build()
            QTimer.singleShot(0, self, self.refresh)

    def hideEvent(self, event: QHideEvent) -> None:
        """Compile nothing while the view is hidden, and hold no instructions."""
        super().hideEvent(event)
        self.worker.drop()
        self._asked = None
        if self._built:
            self.answer = Answer(self.kernels)
            self.listings.leave()

    def refresh(self) -> None:
        """Ask for the present variant's figures, if it is another question than before."""
        if not (self._built and self.isVisible()):
            return
        experiment = self._session.experiment
        knobs, workload = experiment.knobs, experiment.workload
        self._offer_beside()
        asked = (
            workload.sha256, knobs.variant, knobs.size, knobs.precision, knobs.block,
            knobs.tunables, self.architecture, self._session.options.python, self._listed,
            self.listings.beside,
        )  # fmt: skip
        if asked == self._asked:
            self._show_source()
            return
        self._asked, self._refusal = asked, None
        self._compiled = workload.sha256, knobs.variant
        self._ticket += 1
        self._asked_for = asked_for(knobs.request(), self.architecture)
        self.caption.follow(self._asked_for)
        self._fill_entries()
        if experiment.variant.call is not None:
            self.answer = Answer([])
            self.caption.show_caption(None)
            self._show_message(_no_kernel(experiment.variant))
            return
        self.worker.ask(
            Question(
                ticket=self._ticket,
                workload=workload,
                request=knobs.request(),
                arch=self.architecture,
                python=self._session.options.python,
                listed=self._listed,
                beside=self._beside() if self._listed else None,
            )
        )

    @property
    def _listed(self) -> bool:
        """Whether instructions are to be shown."""
        return self.instructions_button.isChecked()

    def _turn(self) -> None:
        """Show occupancy or instructions."""
        self._arrange()
        self.refresh()

    def _arrange(self) -> None:
        """Give the room to the listing once it is known, else to the figures or to a message."""
        known = isinstance(self.answer.listings, list) and bool(self.answer.listings)
        listed = self._listed and known and self._pages.currentIndex() == 0
        self._pages.setVisible(not listed)
        self.listings.setVisible(listed)

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
        source = experiment.workload.source
        if is_own(experiment.variant.model):
            self.code.show_source(source.origin, source.files[MODEL_FILE])
        elif not 0 <= at < len(experiment.variant.launch):
            model = "no source: a model of a framework"
            library = "no source: a library call"
            self.code.show_source(model if experiment.variant.model else library, "")
        else:
            step = experiment.variant.launch[at]
            text, path = source.files[step.source], file_of(experiment.workload, step.source)
            title = f"{step.source} · {step.entry}"
            self.code.show_source(title, text, entry_line(text, step.entry), path)
            self.code.show_workload(experiment.workload if path is not None else None)
            self._show_messages(step.source)

    def _mark_lines(self) -> None:
        """Mark at once what a version's compiler said."""
        steps, at = self._session.experiment.variant.launch, self.entry_box.currentIndex()
        if 0 <= at < len(steps):
            self._show_messages(steps[at].source)

    def _show_messages(self, source: str) -> None:
        """Mark what the compilers of this view, the run and the version say of a source's lines."""
        from gpuexplorer.gui.code.messages import line_messages

        workload = self._session.experiment.workload
        errors = [self._refusal, self._session.failure_of(workload)]
        versions = self.editing.bench.of(workload)
        if versions and versions[-1].workload.sha256 == workload.sha256:
            errors.append(versions[-1].error)
        said = [m for error in errors if error is not None for m in line_messages(error.detail)]
        self.code.show_messages([m for m in dict.fromkeys(said) if m.file == source])

    @Slot(object)
    def _say_compiling(self, ticket: int) -> None:
        if ticket != self._ticket:
            return
        device = self._session.device
        disturbs = self._session.live and device is not None and device.kind == "cpu"
        sentences = [f"Compiling for {self.architecture}…"]
        if disturbs:
            sentences.append("This may disturb what is measured on the processor now.")
        self.status.setText(tr(" ".join(sentences)))

    @Slot(object, object)
    def _take(self, ticket: int, answer: object) -> None:
        if ticket != self._ticket:
            return
        self.answer = answer if isinstance(answer, Answer) else Answer([])
        self.caption.show_caption(Caption([self._asked_for]) if self.kernels else None)
        if self.kernels:
            most = max(kernel.registers_per_thread for kernel in self.kernels)
            self.editing.bench.tell_registers(*self._compiled, self.kernels[0].arch, most)
        self._refusal = answer if isinstance(answer, ExplorerError) else None
        if self._refusal is not None:
            self._show_message(self._refusal)
            self._show_source()
        else:
            self._show_kernel()

    def _show_message(self, error: ExplorerError) -> None:
        """Show why there are no figures, in their place."""
        self.message.say(error)
        self._pages.setCurrentIndex(1)
        self._arrange()
        self.status.setText("")

    def _show_kernel(self) -> None:
        """Show the chosen launch's figures."""
        self._show_source()
        at = self.entry_box.currentIndex()
        if not 0 <= at < len(self.kernels):
            return
        kernel = self.kernels[at]
        if kernel.name != self.entry_box.currentText():
            return  # another variant's, whose successor is on its way
        self.figures.show_kernel(kernel)
        self.legend.show_limiters(list(dict.fromkeys(p.limiter for p in kernel.curve)))
        self.plot.show_kernel(kernel)
        if self._listed and isinstance(self.answer.listings, ExplorerError):
            self._show_message(self.answer.listings)
            return
        self._pages.setCurrentIndex(0)
        if self._listed and isinstance(self.answer.listings, list) and self.answer.listings:
            others, chosen = self.answer.beside, self._beside()
            missing = others if isinstance(others, ExplorerError) else None
            beside = None
            if isinstance(others, list) and others:
                beside = others[min(at, len(others) - 1)]
            files = self._session.experiment.workload.source.files
            title = "" if chosen is None else chosen.title
            self.listings.show_kernels(self.answer.listings[at], beside, files, title, missing)
        self._arrange()
        self.status.setText(tr(f"Compiled for it in {kernel.precision}; nothing was run."))


def _no_kernel(variant: VariantSpec) -> InputError:
    """Return in a sentence why a variant has nothing to show here."""
    if variant.model is None:
        return InputError(
            f"the library call {variant.library} has its own kernels",
            remedy="choose a variant with a kernel to see its source and what it takes",
        )
    framework = framework_of(variant.model)
    return InputError(
        f"{FRAMEWORKS.get(framework, framework)} chooses this model's kernels while it runs",
        remedy="choose a workload or a variant with a kernel to see its source and what it takes",
    )
