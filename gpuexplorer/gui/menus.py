"""Where the window's commands stand: the menus and the toolbar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from PySide6.QtCore import SIGNAL, QEvent, QObject, QSize, Qt
from PySide6.QtGui import QAction, QActionEvent
from PySide6.QtWidgets import (
    QLabel,
    QMenu,
    QMenuBar,
    QSizePolicy,
    QToolBar,
    QWidget,
)

from gpuexplorer.core.language import tr
from gpuexplorer.gui.actions import THREADS_TIP, Commands
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.typeface import for_text, show_names
from gpuexplorer.gui.widgets.list_box import ListBox


class Menus:
    """The menus of the window's menu bar; ``panels`` are the actions that show and hide parts.

    ``views`` are those that show a view, by place, and ``welcome`` shows the welcome.
    """

    def __init__(
        self,
        bar: QMenuBar,
        commands: Commands,
        panels: Sequence[QAction],
        views: Mapping[str, Sequence[QAction]],
        welcome: QAction,
    ) -> None:
        file = bar.addMenu(tr("&File"))
        file.addAction(commands.open_session)
        self.recent = QMenu(tr("Recent sessions"), file)
        self.recent.setObjectName("recentSessions")
        file.addMenu(self.recent)
        file.addActions([commands.save_session, commands.save_session_as, commands.session_notes])
        file.addSeparator()
        file.addActions(
            [
                commands.open_model,
                commands.paste_source,
                commands.open_kernels,
                commands.open_lessons,
            ]
        )
        file.addAction(commands.reload_kernels)
        file.addSeparator()
        file.addActions([commands.export, commands.report, commands.import_runs])
        file.addSeparator()
        file.addAction(commands.quit)
        edit = bar.addMenu(tr("&Edit"))
        edit.addActions([commands.undo, commands.redo])
        edit.addSeparator()
        edit.addActions([commands.copy_command, commands.copy_script])
        edit.addSeparator()
        edit.addAction(commands.palette)
        run = bar.addMenu(tr("&Run"))
        run.addActions([commands.live, commands.stop, commands.pin, commands.analyse])
        run.addSeparator()
        run.addActions([commands.use_tuned])
        run.addSeparator()
        run.addActions([commands.live_at_start])
        run.addMenu(threads_menu(run, commands))
        view = bar.addMenu(tr("&View"))
        for place, shown in views.items():
            menu = QMenu(tr(place), view)
            menu.setToolTipsVisible(True)
            menu.addActions(list(shown))
            view.addMenu(menu)
        view.addActions([commands.next_view, commands.previous_view])
        view.addSeparator()
        view.addActions(list(commands.themes.values()))
        text_size = QMenu(tr("Text size"), view)
        text_size.addActions(list(commands.text_sizes.values()))
        view.addMenu(text_size)
        view.addSeparator()
        view.addActions(list(panels))
        view.addSeparator()
        view.addActions([commands.device_plots, commands.follow, commands.present])
        settings = bar.addMenu(tr("&Settings"))
        settings.addActions([commands.engines, commands.restart_engine])
        settings.addSeparator()
        if len(commands.languages) > 2:  # another one than English
            spoken = QMenu(tr("Language"), settings)
            spoken.setObjectName("languageMenu")
            spoken.setToolTipsVisible(True)
            spoken.addActions(list(commands.languages.values()))
            spoken.aboutToShow.connect(partial(show_names, spoken.actions()))
            settings.addMenu(spoken)
            settings.addSeparator()
        settings.addAction(commands.calibrates_when_idle)
        settings.addActions([commands.waits_for_others, commands.leaves_processor])
        about = bar.addMenu(tr("&Help"))
        about.addActions(
            [commands.help, welcome, commands.self_test, commands.doctor, commands.about]
        )
        for menu in (file, edit, run, view, settings, about):
            menu.setToolTipsVisible(True)  # where a command is grey, they say why


def threads_menu(parent: QMenu, commands: Commands) -> QMenu:
    """Return a menu of the numbers of CPU threads, which says what they are for."""
    menu = QMenu(tr("CPU threads"), parent)
    menu.setObjectName("threadsMenu")
    line = " ".join(tr(THREADS_TIP).splitlines())
    menu.menuAction().setToolTip(tr(THREADS_TIP))
    menu.menuAction().setStatusTip(line)
    menu.setToolTipsVisible(True)
    menu.addActions(list(commands.threads.values()))
    return menu


DEVICE_LEAST_WIDTH = 80
"""So narrow the list of devices may be that it stays in a bar of 640: 1280 at 200 %."""


class MainBar(QToolBar):
    """The toolbar: live, stop, pin, export, and the device at the right."""

    def __init__(self, commands: Commands) -> None:
        super().__init__(tr("Main"))
        self._commands = commands
        self.setObjectName("toolbar")
        self.setMovable(False)
        self.setIconSize(QSize(for_text(16), for_text(16)))
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self._add(commands.live, "liveButton")
        self._add(commands.stop, "stopButton")
        self.addSeparator()
        self._add(commands.pin, "pinButton")
        self._add(commands.use_tuned, "useTunedButton")
        self._add(commands.export, "exportButton")
        spacer = QWidget()
        spacer.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.addWidget(spacer)
        label = QLabel(tr("Device"))
        label.setContentsMargins(0, 0, 4, 0)
        label.setProperty("role", "muted")
        self.addWidget(label)
        self.device_box = ListBox("deviceBox", "Where kernels run")
        self.device_box.setSizeAdjustPolicy(
            ListBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.device_box.setMinimumContentsLength(30)
        self.device_box.setMinimumWidth(for_text(DEVICE_LEAST_WIDTH))
        self.device_box.addItem(tr("looking for devices…"), "auto")
        self.addWidget(self.device_box)
        theme().changed.connect(self._repaint_theme)
        self._repaint_theme()

    def _add(self, action: QAction, name: str) -> None:
        self.addAction(action)
        button = self.widgetForAction(action)
        button.setObjectName(name)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Have a button listen to its command once, as it begins anew whenever that changes.

        (Qt 6.10: each of these took memory, and all were called at the next change.)
        """
        if isinstance(event, QActionEvent) and event.type() == QEvent.Type.ActionChanged:
            QObject.disconnect(event.action(), SIGNAL("changed()"), watched, None)  # type: ignore[call-overload]
        return super().eventFilter(watched, event)

    def _repaint_theme(self) -> None:
        colours = theme()
        self._commands.live.setIcon(colours.icon("live", "accent_text"))
        self._commands.stop.setIcon(colours.icon("stop"))
        self._commands.pin.setIcon(colours.icon("pin"))
        self._commands.use_tuned.setIcon(colours.icon("tune"))
        self._commands.export.setIcon(colours.icon("export"))
