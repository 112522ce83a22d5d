"""The block map in the window: its job through the live engine, and its view."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace
from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QLabel, QVBoxLayout

from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.change import Change
from gpuexplorer.core.config import Block
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.language import as_is, tr
from gpuexplorer.core.sweep import SweepDocument
from gpuexplorer.core.units import quantity
from gpuexplorer.gui.export import Exported
from gpuexplorer.gui.job import EngineJob
from gpuexplorer.gui.model.blockmap import MapEnd, MapModel, MeasurableMap
from gpuexplorer.gui.model.map_chart import map_chart
from gpuexplorer.gui.model.map_file import HeldMap
from gpuexplorer.gui.model.map_look import COLOURINGS, Look
from gpuexplorer.gui.model.map_surface import Surface
from gpuexplorer.gui.model.part_file import origin_words
from gpuexplorer.gui.model.sweep_preview import sweep_command
from gpuexplorer.gui.notice import Notice, capital
from gpuexplorer.gui.panels.result_tab import sweep_files
from gpuexplorer.gui.plots.base import muted_label
from gpuexplorer.gui.plots.blockmap import MapCanvas
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.typeface import for_text
from gpuexplorer.gui.views.job_control import JobControl
from gpuexplorer.gui.widgets.button import button, small_button
from gpuexplorer.gui.widgets.caption import CaptionLine
from gpuexplorer.gui.widgets.list_box import BOX_LEAST_WIDTH, ListBox
from gpuexplorer.gui.widgets.two_lines import TwoLines
from gpuexplorer.gui.widgets.words import Words
from gpuexplorer.gui.worker import EngineWorker
from gpuexplorer.history.keeping import Keeping
from gpuexplorer.search.block_grid import FINENESS
from gpuexplorer.search.blockmap import MapCell, MapStep, map_space
from gpuexplorer.search.measuring import Measuring

GROUP = "block map"
"""The kind of the group that a map's runs make in the store."""
ALIKE = 1.1
"""So many times apart a block's time in the map and in Live need no explanation."""
DRAW_MS = 80
"""Between two paints while measuring: on the CPU device the processor is the kernel's."""
LEGEND = "★ best   □ cannot be told from it   ▨ cannot run"
START_TIP = (
    "Measure every block that can run, coarse to fine: clear losers get a launch or three,\n"
    "contenders more, and the leaders take turns. Live measuring pauses meanwhile."
)
COMPARE_TIP = (
    "Add the best block to Compare, with the best of the same map on each other device,\n"
    "here or on another machine: there they are measured in turns"
)
OCCUPANCY_TIP = (
    "Lay theoretical occupancy over the map: a bar along each cell's foot,\n"
    "▼ where a full block is slow, ▲ where one is fast though not full"
)


class WantedMap(msgspec.Struct, frozen=True):
    """A map that is asked for; with ``afresh`` nothing that was measured of it counts."""

    held: MeasurableMap
    afresh: bool = False


class BlockMapJob(EngineJob):
    """Runs a map's race; ``stepped`` carries each ``MapStep``, and ``result`` is how it ended."""

    doing = "measuring the block map"
    done = "the block map is measured"
    not_done = "the block map was left"

    def __init__(
        self,
        worker: EngineWorker,
        held: MeasurableMap,
        keeping: Keeping,
        ceilings: Callable[[DeviceInfo], Ceilings | None] | None = None,
    ) -> None:
        """``keeping`` takes the cells' runs as they are measured."""
        super().__init__(worker, ceilings=ceilings)
        self.setObjectName("blockMapJob")
        self.held, self._keeping = held, keeping
        held.keeping = keeping
        self.result: MapEnd | None = None

    def work(self) -> object:
        """Race to the end; what was measured is kept however that comes."""
        found = self.held.map
        try:
            found.run(self.measure, self._step)
        finally:
            if found.begun:
                self._keeping.end(self.held.document(), found.records, finished=found.done)
        self.result = MapEnd(found.cells, found.best, found.ties)
        return self.result

    def _step(self, step: MapStep) -> None:
        self.stepped.emit(step)
        self._keeping.offer(lambda: (self.held.document(), self.held.map.records))


