"""What a study of the Lab shall look at, beside the knobs: ticks, two devices, sizes, and turns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QDoubleSpinBox,
    QFormLayout,
    QLabel,
    QLineEdit,
    QScrollArea,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core import ranges
from gpuexplorer.core.errors import InputError
from gpuexplorer.engine.cores import usable_cores
from gpuexplorer.gui.model.experiment import Experiment
from gpuexplorer.gui.model.lab import Kind
from gpuexplorer.gui.model.lab_offers import (
    NO_SWITCHES,
    Sides,
    precision_choices,
    sides,
    sizes_text,
    split_threads,
    switch_choices,
    thread_choices,
)
from gpuexplorer.gui.model.lab_wanted import Wanted
from gpuexplorer.gui.model.offers import Offer
from gpuexplorer.gui.widgets.list_box import ListBox
from gpuexplorer.studies import How
from gpuexplorer.studies.choices import NO_SWITCH

FEWEST_TURNS, MOST_TURNS = 1, 200
TURNS_TIP = (
    "How often each is measured, in turns with the others, in an order that chance decides.\n"
    "Six at least are needed for an interval of a ratio."
)
SECONDS_TIP = "Seconds of samples of each, over all of its turns"
SIZES_TIP = "Sizes such as 64,128, or a range: 64:4096:*2 doubles, 16:64:+16 adds, 1:8 takes each"


class Ticks(QWidget):
    """A check box for each offer; those that cannot be looked at say why."""

    changed = Signal()

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(4)
        self.boxes: dict[str, QCheckBox] = {}
        self._said: dict[str, bool] = {}
        """What the user ticked and unticked, kept while it cannot be had either."""

    def show_offers(self, offers: Sequence[Offer], extras: Sequence[Offer] = ()) -> None:
        """Offer these, ticked, and ``extras``, not ticked; what the user said stays so."""
        unasked = {offer.name for offer in extras}
        offers = [*offers, *extras]
        if [o.name for o in offers] != list(self.boxes):
            for box in self.boxes.values():
                self._column.removeWidget(box)
                box.hide()
                box.deleteLater()
            self.boxes = {}
            for offer in offers:
                box = QCheckBox(offer.title)
                box.setObjectName(f"{self._prefix}_{offer.name}")
                box.toggled.connect(partial(self._toggled, offer.name))
                self.boxes[offer.name] = box
                self._column.addWidget(box)
        for offer in offers:
            box = self.boxes[offer.name]
            box.setEnabled(offer.reason is None)
            box.setToolTip("\n".join(t for t in (offer.tip, _why(offer)) if t))
            with QSignalBlocker(box):
                wanted = self._said.get(offer.name, offer.name not in unasked)
                box.setChecked(offer.reason is None and wanted)

    def _toggled(self, name: str, on: bool) -> None:
        self._said[name] = on
        self.changed.emit()

    @property
    def chosen(self) -> tuple[str, ...]:
        """What is ticked and can be had."""
        return tuple(n for n, box in self.boxes.items() if box.isChecked() and box.isEnabled())


def _why(offer: Offer) -> str:
    return f"Not here: {offer.reason}." if offer.reason is not None else ""


class LabSetup(QScrollArea):
    """The choices of one study; ``changed`` says that something else is asked for."""

    changed = Signal()

    def __init__(self, kind: Kind) -> None:
        super().__init__()
        self.kind = kind
        self.setObjectName(f"labSetup_{kind}")
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumWidth(214)
        inside = QWidget()
        inside.setObjectName("labSetupContent")
        column = QVBoxLayout(inside)
        column.setContentsMargins(12, 8, 10, 8)
        column.setSpacing(6)
        self.subject = self._line("labSubject")
        column.addWidget(self._section("Of the knobs as they stand"))
        column.addWidget(self.subject)
        self._build(column)
        column.addWidget(self._section("Measure each in"))
        self.turns = QSpinBox()
        self.turns.setRange(FEWEST_TURNS, MOST_TURNS)
        self.turns.setValue(How().rounds)
        self.turns.setSuffix(" turns")
        self.seconds = QDoubleSpinBox()
        self.seconds.setRange(0.05, 60.0)
        self.seconds.setDecimals(2)
        self.seconds.setSingleStep(0.1)
        self.seconds.setValue(How().seconds)
        self.seconds.setSuffix(" s in all")
        for box, name, tip in (
            (self.turns, "labTurns", TURNS_TIP),
            (self.seconds, "labSeconds", SECONDS_TIP),
        ):
            box.setObjectName(f"{name}_{kind}")
            box.setToolTip(tip)
            box.setKeyboardTracking(False)
            box.valueChanged.connect(lambda _: self.changed.emit())
            column.addWidget(box)
        self.total = self._line("labTotal")
        self.estimate = self._line("labEstimate")
        column.addWidget(self.total)
        column.addWidget(self.estimate)
        column.addStretch(1)
        self.setWidget(inside)

    def _build(self, column: QVBoxLayout) -> None:
        """Add what this kind of study chooses among."""
        self.ticks = Ticks(f"lab_{self.kind}")
        self.ticks.changed.connect(self.changed)
        self.reason = self._line("labReason", "muted")
        if self.kind != "speedup":
            title = "Precisions" if self.kind == "precision" else "Switches to turn"
            column.addWidget(self._section(title))
            column.addWidget(self.reason)
            column.addWidget(self.ticks)
            return
        column.addWidget(self._section("Devices and sizes"))
        column.addWidget(self.reason)
        self.first = ListBox("labFirstDevice", "The device that has its data at hand, as a CPU has")
        self.second = ListBox(
            "labSecondDevice", "The device that the data has to be brought to, as a GPU"
        )
        self.symbol = ListBox("labSymbol", "The size that varies; the others stay as they are")
        self.sizes = QLineEdit()
        self.sizes.setObjectName("labSizes")
        self.sizes.setAccessibleName("Sizes to measure")
        self.sizes.setToolTip(SIZES_TIP)
        form = QFormLayout()
        form.setContentsMargins(0, 0, 0, 0)
        form.setVerticalSpacing(5)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        for words, widget in (
            ("&First", self.first), ("S&econd", self.second), ("Si&ze", self.symbol),
            ("&Values", self.sizes),
        ):  # fmt: skip
            if isinstance(widget, ListBox):
                widget.setMinimumContentsLength(8)
                widget.setSizeAdjustPolicy(
                    ListBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
                )
            form.addRow(words, widget)
        column.addLayout(form)
        self.first.activated.connect(lambda _: self.changed.emit())
        self.second.activated.connect(lambda _: self.changed.emit())
        self.symbol.activated.connect(lambda _: self._symbol_chosen())
        self.sizes.editingFinished.connect(self.changed)
        self._offered: tuple[object, ...] = ()
        self._suggested: dict[str, str] = {}

    @staticmethod
    def _section(words: str) -> QLabel:
        label = QLabel(words)
        label.setProperty("role", "section")
        return label

    @staticmethod
    def _line(name: str, role: str = "") -> QLabel:
        label = QLabel()
        label.setObjectName(name)
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        if role:
            label.setProperty("role", role)
        return label

    # ---- following the knobs

    def follow(self, experiment: Experiment, subject: str) -> None:
        """Offer what the knobs, as they stand, let this study look at."""
        self.subject.setText(subject)
        reason = ""
        if self.kind == "precision":
            self.ticks.show_offers(precision_choices(experiment))
        elif self.kind == "switches":
            offers = switch_choices(experiment)
            self.ticks.show_offers(offers, thread_choices(experiment, usable_cores()))
            reason = "" if offers else NO_SWITCHES
        else:
            found = sides(experiment)
            self._show_sides(experiment, found)
            reason = found.reason
        self.reason.setText(reason)
        self.reason.setVisible(bool(reason))

    def _show_sides(self, experiment: Experiment, found: Sides) -> None:
        sizes = experiment.workload.manifest.sizes
        offered = (experiment.knobs.workload, found, tuple(sizes))
        if offered == self._offered:
            return
        fresh = self._offered[:1] != offered[:1]
        self._offered = offered
        for box, chosen in ((self.first, found.first), (self.second, found.second)):
            before = None if fresh else box.currentData()
            with QSignalBlocker(box):
                box.clear()
                for device in found.devices:
                    box.addItem(device.id, device.id)
                    box.setItemData(
                        box.count() - 1, f"{device.name}\n{device.driver}",
                        Qt.ItemDataRole.ToolTipRole,
                    )  # fmt: skip
                at = box.findData(before) if before is not None else -1
                box.setCurrentIndex(at if at >= 0 else box.findData(chosen))
        self._suggested = {symbol: sizes_text(experiment, symbol) for symbol in sizes}
        if fresh:
            with QSignalBlocker(self.symbol):
                self.symbol.clear()
                for symbol, spec in sizes.items():
                    self.symbol.addItem(f"{spec.title} {symbol}" if spec.title else symbol, symbol)
            self.sizes.setText(self._suggested[next(iter(sizes))])

    def _symbol_chosen(self) -> None:
        self.sizes.setText(self._suggested[str(self.symbol.currentData())])
        self.changed.emit()

    # ---- what is asked for

    def wanted(self, experiment: Experiment) -> Wanted:
        """Return what is asked for; InputError where that is nothing, or cannot be read."""
        devices = experiment.devices
        if devices is None:
            raise InputError("the devices are not known yet", remedy="wait for the engine")
        how = How(rounds=self.turns.value(), seconds=self.seconds.value())
        request = experiment.knobs.request()
        common = (self.kind, request, experiment.workload, devices, how)
        if self.kind == "precision":
            if not self.ticks.chosen:
                raise InputError("no precision is ticked", remedy="tick one at least")
            return Wanted(*common, precisions=self.ticks.chosen)
        if self.kind == "switches":
            if not self.ticks.boxes:
                raise InputError("this variant has no switches", remedy="choose a model")
            if not self.ticks.chosen:
                raise InputError("no switch is ticked", remedy="tick one at least")
            switches, threads = split_threads(self.ticks.chosen)
            return Wanted(*common, switches=switches or (NO_SWITCH,), threads=threads)
        first, second = self.first.currentData(), self.second.currentData()
        if first is None or second is None:
            raise InputError("there are no two devices to compare", remedy="see the device list")
        return Wanted(
            *common,
            sides=(str(first), str(second)),
            symbol=str(self.symbol.currentData()),
            sizes=tuple(ranges.whole_numbers(self.sizes.text())),
        )

    def show_total(self, total: str, estimate: str) -> None:
        """Say what the study comes to, and how long it may take."""
        self.total.setText(total)
        self.estimate.setText(estimate)
        self.estimate.setVisible(bool(estimate))
