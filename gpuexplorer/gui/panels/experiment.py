"""The experiment panel: every knob, what it may be set to, and why not otherwise."""

from __future__ import annotations

import math

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.analysis.rates import items_per_launch
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.language import as_is, tr
from gpuexplorer.core.offer import Offer
from gpuexplorer.core.units import count, plural, quantity
from gpuexplorer.gui.model.block import AXES
from gpuexplorer.gui.model.experiment import Experiment
from gpuexplorer.gui.panels.experiment_switches import SwitchesSection
from gpuexplorer.gui.plain import plain_tip
from gpuexplorer.gui.typeface import for_text
from gpuexplorer.gui.widgets.list_box import LINE, ListBox, heading
from gpuexplorer.gui.widgets.scroll_room import ScrollArea, keep_room
from gpuexplorer.gui.widgets.snap_slider import SnapSlider


class KnobRow(QWidget):
    """A name, a spin box to type an exact value, and a slider below."""

    moved = Signal(int)
    began = Signal()
    ended = Signal()

    def __init__(self, name: str, title: str, tooltip: str) -> None:
        super().__init__()
        self.label = QLabel(tr(title))
        self.slider = SnapSlider()
        self.slider.setObjectName(name)
        self.slider.setAccessibleName(tr(title))
        self.box = QSpinBox()
        self.box.setObjectName(name.replace("Slider", "Box"))
        self.box.setAccessibleName(tr(title))
        self.box.setKeyboardTracking(False)
        self.box.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.box.setFixedWidth(for_text(84))
        self.label.setMinimumWidth(60)  # a long one is cut off, rather than the whole panel
        self.label.setBuddy(self.box)
        for widget in (self.label, self.slider, self.box):
            widget.setToolTip(tr(tooltip))
        head = QHBoxLayout()
        head.addWidget(self.label, 1)
        head.addWidget(self.box)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(1)
        layout.addLayout(head)
        layout.addWidget(self.slider)
        self.slider.moved.connect(self.moved)
        self.slider.gesture_began.connect(self.began)
        self.slider.gesture_ended.connect(self.ended)
        self.slider.valueChanged.connect(self.moved)
        self.box.valueChanged.connect(self.moved)

    def show_state(self, low: int, high: int, value: int, legal: int, reason: str | None) -> None:
        """Show a value in its range without emitting a signal."""
        with QSignalBlocker(self.slider), QSignalBlocker(self.box):
            self.slider.setRange(low, high)
            self.slider.setValue(value)
            self.box.setRange(low, high)
            if self.box.value() != value or not self.box.hasFocus():
                self.box.setValue(value)
        self.slider.set_reach(legal, reason)


def _items_words(number: int, what: str) -> str:
    """Say how many samples, or tokens, a step of a model takes."""
    if what == "tokens":
        return plural(number, "{number} token a step", "{number} tokens a step")
    return plural(number, "{number} sample a step", "{number} samples a step")


