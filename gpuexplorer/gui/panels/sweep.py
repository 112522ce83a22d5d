"""The Sweep tab: choose what varies, watch it being measured, read and keep the outcome."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.units import count
from gpuexplorer.gui.model.sweep import Held, SweepModel, Unfinished, unfinished
from gpuexplorer.gui.model.sweep_axes import first_choice, offers, space_of
from gpuexplorer.gui.model.sweep_command import sweep_command
from gpuexplorer.gui.model.sweep_picture import MEASURES, SweepPicture, cell_words, picture
from gpuexplorer.gui.model.sweep_preview import Preview, preview
from gpuexplorer.gui.notice import Notice, capital
from gpuexplorer.gui.panels.sweep_setup import SweepSetup
from gpuexplorer.gui.panels.sweep_table import SweepTable
from gpuexplorer.gui.plots.base import small_button, title_label
from gpuexplorer.gui.plots.sweep import SweepChart
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.sweep_job import Background, Begun, Progress, SweepJob
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.widgets.empty_state import EmptyState
from gpuexplorer.gui.widgets.list_box import ListBox
from gpuexplorer.gui.widgets.words import Words
from gpuexplorer.search.measuring import Measuring
from gpuexplorer.search.space import Space

if TYPE_CHECKING:
    from gpuexplorer.workloads.workload import Workload

LOOK_AFTER_MS = 180
"""A knob that is being turned is not followed at every step."""
DRAW_GAP_S = 0.25
DRAW_SHARE = 0.1
"""Share of the time that drawing anew may take."""
WIDE = 900
"""From this width on the table stands beside the chart."""
SETUP_WIDTH = 250
BESIDE, BELOW = (0.54, 0.46), (0.64, 0.36)
"""How chart and table share their room."""
ANEW = (
    "The sweep starts anew: its devices, drivers or CPU threads are not those of the earlier one."
)
OFFER_TIPS = {
    "sweepOfferTake": "Measure what is left of it; nothing is measured twice",
    "sweepOfferLeave": "Ask again when the window is opened next",
    "sweepOfferForget": "Do not ask again; its runs stay in the history",
}


class SweepView(QWidget):
    """Wires setup, job, chart and table; ``notice`` and ``said`` are for the window."""

    notice = Signal(object)
    said = Signal(str)
    chosen = Signal(object)
    """A configuration that the knobs shall take."""

    def __init__(self, session: Session, model: SweepModel) -> None:
        super().__init__()
        self.setObjectName("sweepView")
        self.setAutoFillBackground(True)
        self.setBackgroundRole(self.palette().ColorRole.Base)
        self._session, self.model = session, model
        self.kernel_folders: Callable[[], Sequence[Path]] = tuple
        """Returns the user's kernel folders, which a copied command names."""
        self._background = Background("sweep-background")
        self._background.ended.connect(self._background_ended)
        self._preview: Preview | None = None
        self._asked: object | None = None
        """Which preview is waited for."""
        self._shape: tuple[object, ...] = ()
        self._unfinished: Unfinished | None = None
        self._looked = False
        self._stale = False
        self._drawing = False
        self._draw_due = 0.0
        self._hovered: int | None = None
        self._best: int | None = None
        self._job: SweepJob | None = None
        self._build()
        self._look_timer = self._timer(self._ask_preview)
        self._draw_timer = self._timer(self._draw)
        session.knobs_changed.connect(self._knobs_moved)
        session.devices_changed.connect(self._knobs_moved)
        session.state_changed.connect(self._show_state)
        self.model_replaced()

    def _timer(self, slot: object) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.timeout.connect(slot)
        return timer

    # ---- construction

    def _build(self) -> None:
        self.words = Words("Choose what shall vary, then press Start.")
        self.words.setObjectName("sweepWords")
        self.measure_box = ListBox("sweepMeasure", "What the chart shows of each configuration")
        for name, measure in MEASURES.items():
            self.measure_box.addItem(measure.title, name)
        self.measure_box.currentIndexChanged.connect(lambda _: self._refresh(at_once=True))
        self.progress = QProgressBar()
        self.progress.setObjectName("sweepProgress")
        self.progress.setTextVisible(False)
        self.progress.setFixedSize(90, 8)
        self.start_button = self._button(
            "Start",
            "sweepStart",
            self.start,
            "Measure every configuration of the space; Live pauses",
        )
        self.resume_button = self._button(
            "Continue",
            "sweepContinue",
            self.go_on,
            "Measure what is left; nothing is measured twice",
        )
        self.pause_button = self._button(
            "Pause", "sweepPause", self.pause, "Give the engine back to Live for a while"
        )
        self.cancel_button = self._button(
            "Cancel",
            "sweepCancel",
            self._session.cancel_job,
            "Stop; what was measured is kept, and can be continued",
        )
        self.copy_button = small_button(
            "sweepCopy", "Copy this sweep as a 'gpuexplorer sweep' command line"
        )
        self.copy_button.setAccessibleName("Copy command")
        self.copy_button.clicked.connect(self.copy_command)
        theme().changed.connect(self._repaint_theme)
        self._repaint_theme()
        head = QHBoxLayout()
        head.setContentsMargins(12, 6, 8, 4)
        head.setSpacing(8)
        head.addWidget(title_label("Sweep"))
        head.addWidget(self.words, 1)
        for widget in (self.progress, self.measure_box, self.copy_button, self.start_button,
                       self.resume_button, self.pause_button, self.cancel_button):  # fmt: skip
            head.addWidget(widget)
        self.offer = QWidget()
        self.offer.setObjectName("sweepOffer")
        line = QHBoxLayout(self.offer)
        line.setContentsMargins(12, 2, 8, 4)
        self.offer_words = QLabel()
        self.offer_words.setObjectName("sweepOfferWords")
        self.offer_words.setWordWrap(True)
        self.offer_words.setTextFormat(Qt.TextFormat.PlainText)
        line.addWidget(self.offer_words, 1)
        for words, name, act in (
            ("Go on with it", "sweepOfferTake", self._take_offer),
            ("Not now", "sweepOfferLeave", self.offer.hide),
            ("Forget it", "sweepOfferForget", self._forget_offer),
        ):
            line.addWidget(self._button(words, name, act, OFFER_TIPS[name]))
        self.offer.hide()
        self.setup = SweepSetup()
        self.setup.changed.connect(self._look_soon)
        self.chart = SweepChart(self._words_of)
        self.chart.hovered.connect(self._hover)
        self.chart.chosen.connect(self._choose)
        self.note = Words()
        self.note.setProperty("role", "muted")
        self.table = SweepTable()
        self.table.chosen.connect(self._choose)
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
        whole.addLayout(head)
        whole.addWidget(self.offer)
        whole.addWidget(self.across, 1)

    @staticmethod
    def _button(words: str, name: str, act: object, tip: str) -> QPushButton:
        button = QPushButton(words)
        button.setObjectName(name)
        button.setToolTip(tip)
        button.clicked.connect(lambda _=False: act())  # type: ignore[operator]
        return button

    def _repaint_theme(self) -> None:
        self.copy_button.setIcon(theme().icon("copy"))

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
        if not self._looked:
            self._looked = True
            workloads = dict(self._session.experiment.workloads)
            self._background.ask("unfinished", partial(_find_unfinished, workloads))

    def close_down(self) -> None:
        """End the thread and the timers."""
        self._look_timer.stop()
        self._draw_timer.stop()
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
            self.measure_box.setCurrentIndex(
                self.measure_box.findData(
                    "flops" if _counts_flops(experiment.workload) else ("bandwidth")
                )
            )
        shape = (kind, tuple(found))
        if shape != self._shape:
            self._shape = shape
            self.setup.show_offers(found, first_choice(experiment))
        else:
            self._look_soon()

    def _look_soon(self) -> None:
        self._preview = self._asked = None
        self._look_timer.start(LOOK_AFTER_MS)
        self._show_state()

    @property
    def measuring(self) -> Measuring:
        """How each configuration is measured."""
        return Measuring(samples=self.setup.samples.value())

    def _ask_preview(self) -> None:
        session = self._session
        devices = session.experiment.devices
        if devices is None:
            self.setup.show_total("The devices are not known yet.", "", ())
            return
        try:
            space = space_of(session.experiment, self.setup.chosen)
        except ExplorerError as error:
            self.setup.show_total(f"{capital(str(error))}.", "", ())
            self._show_state()
            return
        run = session.live_model.current
        live = run.record.snapshot() if run is not None and run.record is not None else None
        asked = self._asked = object()
        workload, measuring, ceilings = (
            session.experiment.workload,
            self.measuring,
            session.store.find,
        )

        def work() -> tuple[object, Preview | ExplorerError]:
            try:
                return asked, preview(space, workload, devices, measuring, ceilings, live)
            except ExplorerError as error:
                return asked, error

        self._background.ask("preview", work)

    def _previewed(self, asked: object, found: Preview | ExplorerError) -> None:
        if asked is not self._asked:  # another space is asked for by now
            return
        if isinstance(found, ExplorerError):
            self.setup.show_total(f"{capital(str(found))}.", "", ())
        else:
            self._preview = found
            self.setup.show_total(found.total, found.estimate, found.reasons)
        self._show_empty()
        self._show_state()

    # ---- the job

    def start(self) -> None:
        """Measure the space that is asked for."""
        if self._preview is not None and self._preview.runs:
            experiment = self._session.experiment
            self._begin(self._preview.space, experiment.workload, self.measuring, resume=False)

    def go_on(self) -> None:
        """Go on: after a pause, or with what a cancelled sweep has left."""
        held = self.model.held
        if self.model.state == "paused":
            self._session.resume_job()
            self.model.state = "running"
            self._show_state()
        elif held is not None and held.workload is not None:
            self._begin(held.space, held.workload, held.measuring, resume=True)

    def pause(self) -> None:
        """Give the engine back to live measuring once the present run has ended."""
        if self.model.state == "running":
            self.model.state = "paused"
            self._session.pause_job()
            self._show_state()

    def _begin(
        self, space: Space, workload: Workload, measuring: Measuring, *, resume: bool
    ) -> None:
        session = self._session
        devices = session.experiment.devices
        if devices is None:
            return
        job = SweepJob(
            session.worker, space, workload, devices, measuring,
            resume=resume, python=session.options.python, ceilings=session.store.find,
        )  # fmt: skip
        job.begun.connect(partial(self._begun, job))
        job.stepped.connect(self._stepped)
        job.troubled.connect(self._troubled)
        job.ended.connect(self._ended)
        if session.begin_job(job):
            self._job = job
            self.offer.hide()
            self._show_state()

    def _begun(self, job: SweepJob, begun: Begun) -> None:
        if job.resumes and not begun.goes_on:
            self.notice.emit(Notice("info", ANEW))
        self.model.begin(job.space, job.workload, begun.cells, job.measuring, begun.resumed)
        self.model_replaced()

    def _stepped(self, progress: Progress) -> None:
        if self._job is None:
            return
        self.model.take(progress.changed, progress.current, progress.left)
        self.model.entered(progress.group)
        self._show_words()
        self.progress.setValue(len(self.model.cells) - self.model.waiting)
        self._refresh()

    def _troubled(self, error: ExplorerError) -> None:
        text = f"The sweep's runs are not kept in the history: {error}."
        self.notice.emit(Notice("warning", text, detail=error.detail))

    def _ended(self, outcome: object) -> None:
        self._job = None
        if self.model.running:
            self.model.end()
        self._refresh(at_once=True)
        self._show_state()
        if outcome is True and self.model.held is not None:
            self.said.emit(f"Swept: {self.model.words}")

    # ---- sweeps that were interrupted

    def _found_unfinished(self, found: Unfinished | None) -> None:
        self._unfinished = found
        if found is not None and not self.model.running:
            self.offer_words.setText(found.words)
            self.offer.show()

    def _take_offer(self) -> None:
        found = self._unfinished
        workload = (
            self._session.experiment.workloads.get(found.space.base.workload) if found else None
        )
        if found is not None and workload is not None:
            self._begin(found.space, workload, found.measuring, resume=True)

    def _forget_offer(self) -> None:
        found, self._unfinished = self._unfinished, None
        self.offer.hide()
        if found is not None:
            self._background.ask("forget", partial(_forget, found.group))

    # ---- showing

    def model_replaced(self) -> None:
        """Show another sweep, or none."""
        self._hovered = self._best = None
        held = self.model.held
        self.table.show_space(held.space if held is not None else None, self.model.cells)
        if held is None:
            self.chart.show_picture(None, None)
        self._show_empty()
        self._refresh(at_once=True)
        self._show_state()

    def _show_empty(self) -> None:
        """Say what a sweep would do, as long as there is none."""
        if self.model.held is not None:
            self.pages.setCurrentWidget(self.outcome)
            return
        self.pages.setCurrentWidget(self.empty)
        asked = self._preview
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
        state, model = self.model.state, self.model
        busy = self._job is not None
        can_start = self._preview is not None and self._preview.runs > 0
        held = model.held
        left = held is not None and held.workload is not None and model.waiting > 0
        self.start_button.setVisible(not busy)
        self.start_button.setEnabled(can_start and self._session.job is None)
        self.resume_button.setVisible(state == "paused" or (not busy and left))
        self.resume_button.setText("Resume" if state == "paused" else "Continue")
        self.resume_button.setEnabled(busy or self._session.job is None)
        self.pause_button.setVisible(busy and state != "paused")
        self.pause_button.setEnabled(state == "running")
        self.cancel_button.setVisible(busy)
        self.progress.setVisible(busy)
        self.progress.setMaximum(max(1, len(model.cells)))
        self.progress.setValue(len(model.cells) - model.waiting)
        self.copy_button.setEnabled(can_start or held is not None)
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

    def _hover(self, index: int | None) -> None:
        self._hovered = index
        self._show_words()

    def _choose(self, index: int) -> None:
        cell = self.model.cells[index]
        config = cell.result.config if cell.result is not None else cell.point.config
        if config is not None:
            self.chosen.emit(config)
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
        self.table.runs.cells_changed()
        measure = MEASURES[str(self.measure_box.currentData())]
        self._background.ask("picture", partial(_picture, held, measure))

    def _drawn(self, outcome: tuple[Held, SweepPicture, float] | ExplorerError) -> None:
        self._drawing = False
        if isinstance(outcome, ExplorerError):
            self.notice.emit(Notice("bad", f"{capital(str(outcome))}."))
            return
        held, shown, took_s = outcome
        self._draw_due = time.monotonic() + max(DRAW_GAP_S, took_s / DRAW_SHARE)
        if self.model.held is not None and held.space is self.model.held.space:
            self.chart.show_picture(shown, self.model.current)
            self.note.setText(shown.note)
            self.note.setVisible(bool(shown.note))
            self._best = shown.best
            self._show_words()
        if self._stale:
            self._refresh()

    def _background_ended(self, kind: str, outcome: object) -> None:
        if kind == "preview" and isinstance(outcome, tuple):
            self._previewed(*outcome)
        elif kind == "picture":
            self._drawn(outcome)  # type: ignore[arg-type]
        elif kind == "unfinished" and isinstance(outcome, Unfinished):
            self._found_unfinished(outcome)

    # ---- keeping

    def copy_command(self) -> None:
        """Put the sweep's command line on the clipboard."""
        held, asked = self.model.held, self._preview
        session = self._session
        kernels = self.kernel_folders()
        if asked is not None:
            space, measuring = asked.space, self.measuring
        elif held is not None and held.workload is not None:
            space, measuring = held.space, held.measuring
        else:
            self.said.emit("There is no sweep to copy yet.")
            return
        text = sweep_command(space, measuring, kernels, threads=session.options.threads)
        QApplication.clipboard().setText(text)
        self.said.emit("The sweep's command line is on the clipboard.")

    def held(self) -> Held:
        """Return what there is to export; InputError when nothing is done yet."""
        held = self.model.snapshot()
        if held is None:
            raise InputError("there is no sweep to export yet", remedy="press Start first")
        return held


def _counts_flops(workload: Workload) -> bool:
    return str(workload.manifest.work.flops) not in ("0", "0.0")


def _picture(held: Held, measure: object) -> tuple[Held, SweepPicture, float]:
    began = time.monotonic()
    shown = picture(held.space, held.cells, measure)  # type: ignore[arg-type]
    return held, shown, time.monotonic() - began


def _forget(group: str) -> None:
    from gpuexplorer.history.store import Store

    with Store.open() as store:
        store.change_group(group, finished=True)


def _find_unfinished(workloads: dict[str, Workload]) -> Unfinished | None:
    from gpuexplorer.history.store import Store

    with Store.open_to_read() as store:
        return unfinished(store.groups("sweep"), workloads)
