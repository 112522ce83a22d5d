"""The main window: puts the panels together and shows what the session tells."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QActionGroup, QCloseEvent, QKeySequence, QPaintEvent
from PySide6.QtWidgets import (
    QApplication,
    QFileDialog,
    QLabel,
    QMainWindow,
    QMenu,
    QSizePolicy,
    QSplitter,
    QTabWidget,
    QToolBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

import gpuexplorer
from gpuexplorer import reproduce
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.units import count, quantity
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.gui.export import FORMATS, ExportJob, default_name
from gpuexplorer.gui.model.history import Entry
from gpuexplorer.gui.model.knobs import Knobs
from gpuexplorer.gui.notice import Notice
from gpuexplorer.gui.panels.experiment import ExperimentPanel, fill_device_box
from gpuexplorer.gui.panels.history import HistoryTable
from gpuexplorer.gui.panels.insight import InsightPanel
from gpuexplorer.gui.panels.pins import PinRow
from gpuexplorer.gui.plots.telemetry import TelemetryStrip
from gpuexplorer.gui.plots.timing import TimingPlot
from gpuexplorer.gui.plots.traffic import TrafficPlot
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.settings import Settings
from gpuexplorer.gui.theme import CHOICES, Choice, theme
from gpuexplorer.gui.widgets.banner import Banner
from gpuexplorer.gui.widgets.list_box import ListBox
from gpuexplorer.workloads.choose import find_device
from gpuexplorer.workloads.loader import load, read_folder, workload_folders
from gpuexplorer.workloads.workload import Workload

STATUS_MS = 250
ENGINE_WORDS = {
    "not started": "engine not started",
    "starting": "engine starting…",
    "restarting": "engine restarting…",
    "ready": "engine ready",
    "lost": "no engine",
}


class MainWindow(QMainWindow):
    """Pick, run, watch, move a knob, export.

    ``first_paint`` is emitted once, after the first paint; the engine starts then.
    """

    first_paint = Signal()

    def __init__(
        self, session: Session, settings: Settings, kernel_folders: Sequence[Path] = ()
    ) -> None:
        super().__init__()
        self.setObjectName("mainWindow")
        self.setWindowTitle("GPU Explorer")
        self.session, self.settings = session, settings
        self._given_folders = tuple(kernel_folders)
        self._job: ExportJob | None = None
        self._painted = False
        self._closed = False
        self._turn = 0
        self._actions()
        self._toolbar()
        self._panels()
        self._menus()
        self._status()
        self._connect()
        self._restore()
        self._repaint_theme()
        self._show_state()

    # ---- construction

    def _action(
        self, words: str, shortcut: str, tip: str, run: Callable[[], object] | None, name: str = ""
    ) -> QAction:
        action = QAction(words, self)
        if shortcut:
            action.setShortcut(QKeySequence(shortcut))
            tip = f"{tip} ({QKeySequence(shortcut).toString()})"
        action.setToolTip(tip)
        action.setStatusTip(tip)
        if name:
            action.setObjectName(name)
        if run is not None:
            action.triggered.connect(lambda _=False: run())
        return action

    def _actions(self) -> None:
        session, experiment = self.session, self.session.experiment
        self.live_action = self._action(
            "Live", "Space", "Measure until stopped; a moved knob restarts by itself", None
        )
        self.live_action.setCheckable(True)
        self.live_action.toggled.connect(session.set_live)
        self.stop_action = self._action(
            "Stop", "Esc", "Stop at the next launch boundary", lambda: session.set_live(False)
        )
        self.pin_action = self._action(
            "Pin", "P", "Keep this run as a ghost beside the next ones", self.pin
        )
        self.export_action = self._action(
            "Export…", "Ctrl+E", "Save what is shown to a file", lambda: self.export()
        )
        self.undo_action = self._action(
            "Undo", "Ctrl+Z", "Take the last knob back", experiment.undo
        )
        self.redo_action = self._action(
            "Redo", "Ctrl+Shift+Z", "Turn the knob again", experiment.redo
        )
        self.reload_action = self._action(
            "Reload kernels", "F5", "Read all kernel folders again", self.reload_kernels
        )
        self.open_action = self._action(
            "Open kernels folder…",
            "Ctrl+O",
            "Add a folder of your own workloads",
            self._pick_folder,
        )
        self.help_action = self._action(
            "How to read this window",
            "F1",
            "What each plot shows and what numbers promise",
            lambda: self.show_help(),
        )

    def _toolbar(self) -> None:
        bar = QToolBar("Main")
        bar.setObjectName("toolbar")
        bar.setMovable(False)
        bar.setIconSize(QSize(16, 16))
        bar.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        bar.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self.addToolBar(bar)
        for action, name in (
            (self.live_action, "liveButton"),
            (self.stop_action, "stopButton"),
            (self.pin_action, "pinButton"),
        ):
            if name == "pinButton":
                bar.addSeparator()
            bar.addAction(action)
            button = bar.widgetForAction(action)
            button.setObjectName(name)
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.export_button = QToolButton()
        self.export_button.setObjectName("exportButton")
        self.export_button.setText("Export ▾")
        self.export_button.setToolTip("Save what is shown: image, drawing, document, table, JSON")
        self.export_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.export_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.export_menu = self._export_menu(self.export_button)
        self.export_button.setMenu(self.export_menu)
        bar.addWidget(self.export_button)
        spacer = QWidget()
        spacer.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        bar.addWidget(spacer)
        label = QLabel("Device ")
        label.setProperty("role", "muted")
        bar.addWidget(label)
        self.device_box = ListBox("deviceBox", "Where kernels run")
        self.device_box.setMinimumWidth(300)
        self.device_box.addItem("looking for devices…", "auto")
        bar.addWidget(self.device_box)

    def _export_menu(self, parent: QWidget) -> QMenu:
        menu = QMenu("Export", parent)
        for suffix, words in FORMATS.items():
            action = menu.addAction(f"{words}…")
            action.setObjectName(f"export_{suffix}")
            action.triggered.connect(lambda _=False, suffix=suffix: self.export(suffix))
        return menu

    def _panels(self) -> None:
        session = self.session
        self.experiment_panel = ExperimentPanel(session.experiment)
        self.insight = InsightPanel()
        self.timing = TimingPlot(session.live_model)
        self.traffic = TrafficPlot(session.live_model, self.timing.plot)
        self.strip = TelemetryStrip()
        self.pins = PinRow(self.timing.pin_colour)
        self.banner = Banner()
        self.history_table = HistoryTable(session.history, session.history_model)
        plots = QSplitter(Qt.Orientation.Vertical)
        plots.setChildrenCollapsible(False)
        plots.addWidget(self.timing)
        plots.addWidget(self.traffic)
        plots.setStretchFactor(0, 3)
        plots.setStretchFactor(1, 2)
        view = QWidget()
        view.setAutoFillBackground(True)
        view.setBackgroundRole(view.palette().ColorRole.Base)
        column = QVBoxLayout(view)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.pins)
        column.addWidget(plots, 1)
        column.addWidget(self.strip)
        self.tabs = QTabWidget()
        self.tabs.setObjectName("views")
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setDrawBase(False)
        self.tabs.addTab(view, "Live")
        centre = QWidget()
        stack = QVBoxLayout(centre)
        stack.setContentsMargins(0, 0, 0, 0)
        stack.setSpacing(0)
        stack.addWidget(self.banner)
        stack.addWidget(self.tabs, 1)
        self.across = QSplitter(Qt.Orientation.Horizontal)
        for widget, stretch in ((self.experiment_panel, 0), (centre, 1), (self.insight, 0)):
            self.across.addWidget(widget)
            self.across.setStretchFactor(self.across.count() - 1, stretch)
        self.experiment_panel.setMinimumWidth(230)
        self.insight.setMinimumWidth(250)
        self.across.setSizes([262, 748, 270])
        self.down = QSplitter(Qt.Orientation.Vertical)
        self.down.addWidget(self.across)
        self.down.addWidget(self.history_table)
        self.down.setStretchFactor(0, 1)
        self.down.setStretchFactor(1, 0)
        self.down.setSizes([600, 122])
        for splitter in (self.across, self.down, plots):
            splitter.setHandleWidth(1)
        self.setCentralWidget(self.down)

    def _menus(self) -> None:
        bar = self.menuBar()
        file = bar.addMenu("&File")
        file.addAction(self.open_action)
        file.addAction(self.reload_action)
        file.addSeparator()
        file.addAction(self.export_action)
        self._file_export = self._export_menu(file)
        file.addMenu(self._file_export)
        file.addSeparator()
        file.addAction(self._action("Quit", "Ctrl+Q", "Close the window", self.close))
        edit = bar.addMenu("&Edit")
        edit.addAction(self.undo_action)
        edit.addAction(self.redo_action)
        edit.addSeparator()
        insight = self.insight
        edit.addAction(
            self._action(
                "Copy command line",
                "Ctrl+Shift+C",
                "Copy this run as a command",
                insight.copy_command,
            )
        )
        edit.addAction(
            self._action(
                "Copy Python script",
                "Ctrl+Shift+P",
                "Copy this run as a script",
                insight.copy_script,
            )
        )
        run = bar.addMenu("&Run")
        for action in (self.live_action, self.stop_action, self.pin_action):
            run.addAction(action)
        run.addSeparator()
        self.at_start_action = self._action(
            "Start live by itself", "", "Begin measuring as soon as a device is found", None
        )
        self.at_start_action.setCheckable(True)
        self.at_start_action.setChecked(self.settings.live_at_start)
        self.at_start_action.toggled.connect(self._set_live_at_start)
        run.addAction(self.at_start_action)
        run.addAction(
            self._action(
                "Engine's Python interpreter…",
                "",
                "Measure with another Python, and so with its torch and CUDA",
                self._pick_python,
            )
        )
        self.own_python_action = self._action(
            "Use this program's own interpreter",
            "",
            "Measure with the Python that runs this window",
            lambda: self._use_python(None),
        )
        run.addAction(self.own_python_action)
        run.addAction(
            self._action(
                "Restart engine",
                "",
                "End the engine process and start a fresh one",
                lambda: self.session.restart(self.session.options),
            )
        )
        view = bar.addMenu("&View")
        themes = QActionGroup(self)
        for choice in CHOICES:
            action = self._action(
                {"system": "System colours", "light": "Light", "dark": "Dark"}[choice],
                "",
                "Colours of the window",
                partial(self._choose_theme, choice),
            )
            action.setObjectName(f"theme_{choice}")
            action.setCheckable(True)
            action.setChecked(choice == self.settings.theme)
            themes.addAction(action)
            view.addAction(action)
        view.addSeparator()
        for words, widget in (
            ("Experiment panel", self.experiment_panel),
            ("Insight panel", self.insight),
            ("History", self.history_table),
            ("Device strip", self.strip),
        ):
            action = self._action(words, "", f"Show or hide the {words.lower()}", None)
            action.setCheckable(True)
            action.setChecked(True)
            action.toggled.connect(widget.setVisible)
            view.addAction(action)
        view.addSeparator()
        view.addAction(
            self._action("Follow newest samples", "F", "Fit both plots again", self._follow)
        )
        help_menu = bar.addMenu("&Help")
        help_menu.addAction(self.help_action)
        help_menu.addAction(self._action("About GPU Explorer", "", "Version", self._about))

    def _status(self) -> None:
        bar = self.statusBar()
        bar.setSizeGripEnabled(False)
        self.engine_label, self.device_label = QLabel(), QLabel()
        self.activity_label, self.rate_label = QLabel(), QLabel()
        self.engine_label.setObjectName("engineLabel")
        self.device_label.setObjectName("deviceLabel")
        self.activity_label.setObjectName("activityLabel")
        self.rate_label.setObjectName("rateLabel")
        self.device_label.setToolTip("The device that the shown run uses")
        self.activity_label.setToolTip("What the engine does now")
        self.rate_label.setToolTip(
            "Launches timed a second, and how fast the last knob was answered"
        )
        for label in (self.engine_label, self.device_label, self.activity_label):
            label.setContentsMargins(8, 1, 14, 1)
            bar.addWidget(label)
        self.rate_label.setContentsMargins(0, 1, 10, 1)
        bar.addPermanentWidget(self.rate_label)
        self._answered = ""
        self._status_timer = QTimer(self)
        self._status_timer.setInterval(STATUS_MS)
        self._status_timer.timeout.connect(self._show_rate)
        self._status_timer.start()

    def _connect(self) -> None:
        session = self.session
        session.frame.connect(self._frame)
        session.state_changed.connect(self._show_state)
        session.knobs_changed.connect(self._show_knobs)
        session.devices_changed.connect(self._show_devices)
        session.notice.connect(self._show_notice)
        session.started_by_itself.connect(self._say_started)
        self.timing.drawn.connect(self._drawn)
        self.timing.span_changed.connect(self._follow)
        self.pins.removed.connect(self._unpin)
        self.insight.copied.connect(lambda words: self.statusBar().showMessage(words, 4000))
        self.history_table.restore_asked.connect(self._restore_run)
        self.history_table.export_asked.connect(lambda entry: self.export(record=entry.record))
        self.history_table.copy_asked.connect(self._copy_run)
        self.device_box.currentIndexChanged.connect(
            lambda _: session.experiment.set_device(str(self.device_box.currentData()))
        )
        self.first_paint.connect(session.start, Qt.ConnectionType.QueuedConnection)
        theme().changed.connect(self._repaint_theme)

    def _restore(self) -> None:
        self.session.live_at_start = self.settings.live_at_start
        knobs = self.settings.knobs
        if knobs is not None:
            self.session.experiment.restore(knobs)
        self.resize(1280, 800)
        self.restoreGeometry(self.settings.bytes_of("geometry"))
        self.across.restoreState(self.settings.bytes_of("across"))
        self.down.restoreState(self.settings.bytes_of("down"))
        self._show_knobs()

    # ---- showing

    def _repaint_theme(self) -> None:
        colours = theme()
        self.live_action.setIcon(colours.icon("live", "accent_text"))
        self.stop_action.setIcon(colours.icon("stop"))
        self.pin_action.setIcon(colours.icon("pin"))
        self.export_button.setIcon(colours.icon("export"))

    def _frame(self, answer: bool) -> None:
        """Draw what is new: the trace each time, one of the slower parts in turn."""
        session = self.session
        if answer:  # the knob's answer first, everything else a frame later
            self.timing.show_answer()
            self._turn = 0
            return
        self.timing.refresh()
        turn, self._turn = self._turn, (self._turn + 1) % 4
        if turn == 0:
            self.timing.refresh_slow()
        elif turn == 1:
            self.traffic.refresh()
        elif turn == 2:
            self.insight.show_run(session.live_model.current)
        else:
            device = session.device
            if device is not None:
                self.strip.set_kind(device.kind)
            self.strip.refresh(session.live_model.readings)

    def _show_knobs(self) -> None:
        experiment = self.session.experiment
        self.experiment_panel.sync()
        self.undo_action.setEnabled(experiment.can_undo)
        self.redo_action.setEnabled(experiment.can_redo)
        self.insight.show_config(self.session.config, experiment.variant.teaches)
        at = self.device_box.findData(experiment.knobs.device)
        if at >= 0 and at != self.device_box.currentIndex():
            with QSignalBlocker(self.device_box):
                self.device_box.setCurrentIndex(at)

    def _show_devices(self) -> None:
        experiment = self.session.experiment
        if experiment.devices is None:
            return
        try:
            automatic = find_device(experiment.devices, "auto")
        except ExplorerError:
            automatic = None
        fill_device_box(self.device_box, experiment.devices, automatic)
        with QSignalBlocker(self.device_box):
            self.device_box.setCurrentIndex(
                max(0, self.device_box.findData(experiment.knobs.device))
            )
        self._show_knobs()
        self._show_state()

    def _show_state(self) -> None:
        session = self.session
        with QSignalBlocker(self.live_action):
            self.live_action.setChecked(session.live)
        self.live_action.setText("Live")
        self.stop_action.setEnabled(session.live)
        has_samples = session.live_model.current is not None
        self.pin_action.setEnabled(has_samples)
        for widget in (self.export_action, self.export_button, self._file_export):
            widget.setEnabled(has_samples)
        self.engine_label.setText(ENGINE_WORDS[session.engine_state])
        self.engine_label.setToolTip(session.engine_words or "The process that measures")
        self.own_python_action.setEnabled(session.options.python is not None)
        device = session.device
        self.device_label.setText(f"{device.name} ({device.id})" if device else "no device yet")
        self.activity_label.setText(session.activity)

    def _show_rate(self) -> None:
        self.activity_label.setText(self.session.activity)
        rate = self.session.samples_per_s if self.session.live else None
        parts = [self._answered] if self._answered else []
        if rate is not None:
            parts.append(
                f"{count(round(rate))} launches/s" if rate >= 10 else f"{rate:.1f} launches/s"
            )
        self.rate_label.setText("   ".join(parts))

    def _drawn(self, ticket: int) -> None:
        took = self.session.answered(ticket)
        if took is not None:
            self._answered = f"answered in {quantity(took, 's', 2)}"
        self._show_state()

    def _show_notice(self, notice: Notice | None) -> None:
        if notice is None:
            self.banner.dismiss()
            return
        actions = tuple(
            (words, act if act is not None else self.experiment_panel.focus_block)
            for words, act in notice.actions
        )
        self.banner.say(notice.kind, notice.text, actions, notice.detail)

    def _say_started(self) -> None:
        self.statusBar().showMessage(
            "Measuring started by itself: Esc stops it, and the Run menu turns this off.", 6000
        )

    def _follow(self) -> None:
        if not self.timing.following:
            self.timing.follow()
        self.traffic.follow()

    # ---- ghosts, runs

    def pin(self) -> None:
        """Keep the current run as a ghost."""
        if self.session.pin():
            self._pins_changed()
        else:
            self.statusBar().showMessage("Nothing to pin yet: no samples have arrived.", 4000)

    def _unpin(self, number: int) -> None:
        self.session.live_model.unpin(number)
        self._pins_changed()

    def _pins_changed(self) -> None:
        self.timing.show_pins()
        self.pins.show_pins(self.session.live_model.pins)

    def _restore_run(self, entry: Entry) -> None:
        config = entry.config
        experiment = self.session.experiment
        knobs = Knobs(
            workload=config.workload,
            variant=config.variant,
            size=config.size,
            precision=config.precision,
            device=config.device if self.device_box.findData(config.device) >= 0 else "auto",
            block=config.block,
            tunables={k: v for k, v in config.tunables.items() if self._is_free(config, k)},
            include_transfers=config.include_transfers,
        )
        if not experiment.restore(knobs):
            self.statusBar().showMessage("That run's workload is not loaded any more.", 5000)

    def _is_free(self, config: RunConfig, tunable: str) -> bool:
        """Whether a tunable is the user's to choose, not tied to the block."""
        workload = self.session.experiment.workloads.get(config.workload)
        variant = workload.manifest.variants.get(config.variant) if workload else None
        found = variant.tunables.get(tunable) if variant else None
        return found is not None and found.formula is None

    def _copy_run(self, entry: Entry) -> None:
        QApplication.clipboard().setText(
            reproduce.command_line(entry.config, self.insight.kernel_folders)
        )
        self.statusBar().showMessage("The command line is on the clipboard.", 4000)

    # ---- export

    def export(self, suffix: str = "png", record: RunRecord | None = None) -> None:
        """Ask for a file name and write what is shown, or one run of the history."""
        pins: list[RunRecord] = []
        if record is None:
            run = self.session.live_model.current
            record = run.record if run is not None else None
            pins = [
                p.record for p in self.session.live_model.pins if run and p.ticket != run.ticket
            ]
        if record is None or not record.samples:
            self._show_notice(Notice("warning", "There are no samples to export yet."))
            return
        filters = {f"{words} (*.{name})": name for name, words in FORMATS.items()}
        chosen = next(f for f, name in filters.items() if name == suffix)
        offered = self.settings.export_folder / default_name(record.prepared.config, suffix)
        name, used = QFileDialog.getSaveFileName(
            self, "Export", str(offered), ";;".join(filters), chosen
        )
        if name:
            path = Path(name)
            if not path.suffix:
                path = path.with_suffix(f".{filters.get(used, suffix)}")
            self.export_to(path, record, pins)

    def export_to(self, path: Path, record: RunRecord, pins: list[RunRecord]) -> None:
        """Write a file in the background, then say where it is."""
        if self._job is not None:
            self._show_notice(Notice("warning", "Another export is still being written."))
            return
        self._job = ExportJob(path, record, pins, theme().scheme)
        self._job.done.connect(self._exported)
        self.statusBar().showMessage(f"Writing {path}…")
        self._job.start()

    def _exported(self, error: ExplorerError | None) -> None:
        job, self._job = self._job, None
        if job is None:
            return
        job.wait()
        self.statusBar().clearMessage()
        if error is None:
            self.settings.export_folder = job.path.parent
            self._show_notice(Notice("info", f"Saved {job.path}"))
        else:
            words = str(error)
            self._show_notice(
                Notice("bad", f"{words[:1].upper()}{words[1:]}.", detail=error.detail)
            )

    # ---- kernels, interpreter, colours, help

    @property
    def kernel_folders(self) -> list[Path]:
        """The user's folders: those of the command line and those opened here."""
        return list(dict.fromkeys([*self._given_folders, *self.settings.kernel_folders]))

    def _pick_folder(self) -> None:
        name = QFileDialog.getExistingDirectory(self, "Open kernels folder", str(Path.home()))
        if name:
            self.open_kernels(Path(name))

    def open_kernels(self, folder: Path) -> None:
        """Add a folder of workloads and choose its first one."""
        try:
            own = [Workload(read_folder(f)).name for f in workload_folders(folder)]
            workloads = load([*self.kernel_folders, folder])
        except ExplorerError as error:
            self._show_notice(Notice("bad", f"{error}.", detail=error.detail))
            return
        if folder not in self.kernel_folders:
            self.settings.kernel_folders = [*self.settings.kernel_folders, folder]
        self._take_workloads(workloads)
        if own:
            self.session.experiment.set_workload(own[0])
        self._show_notice(Notice("info", f"Loaded {', '.join(own)} from {folder}."))

    def reload_kernels(self) -> None:
        """Read every kernel folder again."""
        try:
            workloads = load(self.kernel_folders)
        except ExplorerError as error:
            self._show_notice(Notice("bad", f"{error}.", detail=error.detail))
            return
        self._take_workloads(workloads)
        self.session.kernels_reloaded()
        self.statusBar().showMessage(f"{len(workloads)} workloads read.", 4000)

    def _take_workloads(self, workloads: dict[str, Workload]) -> None:
        self.insight.kernel_folders = self.kernel_folders
        self.session.experiment.set_workloads(workloads)

    def _set_live_at_start(self, on: bool) -> None:
        self.settings.live_at_start = on

    def _pick_python(self) -> None:
        name, _ = QFileDialog.getOpenFileName(
            self, "Engine's Python interpreter", self.session.options.python or ""
        )
        if name:
            self._use_python(name)

    def _use_python(self, python: str | None) -> None:
        self.settings.python = python
        self.session.restart(replace(self.session.options, python=python))

    def _choose_theme(self, choice: Choice) -> None:
        self.settings.theme = choice
        theme().choose(choice)

    def show_help(self, page: str = "reading-the-plots") -> None:
        """Open the help pages."""
        from gpuexplorer.gui.help import HelpWindow

        if not hasattr(self, "_help"):
            self._help = HelpWindow(self)
        self._help.open_page(page)

    def _about(self) -> None:
        self._show_notice(
            Notice(
                "info",
                f"GPU Explorer {gpuexplorer.__version__}: turn a knob, see the hardware answer. "
                "MIT licence.",
            )
        )

    # ---- the window's life

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint, and tell once that the window is up."""
        super().paintEvent(event)
        if not self._painted:
            self._painted = True
            gc.freeze()  # what is there now stays: collections need not walk through it again
            QTimer.singleShot(0, self.first_paint.emit)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Remember the layout and end everything: timers, engine, worker."""
        if not self._closed:
            self._closed = True
            self.settings.set_bytes("geometry", self.saveGeometry())
            self.settings.set_bytes("across", self.across.saveState())
            self.settings.set_bytes("down", self.down.saveState())
            self.settings.knobs = self.session.experiment.knobs
            self.settings.sync()
            self._status_timer.stop()
            self.statusBar().clearMessage()
            self.session.close()
            if self._job is not None:
                self._job.wait()
        super().closeEvent(event)
