"""What hears what in the main window: session, views, commands."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gpuexplorer.core.shared_device import niceness, when_shared
from gpuexplorer.gui.actions import when
from gpuexplorer.gui.engine import offer_engines

if TYPE_CHECKING:
    from gpuexplorer.gui.main_window import MainWindow


def connect_session(window: MainWindow) -> None:
    """Have the window show what the session and its helpers tell."""
    session, status = window.session, window.status
    session.frame.connect(window.frames.draw)
    session.state_changed.connect(window.show_state)
    session.knobs_changed.connect(window.show_knobs)
    session.devices_changed.connect(window.show_devices)
    session.started_by_itself.connect(window.say_started)
    session.engines_asked.connect(window.engine.show)
    window.engine.message.connect(status.say)
    window.engine.help_asked.connect(partial(window.dialogs.show_help, "engines"))
    window.exporter.busy_with.connect(lambda words: status.say(words, 0))
    window.kernels.folders_changed.connect(window.insight.set_kernel_folders)
    sessions = window.sessions
    sessions.replaced.connect(window.show_replaced)
    sessions.changed.connect(window.show_title)
    sessions.sources_asked.connect(window.dialogs.show_sources)
    editing = window.panels.kernel.editing
    window.kernels.with_edits = editing.with_edits
    for one in (session, window.kernels, window.own_files, editing, sessions, window.tuning,
                window.exporter):  # fmt: skip
        one.notice.connect(window.show_notice)
    for other in (window.kernels, sessions, window.tuning):
        other.message.connect(status.say)


def connect_views(window: MainWindow) -> None:
    """Have the views' wishes done, and what they hold kept in session files."""
    panels, status = window.panels, window.status
    panels.timing.drawn.connect(window.drawn)
    panels.timing.span_changed.connect(window.frames.follow)
    panels.pins.removed.connect(window.unpin)
    panels.insight.copied.connect(status.say)
    panels.insight.advice.applied.connect(window.apply)
    panels.insight.missing.set_up_asked.connect(window.engine.set_up)
    panels.insight.advice.why.connect(partial(window.dialogs.show_help, "advice"))
    panels.roofline.message.connect(status.say)
    panels.roofline.restored.connect(window.restore_run)
    panels.restored.connect(window.restore_run)
    history = panels.history
    history.notice.connect(window.show_notice)
    history.acts.message.connect(status.say)
    history.acts.restore_asked.connect(window.restore_run)
    history.acts.export_asked.connect(window.export_record)
    history.acts.ghost_asked.connect(window.pin_stored)
    history.acts.compare_asked.connect(window.compare)
    history.acts.stored_asked.connect(window.compare_stored)
    history.acts.open_asked.connect(window.open_group)
    history.acts.kernel_folders = lambda: window.insight.kernel_folders
    for tab in (panels.sweep, panels.tune, panels.lab, panels.block_map, panels.compare):
        tab.notice.connect(window.show_notice)
        tab.message.connect(status.say)
        tab.restored.connect(window.tuning.use if tab is panels.tune else window.restore_run)
        tab.kernel_folders = lambda: window.kernels.folders
        tab.changed.connect(window.show_state)
    panels.block_map.compared.connect(window.compare_configs)
    panels.tune.changed.connect(partial(window.tuning.look, again=True))
    window.tuning.known.connect(window.allow_commands)
    for name, part in panels.parts.items():
        window.sessions.add_part(name, part)
    window.device_box.currentIndexChanged.connect(lambda _: window.device_chosen())
    offer_engines(window.device_box, word=window.session.options.python)
    window.engine.switched.connect(window.look_for_devices)


def connect_commands(window: MainWindow) -> None:
    """Have the commands do what they say."""
    commands, session, panels = window.commands, window.session, window.panels
    dialogs, sessions = window.dialogs, window.sessions
    commands.live.toggled.connect(session.set_live)
    commands.live_at_start.setChecked(window.settings.live_at_start)
    commands.live_at_start.toggled.connect(window.set_live_at_start)
    commands.calibrates_when_idle.setChecked(window.settings.calibrates_when_idle)
    commands.calibrates_when_idle.toggled.connect(window.set_calibrates_when_idle)
    commands.waits_for_others.setChecked(when_shared() == "wait")
    commands.waits_for_others.toggled.connect(window.set_waits_for_others)
    commands.leaves_processor.setChecked(niceness(0) > 0)
    commands.leaves_processor.toggled.connect(window.set_leaves_processor)
    commands.device_plots.toggled.connect(panels.strip.more.setChecked)
    panels.strip.more.toggled.connect(commands.device_plots.setChecked)
    commands.themes[window.settings.theme].setChecked(True)
    commands.text_sizes[window.settings.text_size].setChecked(True)
    window.menus.recent.aboutToShow.connect(window.fill_recent)
    for action, run in (
        (commands.stop, session.stop),
        (commands.pin, window.pin),
        (commands.palette, dialogs.show_palette),
        (commands.next_view, partial(panels.places.turn, 1)),
        (commands.previous_view, partial(panels.places.turn, -1)),
        (commands.analyse, session.analyse),
        (commands.use_tuned, window.tuning.use_tuned),
        (commands.export, window.export),
        (commands.report, partial(window.export, "html")),
        (commands.import_runs, window.importer.ask_import),
        (commands.undo, session.experiment.undo),
        (commands.redo, session.experiment.redo),
        (commands.copy_command, window.insight.copy_command),
        (commands.copy_script, window.insight.copy_script),
        (commands.open_session, sessions.ask_open),
        (commands.save_session, sessions.save),
        (commands.save_session_as, sessions.save_as),
        (commands.session_notes, dialogs.show_notes),
        (commands.open_model, window.own_files.pick),
        (commands.open_kernels, window.kernels.pick),
        (commands.reload_kernels, window.kernels.reload),
        (commands.quit, window.close),
        (commands.engines, window.engine.show),
        (commands.restart_engine, window.engine.restart),
        (commands.follow, window.frames.follow),
        (commands.help, dialogs.show_help_here),
        (commands.self_test, dialogs.show_self_test),
        (commands.doctor, dialogs.show_doctor),
        (commands.about, dialogs.show_about),
    ):
        when(action, run)
    for choice, action in commands.themes.items():
        when(action, partial(window.choose_theme, choice))
    for size, action in commands.text_sizes.items():
        when(action, partial(window.choose_text_size, size))
    for number, action in commands.threads.items():
        when(action, partial(window.engine.use_threads, number))