class ExperimentPanel(ScrollArea):
    """Shows an ``Experiment`` and turns its knobs."""

    def __init__(self, experiment: Experiment, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("experimentPanel")
        self._experiment = experiment
        self._shape: tuple[object, ...] | None = None
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        keep_room(self)
        content = QWidget()
        content.setObjectName("experimentContent")
        self._layout = QVBoxLayout(content)
        self._layout.setContentsMargins(14, 10, 8, 10)
        self._layout.setSpacing(8)
        self.setWidget(content)
        content.installEventFilter(self)
        self._build()
        self.sync()

    # ---- construction

    def _build(self) -> None:
        experiment = self._experiment
        self.workload_box = self._combo(
            "workloadBox", "What is computed", lambda name: experiment.set_workload(name)
        )
        self.variant_box = self._combo(
            "variantBox", "How it is computed", lambda name: experiment.set_variant(name)
        )
        self.precision_box = self._combo(
            "precisionBox",
            "The number format that is computed in; the list says what each is",
            lambda name: experiment.set_precision(name),
        )
        form = self._form()
        form.addRow(tr("Workload"), self.workload_box)
        form.addRow(tr("Variant"), self.variant_box)
        form.addRow(tr("Precision"), self.precision_box)
        self._layout.addLayout(form)
        self._sizes = QVBoxLayout()
        self._sizes.setSpacing(8)
        self._size_rows: dict[str, KnobRow] = {}
        self._layout.addLayout(self._sizes)
        self._block_title = QLabel(tr("Threads per block"))
        self._block_title.setProperty("role", "section")
        self._layout.addWidget(self._block_title)
        self.block_rows: list[KnobRow] = []
        for axis, name in enumerate(AXES):
            row = KnobRow(
                f"block{name.upper()}Slider",
                f"along {name}",
                f"Threads of a block along {name}. Snaps to powers of two; hold Shift for every\n"
                "integer, or type one. Arrow keys work once the slider is clicked.",
            )
            row.moved.connect(lambda value, axis=axis: experiment.set_axis(axis, value))
            row.began.connect(experiment.begin_gesture)
            row.ended.connect(experiment.end_gesture)
            self.block_rows.append(row)
            self._layout.addWidget(row)
        self.block_words = QLabel()
        self.block_words.setObjectName("blockWords")
        self.block_words.setProperty("role", "muted")
        self.block_words.setWordWrap(True)
        self._layout.addWidget(self.block_words)
        self._tunable_form = self._form()
        self._tunable_form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        self._tunable_boxes: dict[str, QComboBox] = {}
        self._layout.addLayout(self._tunable_form)
        self.switches = SwitchesSection()
        self.switches.chosen.connect(experiment.set_switch)
        self._layout.addWidget(self.switches)
        self.cache_box = self._combo(
            "cacheBox",
            "What the caches hold when a launch begins. Hot: what the launch before left there.\n"
            "Cold: nothing of the arrays, for the last-level cache is emptied before each launch,\n"
            "which is not timed; so samples come more slowly.",
            lambda cache: experiment.set_cache(cache),
        )
        self.fill_box = self._combo(
            "fillBox",
            "What the input arrays hold. Data decides the power a chip draws, and so its clock:\n"
            "zeros run faster than real numbers.",
            lambda fill: experiment.set_fill(fill),
        )
        conditions = self._form()
        conditions.addRow(tr("Caches"), self.cache_box)
        conditions.addRow(tr("Inputs"), self.fill_box)
        self._layout.addLayout(conditions)
        self.transfers = QCheckBox(tr("Include transfers"))
        self.transfers.setObjectName("includeTransfers")
        self.transfers.setToolTip(
            tr(
                "Each sample is the whole textbook sequence: allocate, copy to the device, "
                "kernel,\ncopy back, free. Without it a sample is the kernel alone."
            )
        )
        self.transfers.toggled.connect(experiment.set_include_transfers)
        self._layout.addWidget(self.transfers)
        self.note = QLabel()
        self.note.setObjectName("experimentNote")
        self.note.setWordWrap(True)
        self.note.setProperty("role", "warning")
        self.note.setTextFormat(Qt.TextFormat.RichText)
        self.note.linkActivated.connect(self._follow_link)
        self._layout.addWidget(self.note)
        self._layout.addStretch(1)

    @staticmethod
    def _form() -> QFormLayout:
        form = QFormLayout()
        form.setContentsMargins(0, 0, 0, 0)
        form.setVerticalSpacing(6)
        form.setHorizontalSpacing(10)
        form.setLabelAlignment(Qt.AlignmentFlag.AlignVCenter)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        return form

    def _combo(self, name: str, tooltip: str, chosen: object) -> QComboBox:
        box = ListBox(name, tooltip)
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        box.setMinimumContentsLength(10)
        box.currentIndexChanged.connect(lambda _: chosen(box.currentData()))  # type: ignore[operator]
        return box

    # ---- showing the model

    def sync(self) -> None:
        """Show the experiment as it is now."""
        experiment = self._experiment
        knobs, manifest = experiment.knobs, experiment.workload.manifest
        self._fill(self.workload_box, experiment.workload_offers(), knobs.workload)
        self.workload_box.setToolTip(tr(manifest.summary))
        self._fill(self.variant_box, experiment.variant_offers(), knobs.variant)
        self.variant_box.setToolTip(tr(experiment.variant.teaches))
        self._fill(self.precision_box, experiment.precision_offers(), knobs.precision)
        shape = (knobs.workload, knobs.variant, id(experiment.workload))
        if shape != self._shape:
            self._shape = shape
            self._rebuild_sizes()
            self._rebuild_tunables()
        for symbol, row in self._size_rows.items():
            spec = manifest.sizes[symbol]
            row.show_state(spec.min, spec.max, knobs.size[symbol], spec.max, None)
        self._sync_block()
        for name, box in self._tunable_boxes.items():
            with QSignalBlocker(box):
                box.setCurrentIndex(box.findData(knobs.tunables[name]))
        self.switches.show_offers(experiment.switch_offers())
        self._fill(self.cache_box, experiment.cache_offers(), knobs.cache)
        self._fill(self.fill_box, experiment.fill_offers(), knobs.fill)
        with QSignalBlocker(self.transfers):
            self.transfers.setChecked(knobs.include_transfers)
        self._sync_note()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Make room for the knobs when they have been laid out anew."""
        if event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return super().eventFilter(watched, event)

    def _fit(self) -> None:
        """Never be narrower than the knobs, whose right end would be cut off then."""
        bar = self.verticalScrollBar().sizeHint().width()
        needed = self._layout.totalMinimumSize().width() + bar
        if needed > self.minimumWidth():
            self.setMinimumWidth(needed)

    def _sync_block(self) -> None:
        experiment = self._experiment
        block, dimensions = experiment.knobs.block, experiment.dimensions
        self._block_title.setVisible(dimensions > 0)
        for axis, row in enumerate(self.block_rows):
            row.setVisible(axis < dimensions)
            if block is not None and axis < dimensions:
                row.show_state(
                    1,
                    experiment.room.limit(axis),
                    block[axis],
                    experiment.room.legal(axis),
                    experiment.room.reason(axis),
                )
        self.block_words.setText(tr(self._block_summary()))

    def _block_summary(self) -> str:
        experiment = self._experiment
        block = experiment.knobs.block
        if experiment.variant.model:
            return self._model_summary()
        if experiment.variant.library is not None:
            return "A library call: it chooses its own blocks."
        if block is None or experiment.dimensions == 0:
            return "This variant fixes its own blocks."
        threads = math.prod(block)
        words = [plural(threads, "{number} thread in a block", "{number} threads in a block")]
        device = experiment.device
        if device is not None:
            try:
                plan = experiment.plan()
            except ExplorerError:
                return words[0]
            grid = plan.config.grid
            if grid is not None:
                shape = " × ".join(str(g) for g in grid[: max(1, experiment.dimensions)])
                words.append(f"grid {shape} blocks")
            if device.kind == "gpu":
                warps = math.ceil(threads / 32)
                idle = warps * 32 - threads
                words.append(plural(warps, "{number} warp", "{number} warps"))
                if idle:
                    words.append(
                        plural(
                            idle,
                            "{number} lane idle in the last one",
                            "{number} lanes idle in the last one",
                        )
                    )
            words.append(f"{quantity(plan.memory_B, 'B')} of arrays")
        return " · ".join(words)

    def _model_summary(self) -> str:
        """Say how large a model's run is; its framework chooses kernels and blocks."""
        from gpuexplorer.workloads.memory.predict import predict

        experiment = self._experiment
        try:
            plan = experiment.plan()
        except ExplorerError:
            return "A framework's model: it chooses its own kernels."
        items = items_per_launch(plan.config)
        words = [_items_words(*items)] if items is not None else []
        parts = predict(plan)
        if parts is not None:
            words.append(f"about {quantity(parts.total_B, 'B')} of memory")
        return " · ".join(words) or "A framework's model: it chooses its own kernels."

    def _sync_note(self) -> None:
        note = self._experiment.note
        self.note.setVisible(note is not None)
        if note is not None:
            links = [f'<a href="remedy">{note.remedy}</a>'] if note.remedy else []
            self.note.setText(tr(" ".join([note.text.replace("<", "&lt;"), *links])))

    def _follow_link(self, _: str) -> None:
        note = self._experiment.note
        if note is not None and note.knobs is not None:
            self._experiment.set_knobs(note.knobs)

    @staticmethod
    def _fill(box: QComboBox, offers: list[Offer], current: str) -> None:
        """Show offers; those that cannot be chosen are grey and say why."""
        shown = [(o.name, o.title, o.reason or "", o.tip, o.group) for o in offers]
        if box.property("offers") != shown:
            with QSignalBlocker(box):
                model = QStandardItemModel(box)
                group = ""
                for offer in offers:
                    if offer.group != group:
                        group = offer.group
                        model.appendRow(heading(group))
                    item = QStandardItem(tr(offer.title))
                    item.setData(offer.line, LINE)
                    item.setData(offer.name, Qt.ItemDataRole.UserRole)
                    item.setEnabled(offer.reason is None)
                    item.setToolTip(plain_tip(tr(offer.reason or offer.tip)))
                    model.appendRow(item)
                box.setModel(model)
                box.setProperty("offers", shown)
        with QSignalBlocker(box):
            box.setCurrentIndex(box.findData(current))

    def _rebuild_sizes(self) -> None:
        for row in self._size_rows.values():
            row.box.blockSignals(True)  # half a number typed for another workload is no size
            self._sizes.removeWidget(row)
            row.hide()  # which ends a drag
            row.deleteLater()
        self._size_rows = {}
        experiment = self._experiment
        for index, (symbol, spec) in enumerate(experiment.workload.manifest.sizes.items()):
            title = f"{spec.title} {symbol}" if spec.title else symbol
            row = KnobRow(
                "sizeSlider" if index == 0 else f"sizeSlider_{symbol}",
                title,
                f"{title}: {count(spec.min)} to {count(spec.max)}. Snaps to powers of two; hold\n"
                "Shift for every integer, or type one.",
            )
            row.moved.connect(lambda value, symbol=symbol: experiment.set_size(symbol, value))
            # Not the methods themselves: a connection to one of no QObject outlives its sender.
            row.began.connect(lambda: experiment.begin_gesture())
            row.ended.connect(lambda: experiment.end_gesture())
            self._size_rows[symbol] = row
            self._sizes.addWidget(row)

    def _rebuild_tunables(self) -> None:
        while self._tunable_form.rowCount():
            self._tunable_form.removeRow(0)
        self._tunable_boxes = {}
        experiment = self._experiment
        for name, tunable in experiment.variant.tunables.items():
            if tunable.formula is not None:
                continue
            words = f"{tunable.title or name}: a constant the kernel is compiled with"
            box = ListBox(f"tunableBox_{name}", words)
            for value in tunable.values:
                box.addItem(as_is(count(value)), value)
            box.currentIndexChanged.connect(
                lambda _, name=name, box=box: experiment.set_tunable(name, box.currentData())
            )
            self._tunable_boxes[name] = box
            title = QLabel(tr(tunable.title or name))
            title.setWordWrap(True)  # a manifest's title may be longer than the panel is wide
            title.setBuddy(box)
            self._tunable_form.addRow(title, box)

    def focus_block(self) -> None:
        """Put the keyboard on the first block slider."""
        self.block_rows[0].slider.setFocus(Qt.FocusReason.OtherFocusReason)


def device_title(device: DeviceInfo) -> str:
    """Return a device as the device list shows it."""
    return f"{device.name} · {device.id}"


def fill_device_box(box: QComboBox, devices: DeviceList, automatic: DeviceInfo | None) -> None:
    """List the devices that run kernels, hardware only libraries reach, and what is missing."""
    model = QStandardItemModel(box)

    def add(words: str, data: str | None, tip: str) -> None:
        item = QStandardItem(tr(words))
        item.setData(data, Qt.ItemDataRole.UserRole)
        item.setToolTip(tr(tip))
        item.setEnabled(data is not None)
        model.appendRow(item)

    title = f"Automatic ({automatic.name})" if automatic else "Automatic"
    add(title, "auto", "The first GPU that runs kernels, or else the CPU")
    kernels = [d for d in devices.devices if d.runs_kernels]
    covered = {d.hardware_id for d in kernels}
    others = [d for d in devices.devices if d.hardware_id not in covered]
    for device in (*kernels, *others):
        peak = device.peak_bandwidth_B_per_s
        rate = quantity(peak, "B/s")
        facts = [
            f"{device.compute_units} compute units",
            f"peak bandwidth {rate} ({device.peak_source})" if peak else "peak bandwidth not known",
        ]
        add(device_title(device), device.id, f"{device.driver}\n{', '.join(facts)}")
    for missing in devices.unavailable:
        add(f"{missing.backend}: not available", None, f"{missing.reason}.\n{missing.remedy}")
    with QSignalBlocker(box):
        box.setModel(model)
