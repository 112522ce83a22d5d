"""The switches of a model's structure: a check box or a list for each, and what it teaches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QCheckBox, QFormLayout, QLabel, QVBoxLayout, QWidget

from gpuexplorer.core.language import as_is, tr
from gpuexplorer.gui.model.switches import SwitchOffer
from gpuexplorer.gui.widgets.list_box import ListBox


class SwitchesSection(QWidget):
    """Shows offers; ``chosen`` carries a switch's name and its new value."""

    chosen = Signal(str, object)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("switchesSection")
        title = QLabel(tr("Structure"))
        title.setProperty("role", "section")
        title.setToolTip(tr("What only changes how the same result is computed, one thing each"))
        self._form = QFormLayout()
        self._form.setContentsMargins(0, 0, 0, 0)
        self._form.setVerticalSpacing(5)
        self._form.setHorizontalSpacing(10)
        self._form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        self._form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(title)
        column.addLayout(self._form)
        self._names: tuple[str, ...] = ()
        self._flags: dict[str, QCheckBox] = {}
        self._lists: dict[str, ListBox] = {}
        self._labels: dict[str, QLabel] = {}

    def show_offers(self, offers: Sequence[SwitchOffer]) -> None:
        """Show the switches as they stand; nothing at all without any."""
        names = tuple(offer.name for offer in offers)
        if names != self._names:
            self._rebuild(offers)
            self._names = names
        self.setVisible(bool(offers))
        for offer in offers:
            if offer.is_flag:
                self._show_flag(self._flags[offer.name], offer)
            else:
                self._show_list(self._lists[offer.name], offer)

    def _rebuild(self, offers: Sequence[SwitchOffer]) -> None:
        while self._form.rowCount():
            self._form.removeRow(0)
        self._flags, self._lists, self._labels = {}, {}, {}
        for offer in offers:
            name = f"switch_{offer.name}"
            if offer.is_flag:
                flag = QCheckBox(tr(offer.switch.title))
                flag.setObjectName(name)
                flag.toggled.connect(partial(self._turned, offer.name))
                self._flags[offer.name] = flag
                self._form.addRow(flag)
            else:
                box = ListBox(name, "")
                box.setAccessibleName(tr(offer.switch.title))
                box.setSizeAdjustPolicy(
                    ListBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
                )
                box.setMinimumContentsLength(7)
                box.activated.connect(partial(self._picked, offer.name))
                self._lists[offer.name] = box
                label = self._labels[offer.name] = QLabel(tr(offer.switch.title))
                label.setBuddy(box)
                self._form.addRow(label, box)

    @staticmethod
    def _show_flag(flag: QCheckBox, offer: SwitchOffer) -> None:
        with QSignalBlocker(flag):
            flag.setChecked(bool(offer.value))
        flag.setEnabled(offer.reason is None)
        flag.setToolTip(tr(offer.tip))

    def _show_list(self, box: ListBox, offer: SwitchOffer) -> None:
        shown = [(c.words, c.reason or "") for c in offer.choices]
        with QSignalBlocker(box):
            if box.property("choices") != shown:
                model = QStandardItemModel(box)
                for choice in offer.choices:
                    item = QStandardItem(as_is(choice.words))
                    item.setData(choice.value, Qt.ItemDataRole.UserRole)
                    item.setEnabled(choice.reason is None)
                    item.setToolTip(tr(choice.reason or ""))
                    model.appendRow(item)
                box.setModel(model)
                box.setProperty("choices", shown)
            box.setCurrentIndex(box.findData(offer.value))
        for widget in (box, self._labels[offer.name]):
            widget.setEnabled(offer.reason is None)
            widget.setToolTip(tr(offer.tip))

    def _turned(self, name: str, on: bool) -> None:
        self.chosen.emit(name, on)

    def _picked(self, name: str, index: int) -> None:
        value = self._lists[name].itemData(index)
        if value is not None:
            self.chosen.emit(name, value)
