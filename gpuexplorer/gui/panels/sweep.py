"""The Sweep tab: choose what varies, watch it being measured, read and keep the outcome."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import cast

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from gpuexplorer.charts.spec import ChartSpec
from gpuexplorer.charts.sweep_points import Figure
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.sheet import Sheet
from gpuexplorer.core.units import count
from gpuexplorer.gui.model.sweep import Held, SweepModel, Unfinished, cell_words
from gpuexplorer.gui.model.sweep_axes import first_choice, offers
from gpuexplorer.gui.model.sweep_command import sweep_command
from gpuexplorer.gui.notice import Notice, capital
from gpuexplorer.gui.panels.result_files import sweep_files
from gpuexplorer.gui.panels.result_tab import Exported
from gpuexplorer.gui.panels.sweep_head import SweepHead, SweepOffer
from gpuexplorer.gui.panels.sweep_setup import SweepSetup
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.show.chart import ChartView
from gpuexplorer.gui.show.table import SheetTable
from gpuexplorer.gui.sweeping import SweepControl
from gpuexplorer.gui.task import Background
from gpuexplorer.gui.widgets.empty_state import EmptyState
from gpuexplorer.gui.widgets.words import Words
from gpuexplorer.results.sweep import SweepRows
from gpuexplorer.workloads.workload import Workload

DRAW_GAP_S = 0.25
DRAW_SHARE = 0.1
"""Share of the time that drawing anew may take."""
WIDE = 900
"""From this width on the table stands beside the chart."""
SETUP_WIDTH = 250
Drawn = tuple[Held, ChartSpec, Sheet, float]
"""What was drawn of a sweep, as chart and as table, and the seconds that it took."""
BESIDE, BELOW = (0.54, 0.46), (0.64, 0.36)
"""How chart and table share their room."""


class SweepView(QWidget):
    """Wires setup, control, chart and table; ``notice`` and ``said`` are for the window."""

    notice = Signal(object)
    said = Signal(str)
    restored = Signal(object)
    """A configuration that the knobs shall take."""

    def __init__(self, session: Session, model: SweepModel) -> None:
        super().__init__()
        self.setObjectName("sweepView")
        self.setAutoFillBackground(True)
        self.setBackgroundRole(self.palette().ColorRole.Base)
        self._session, self.model = session, model
        self.kernel_folders: Callable[[], Sequence[Path]] = tuple
        """Returns the user's kernel folders, which a copied command names."""
        self.setup = SweepSetup()
        self.control = SweepControl(
            session, model, lambda: self.setup.chosen, lambda: self.setup.samples.value()
        )
        self._background = Background("sweep-pictures")
        self._background.ended.connect(self._drawn)
        self._shape: tuple[object, ...] = ()
        self._stale = False
        self._drawing = False
        self._draw_due = 0.0
        self._hovered: int | None = None
        self._best: int | None = None
        self._build()
        self._connect()
        self._draw_timer = QTimer(self)
        self._draw_timer.setSingleShot(True)
        self._draw_timer.timeout.connect(self._draw)
        self.model_replaced()

    # ---- construction

    def _build(self) -> None:
        self.head = SweepHead(self.control)
        self.words = self.head.words
        self.offer = SweepOffer()
        self.chart = ChartView(
            "sweepChart", "Chart of the sweep", lambda key: self._words_of(int(key))
        )
        self.note = Words()
        self.note.setProperty("role", "muted")
        self.table = SheetTable(
            "sweepTable",
            "Configurations of the sweep",
            "Double click sets the knobs to this configuration.",
        )
        self._rows = SweepRows({})
        above = QWidget()
        column = QVBoxLayout(above)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.chart, 1)
        column.addWidget(self.note)
        self.outcome = QSplitter(Qt.Orientation.Vertical)
        self.outcome.addWidget(above)
        self.outcome.addWidget(self.table)
        self.outcome.setStretchFactor(0, 3)
        self.outcome.setStretchFactor(1, 2)
        self.across = QSplitter(Qt.Orientation.Horizontal)
        self.across.addWidget(self.setup)
        self.empty = EmptyState("sweepEmpty")
        self.pages = QStackedWidget()
        self.pages.addWidget(self.empty)
        self.pages.addWidget(self.outcome)
        self.across.addWidget(self.pages)
        self.across.setStretchFactor(1, 1)
        self.across.setSizes([SETUP_WIDTH, 700])
        self.outcome.setSizes([640, 360])
        for splitter in (self.across, self.outcome):
            splitter.setHandleWidth(1)
            splitter.setChildrenCollapsible(False)
        self.across.setCollapsible(0, True)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addWidget(self.head)
        whole.addWidget(self.offer)
        whole.addWidget(self.across, 1)

    def _connect(self) -> None:
        session, control = self._session, self.control
        session.knobs_changed.connect(self._knobs_moved)
        session.devices_changed.connect(self._knobs_moved)
        control.changed.connect(self._changed)
        control.totalled.connect(self.setup.show_total)
        control.replaced.connect(self.model_replaced)
        control.stepped.connect(self._stepped)
        control.ended.connect(self._ended)
        control.offered.connect(self._offered)
        control.notice.connect(self.notice)
        self.head.measure.currentIndexChanged.connect(lambda _: self._refresh(at_once=True))
        self.head.copy.clicked.connect(self.copy_command)
        self.offer.taken.connect(control.take_unfinished)
        self.offer.forgotten.connect(control.forget_unfinished)
        self.setup.changed.connect(control.look_soon)
        self.chart.hovered.connect(lambda key: self._hover(None if key is None else int(key)))
        self.chart.chosen.connect(lambda key: self._choose(int(key)))
        self.table.chosen.connect(lambda key: self._choose(int(key)))
        self.table.current.connect(lambda _: self._ring())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the table beside the chart where there is room, else below it."""
        super().resizeEvent(event)
        beside = self.width() - SETUP_WIDTH >= WIDE
        wanted = Qt.Orientation.Horizontal if beside else Qt.Orientation.Vertical
        if self.outcome.orientation() != wanted:
            self.outcome.setOrientation(wanted)
            chart, table = BESIDE if beside else BELOW
            whole = sum(self.outcome.sizes()) or 1000
            self.outcome.setSizes([int(whole * chart), int(whole * table)])

    def showEvent(self, event: QShowEvent) -> None:
        """Bring what is shown up to date, and look once for a sweep that was interrupted."""
        super().showEvent(event)
        self._sync_setup()
        self._refresh(at_once=True)
        self.control.look_for_unfinished()

    def close_down(self) -> None:
        """End the threads and the timers."""
        self._draw_timer.stop()
        self.control.close_down()
        self._background.close()

    # ---- what shall vary

    def _knobs_moved(self) -> None:
        if self.isVisible():
            self._sync_setup()

    def _sync_setup(self) -> None:
        experiment = self._session.experiment
        found = offers(experiment)
        knobs = experiment.knobs
        kind = knobs.workload, knobs.variant
        if self._shape[:1] != (kind,):
            self.setup.forget()
            figure = "flops" if _counts_flops(experiment.workload) else "bandwidth"
            self.head.measure.setCurrentIndex(self.head.measure.findData(figure))
        shape = (kind, tuple(found))
        if shape != self._shape:
            self._shape = shape
            self.setup.show_offers(found, first_choice(experiment))
        else:
            self.control.look_soon()

    # ---- how it goes

    def _changed(self) -> None:
        if self.control.job is not None:
            self.offer.hide()
        self._show_empty()
        self._show_state()

    def _stepped(self) -> None:
        self._show_words()
        self.head.show_progress()
        self._refresh()

    def _ended(self, done: bool) -> None:
        self._refresh(at_once=True)
        self._show_state()
        if done and self.model.held is not None:
            self.said.emit(f"Swept: {self.model.words}")

    def _offered(self, found: Unfinished) -> None:
        self.offer.ask(found.words)

    # ---- showing

    def model_replaced(self) -> None:
        """Show another sweep, or none."""
        self._hovered = self._best = None
        held = self.model.held
        self._rows = SweepRows({a.name: a.values for a in held.space.axes} if held else {})
        self.table.show_sheet(Sheet())
        self.chart.show_chart(None)  # whose keys were cells of the sweep before
        self._show_empty()
        self._refresh(at_once=True)
        self._show_state()

    def _show_empty(self) -> None:
        """Say what a sweep would do, as long as there is none."""
        if self.model.held is not None:
            self.pages.setCurrentWidget(self.outcome)
            return
        self.pages.setCurrentWidget(self.empty)
        asked = self.control.preview
        axes = " × ".join(axis.title for axis in asked.space.axes) if asked is not None else ""
        self.empty.say(
            "Nothing is swept yet",
            (
                "A sweep measures every combination of the values that the ticked knobs take, and "
                "draws the landscape: a heat map, lines or bars, with every figure in a table.",
                f"Start measures {axes}: {count(asked.runs)} runs." if asked else "",
                f"{asked.estimate}." if asked and asked.estimate else "",
            ),
        )

    def _show_state(self) -> None:
        self.head.show_state()
        self._show_words()

    def _show_words(self) -> None:
        if self._hovered is not None and self._hovered < len(self.model.cells):
            self.words.setText(self._words_of(self._hovered))
        elif self.model.held is not None:
            best = self._best
            named = f"; fastest: {self._words_of(best)}" if best is not None else ""
            self.words.setText(f"{self.model.words}{named}")
        else:
            self.words.setText("Choose what shall vary, then press Start.")

    def _words_of(self, index: int) -> str:
        return cell_words(self.model.cells[index])

    def _ring(self) -> None:
        """Mark in the chart what is measured now, else the row that is chosen."""
        current = self.model.current
        self.chart.set_current(self.table.key or None if current is None else str(current))

    def _hover(self, index: int | None) -> None:
        self._hovered = index
        if index is not None:
            self.table.show_key(str(index))
        self._show_words()

    def _choose(self, index: int) -> None:
        cell = self.model.cells[index]
        config = cell.result.config if cell.result is not None else cell.point.config
        if config is not None:
            self.restored.emit(config)
        else:
            self.said.emit(f"{capital(cell_words(cell))}.")

    def _refresh(self, *, at_once: bool = False) -> None:
        """Draw anew, now or soon; nothing while another view is shown."""
        self._stale = True
        if not self.isVisible() or self._drawing:
            return
        wait_s = 0.0 if at_once else self._draw_due - time.monotonic()
        if wait_s <= 0:
            self._draw()
        elif not self._draw_timer.isActive():
            self._draw_timer.start(int(wait_s * 1000) + 1)

    def _draw(self) -> None:
        held = self.model.snapshot()
        if held is None or self._drawing or not self.isVisible():
            return
        self._drawing, self._stale = True, False
        self._background.ask("picture", partial(_drawing, held, self._figure, self._rows))

    @property
    def _figure(self) -> Figure:
        """What is shown of each configuration."""
        return cast(Figure, str(self.head.measure.currentData()))

    def _drawn(self, _kind: str, outcome: Drawn | ExplorerError) -> None:
        self._drawing = False
        if isinstance(outcome, ExplorerError):
            self.notice.emit(Notice("bad", f"{capital(str(outcome))}."))
            return
        held, shown, sheet, took_s = outcome
        self._draw_due = time.monotonic() + max(DRAW_GAP_S, took_s / DRAW_SHARE)
        if self.model.held is not None and held.space is self.model.held.space:
            self.chart.show_chart(shown)
            self.table.show_sheet(sheet)
            self._ring()
            self.note.setText(" ".join(shown.notes))
            self.note.setToolTip("\n".join(shown.notes))
            self._best = held.best
            self._show_words()
        if self._stale:
            self._refresh()

    # ---- keeping

    def copy_command(self) -> None:
        """Put the sweep's command line on the clipboard."""
        held, asked = self.model.held, self.control.preview
        if asked is not None:
            space, measuring = asked.space, self.control.measuring
        elif held is not None and held.workload is not None:
            space, measuring = held.space, held.measuring
        else:
            self.said.emit("There is no sweep to copy yet.")
            return
        options = self._session.options
        text = sweep_command(
            space, measuring, self.kernel_folders(), threads=options.threads, engine=options.python
        )
        QApplication.clipboard().setText(text)
        self.said.emit("The sweep's command line is on the clipboard.")

    def exported(self) -> Exported:
        """Return how the sweep so far is written; InputError when nothing is done yet."""
        held = self.model.snapshot()
        if held is None:
            raise InputError("there is no sweep to export yet", remedy="press Start first")
        axes = "-".join(axis.title for axis in held.space.axes)
        stem = f"sweep-{held.space.base.workload}-{axes}"
        return sweep_files(held.to_document, stem, self._figure)


def _counts_flops(workload: Workload) -> bool:
    return str(workload.manifest.work.flops) not in ("0", "0.0")


def _drawing(held: Held, figure: Figure, rows: SweepRows) -> Drawn:
    began = time.monotonic()
    shown = held.chart(figure)
    sheet = rows.sheet((cell.point.values, cell.result, cell.skipped) for cell in held.cells)
    return held, shown, sheet, time.monotonic() - began
