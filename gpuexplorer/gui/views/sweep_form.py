"""What a sweep shall vary: a row for each knob with its values, ticked or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QCheckBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QScrollArea,
    QSpinBox,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.units import count
from gpuexplorer.gui.model.sweep_axes import AxisOffer, read_error
from gpuexplorer.search.measuring import SAMPLES

MOST_SAMPLES = 100_000
SHOWN_REASONS = 4


class AxisRow:
    """One knob: a tick, its values as text, and a menu where they can be ticked one by one."""

    def __init__(self, offer: AxisOffer, on_change: Callable[[], None]) -> None:
        self.offer = offer
        self._on_change = on_change
        self.tick = QCheckBox(offer.title)
        self.tick.setObjectName(f"sweepTick_{offer.name}")
        self.tick.setToolTip(offer.tip)
        self.text = QLineEdit(offer.text)
        self.text.setObjectName(f"sweepValues_{offer.name}")
        self.text.setAccessibleName(f"Values of {offer.title}")
        self.text.setToolTip(offer.tip)
        self.text.setMinimumWidth(60)
        self.more: QToolButton | None = None
        if offer.choices:
            self.more = QToolButton()
            self.more.setText("▾")
            self.more.setProperty("role", "small")
            self.more.setFixedWidth(24)
            self.more.setToolTip(f"Tick values of {offer.title}")
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
        self.text.setProperty("wrong", wrong is not None)
        self.text.setToolTip(f"{wrong}.\n{self.offer.tip}" if wrong else self.offer.tip)
        self.text.style().unpolish(self.text)
        self.text.style().polish(self.text)

    def _fill(self, menu: QMenu) -> None:
        menu.clear()
        chosen = {part.strip() for part in self.text.text().split(",")}
        for choice in self.offer.choices:
            action = QAction(choice.title, menu)
            action.setCheckable(True)
            action.setChecked(choice.name in chosen)
            action.setEnabled(choice.reason is None)
            action.setToolTip(choice.reason or "")
            action.toggled.connect(partial(self._choose, choice.name))
            menu.addAction(action)

    def _choose(self, name: str, on: bool) -> None:
        chosen = [part.strip() for part in self.text.text().split(",") if part.strip()]
        wanted = {*chosen, name} if on else set(chosen) - {name}
        order = [c.name for c in self.offer.choices]
        kept = [n for n in order if n in wanted] + [n for n in chosen if n not in order]
        self.text.setText(",".join(kept))
        self._edited()


class SweepForm(QScrollArea):
    """The rows, how often each configuration is launched, and what that comes to.

    ``changed`` says that another space was asked for.
    """

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("sweepSetup")
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumWidth(232)
        self.rows: dict[str, AxisRow] = {}
        inside = QWidget()
        inside.setObjectName("sweepSetupContent")
        column = QVBoxLayout(inside)
        column.setContentsMargins(12, 8, 10, 8)
        column.setSpacing(6)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(6)
        self._grid.setVerticalSpacing(5)
        self._grid.setColumnStretch(1, 1)
        column.addWidget(self._section("Vary"))
        column.addLayout(self._grid)
        column.addWidget(self._section("Measure each"))
        self.samples = QSpinBox()
        self.samples.setObjectName("sweepSamples")
        self.samples.setRange(1, MOST_SAMPLES)
        self.samples.setValue(SAMPLES)
        self.samples.setKeyboardTracking(False)
        tip = "Launches timed of each configuration; at most 5 s each"
        self.samples.setToolTip(tip)
        self.samples.valueChanged.connect(self.changed)
        launches = QLabel("launches")
        launches.setBuddy(self.samples)
        launches.setToolTip(tip)
        each = QHBoxLayout()
        each.addWidget(self.samples)
        each.addWidget(launches)
        each.addStretch(1)
        column.addLayout(each)
        self.total = self._line("sweepTotal")
        self.estimate = self._line("sweepEstimate")
        self.reasons = self._line("sweepReasons", "muted")
        for label in (self.total, self.reasons, self.estimate):
            column.addWidget(label)
        column.addStretch(1)
        self.setWidget(inside)

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

    def show_offers(self, offers: Sequence[AxisOffer], ticked: Sequence[str]) -> None:
        """Offer these knobs; texts and ticks of those that stay are kept."""
        before = {name: (r.tick.isChecked(), r.text.text(), r.offer) for name, r in
                  self.rows.items()}  # fmt: skip
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
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
            row.text.setText(text)
            row.text.setCursorPosition(0)
            row.mark()
            self._grid.addWidget(row.tick, line, 0)
            self._grid.addWidget(row.text, line, 1)
            if row.more is not None:
                self._grid.addWidget(row.more, line, 2)
        self.changed.emit()

    def forget(self) -> None:
        """Let the next offers be as for a new workload."""
        for row in self.rows.values():
            row.tick.blockSignals(True)
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        self.rows = {}

    @property
    def chosen(self) -> dict[str, str]:
        """The ticked axes with their texts, in the rows' order."""
        return {n: r.text.text() for n, r in self.rows.items() if r.tick.isChecked()}

    def show_total(self, total: str, estimate: str, reasons: Sequence[tuple[str, int]]) -> None:
        """Say what the space comes to, how long it may take, and why some of it cannot run."""
        self.total.setText(total)
        self.estimate.setText(estimate)
        self.estimate.setVisible(bool(estimate))
        lines = [f"{count(number)} × {reason}" for reason, number in reasons[:SHOWN_REASONS]]
        if len(reasons) > SHOWN_REASONS:
            lines.append(f"and {len(reasons) - SHOWN_REASONS} more reasons")
        self.reasons.setText("\n".join(lines))
        self.reasons.setVisible(bool(lines))
        self.reasons.setToolTip("\n".join(f"{count(n)} × {r}" for r, n in reasons))
