"""The room of the panels around the views: in a small window they give way to the charts."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QAction, QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

from gpuexplorer.gui.layout import VIEWS_WIDTH, Panels
from gpuexplorer.gui.settings import Settings
from gpuexplorer.gui.typeface import for_text

LOW_WINDOW, LOWEST_WINDOW = 760, 560
"""Pixels: in a window lower than this the history folds away by itself, and the device's strip."""


class PanelRooms(QObject):
    """Folds panels away and back with the window's size; what the user chose wins.

    The history and the device's strip follow the height. Where the width has no room for both
    columns beside the views, only one of them is shown: the knobs, or the one that was asked for
    last. A choice of the history lasts, over restarts too, until the user chooses what the height
    would give.
    """

    def __init__(
        self,
        window: QWidget,
        panels: Panels,
        settings: Settings,
        *,
        experiment: QAction,
        insight: QAction,
        history: QAction,
        strip: QAction,
    ) -> None:
        """The actions are the checkable commands that show the panels."""
        super().__init__(window)
        self._window, self._panels, self._settings = window, panels, settings
        self._history, self._strip = history, strip
        self._held = False
        """Whether nothing is folded away or back for now."""
        self._strip_hidden = False
        """Whether the user hid it."""
        self._columns: dict[QAction, QWidget] = {
            experiment: panels.experiment,
            insight: panels.insight,
        }
        self._hidden: set[QAction] = set()
        """Columns that the user hid."""
        self._first = experiment
        """The column that is shown where only one can be."""
        history.triggered.connect(self._choose_history)
        strip.triggered.connect(self._choose_strip)
        for action in self._columns:
            action.triggered.connect(lambda on, one=action: self._choose_column(one, on=on))
        find = QShortcut(QKeySequence("Ctrl+F"), window)
        find.activated.connect(self._search)
        window.installEventFilter(self)
        panels.across.installEventFilter(self)

    @property
    def _high(self) -> bool:
        return self._window.height() >= for_text(LOW_WINDOW)

    def _choose_history(self, on: bool) -> None:
        self._settings.history_shown = None if on == self._high else on

    def _choose_strip(self, on: bool) -> None:
        self._strip_hidden = not on

    def _choose_column(self, action: QAction, *, on: bool) -> None:
        if on:
            self._first = action
            self._hidden.discard(action)
        else:
            self._hidden.add(action)
        self._fit_width()

    def _show_strip(self, on: bool) -> None:
        """Show the strip or not, also in a view that is not in front, whose least size it makes."""
        if on == self._strip.isChecked():
            return
        self._strip.setChecked(on)
        layout = self._panels.live.layout()
        if layout is not None:
            layout.invalidate()
        self._panels.places.room.updateGeometry()

    def _search(self) -> None:
        """Let the user type what to search; that needs the panel."""
        if not self._history.isChecked():
            self._history.trigger()
        self._panels.history.focus_search()

    def hold(self, *, on: bool) -> None:
        """Leave the panels as they are for now, or follow the window's size again."""
        self._held = on
        if not on:
            self.fit_height()
            self._fit_width()

    def fit_height(self) -> None:
        """Show the history and the strip where the height has room for them.

        Before the window is shown as well: with them it would open larger than it was given.
        """
        chosen = self._settings.history_shown
        self._history.setChecked(self._high if chosen is None else chosen)
        high = self._window.height() >= LOWEST_WINDOW
        self._show_strip(high and not self._strip_hidden)

    def _fit_width(self) -> None:
        """Show the columns that the width has room for, the first in any case."""
        left = self._panels.width() - VIEWS_WIDTH
        for action in sorted(self._columns, key=lambda one: one is not self._first):
            needed = self._columns[action].minimumWidth() + self._panels.across.handleWidth()
            wanted = action not in self._hidden
            action.setChecked(wanted and (needed <= left or action is self._first))
            left -= needed if wanted else 0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the window's size, and the widths that the columns need."""
        if self._held:
            return super().eventFilter(watched, event)
        if watched is self._panels.across:
            if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
                self._fit_width()
        elif event.type() == QEvent.Type.Resize:
            self.fit_height()
        return super().eventFilter(watched, event)
