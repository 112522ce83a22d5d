"""The history's room: it gives way to the charts where the window is low."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QAction, QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

from gpuexplorer.gui.panels.history import HistoryPanel
from gpuexplorer.gui.settings import Settings

LOW_WINDOW = 760
"""Pixels: in a window lower than this the history folds away by itself."""


class HistoryRoom(QObject):
    """Folds the history away and back with the window's height; what the user chose wins.

    A choice lasts, over restarts too, until the user chooses what the height would give.
    """

    def __init__(
        self, window: QWidget, shown: QAction, panel: HistoryPanel, settings: Settings
    ) -> None:
        """``shown`` is the checkable command that shows the panel."""
        super().__init__(window)
        self._window, self._shown = window, shown
        self._panel, self._settings = panel, settings
        shown.triggered.connect(self._choose)
        find = QShortcut(QKeySequence("Ctrl+F"), window)
        find.activated.connect(self._search)
        window.installEventFilter(self)

    @property
    def _fits(self) -> bool:
        return self._window.height() >= LOW_WINDOW

    def _choose(self, on: bool) -> None:
        self._settings.history_shown = None if on == self._fits else on

    def _search(self) -> None:
        """Let the user type what to search; that needs the panel."""
        if not self._shown.isChecked():
            self._shown.trigger()
        self._panel.focus_search()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the window's height."""
        if event.type() == QEvent.Type.Resize:
            chosen = self._settings.history_shown
            self._shown.setChecked(self._fits if chosen is None else chosen)
        return super().eventFilter(watched, event)
