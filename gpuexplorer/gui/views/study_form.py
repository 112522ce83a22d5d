"""The choices of a study beside the knobs: ticks, lists, sizes, and how to measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QDoubleSpinBox,
    QFormLayout,
    QLabel,
    QLineEdit,
    QSizePolicy,
    QSpinBox,
    QStyle,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core import ranges
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.knobs import values_text
from gpuexplorer.core.language import as_is, tr
from gpuexplorer.core.offer import Offer
from gpuexplorer.gui.model.experiment import Experiment
from gpuexplorer.gui.views.job_form import JobForm
from gpuexplorer.gui.widgets.list_box import ListBox
from gpuexplorer.studies.kind import Choice, StudyKind
from gpuexplorer.studies.over_sizes import default_sizes
from gpuexplorer.studies.running import How

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

    def __init__(self, prefix: str, choice: Choice) -> None:
        super().__init__()
        self._prefix, self._choice = prefix, choice
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(4)
        self.boxes: dict[str, QCheckBox] = {}
        self._titles: dict[str, str] = {}
        self._wanted: dict[str, bool] = {}
        """What the user ticked and unticked, kept while it cannot be had either."""

    def show_offers(self, offers: Sequence[Offer], _first: Sequence[str | None] = ()) -> None:
        """Offer these; what the user ticked and unticked stays so."""
        if [offer.name for offer in offers] != list(self.boxes):
            for box in self.boxes.values():
                self._column.removeWidget(box)
                box.hide()
                box.deleteLater()
            self.boxes = {}
            for offer in offers:
                box = QCheckBox()
                box.setAccessibleName(tr(offer.title))
                box.setObjectName(f"{self._prefix}_{offer.name}")
                box.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
                box.toggled.connect(partial(self._toggled, offer.name))
                self.boxes[offer.name] = box
                self._column.addWidget(box)
        self._titles = {offer.name: offer.title for offer in offers}
        self._cut()
        for offer in offers:
            box = self.boxes[offer.name]
            why = f"Not here: {offer.reason}." if offer.reason is not None else ""
            box.setEnabled(offer.reason is None)
            box.setToolTip(tr("\n".join(words for words in (offer.title, offer.tip, why) if words)))
            with QSignalBlocker(box):
                wanted = self._wanted.get(offer.name, self._choice.ticked)
                box.setChecked(offer.reason is None and wanted)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show as much of the titles as there is room for."""
        super().resizeEvent(event)
        self._cut()

    def _cut(self) -> None:
        mark = QStyle.PixelMetric.PM_IndicatorWidth, QStyle.PixelMetric.PM_CheckBoxLabelSpacing
        for name, box in self.boxes.items():
            box.ensurePolished()
            room = self.width() - sum(box.style().pixelMetric(one, None, box) for one in mark) - 4
            mode = Qt.TextElideMode.ElideRight
            title = tr(self._titles[name])
            box.setText(as_is(box.fontMetrics().elidedText(title, mode, max(room, 60))))

    def _toggled(self, name: str, on: bool) -> None:
        self._wanted[name] = on
        self.changed.emit()

    @property
    def chosen(self) -> tuple[Any, ...]:
        """What is ticked and can be had."""
        found = [n for n, box in self.boxes.items() if box.isChecked() and box.isEnabled()]
        return tuple(self._choice.read(",".join(found))) if found else ()


class Lists(QWidget):
    """Lists that take one offer each."""

    changed = Signal()

    def __init__(self, prefix: str, choice: Choice) -> None:
        super().__init__()
        form = _form(self)
        self.boxes: list[ListBox] = []
        self._offered: tuple[object, ...] = ()
        for place, (title, tip) in enumerate(choice.boxes):
            box = _list(f"{prefix}_{place}", tip)
            box.activated.connect(lambda _: self.changed.emit())
            form.addRow(tr(title), box)
            self.boxes.append(box)

    def show_offers(self, offers: Sequence[Offer], first: Sequence[str | None]) -> None:
        """Offer these; what is chosen stays where it is among them."""
        if (tuple(offers), tuple(first)) == self._offered:
            return
        self._offered = (tuple(offers), tuple(first))
        for box, usual in zip(self.boxes, first, strict=True):
            before = box.currentData()
            with QSignalBlocker(box):
                box.clear()
                for offer in offers:
                    box.addItem(tr(offer.title), offer.name)
                    box.setItemData(box.count() - 1, tr(offer.tip), Qt.ItemDataRole.ToolTipRole)
                at = box.findData(before) if before is not None else -1
                box.setCurrentIndex(at if at >= 0 else box.findData(usual))

    @property
    def chosen(self) -> tuple[str, ...]:
        """What each list shows; those that show nothing are left out."""
        return tuple(str(found) for box in self.boxes if (found := box.currentData()) is not None)


