"""The Block map tab: the map under its choices, buttons and words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QTimer
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.config import Block
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.sweep import SweepDocument
from gpuexplorer.gui.blockmap import MapControl
from gpuexplorer.gui.model.blockmap import MapModel, MeasurableMap, runs_of
from gpuexplorer.gui.model.map_chart import map_chart
from gpuexplorer.gui.model.map_file import HeldMap
from gpuexplorer.gui.model.map_look import COLOURINGS, Look
from gpuexplorer.gui.panels.result_tab import Exported, sweep_files
from gpuexplorer.gui.plots.base import muted_label, small_button, title_label
from gpuexplorer.gui.plots.blockmap import MapCanvas
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.widgets.list_box import ListBox
from gpuexplorer.gui.widgets.words import Words
from gpuexplorer.search.block_grid import FINENESS
from gpuexplorer.search.blockmap import MapCell

DRAW_MS = 80
"""Between two paints while measuring: on the CPU device the processor is the kernel's."""
LEGEND = "★ best   □ cannot be told from it   ▨ cannot run"
START_TIP = (
    "Measure every block that can run, coarse to fine: clear losers get a launch or three,\n"
    "contenders more, and the leaders take turns. Live measuring pauses meanwhile."
)
PAUSE_TIP = "Let live measuring have the device for a while"
OCCUPANCY_TIP = (
    "Lay theoretical occupancy over the map: a bar along each cell's foot,\n"
    "▼ where a full block is slow, ▲ where one is fast though not full"
)


