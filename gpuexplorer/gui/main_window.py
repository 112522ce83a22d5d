"""The main window: wires commands, panels and session, and shows what the session tells."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QPaintEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpuexplorer.core.change import Change
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.language import as_is, tr
from gpuexplorer.engine.cores import default_threads
from gpuexplorer.gui import able
from gpuexplorer.gui.actions import Commands, when
from gpuexplorer.gui.choices import Choices
from gpuexplorer.gui.dialogs import Dialogs
from gpuexplorer.gui.engine import EngineChoice, offer_engines
from gpuexplorer.gui.export import Exporter, exported_session
from gpuexplorer.gui.frames import Frames
from gpuexplorer.gui.housekeeping import Housekeeping
from gpuexplorer.gui.idle_calibration import IdleCalibration
from gpuexplorer.gui.importer import Importer
from gpuexplorer.gui.kernels import Kernels
from gpuexplorer.gui.keys import KeyWindow
from gpuexplorer.gui.layout import Panels
from gpuexplorer.gui.listener import Listener
from gpuexplorer.gui.menus import MainBar, Menus
from gpuexplorer.gui.notice import Notice, capital
from gpuexplorer.gui.own_files import OwnFiles
from gpuexplorer.gui.own_lessons import OwnLessons
from gpuexplorer.gui.panel_rooms import PanelRooms
from gpuexplorer.gui.panels.experiment import fill_device_box
from gpuexplorer.gui.preload import Preloader
from gpuexplorer.gui.present import Present
from gpuexplorer.gui.restart import Restart
from gpuexplorer.gui.screen import open_size
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.session_file import SessionFiles
from gpuexplorer.gui.settings import Settings
from gpuexplorer.gui.status import StatusLine
from gpuexplorer.gui.tune_control import TuneControl
from gpuexplorer.workloads.choose import find_device

if TYPE_CHECKING:
    from gpuexplorer.gui.model.ghosts import Ghost
    from gpuexplorer.gui.model.group_views import OpenedGroup
    from gpuexplorer.gui.model.session_document import View
    from gpuexplorer.history.store import Store

USUAL_SIZE = (1280, 800)


class MainWindow(KeyWindow):
    """Pick, run, watch, move a knob, export.

    ``first_paint`` is emitted once, after the first paint; the engine starts then.
    """

    first_paint = Signal()

    def __init__(
        self, session: Session, settings: Settings, kernel_folders: Sequence[Path] = ()
    ) -> None:
        super().__init__()
        self.setObjectName("mainWindow")
        self.setWindowTitle(as_is("GPU Explorer"))
        self.session, self.settings = session, settings
        self.listener = Listener(session)
        self._painted = False
        self._closed = False
        self._notice: Notice | None = None
        """The one that was shown last."""
        self.engine = EngineChoice(self, session, settings)
        self.kernels = Kernels(self, session, settings, kernel_folders)
        self.own_files = OwnFiles(self, self.kernels)
        self.exporter = Exporter(self, settings)
        self.importer = Importer(self, settings)
        self.sessions = SessionFiles(self, session, settings, self._view, self._show_view)
        self.housekeeping = Housekeeping(self, lambda: not session.requests.impatient)
        self.preloader = Preloader()
        self.idle_calibration = IdleCalibration(session, settings)
        self.tuning = TuneControl(self, session)
        self.dialogs = Dialogs(self, session, settings, self.sessions, self.kernels)
        self.restart = Restart(self, session, self.sessions, self._may_close)
        self.restart.notice.connect(self.show_notice)
        self.choices = Choices(session, settings, self.engine, self.idle_calibration, self.restart)
        self.commands = Commands(self, self.engine.thread_choices, default_threads())
        self._put_together()
        self._connect_session()
        self._connect_views()
        self._connect_commands()
        self.first_paint.connect(self._begin, Qt.ConnectionType.QueuedConnection)
        self._restore()
        self.show_state()

    # ---- construction

    def _put_together(self) -> None:
        self._bar = MainBar(self.commands)
        self.device_box = self._bar.device_box
        self.addToolBar(self._bar)
        panels = self.panels = Panels(self.session)
        self.experiment_panel, self.insight = panels.experiment, panels.insight
        self.timing, self.traffic, self.strip = panels.timing, panels.traffic, panels.strip
        self.pins, self.banner = panels.pins, panels.banner
        self.history_table = panels.history.table
        self.housekeeping.letting_go.append(self.history_table.let_go)
        self.frames = Frames(self.session, panels)
        whole = QWidget()
        column = QVBoxLayout(whole)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(panels.welcome)
        column.addWidget(panels, 1)
        self.setCentralWidget(whole)
        welcome = self.commands.panel("Welcome", panels.welcome)
        welcome.setChecked(self.settings.welcome)
        welcome.toggled.connect(self._set_welcome)
        panels.welcome.closed.connect(partial(welcome.setChecked, False))
        shown = [
            self.commands.panel(words, widget)
            for words, widget in (
                ("Experiment panel", panels.experiment),
                ("Insight panel", panels.insight),
                ("History", panels.history),
                ("Device strip", panels.strip),
            )
        ]
        self.panel_rooms = PanelRooms(
            self, panels, self.settings,
            experiment=shown[0], insight=shown[1], history=shown[2], strip=shown[3],
        )  # fmt: skip
        self.own_lessons = OwnLessons(self, panels, self.session.experiment, self.settings)
        self.present = Present(self, panels, self.panel_rooms, self.commands.present)
        views = self.commands.views(panels.places)
        self.menus = Menus(self.menuBar(), self.commands, shown, views, welcome)
        self.status = StatusLine(self.session)
        self.setStatusBar(self.status)

    def _set_welcome(self, on: bool) -> None:
        self.settings.welcome = on

    def _restore(self) -> None:
        self.session.live_at_start = self.settings.live_at_start
        knobs = self.settings.knobs
        if knobs is not None:
            self.session.experiment.begin_at(knobs)
        self.resize(open_size(self, *USUAL_SIZE))
        self.restoreGeometry(self.settings.bytes_of("geometry"))
        self.panels.restore(self.settings)
        self.panel_rooms.fit_height()
        self.show_knobs()

    # ---- what hears what

    def _connect_session(self) -> None:
        """Show what the session and its helpers tell."""
        session, status = self.session, self.status
        session.frame.connect(self.frames.draw)
        session.state_changed.connect(self.show_state)
        session.knobs_changed.connect(self.show_knobs)
        session.devices_changed.connect(self.show_devices)
        session.started_by_itself.connect(self.say_started)
        session.engines_asked.connect(self.engine.show)
        self.engine.message.connect(status.say)
        self.engine.help_asked.connect(partial(self.dialogs.show_help, "engines"))
        for worker in (self.exporter, self.importer):
            worker.busy_with.connect(lambda words: status.say(words, 0))
        self.kernels.folders_changed.connect(self.insight.set_kernel_folders)
        sessions = self.sessions
        sessions.replaced.connect(self.show_replaced)
        sessions.changed.connect(self.show_title)
        sessions.sources_asked.connect(self.dialogs.show_sources)
        editing = self.panels.kernel.editing
        self.kernels.with_edits = editing.with_edits
        self.kernels.write_anew = editing.write_anew
        for one in (session, self.kernels, self.own_files, self.own_lessons, editing, sessions,
                    self.tuning, self.exporter, self.importer, self.dialogs,
                    self.choices):  # fmt: skip
            one.notice.connect(self.show_notice)
        for other in (self.kernels, sessions, self.tuning, self.dialogs):
            other.message.connect(status.say)

    def _connect_views(self) -> None:
        """Have the views' wishes done, and what they hold kept in session files."""
        panels, status = self.panels, self.status
        panels.timing.drawn.connect(self.drawn)
        panels.timing.span_changed.connect(self.frames.follow)
        panels.pins.removed.connect(self.unpin)
        panels.insight.copied.connect(status.say)
        panels.insight.advice.applied.connect(self.apply)
        panels.insight.missing.set_up_asked.connect(self.engine.set_up)
        panels.insight.advice.why.connect(partial(self.dialogs.show_help, "advice"))
        panels.roofline.message.connect(status.say)
        panels.roofline.restored.connect(self.restore_run)
        panels.restored.connect(self.restore_run)
        history = panels.history
        history.notice.connect(self.show_notice)
        history.acts.message.connect(status.say)
        history.acts.restore_asked.connect(self.restore_run)
        history.acts.export_asked.connect(self.exporter.ask_stored)
        history.acts.ghost_asked.connect(self.pin_stored)
        history.acts.compare_asked.connect(self.compare)
        history.acts.stored_asked.connect(self.compare_stored)
        history.acts.open_asked.connect(self.open_group)
        history.acts.kernel_folders = lambda: self.insight.kernel_folders
        for tab in (panels.sweep, panels.tune, panels.lab, panels.block_map, panels.compare):
            tab.notice.connect(self.show_notice)
            tab.message.connect(status.say)
            tab.restored.connect(self.tuning.use if tab is panels.tune else self.restore_run)
            tab.kernel_folders = lambda: self.kernels.folders
            tab.changed.connect(self.show_state)
        panels.block_map.compared.connect(self.compare_configs)
        panels.tune.changed.connect(partial(self.tuning.look, again=True))
        self.tuning.known.connect(self.allow_commands)
        for name, part in panels.parts.items():
            self.sessions.add_part(name, part)
        self.sessions.add_part("versions", panels.kernel.editing)
        self.sessions.add_part("operators", panels.operators)
        self.sessions.add_part("accesses", panels.accesses)
        self.sessions.leave_part("lessons", panels.learn)
        self.device_box.currentIndexChanged.connect(lambda _: self.device_chosen())
        offer_engines(self.device_box, word=self.session.options.python)
        self.engine.switched.connect(self.look_for_devices)

    def _connect_commands(self) -> None:
        """Have the commands do what they say."""
        commands, session, panels = self.commands, self.session, self.panels
        dialogs, sessions = self.dialogs, self.sessions
        commands.live.toggled.connect(session.set_live)
        self.choices.connect_commands(commands)
        commands.device_plots.toggled.connect(panels.strip.more.setChecked)
        panels.strip.more.toggled.connect(commands.device_plots.setChecked)
        self.menus.recent.aboutToShow.connect(self._fill_recent)
        for action, run in (
            (commands.stop, session.stop),
            (commands.pin, self.pin),
            (commands.palette, self._show_palette),
            (commands.next_view, partial(panels.places.turn, 1)),
            (commands.previous_view, partial(panels.places.turn, -1)),
            (commands.analyse, session.analyse),
            (commands.use_tuned, self.tuning.use_tuned),
            (commands.export, self.export),
            (commands.report, partial(self.export, "html")),
            (commands.import_runs, self.importer.ask_import),
            (commands.undo, session.experiment.undo),
            (commands.redo, session.experiment.redo),
            (commands.copy_command, self.insight.copy_command),
            (commands.copy_script, self.insight.copy_script),
            (commands.open_session, sessions.ask_open),
            (commands.save_session, sessions.save),
            (commands.save_session_as, sessions.save_as),
            (commands.session_notes, dialogs.show_notes),
            (commands.open_model, self.own_files.pick),
            (commands.paste_source, self.own_files.paste),
            (commands.open_kernels, self.kernels.pick),
            (commands.open_lessons, self.own_lessons.pick),
            (commands.reload_kernels, self.kernels.reload),
            (commands.reload_kernels, self.own_lessons.reload),
            (commands.quit, self.close),
            (commands.engines, self.engine.show),
            (commands.restart_engine, self.engine.restart),
            (commands.follow, self.frames.follow),
            (commands.help, lambda: dialogs.show_help_here(panels.places.current)),
            (commands.self_test, dialogs.show_self_test),
            (commands.doctor, dialogs.show_doctor),
            (commands.about, dialogs.show_about),
        ):
            when(action, run)
        for number, action in commands.threads.items():
            when(action, partial(self.engine.use_threads, number))

    # ---- showing

    def show_knobs(self) -> None:
        """Show where the knobs stand."""
        experiment = self.session.experiment
        self.experiment_panel.sync()
        config = self.session.config
        self.tuning.look()
        self.allow_commands()
        self.insight.show_config(config, experiment.variant.teaches)
        for line in (self.panels.caption, self.insight.caption):
            line.follow(config, experiment.workload.sha256)
        missing = experiment.missing_frameworks if experiment.variant.model else ()
        self.insight.missing.show_missing(missing)
        at = self.device_box.findData(experiment.knobs.device)
        if at >= 0 and at != self.device_box.currentIndex():
            with QSignalBlocker(self.device_box):
                self.device_box.setCurrentIndex(at)

    def allow_commands(self) -> None:
        """Allow the commands that can work with the knobs where they stand."""
        tuning = self.tuning
        able.follow_knobs(self.commands, self.session, self.session.config, tuning.nothing_tuned)

    def show_devices(self) -> None:
        """Offer the devices that the engine found."""
        experiment = self.session.experiment
        if experiment.devices is None:
            return
        try:
            automatic = find_device(experiment.devices, "auto")
        except ExplorerError:
            automatic = None
        fill_device_box(self.device_box, experiment.devices, automatic)
        offer_engines(self.device_box, experiment.devices, self.session.options.python)
        with QSignalBlocker(self.device_box):
            self.device_box.setCurrentIndex(
                max(0, self.device_box.findData(experiment.knobs.device))
            )
        self.show_knobs()
        self.show_state()

    def look_for_devices(self) -> None:
        """Offer no devices of the engine that has ended while another one starts."""
        with QSignalBlocker(self.device_box):
            self.device_box.clear()
            self.device_box.addItem(tr("looking for devices…"), "auto")
        offer_engines(self.device_box, word=self.session.options.python)

    def device_chosen(self) -> None:
        """Set the knob, or open the engines and leave the device as it is."""
        experiment, chosen = self.session.experiment, self.device_box.currentData()
        if not self.engine.open_item(chosen):
            experiment.set_device(str(chosen))
            return
        with QSignalBlocker(self.device_box):
            self.device_box.setCurrentIndex(
                max(0, self.device_box.findData(experiment.knobs.device))
            )

    def show_state(self) -> None:
        """Show what can be done now, and what goes on."""
        session, commands = self.session, self.commands
        with QSignalBlocker(commands.live):
            commands.live.setChecked(session.live)
        commands.live.setText(tr("Live"))
        able.follow_state(commands, session, has_result=self.panels.has_result)
        commands.threads[self.engine.threads].setChecked(True)
        self.insight.engine = session.options.python
        for plot in (self.timing, self.traffic):
            plot.show_state()
        self.status.show_state()

    def drawn(self, ticket: int) -> None:
        """Note that samples of a run are on the screen."""
        took = self.session.requests.answered(ticket)
        if took is not None:
            self.status.answered(took)
        self.show_state()

    def show_notice(self, notice: Notice | None) -> None:
        """Show a notice in the banner; None hides one that does not stay."""
        if notice is None:
            if self._notice is None or not self._notice.stays():
                self.banner.dismiss()
            return
        self._notice = notice
        actions = tuple(
            (words, act if act is not None else self.experiment_panel.focus_block)
            for words, act in notice.actions
        )
        self.banner.say(notice.kind, notice.text, actions, notice.detail, offers=notice.offers)

    def say_started(self) -> None:
        """Say that Live has started by itself, and how to stop it."""
        self.status.say(
            "Measuring started by itself: Esc stops it, and the Run menu turns this off.", 6000
        )

    # ---- ghosts, runs

    def pin(self) -> None:
        """Keep the current run as a ghost."""
        if self.session.pin():
            self._pins_changed()
        else:
            self.status.say("Nothing to pin yet: no samples have arrived.")

    def unpin(self, number: int) -> None:
        """Let a ghost go."""
        self.session.live_model.unpin(number)
        self._pins_changed()

    def _pins_changed(self) -> None:
        self.timing.show_pins()
        self.pins.show_pins(self.session.live_model.pins)
        self.panels.roofline.refresh()

    def restore_run(self, config: RunConfig) -> None:
        """Set the knobs to those of a run, and the engine's threads where no job has it."""
        if not self.session.experiment.restore_run(config):
            self.status.say("That run's workload is not loaded any more.")
        elif config.threads in self.commands.threads:
            self.engine.follow_threads(config.threads)

    def pin_stored(self, ghost: Ghost) -> None:
        """Keep a run of the history as a ghost."""
        self.session.pin_stored(ghost)
        self._pins_changed()

    def compare(self, ids: Sequence[str]) -> None:
        """Show the Compare view with these runs of the history added."""
        self.panels.places.show_view(self.panels.compare)
        self.panels.compare.add_runs(ids)

    def compare_configs(self, found: Sequence[tuple[RunConfig, str | None]]) -> None:
        """Show the Compare view with configurations added, each to be measured in its engine."""
        self.panels.places.show_view(self.panels.compare)
        self.panels.compare.add_configs(found)

    def compare_stored(self, ids: Sequence[str]) -> None:
        """Show these runs of the history beside each other as they are."""
        self.panels.places.show_view(self.panels.compare)
        self.panels.compare.show_stored(ids)

    def open_group(self, group: str) -> None:
        """Show a sweep, map, tuning, comparison or study of the history in its view again."""

        def read(store: Store) -> OpenedGroup:
            from gpuexplorer.gui.model.group_views import opened_group

            return opened_group(store, group)

        self.status.say("Reading it from the history…", 0)
        self.session.runs.do(read, self._show_group)

    def _show_group(self, found: OpenedGroup | ExplorerError) -> None:
        self.status.say("", 0)
        if isinstance(found, ExplorerError):
            self.show_notice(Notice("warning", f"{capital(str(found))}.", detail=found.detail))
            return
        tab = self.panels.parts[found.part]
        self.panels.places.show_view(tab)
        if tab.running:
            self.status.say(
                "Something is measured in this view. Stop it first, then open this one."
            )
        else:
            tab.open_held(found.held)

    def export(self, suffix: str = "") -> None:
        """Ask where to, and write what the view in front has of its own, or else the current run
        and the ghosts; ``suffix`` is the format offered first.
        """
        try:
            places = self.panels.places
            found = self.panels.exported() or exported_session(
                self.session, roofline=places.current is self.panels.roofline
            )
        except ExplorerError as error:
            self.show_notice(Notice("warning", f"{capital(str(error))}."))
            return
        self.exporter.ask(found, suffix)

    # ---- the session's file

    def _view(self) -> View:
        from gpuexplorer.gui.model.session_document import View

        places = self.panels.places
        return View(tab=places.title_of(places.current), span_s=self.timing.span_s)

    def _show_view(self, view: View) -> None:
        shown = self.panels.places.titled(view.tab)
        if shown is not None:
            self.panels.places.show_view(shown)
        self.timing.set_span(view.span_s)

    def show_replaced(self) -> None:
        """Show another session, all of it."""
        self._pins_changed()
        self.timing.show_replaced()
        self.traffic.refresh()
        run = self.session.live_model.current
        self.panels.follow_run(run, self.session.config)
        self.panels.device.refresh()
        self.show_knobs()
        self.show_state()
        self.dialogs.follow_notes()

    def show_title(self) -> None:
        """Name the session's file, and whether it lacks changes."""
        self.setWindowTitle(as_is(self.sessions.title))
        self.setWindowModified(self.sessions.modified)

    def _show_palette(self) -> None:
        self._fill_recent()
        self.dialogs.show_palette()

    def _fill_recent(self) -> None:
        """List the latest session files in their menu."""
        menu = self.menus.recent
        menu.clear()
        for path in self.settings.recent_sessions:
            action = menu.addAction(as_is(path.name))
            action.setToolTip(as_is(str(path)))
            action.setStatusTip(as_is(str(path)))
            when(action, partial(self.sessions.open_instead, path))
        if not menu.actions():
            menu.addAction(tr("None yet")).setEnabled(False)

    def apply(self, change: Change) -> None:
        """Follow a piece of advice: the knobs in one step, the threads as far as no job has it."""
        self.session.experiment.apply(change)
        if change.threads is not None:
            self.engine.follow_threads(change.threads)

    # ---- the window's life

    def _begin(self) -> None:
        """Start what the window needs once it is up, unless it was closed by then."""
        if not self._closed:
            self.housekeeping.start()
            self.session.start()
            self.preloader.start()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint, and tell once that the window is up."""
        super().paintEvent(event)
        if not self._painted:
            self._painted = True
            QTimer.singleShot(0, self.first_paint.emit)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Ask what has to be asked, then end everything: timers, engine, worker."""
        asks = not self._closed and self.restart.left is None
        if asks and not (self._may_close() and self.sessions.may_close()):
            event.ignore()
            return
        self.close_down()
        super().closeEvent(event)

    def _may_close(self) -> bool:
        """Ask what has to be asked before the window goes, but for the session."""
        written = [files.finish() for files in (self.sessions, self.exporter)]
        return all(written) and self.engine.may_close() and self.panels.kernel.editing.may_close()

    def close_down(self) -> None:
        """Remember the layout and end everything, without a question; once."""
        if self._closed:
            return
        self._closed = True
        self.settings.set_bytes("geometry", self.saveGeometry())
        self.panels.remember(self.settings)
        self.settings.knobs = self.session.experiment.knobs
        self.settings.sync()
        self.status.close_down()
        self.tuning.close_down()
        self.panels.history.close_down()
        panels = self.panels
        for view in (
            panels.compare, panels.block_map, panels.roofline, panels.sweep, panels.tune, panels.lab
        ):  # fmt: skip
            view.close_down()
        self.idle_calibration.stop()
        self.housekeeping.stop()
        self.kernels.stop()
        self.panels.kernel.editing.take()
        self.preloader.stop()
        self.panels.kernel.close_down()
        self.panels.accesses.close_down()
        self.dialogs.close_down()
        self.engine.close_down()
        self.session.close()
        self.listener.close_down()
        self.frames.stop()
        self.importer.close_down()
        self.exporter.wait()
        self.sessions.wait()
