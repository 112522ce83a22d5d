"""The main window: wires commands, panels and session, and shows what the session tells."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QPaintEvent
from PySide6.QtWidgets import QMainWindow

import gpuexplorer
from gpuexplorer.charts.roofline import roofline_chart
from gpuexplorer.charts.words import config_words
from gpuexplorer.core.change import Change
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.engine.launcher import default_threads
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.gui import notice as notices
from gpuexplorer.gui.actions import Commands, when
from gpuexplorer.gui.engine import ENGINES_ITEM, EngineChoice, offer_engines
from gpuexplorer.gui.export import Exporter
from gpuexplorer.gui.housekeeping import Housekeeping
from gpuexplorer.gui.interchange import Interchange
from gpuexplorer.gui.kernels import Kernels
from gpuexplorer.gui.layout import Panels
from gpuexplorer.gui.menus import MainBar, Menus
from gpuexplorer.gui.model.bench import View
from gpuexplorer.gui.notice import Notice
from gpuexplorer.gui.own_model import OwnModels
from gpuexplorer.gui.panels.experiment import fill_device_box
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.session_file import SessionFiles
from gpuexplorer.gui.settings import Settings
from gpuexplorer.gui.status import StatusLine
from gpuexplorer.gui.theme import Choice, theme
from gpuexplorer.gui.tune_control import TuneControl
from gpuexplorer.workloads.choose import find_device

if TYPE_CHECKING:
    from gpuexplorer.gui.model.ghosts import Ghost
    from gpuexplorer.gui.selftest import SelfTestDialog
    from gpuexplorer.gui.session_dialogs import NotesDialog


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
        self._painted = False
        self._closed = self._notice_stays = False
        self._self_test: SelfTestDialog | None = None
        self._notes: NotesDialog | None = None
        self._turn = 0
        self.engine = EngineChoice(self, session, settings)
        self.kernels = Kernels(self, session, settings, kernel_folders)
        self.own_models = OwnModels(self, self.kernels)
        self.exporter = Exporter(self, settings)
        self.interchange = Interchange(self)
        self.sessions = SessionFiles(self, session, settings, self._view, self._show_view)
        self.housekeeping = Housekeeping(self)
        self.tuning = TuneControl(self, session, session.runs)
        self.commands = Commands(self, self.engine.thread_choices, default_threads())
        self._put_together()
        self._connect()
        self._connect_commands()
        self._restore()
        self._show_state()

    # ---- construction

    def _put_together(self) -> None:
        self._bar = MainBar(self.commands)
        self.device_box = self._bar.device_box
        self.addToolBar(self._bar)
        panels = self.panels = Panels(self.session)
        panels.exporter = self.exporter
        self.experiment_panel, self.insight = panels.experiment, panels.insight
        self.timing, self.traffic, self.strip = panels.timing, panels.traffic, panels.strip
        self.pins, self.banner = panels.pins, panels.banner
        self.history_table = panels.history.table
        self.setCentralWidget(panels)
        shown = [
            self.commands.panel(words, widget)
            for words, widget in (
                ("Experiment panel", panels.experiment),
                ("Insight panel", panels.insight),
                ("History", panels.history),
                ("Device strip", panels.strip),
            )
        ]
        self._menus = Menus(self.menuBar(), self.commands, shown)
        self.status = StatusLine(self.session)
        self.setStatusBar(self.status)

    def _connect(self) -> None:
        session = self.session
        session.frame.connect(self._frame)
        session.state_changed.connect(self._show_state)
        session.knobs_changed.connect(self._show_knobs)
        session.devices_changed.connect(self._show_devices)
        session.notice.connect(self._show_notice)
        session.started_by_itself.connect(self._say_started)
        self.kernels.notice.connect(self._show_notice)
        self.own_models.notice.connect(self._show_notice)
        self.kernels.said.connect(self.status.say)
        self.kernels.folders_changed.connect(self.insight.set_kernel_folders)
        self.sessions.notice.connect(self._show_notice)
        self.sessions.said.connect(self.status.say)
        self.sessions.replaced.connect(self._show_replaced)
        self.sessions.changed.connect(self._show_title)
        self.sessions.sources_asked.connect(self.show_sources)
        self._menus.recent.aboutToShow.connect(self._fill_recent)
        self.tuning.notice.connect(self._show_notice)
        self.tuning.said.connect(self.status.say)
        self.exporter.notice.connect(self._show_notice)
        self.exporter.busy_with.connect(lambda words: self.status.say(words, 0))
        self.timing.drawn.connect(self._drawn)
        self.timing.span_changed.connect(self._follow)
        self.pins.removed.connect(self._unpin)
        self.insight.copied.connect(self.status.say)
        roofline = self.panels.roofline
        roofline.calibrate_asked.connect(lambda: session.calibrate())
        roofline.cancel_asked.connect(session.cancel_calibration)
        session.calibration_stepped.connect(roofline.show_progress)
        self.insight.advice.applied.connect(self._apply)
        self.insight.advice.why.connect(partial(self.show_help, "advice"))
        history = self.panels.history
        history.notice.connect(self._show_notice)
        history.acts.said.connect(self.status.say)
        history.acts.restore_asked.connect(self._restore_run)
        history.acts.export_asked.connect(partial(self.exporter.ask, "png"))
        history.acts.ghost_asked.connect(self._pin_stored)
        history.acts.compare_asked.connect(self.compare)
        sweep = self.panels.sweep
        sweep.notice.connect(self._show_notice)
        sweep.said.connect(self.status.say)
        sweep.chosen.connect(self._restore_run)
        sweep.kernel_folders = lambda: self.kernels.folders
        self.sessions.add_part("sweep", sweep)
        lab = self.panels.lab
        lab.notice.connect(self._show_notice)
        lab.said.connect(self.status.say)
        lab.restored.connect(self._restore_run)
        lab.changed.connect(self._show_state)
        lab.kernel_folders = lambda: self.kernels.folders
        compare = self.panels.compare
        compare.restored.connect(self._restore_run)
        compare.said.connect(self.status.say)
        history.acts.kernel_folders = lambda: self.insight.kernel_folders
        self.device_box.currentIndexChanged.connect(lambda _: self._device_chosen())
        offer_engines(self.device_box)
        session.engines_asked.connect(self.engine.show)
        self.engine.help_asked.connect(partial(self.show_help, "engines"))
        self.first_paint.connect(self._begin, Qt.ConnectionType.QueuedConnection)

    def _connect_commands(self) -> None:
        commands, session, settings = self.commands, self.session, self.settings
        commands.live.toggled.connect(session.set_live)
        commands.live_at_start.setChecked(settings.live_at_start)
        commands.device_plots.toggled.connect(self.strip.more.setChecked)
        self.strip.more.toggled.connect(commands.device_plots.setChecked)
        commands.live_at_start.toggled.connect(self._set_live_at_start)
        commands.themes[settings.theme].setChecked(True)
        for action, run in (
            (commands.stop, session.stop),
            (commands.pin, self.pin),
            (commands.sweep, partial(self.panels.tabs.setCurrentWidget, self.panels.sweep)),
            (commands.analyse, session.analyse),
            (commands.tune, self.tuning.show),
            (commands.use_tuned, self.tuning.use_tuned),
            (commands.export, self.export),
            (commands.report, partial(self.interchange.export, "html")),
            (commands.import_runs, self.interchange.ask_import),
            (commands.undo, session.experiment.undo),
            (commands.redo, session.experiment.redo),
            (commands.copy_command, self.insight.copy_command),
            (commands.copy_script, self.insight.copy_script),
            (commands.open_session, self.sessions.ask_open),
            (commands.save_session, self.sessions.save),
            (commands.save_session_as, self.sessions.save_as),
            (commands.session_notes, self.show_notes),
            (commands.open_model, self.own_models.pick),
            (commands.open_kernels, self.kernels.pick),
            (commands.reload_kernels, self.kernels.reload),
            (commands.quit, self.close),
            (commands.engines, self.engine.show),
            (commands.restart_engine, self.engine.restart),
            (commands.follow, self._follow),
            (commands.help, self.show_help),
            (commands.self_test, self.show_self_test),
            (commands.about, self._about),
        ):
            when(action, run)
        for suffix, action in commands.export_as.items():
            when(action, partial(self.export, suffix))
        for suffix, action in commands.convert_as.items():
            when(action, partial(self.interchange.export, suffix))
        for choice, action in commands.themes.items():
            when(action, partial(self.choose_theme, choice))
        for number, action in commands.threads.items():
            when(action, partial(self.engine.use_threads, number))

    def _restore(self) -> None:
        self.session.live_at_start = self.settings.live_at_start
        knobs = self.settings.knobs
        if knobs is not None:
            self.session.experiment.restore(knobs)
        self.resize(1280, 800)
        self.restoreGeometry(self.settings.bytes_of("geometry"))
        self.panels.restore(self.settings)
        self._show_knobs()

    # ---- showing

    def _frame(self, answer: bool) -> None:
        """Draw what is new: the trace each time, one of the slower parts in turn."""
        session = self.session
        if answer and not self.timing.isVisible():  # nobody waits for the trace in another view
            session.moved_at, answer = None, False
        if answer:  # the knob's answer first, everything else a frame later
            self.timing.show_answer()
            self._turn = 0
            return
        self.timing.refresh()
        turn, self._turn = self._turn, (self._turn + 1) % 6
        if turn == 0:
            self.timing.refresh_slow()
        elif turn == 1:
            self.traffic.refresh()
        elif turn == 2:
            self.insight.show_run(session.live_model.current)
            self.panels.origin.show_run(session.live_model.current)
        elif turn == 3:
            self.insight.advice.refresh()
            self.panels.roofline.refresh()
        elif turn == 4:
            session.live_model.look()
        else:
            device = session.device
            if device is not None:
                self.strip.set_kind(device.kind)
                self.panels.device.set_kind(device.kind)
            self.strip.refresh(session.live_model.readings)
            self.panels.device.refresh()

    def _show_knobs(self) -> None:
        experiment = self.session.experiment
        self.experiment_panel.sync()
        self.commands.undo.setEnabled(experiment.can_undo)
        self.commands.redo.setEnabled(experiment.can_redo)
        self.insight.show_config(self.session.config, experiment.variant.teaches)
        missing = experiment.missing_frameworks if experiment.variant.model else ()
        self.insight.missing.show_missing(missing)
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
        offer_engines(self.device_box)
        with QSignalBlocker(self.device_box):
            self.device_box.setCurrentIndex(
                max(0, self.device_box.findData(experiment.knobs.device))
            )
        self._show_knobs()
        self._show_state()

    def _device_chosen(self) -> None:
        """Set the knob, or open the engines and leave the device as it is."""
        experiment = self.session.experiment
        if self.device_box.currentData() != ENGINES_ITEM:
            experiment.set_device(str(self.device_box.currentData()))
            return
        with QSignalBlocker(self.device_box):
            self.device_box.setCurrentIndex(
                max(0, self.device_box.findData(experiment.knobs.device))
            )
        self.engine.show()

    def _show_state(self) -> None:
        session, commands = self.session, self.commands
        with QSignalBlocker(commands.live):
            commands.live.setChecked(session.live)
        commands.live.setText("Live")
        commands.stop.setEnabled(session.live or session.job_has_engine)
        has_samples = session.live_model.current is not None
        commands.pin.setEnabled(has_samples)
        for widget in (commands.export, self._bar.export_button, self._menus.export):
            widget.setEnabled(has_samples or self.panels.lab.has_study)
        commands.threads[self.engine.threads].setChecked(True)
        self.insight.engine = session.options.python
        self.status.show_state()

    def _drawn(self, ticket: int) -> None:
        took = self.session.answered(ticket)
        if took is not None:
            self.status.answered(took)
        self._show_state()

    def _show_notice(self, notice: Notice | None) -> None:
        if notice is None:
            if not self._notice_stays:
                self.banner.dismiss()
            return
        self._notice_stays = notice.stays
        actions = tuple(
            (words, act if act is not None else self.experiment_panel.focus_block)
            for words, act in notice.actions
        )
        self.banner.say(notice.kind, notice.text, actions, notice.detail)

    def _say_started(self) -> None:
        self.status.say(
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
            self.status.say("Nothing to pin yet: no samples have arrived.")

    def _unpin(self, number: int) -> None:
        self.session.live_model.unpin(number)
        self._pins_changed()

    def _pins_changed(self) -> None:
        self.timing.show_pins()
        self.pins.show_pins(self.session.live_model.pins)
        self.panels.roofline.refresh()

    def _restore_run(self, config: RunConfig) -> None:
        if not self.session.experiment.restore_run(config):
            self.status.say("That run's workload is not loaded any more.")
        elif config.threads in self.commands.threads:
            self.engine.use_threads(config.threads)

    def _pin_stored(self, ghost: Ghost) -> None:
        """Keep a run of the history as a ghost."""
        self.session.pin_stored(ghost)
        self._pins_changed()

    def compare(self, ids: Sequence[str]) -> None:
        """Show the Compare view with these runs of the history added."""
        self.panels.tabs.setCurrentWidget(self.panels.compare)
        self.panels.compare.add_runs(ids)

    def export(self, suffix: str = "png") -> None:
        """Ask for a file name and write what is shown: the current run and the ghosts."""
        run = self.session.live_model.current
        record: RunRecord | None = run.record if run is not None else None
        ghosts = [p for p in self.session.live_model.pins if run and p.ticket != run.ticket]
        chart = None
        if self.panels.tabs.currentWidget() is self.panels.compare and suffix != "csv":
            self.panels.compare.bench.export(suffix)
            return
        if self.panels.tabs.currentWidget() is self.panels.sweep:
            self.panels.sweep.export(self.exporter, suffix)
            return
        if self.panels.tabs.currentWidget() is self.panels.lab:
            self.panels.lab.export(self.exporter, suffix)
            return
        if self.panels.tabs.currentWidget() is self.panels.block_map:
            self.panels.export_block_map(self.exporter, suffix)
            return
        if self.panels.tabs.currentWidget() is self.panels.roofline and record is not None:
            chart = roofline_chart(
                self.session.roofline_picture(),
                title=f"{self.session.experiment.workload.manifest.title}: roofline",
                subtitle=f"{config_words(record.prepared.config)}\n{record.prepared.device.name}",
            )
        self.exporter.ask(suffix, record, [p.record for p in ghosts], chart)

    # ---- the session's file

    def _view(self) -> View:
        tabs = self.panels.tabs
        return View(tab=tabs.tabText(tabs.currentIndex()), span_s=self.timing.span_s)

    def _show_view(self, view: View) -> None:
        tabs = self.panels.tabs
        for index in range(tabs.count()):
            if tabs.tabText(index) == view.tab:
                tabs.setCurrentIndex(index)
        self.timing.set_span(view.span_s)

    def _show_replaced(self) -> None:
        self._pins_changed()
        self.timing.show_replaced()
        self.traffic.refresh()
        run = self.session.live_model.current
        self.panels.origin.show_run(run)
        self.insight.show_run(run)
        self.panels.device.refresh()
        self._show_knobs()
        self._show_state()
        if self._notes is not None:
            self._notes.show_notes(self.sessions.notes)

    def _show_title(self) -> None:
        self.setWindowTitle(self.sessions.title)
        self.setWindowModified(self.sessions.modified)

    def _fill_recent(self) -> None:
        menu = self._menus.recent
        menu.clear()
        for path in self.settings.recent_sessions:
            action = menu.addAction(path.name)
            action.setToolTip(str(path))
            action.setStatusTip(str(path))
            when(action, partial(self.sessions.open, path))
        if not menu.actions():
            menu.addAction("None yet").setEnabled(False)

    def show_notes(self) -> None:
        """Open the session's notes."""
        from gpuexplorer.gui.session_dialogs import NotesDialog

        if self._notes is None:
            self._notes = NotesDialog(self)
            self._notes.changed.connect(self.sessions.set_notes)
        self._notes.show_notes(self.sessions.notes)
        self._notes.show()
        self._notes.raise_()

    def show_sources(self) -> None:
        """Show the kernel sources that the opened file brought, as text."""
        from gpuexplorer.gui.session_dialogs import SourcesDialog

        path, kernels = self.sessions.path, self.sessions.foreign_kernels()
        if path is not None and kernels:
            SourcesDialog(self, path.name, kernels).show()

    # ---- choices, help

    def _set_live_at_start(self, on: bool) -> None:
        self.settings.live_at_start = on

    def choose_theme(self, choice: Choice) -> None:
        """Use these colours, now and from now on."""
        self.settings.theme = choice
        theme().choose(choice)

    def _apply(self, change: Change) -> None:
        """Follow a piece of advice: the knobs in one step, the engine's threads by a restart."""
        self.session.experiment.apply(change)
        if change.threads is not None:
            self.engine.use_threads(change.threads)

    def show_help(self, page: str = "reading-the-plots", section: str = "") -> None:
        """Open the help pages, at a heading of the page where one is named."""
        from gpuexplorer.gui.help import HelpWindow

        if not hasattr(self, "_help"):
            self._help = HelpWindow(self)
        self._help.open_page(page, section)

    def show_self_test(self) -> None:
        """Open the self-test for the chosen device; a run ends only when it starts."""
        from gpuexplorer.gui.selftest import SelfTestDialog
        from gpuexplorer.selftest.bench import Options

        device = self.session.experiment.device
        if device is None:
            self.status.say("There is no device yet.")
            return
        if self.session.job is not None:
            self._show_notice(notices.engine_busy(self.session.job.doing))
            return
        if self._self_test is None:
            self._self_test = SelfTestDialog(self, partial(self.session.set_live, False))
        options = Options(
            device=device.id,
            kernels=tuple(self.kernels.folders),
            python=self.session.options.python,
            threads=self.session.options.threads,
        )
        self._self_test.offer(options, f"{device.name} ({device.id})")

    def _about(self) -> None:
        self._show_notice(
            Notice(
                "info",
                f"GPU Explorer {gpuexplorer.__version__}: turn a knob, see the hardware answer. "
                "MIT licence.",
            )
        )

    # ---- the window's life

    def _begin(self) -> None:
        """Start what the window needs once it is up, unless it was closed by then."""
        if not self._closed:
            self.housekeeping.start()
            self.session.start()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint, and tell once that the window is up."""
        super().paintEvent(event)
        if not self._painted:
            self._painted = True
            QTimer.singleShot(0, self.first_paint.emit)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Remember the layout and end everything: timers, engine, worker."""
        if not self._closed and not self.sessions.may_close():
            event.ignore()
            return
        if not self._closed:
            self._closed = True
            self.settings.set_bytes("geometry", self.saveGeometry())
            self.panels.remember(self.settings)
            self.settings.knobs = self.session.experiment.knobs
            self.settings.sync()
            self.status.close_down()
            self.panels.history.close_down()
            self.panels.compare.close_down()
            self.panels.sweep.close_down()
            self.panels.lab.close_down()
            self.housekeeping.stop()
            self.panels.kernel.close_down()
            self.tuning.close_down()
            if self._self_test is not None:
                self._self_test.close_down()
            self.engine.close_down()
            self.session.close()
            self.interchange.close_down()
            self.exporter.wait()
            self.sessions.wait()
        super().closeEvent(event)
