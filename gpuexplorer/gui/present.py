"""Present mode: the knobs and one chart in large letters on the whole screen, and nothing else."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QAction, QFont, QKeyEvent
from PySide6.QtWidgets import QApplication, QMainWindow, QToolBar, QWidget

from gpuexplorer.gui.layout import Panels
from gpuexplorer.gui.panel_rooms import PanelRooms
from gpuexplorer.gui.show.table import SheetTable
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.views.job_form import JobForm

LARGER = 1.45
"""Times the usual size of letters."""
BESIDE = (SheetTable, JobForm)
"""What stands beside a view's chart."""
HIDDEN = "hiddenWhilePresented"
"""A property of what was seen before, and is hidden now.

It stands in the widgets, and no list of them here: Qt for Python may give up the object that stands
for a widget which lives on.
"""


class Present(QObject):
    """Hides everything but the knobs and the front view's chart while its action is checked.

    Esc ends it, as the action's key does. Whatever was hidden by the user before stays so
    afterwards.
    """

    def __init__(
        self,
        window: QMainWindow,
        panels: Panels,
        rooms: PanelRooms,
        action: QAction,
    ) -> None:
        super().__init__(window)
        self._window, self._panels, self._rooms = window, panels, rooms
        self._action = action
        self._font = QApplication.font()
        self._state = window.windowState()
        self._knobs_px = panels.experiment.minimumWidth()
        self._sizes: list[int] = []
        action.toggled.connect(self._set)
        panels.places.changed.connect(self._hide_beside)
        window.installEventFilter(self)

    @property
    def on(self) -> bool:
        """Whether it is presented."""
        return self._action.isChecked()

    def _around(self) -> list[QWidget]:
        """Return what is around knobs and chart."""
        window, panels = self._window, self._panels
        bars: list[QWidget] = [window.menuBar(), window.statusBar(), *window.findChildren(QToolBar)]
        return [
            *bars, panels.welcome, panels.places.row, panels.insight, panels.history, panels.strip,
            panels.traffic, panels.caption, panels.pins,
        ]  # fmt: skip

    def _set(self, on: bool) -> None:
        window, panels = self._window, self._panels
        if on:
            self._state, self._sizes = window.windowState(), panels.across.sizes()
            self._font = QApplication.font()
            self._rooms.hold(on=True)
            self._hide(self._around())
            self._hide_beside()
            larger = QFont(self._font)
            larger.setPointSizeF(self._font.pointSizeF() * LARGER)
            QApplication.setFont(larger)
            theme().enlarge(larger.pointSizeF())
            panels.experiment.setMinimumWidth(round(self._knobs_px * LARGER))
            window.showFullScreen()
            return
        QApplication.setFont(self._font)
        theme().enlarge(None)
        panels.experiment.setMinimumWidth(self._knobs_px)
        window.setWindowState(self._state & ~Qt.WindowState.WindowMinimized)
        for widget in [*self._around(), *self._beside(window)]:
            if widget.property(HIDDEN):
                widget.setProperty(HIDDEN, None)
                widget.setVisible(True)
        self._rooms.hold(on=False)
        panels.across.setSizes(self._sizes)

    def _hide(self, widgets: list[QWidget]) -> None:
        for widget in widgets:
            if not widget.isHidden():
                widget.hide()
                widget.setProperty(HIDDEN, True)

    def _hide_beside(self) -> None:
        """Leave the chart alone in the view that is in front."""
        if self.on:
            self._hide(self._beside(self._panels.places.current))

    @staticmethod
    def _beside(place: QWidget) -> list[QWidget]:
        """Return what stands beside charts there."""
        return [widget for kind in BESIDE for widget in place.findChildren(kind)]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """End it with Esc, before that is a command's."""
        if self.on and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            if event.type() == QEvent.Type.ShortcutOverride:
                event.accept()
                return True
            if event.type() == QEvent.Type.KeyPress:
                self._action.setChecked(False)
                return True
        return super().eventFilter(watched, event)