class Sizes(QWidget):
    """Sizes of one symbol."""

    changed = Signal()

    def __init__(self, prefix: str) -> None:
        super().__init__()
        form = _form(self)
        self.symbol = _list(f"{prefix}_symbol", "The size that varies; the others stay")
        self.text = QLineEdit()
        self.text.setObjectName(f"{prefix}_sizes")
        self.text.setAccessibleName(tr("Sizes to measure"))
        self.text.setToolTip(tr(SIZES_TIP))
        form.addRow(tr("Si&ze"), self.symbol)
        form.addRow(tr("&Values"), self.text)
        self.symbol.activated.connect(lambda _: self._symbol_chosen())
        self.text.editingFinished.connect(self.changed)
        self._workload = ""
        self._suggested: dict[str, str] = {}

    def follow(self, experiment: Experiment) -> None:
        """Offer the sizes of the workload; what was written stays while it is the same one."""
        workload = experiment.workload
        if workload.name == self._workload:
            return
        self._workload = workload.name
        specs = workload.manifest.sizes
        self._suggested = {s: values_text(default_sizes(spec)) for s, spec in specs.items()}
        with QSignalBlocker(self.symbol):
            self.symbol.clear()
            for symbol, spec in specs.items():
                self.symbol.addItem(tr(f"{spec.title} {symbol}" if spec.title else symbol), symbol)
        self.text.setText(as_is(self._suggested[next(iter(specs))]))

    def _symbol_chosen(self) -> None:
        self.text.setText(as_is(self._suggested[str(self.symbol.currentData())]))
        self.changed.emit()

    @property
    def chosen(self) -> dict[str, Any]:
        """The symbol and its sizes; InputError where they cannot be read."""
        return {
            "symbol": str(self.symbol.currentData()),
            "sizes": tuple(ranges.whole_numbers(self.text.text())),
        }


class StudyForm(JobForm):
    """The choices of one study."""

    def __init__(self, kind: StudyKind[Any]) -> None:
        name = f"study_{kind.name}"
        super().__init__(name)
        self.kind = kind
        self.section("Of the knobs as they stand")
        self.subject = self.line("Subject")
        self.column.addWidget(self.subject)
        self.groups: dict[str, Ticks | Lists] = {}
        self._headings: dict[str, QLabel] = {}
        self._missing: dict[str, QLabel] = {}
        for choice in kind.choices:
            if choice.title:
                self._headings[choice.name] = self.section(choice.title)
                self._missing[choice.name] = self.line("Missing", "muted")
                self.column.addWidget(self._missing[choice.name])
                made = (Lists if choice.boxes else Ticks)(f"{name}_{choice.name}", choice)
                self._add(choice.name, made)
        self.sizes: Sizes | None = None
        if kind.over_sizes:
            self.section("Sizes")
            self.sizes = Sizes(name)
            self.sizes.changed.connect(self.changed)
            self.column.addWidget(self.sizes)
        self.section("Measure each in")
        self.turns, self.seconds = QSpinBox(), QDoubleSpinBox()
        self.turns.setRange(FEWEST_TURNS, MOST_TURNS)
        self.turns.setValue(How().rounds)
        self.turns.setSuffix(tr(" turns"))
        self.seconds.setRange(0.05, 60.0)
        self.seconds.setDecimals(2)
        self.seconds.setSingleStep(0.1)
        self.seconds.setValue(How().seconds)
        unit = tr("s in all")
        self.seconds.setSuffix(as_is(f" {unit}"))
        for box, title, tip in (
            (self.turns, "Turns", TURNS_TIP),
            (self.seconds, "Seconds", SECONDS_TIP),
        ):
            box.setObjectName(f"{name}{title}")
            box.setToolTip(tr(tip))
            box.setAccessibleName(tr(title))
            box.setKeyboardTracking(False)
            box.valueChanged.connect(lambda _: self.changed.emit())
            self.column.addWidget(box)

    def _add(self, name: str, group: Ticks | Lists) -> None:
        group.changed.connect(self.changed)
        self.groups[name] = group
        self.column.addWidget(group)

    def follow(self, experiment: Experiment, subject: str) -> None:
        """Offer what the knobs, as they stand, let this study look at."""
        self.subject.setText(tr(subject))
        for choice in self.kind.choices:
            if choice.name not in self.groups:
                continue
            offers, reason = choice.offers(experiment), choice.nothing(experiment)
            self.groups[choice.name].show_offers(offers, choice.first(experiment))
            self._headings[choice.name].setVisible(bool(offers or reason))
            self._missing[choice.name].setText(tr(reason))
            self._missing[choice.name].setVisible(bool(reason))
        if self.sizes is not None:
            self.sizes.follow(experiment)

    @property
    def how(self) -> How:
        """How each configuration is measured."""
        return How(rounds=self.turns.value(), seconds=self.seconds.value())

    def chosen(self) -> Mapping[str, Any]:
        """Return what is chosen, by the names of the study's arguments.

        InputError where that is nothing to measure, or cannot be read.
        """
        for choice in self.kind.choices:
            if choice.too_few and len(self.groups[choice.name].chosen) < max(1, len(choice.boxes)):
                raise InputError(choice.too_few, remedy="choose one at least, or other knobs")
        found = self.kind.settle({name: group.chosen for name, group in self.groups.items()})
        return {**found, **(self.sizes.chosen if self.sizes is not None else {})}


def _form(parent: QWidget) -> QFormLayout:
    form = QFormLayout(parent)
    form.setContentsMargins(0, 0, 0, 0)
    form.setVerticalSpacing(5)
    form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
    return form


def _list(name: str, tip: str) -> ListBox:
    box = ListBox(name, tip)
    box.setMinimumContentsLength(8)
    box.setSizeAdjustPolicy(ListBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    return box
