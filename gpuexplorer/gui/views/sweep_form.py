"""What a sweep shall vary: a row for each knob with its values, ticked or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QSignalBlocker
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QCheckBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QSpinBox,
    QToolButton,
)

from gpuexplorer.core.language import as_is, tr
from gpuexplorer.gui.model.sweep_axes import AxisOffer, read_error
from gpuexplorer.gui.typeface import for_text
from gpuexplorer.gui.views.cluster_choice import ClusterChoice
from gpuexplorer.gui.views.job_form import JobForm
from gpuexplorer.gui.widgets.layouts import empty
from gpuexplorer.gui.widgets.look import set_look
from gpuexplorer.search.measuring import SAMPLES

MOST_SAMPLES = 100_000


class AxisRow:
    """One knob: a tick, its values as text, and a menu where they can be ticked one by one."""

    def __init__(self, offer: AxisOffer, on_change: Callable[[], None]) -> None:
        self.offer = offer
        self._on_change = on_change
        self.tick = QCheckBox(tr(offer.title))
        self.tick.setObjectName(f"sweepTick_{offer.name}")
        self.tick.setToolTip(tr(offer.tip))
        self.text = QLineEdit(offer.text)
        self.text.setObjectName(f"sweepValues_{offer.name}")
        self.text.setAccessibleName(tr(f"Values of {offer.title}"))
        self.text.setToolTip(tr(offer.tip))
        self.text.setMinimumWidth(for_text(60))
        self.more: QToolButton | None = None
        if offer.choices:
            self.more = QToolButton()
            self.more.setText("▾")
            self.more.setProperty("role", "small")
            self.more.setToolTip(tr(f"Tick values of {offer.title}"))
            self.more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
            menu = QMenu(self.more)
            menu.setToolTipsVisible(True)
            menu.aboutToShow.connect(partial(self._fill, menu))
            self.more.setMenu(menu)
        self.tick.toggled.connect(self._changed)
        self.text.textEdited.connect(self._edited)

    def _edited(self) -> None:
        if not self.tick.isChecked():
            with QSignalBlocker(self.tick):
                self.tick.setChecked(True)
        self._changed()

    def _changed(self) -> None:
        self.mark()
        self._on_change()

    def mark(self) -> None:
        """Show whether the text gives values."""
        wrong = read_error(self.text.text(), self.offer.name) if self.tick.isChecked() else None
        set_look(self.text, wrong=wrong is not None)
        first = f"{wrong}." if wrong else self.text.text()  # of which there is room for a part
        self.text.setToolTip(tr(f"{first}\n{self.offer.tip}"))

    def _fill(self, menu: QMenu) -> None:
        menu.clear()
        chosen = {part.strip() for part in self.text.text().split(",")}
        for choice in self.offer.choices:
            action = QAction(tr(choice.title), menu)
            action.setCheckable(True)
            action.setChecked(choice.name in chosen)
            action.setEnabled(choice.reason is None)
            action.setToolTip(tr(choice.reason or ""))
            action.toggled.connect(partial(self._choose, choice.name))
            menu.addAction(action)

    def _choose(self, name: str, on: bool) -> None:
        chosen = [part.strip() for part in self.text.text().split(",") if part.strip()]
        wanted = {*chosen, name} if on else set(chosen) - {name}
        order = [c.name for c in self.offer.choices]
        kept = [n for n in order if n in wanted] + [n for n in chosen if n not in order]
        self.text.setText(as_is(",".join(kept)))
        self._edited()


class SweepForm(JobForm):
    """The rows, and how often each configuration is launched."""

    def __init__(self) -> None:
        super().__init__("sweep")
        self.rows: dict[str, AxisRow] = {}
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(6)
        self._grid.setVerticalSpacing(5)
        self._grid.setColumnStretch(1, 1)
        self.section("Vary")
        self.column.addLayout(self._grid)
        self.section("Measure each")
        self.samples = QSpinBox()
        self.samples.setObjectName("sweepSamples")
        self.samples.setRange(1, MOST_SAMPLES)
        self.samples.setValue(SAMPLES)
        self.samples.setKeyboardTracking(False)
        tip = "Launches timed of each configuration; at most 5 s each"
        self.samples.setToolTip(tr(tip))
        self.samples.valueChanged.connect(self.changed)
        launches = QLabel(tr("launches"))
        launches.setBuddy(self.samples)
        launches.setToolTip(tr(tip))
        each = QHBoxLayout()
        each.addWidget(self.samples)
        each.addWidget(launches)
        each.addStretch(1)
        self.column.addLayout(each)
        self.section("Measure on")
        self.cluster = ClusterChoice("sweep")
        self.cluster.changed.connect(self.changed)
        self.column.addWidget(self.cluster)

    def show_offers(self, offers: Sequence[AxisOffer], ticked: Sequence[str]) -> None:
        """Offer these knobs; texts and ticks of those that stay are kept."""
        before = {name: (r.tick.isChecked(), r.text.text(), r.offer) for name, r in
                  self.rows.items()}  # fmt: skip
        empty(self._grid)
        self.rows = {}
        for line, offer in enumerate(offers):
            row = self.rows[offer.name] = AxisRow(offer, self.changed.emit)
            on, text = offer.name in ticked, offer.text
            if offer.name in before:
                was_on, was_text, was = before[offer.name]
                on = was_on
                text = was_text if was_text != was.text else offer.text
            with QSignalBlocker(row.tick):
                row.tick.setChecked(on)
            row.text.setText(as_is(text))
            row.text.setCursorPosition(0)
            row.mark()
            self._grid.addWidget(row.tick, line, 0)
            self._grid.addWidget(row.text, line, 1, 1, 2 if row.more is None else 1)
            if row.more is not None:
                self._grid.addWidget(row.more, line, 2)
        self.changed.emit()

    def forget(self) -> None:
        """Let the next offers be as for a new workload."""
        for row in self.rows.values():
            row.tick.blockSignals(True)
        empty(self._grid)
        self.rows = {}

    @property
    def chosen(self) -> dict[str, str]:
        """The ticked axes with their texts, in the rows' order."""
        return {n: r.text.text() for n, r in self.rows.items() if r.tick.isChecked()}