class BlockMapView(QWidget):
    """The map of the knobs as they stand."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.setAutoFillBackground(True)
        self.setBackgroundRole(self.palette().ColorRole.Base)
        self._session = session
        self.model = MapModel(session.experiment)
        self.control = MapControl(session, self.model)
        self._look: Look | None = None
        self.canvas = MapCanvas()
        self._make_widgets()
        self._lay_out()
        self._connect()
        self._redraw = QTimer(self)
        self._redraw.setSingleShot(True)
        self._redraw.setInterval(DRAW_MS)
        self._redraw.timeout.connect(self.refresh)

    def _make_widgets(self) -> None:
        self.words = Words()
        self.words.setObjectName("blockMapWords")
        self.cell_words = Words()
        self.cell_words.setObjectName("blockMapCell")
        self.notes = muted_label(LEGEND)
        self.notes.setObjectName("blockMapNotes")
        self.colouring = _box("blockMapColouring", "What the colours and numbers say", COLOURINGS)
        self.fineness = _box("blockMapGrid", "Which thread counts stand along the axes", FINENESS)
        self.z_words = QLabel("z")
        self.z_box = _box("blockMapZ", "Threads along z of every block", {})
        self.occupancy = small_button("blockMapOccupancy", OCCUPANCY_TIP)
        self.occupancy.setText("Occupancy")
        self.occupancy.setCheckable(True)
        self.start = _button("blockMapStart", "Start", START_TIP)
        self.pause = _button("blockMapPause", "Pause", PAUSE_TIP)
        self.cancel = _button(
            "blockMapCancel",
            "Stop",
            "End the race; what was measured is kept, and can be continued",
        )
        self.progress = QProgressBar()
        self.progress.setObjectName("blockMapProgress")
        self.progress.setTextVisible(False)
        self.progress.setFixedHeight(3)
        self.progress.setRange(0, 1000)

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(12, 6, 8, 0)
        head.setSpacing(8)
        head.addWidget(title_label("Block map"))
        head.addWidget(self.words, 1)
        for button in (self.pause, self.cancel, self.start):
            head.addWidget(button)
        choices = QHBoxLayout()
        choices.setContentsMargins(12, 0, 8, 0)
        choices.setSpacing(8)
        choices.addWidget(self.notes, 1)
        for widget in (self.z_words, self.z_box, self.fineness, self.colouring, self.occupancy):
            choices.addWidget(widget)
        foot = QHBoxLayout()
        foot.setContentsMargins(12, 0, 12, 6)
        foot.addWidget(self.cell_words, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(5)
        column.addLayout(head)
        column.addLayout(choices)
        column.addWidget(self.progress)
        column.addWidget(self.canvas, 1)
        column.addLayout(foot)

    def _connect(self) -> None:
        control, canvas = self.control, self.canvas
        control.changed.connect(self._changed)
        control.stepped.connect(self._stepped)
        self.start.clicked.connect(control.start)
        self.pause.clicked.connect(control.pause)
        self.cancel.clicked.connect(control.cancel)
        self.colouring.currentIndexChanged.connect(lambda _: self.refresh())
        self.fineness.currentIndexChanged.connect(lambda _: self._choose_grid())
        self.z_box.activated.connect(lambda _: self._choose_z())
        self.occupancy.toggled.connect(self._show_occupancy)
        canvas.picked.connect(self._pick)
        canvas.hovered.connect(self._show_cell)
        canvas.gesture.connect(self._gesture)

    # ---- shown and hidden

    def showEvent(self, event: QShowEvent) -> None:
        """Follow the knobs from now on."""
        super().showEvent(event)
        self.control.watch(True)
        self._show_z()
        self.refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        """Leave the knobs alone while the view is hidden."""
        super().hideEvent(event)
        self.control.watch(False)
        self._redraw.stop()

    # ---- what is new

    def _changed(self) -> None:
        if self.isVisible():
            self._show_z()
            self.refresh()

    def _stepped(self) -> None:
        if self.isVisible() and not self._redraw.isActive():
            self._redraw.start()

    def refresh(self) -> None:
        """Draw the map as it is known now; nothing while another view is shown."""
        if not self.isVisible():
            return
        model = self.model
        held, current = model.shown, model.current
        self._look = Look(held, self.colouring.currentData()) if held is not None else None
        message = ""
        if held is None:
            message = model.reason if current is None else ""
        elif model.stale:
            message = f"Of another configuration: {held.wanted.words}."
            if held.origin:
                device = held.wanted.device.name
                message = f"From file {held.origin}: {held.wanted.words}, on {device}."
            if current is not None and not self.control.running:
                message += " Start measures the map of the present knobs."
        stale = held is not None and model.stale and not held.origin
        self.canvas.show_map(held, self._look, stale=stale, message=message)
        self.canvas.show_block(model.block)
        self.words.setText(self._look.map_words() if self._look is not None else "")
        self._show_cell(self.canvas.hovered_cell)
        self._show_notes()
        self._show_buttons()

    def _show_buttons(self) -> None:
        control, current = self.control, self.model.current
        running = control.running
        self.start.setVisible(not running)
        self.start.setEnabled(control.can_start)
        words = "Start"
        if current is not None and current.map.begun:
            words = "Measure again" if current.map.done else "Continue"
        self.start.setText(words)
        for button in (self.pause, self.cancel):
            button.setVisible(running)
        self.pause.setText("Continue" if control.paused else "Pause")
        for box in (self.fineness, self.z_box):
            box.setEnabled(not running)
        held = self.model.shown
        step = held.step if held is not None else None
        share = 0.0
        if running and step is not None and isinstance(held, MeasurableMap):
            spent_s = held.map.spent_s
            share = spent_s / (spent_s + step.left_s) if step.left_s else 1.0
        self.progress.setValue(round(1000 * share))

    def _show_cell(self, cell: MapCell | None) -> None:
        """Say what is known of the cell under the pointer, or of the sliders' block."""
        held = self.model.shown
        if cell is None and held is not None and self.model.block is not None:
            number = held.wanted.grid.number(self.model.block)
            cell = held.cells[number] if number is not None else None
        words = self._look.cell_words(cell) if cell is not None and self._look is not None else ""
        self.cell_words.setText(words)

    def _show_notes(self) -> None:
        held = self.model.shown
        text, tip = LEGEND, ""
        if self.occupancy.isChecked() and held is not None and self._look is not None:
            tip = self._look.occupancy_words(held.wanted.device)
            text = self._look.occupancy_legend() or tip
        self.notes.setText(text)
        self.notes.setToolTip(tip)

    # ---- to a file

    def exported(self) -> Exported:
        """Return how the map is written; InputError without one.

        The chart is what the canvas shows; table and document are those of a sweep over its blocks.
        """
        shown = self.model.shown
        if shown is None or not shown.measured or self.control.running:
            raise InputError("there is no map to export yet", remedy="measure it first")
        runs, name = runs_of(shown), shown.wanted.request.workload

        def document() -> SweepDocument:
            found = runs()
            if found is None:
                raise InputError(
                    f"{shown.origin} has the map without its runs: it was saved while measuring",
                    remedy="measure it here",
                )
            return found

        chart = map_chart(shown, self.colouring.currentData())  # now: the map goes on changing
        return replace(sweep_files(document, f"block-map-{name}"), chart=lambda: chart)

    # ---- in a session file

    def held(self) -> HeldMap | None:
        """Return the map so far; None without any times."""
        return self.model.snapshot(measuring=self.control.running)

    def show_held(self, held: HeldMap | None) -> None:
        """Show another map; None: that of the knobs alone."""
        self.model.show(held)
        self.control.refresh()
        self.refresh()

    def close_down(self) -> None:
        """Leave the knobs alone."""
        self.control.watch(False)
        self._redraw.stop()

    # ---- choices

    def _choose_grid(self) -> None:
        self.model.fineness = self.fineness.currentData()
        if self.model.block is not None:
            self.model.center = self.model.block
        self.control.refresh()

    def _choose_z(self) -> None:
        self.model.z = int(self.z_box.currentData())
        self.control.refresh()

    def _show_z(self) -> None:
        """Offer the threads along z where blocks have three axes."""
        choices = self.model.z_choices()
        deep = self.model.dimensions > 2
        for widget in (self.z_words, self.z_box):
            widget.setVisible(deep)
        if not deep:
            return
        block = self.model.block
        wanted = self.model.z if self.model.z is not None else (block[2] if block else 1)
        self.z_box.blockSignals(True)
        if [self.z_box.itemData(i) for i in range(self.z_box.count())] != choices:
            self.z_box.clear()
            for z in choices:
                self.z_box.addItem(str(z), z)
        self.z_box.setCurrentIndex(max(0, self.z_box.findData(wanted)))
        self.z_box.blockSignals(False)

    def _show_occupancy(self, on: bool) -> None:
        self.canvas.show_occupancy(on)
        self._show_notes()

    def _pick(self, block: Block) -> None:
        self.control.go_to(block)

    def _gesture(self, begins: bool) -> None:
        experiment = self._session.experiment
        if begins:
            experiment.begin_gesture()
        else:
            experiment.end_gesture()


def _box(name: str, tip: str, choices: Mapping[Any, str]) -> ListBox:
    box = ListBox(name, tip)
    for value, words in choices.items():
        box.addItem(words, value)
    return box


def _button(name: str, words: str, tip: str) -> QPushButton:
    button = QPushButton(words)
    button.setObjectName(name)
    button.setToolTip(tip)
    return button