class BlockMapView(JobControl[HeldMap, WantedMap]):
    """The map of the knobs as they stand, under its choices, and what is known of a cell."""

    compared = Signal(object)
    """Configurations to be compared, each with the word for its engine."""

    def __init__(self, session: Session) -> None:
        self.model = MapModel(session.experiment)
        super().__init__(session, "blockMap", "Block map", "block map", self.model)
        self._measured: MeasurableMap | None = None
        self._drawn: Look | None = None
        self.canvas = MapCanvas()
        self._redraw = QTimer(self)
        self._redraw.setSingleShot(True)
        self._redraw.setInterval(DRAW_MS)
        self._redraw.timeout.connect(self._draw)
        self.head.start.setToolTip(tr(START_TIP))
        self.set_caption(CaptionLine("blockMap"))
        self.cell_words = Words(lines=2)
        self.cell_words.setObjectName("blockMapCell")
        self.cell_words.setContentsMargins(12, 0, 12, 6)
        self.notes = muted_label(LEGEND)
        self.notes.setObjectName("blockMapNotes")
        self.colouring = _box("blockMapColouring", "What the colours and numbers say", COLOURINGS)
        self.fineness = _box("blockMapGrid", "Which thread counts stand along the axes", FINENESS)
        self.z_words = QLabel(tr("z"))
        self.z_box = _box("blockMapZ", "Threads along z of every block", {})
        self.occupancy = small_button("blockMapOccupancy", OCCUPANCY_TIP)
        self.occupancy.setText(tr("Occupancy"))
        self.occupancy.setCheckable(True)
        self.compare = button("Compare best", "blockMapCompare", COMPARE_TIP)
        self.head.add(self.compare)
        self._lay_out()
        self._connect()

    def _lay_out(self) -> None:
        self.head.line.setContentsMargins(12, 6, 8, 0)
        self.notes.setMinimumWidth(self.notes.fontMetrics().horizontalAdvance(tr(LEGEND)))
        choices = TwoLines(
            (self.notes,),
            (self.z_words, self.z_box, self.fineness, self.colouring, self.occupancy),
            grows=self.notes, margins=(12, 0, 8, 0), spacing=8,
        )  # fmt: skip
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(5)
        column.addWidget(self.head)
        column.addWidget(choices)
        assert self._caption is not None
        column.addWidget(self._caption)
        column.addWidget(self.canvas, 1)
        column.addWidget(self.cell_words)

    def _connect(self) -> None:
        experiment, canvas = self._session.experiment, self.canvas
        self.colouring.currentIndexChanged.connect(lambda _: self._draw())
        self.fineness.currentIndexChanged.connect(lambda _: self._choose_grid())
        self.z_box.activated.connect(lambda _: self._choose_z())
        self.occupancy.toggled.connect(self._show_occupancy)
        self.compare.clicked.connect(lambda _=False: self.compare_best())
        canvas.picked.connect(self._go_to)
        canvas.hovered.connect(self._show_cell)
        canvas.gesture.connect(
            lambda begins: experiment.begin_gesture() if begins else experiment.end_gesture()
        )

    # ---- what is wanted

    def follow_knobs(self) -> None:
        """Show the map of the knobs; find out first which of its blocks can run."""
        if (wanted := self.model.follow()) is not None:
            self.in_background("plan", wanted.planned)
        self._show_z()
        self.refresh(at_once=True)
        self.show_state()

    def found(self, kind: str, outcome: Any) -> None:
        """Take in which blocks can run."""
        if isinstance(outcome, ExplorerError):
            self.notice.emit(Notice("bad", f"{capital(str(outcome))}."))
            return
        self.model.take_planned(*outcome)
        self.refresh(at_once=True)
        if not self.looking:
            self.known()

    @property
    def looking(self) -> bool:
        """Whether it is being found out which blocks can run."""
        return self.model.planning

    def wanted(self) -> WantedMap | None:
        """Return the map of the knobs, where any of its blocks can run."""
        current = self._measurable
        if current is None or not current.able:
            return None
        return WantedMap(current, afresh=current.map.begun)

    def rest(self) -> WantedMap | None:
        """Return the map of the knobs, where it was left before its end."""
        current = self._measurable
        left = current is not None and current.map.begun and not current.map.done
        return WantedMap(current) if current is not None and left else None

    @property
    def _measurable(self) -> MeasurableMap | None:
        """The map of the knobs, while there are devices to measure it on."""
        return self.model.current if self._session.experiment.devices is not None else None

    @property
    def again(self) -> bool:
        """Whether the map of the knobs is done."""
        return self.model.current is not None and self.model.current.map.done

    # ---- the job

    def job(self, wanted: WantedMap) -> BlockMapJob:
        """Return the job that measures it."""
        session = self._session
        held = wanted.held.afresh() if wanted.afresh else wanted.held
        keeping = held.keeping or session.keeping(GROUP)
        return BlockMapJob(session.worker, held, keeping, session.store.find)

    def began(self, wanted: WantedMap) -> None:
        """Note which map is measured."""
        assert isinstance(self._job, BlockMapJob)
        self._measured = self._job.held
        self._measured.engine = self._session.options.python
        self.model.begin(self._measured)

    def take(self, step: MapStep) -> bool:
        """Take in what a look found."""
        if self._measured is not None:
            self._measured.take(step)
        return True

    def end(self, job: BlockMapJob, error: str) -> None:
        """Note how the race ended."""
        self._measured = None
        self.model.end(job.held, job.result)

    @property
    def done(self) -> tuple[int, int]:
        """The share of the time that it takes, in thousandths."""
        held = self._measured
        if held is None or held.step is None:
            return 0, 1000
        spent_s, left_s = held.map.spent_s, held.step.left_s
        return round(1000 * spent_s / (spent_s + left_s)) if left_s else 1000, 1000

    # ---- showing

    def refresh(self, *, at_once: bool = False) -> None:
        """Draw the map as it is known now, or soon; nothing while another view is shown."""
        if at_once:
            self._draw()
        elif not self._redraw.isActive():
            self._redraw.start()

    def _draw(self) -> None:
        self._redraw.stop()
        if not self.isVisible():
            return
        model = self.model
        held = model.shown
        self._drawn = Look(held, self.colouring.currentData()) if held is not None else None
        stale = held is not None and model.stale and not held.origin
        self._show_caption(held)
        self.canvas.show_map(held, self._drawn, stale=stale, message=self._message())
        self.canvas.show_block(model.block)
        self._show_cell(self.canvas.hovered_cell)
        self._show_notes()

    def _show_caption(self, held: Surface | None) -> None:
        """Name what was measured; a map that has no times yet is only of the knobs."""
        assert self._caption is not None
        measured = held if held is not None and held.measured else None
        origin = ""
        if measured is not None and measured.origin:
            origin = origin_words(measured.origin, measured.wanted.device.name)
        self._caption.show_caption(
            measured.wanted.caption if measured is not None else None, origin
        )

    def _message(self) -> str:
        """Say why there is no map, or of what another one is."""
        held, current = self.model.shown, self.model.current
        if held is None:
            return self.model.reason if current is None else ""
        if not self.model.stale:
            return ""
        begins = current is not None and not self.running
        return "Start measures the map of the present knobs." if begins else ""

    def show_state(self) -> None:
        """Show what can be done now."""
        super().show_state()
        for box in (self.fineness, self.z_box):
            box.setEnabled(not self.running)
        self.compare.setVisible(not self.running and bool(self.model.on_devices()))

    def _show_cell(self, cell: MapCell | None) -> None:
        """Say what is known of the cell under the pointer, or of the sliders' block."""
        held = self.model.shown
        if cell is None and held is not None and self.model.block is not None:
            number = held.wanted.grid.number(self.model.block)
            cell = held.cells[number] if number is not None else None
        drawn = self._drawn
        words = drawn.cell_words(cell) if cell is not None and drawn else ""
        live = self._live_words(cell) if cell is not None else ""
        elsewhere = self.model.elsewhere_words(cell.block) if cell is not None else ""
        self.cell_words.setText(tr("; ".join(part for part in (words, elsewhere, live) if part)))

    def _live_words(self, cell: MapCell) -> str:
        """Say why Live shows another time for a cell's block, where it does."""
        held, run = self.model.shown, self._session.live_model.current
        time_s = self._drawn.time_s(cell) if self._drawn is not None else None
        if held is None or run is None or run.summary is None or not time_s:
            return ""
        if run.config.block != cell.block or held.wanted.caption.moved(run.config):
            return ""
        if 1 / ALIKE <= run.summary.median_s / time_s <= ALIKE:
            return ""
        live = quantity(run.summary.median_s, "s")
        return f"Live shows {live}, measured by itself and at another time"

    def _show_notes(self) -> None:
        held = self.model.shown
        text, tip = LEGEND, ""
        if self.occupancy.isChecked() and held is not None and self._drawn is not None:
            tip = self._drawn.occupancy_words(held.wanted.device)
            text = self._drawn.occupancy_legend() or tip
        self.notes.setText(tr(text))
        self.notes.setToolTip(tr(tip))

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
                self.z_box.addItem(as_is(str(z)), z)
        self.z_box.setCurrentIndex(max(0, self.z_box.findData(wanted)))
        self.z_box.blockSignals(False)

    def _show_occupancy(self, on: bool) -> None:
        self.canvas.show_occupancy(on)
        self._show_notes()

    # ---- choices

    def _choose_grid(self) -> None:
        self.model.fineness = self.fineness.currentData()
        if self.model.block is not None:
            self.model.center = self.model.block
        self._follow()

    def _choose_z(self) -> None:
        self.model.z = int(self.z_box.currentData())
        self._follow()

    def _go_to(self, block: Block) -> None:
        """Move the sliders to a block; live measuring begins there unless the map is measured."""
        session = self._session
        if block == session.experiment.knobs.block:
            if session.live or self.running:
                return
        else:
            session.experiment.apply(Change(block=block))
        if not session.live and not session.jobs.measuring:
            session.set_live(True)

    def compare_best(self) -> None:
        """Have the best block compared with the best of each other device that has such a map."""
        maps = self.model.on_devices()
        found = [(held.best_config, held.engine) for held in maps if held.best_config is not None]
        self.compared.emit(found)

    # ---- keeping

    def held(self) -> HeldMap | None:
        """Return the map so far; None without any times."""
        return self.model.snapshot()

    def show_held(self, held: HeldMap | None) -> None:
        """Show another map; None: that of the knobs alone."""
        self.model.show(held)
        self._follow()
        self.replaced()

    def close_down(self) -> None:
        """End the thread and the timer."""
        self._redraw.stop()
        super().close_down()

    def command(self, wanted: WantedMap) -> str:
        """Return the command line of the sweep over the map's blocks."""
        of, options = wanted.held.wanted, self._session.options
        return sweep_command(
            map_space(of.request, of.grid), Measuring(), self.kernel_folders(),
            threads=options.threads, engine=options.python,
        )  # fmt: skip

    def files(self, result: HeldMap) -> Exported:
        """Return how a map is written.

        The chart is what the canvas shows; table and document are those of a sweep over its blocks.
        """
        surface = result.surface

        def document() -> SweepDocument:
            found = result.document()
            if found is not None:
                return found
            if surface.origin:
                raise InputError(
                    f"{surface.origin} has the map without its runs: it was saved while measuring",
                    remedy="measure it here",
                )
            raise InputError("the map's runs are still being measured", remedy="press Stop first")

        found = sweep_files(document, f"block-map-{surface.wanted.request.workload}")
        return replace(found, chart=partial(map_chart, surface, self.colouring.currentData()))


def _box(name: str, tip: str, choices: Mapping[Any, str]) -> ListBox:
    box = ListBox(name, tip)
    for value, words in choices.items():
        box.addItem(tr(words), value)
    if choices:
        box.setMinimumWidth(for_text(BOX_LEAST_WIDTH))
    return box
