"""Tune: a dialog around a tuning's view, to use and to export what was found."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QMenu, QWidget

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.gui.notice import Notice, capital
from gpuexplorer.gui.panels.result_tab import FORMATS, ask_and_write
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.settings import Settings
from gpuexplorer.gui.views.job_dialog import JobDialog
from gpuexplorer.gui.views.tune import TuneView


class TuneDialog(JobDialog):
    """Tunes the present experiment; a tuning goes on while the dialog is closed.

    ``use_asked`` carries a configuration to be set, ``notice`` what the window shall say.
    """

    use_asked = Signal(object)
    notice = Signal(object)

    def __init__(self, parent: QWidget, session: Session, settings: Settings) -> None:
        super().__init__(parent, "Tune", "tune", "tuning", settings)
        self.resize(980, 640)
        self.view = TuneView(session)
        self.view.restored.connect(self.use_asked)
        self.view.changed.connect(self._show_found)
        self.view.notice.connect(self._pass_on)
        self.exporter.notice.connect(self._pass_on)
        self.use_button = self.button(
            "&Use tuned", "Use", "Set the knobs to the configuration that was chosen"
        )
        self.use_button.clicked.connect(lambda _=False: self.use())
        self.export_button = self.button(
            "&Export", "Export", "Save the chart, or every configuration that was tried"
        )
        menu = QMenu(self.export_button)
        for suffix, words in FORMATS.items():
            menu.addAction(f"{words}…", partial(self.export, suffix))
        self.export_button.setMenu(menu)
        self.put_together(self.view, [self.use_button], [self.export_button])
        self._show_found()

    def say(self, words: str) -> None:
        """Say something below the view."""
        self.words.setText(words)

    def use(self) -> None:
        """Ask for the chosen configuration."""
        tuning = self.view.tuning
        if tuning is not None and tuning.chosen is not None:
            self.use_asked.emit(tuning.chosen)

    def export(self, suffix: str) -> None:
        """Ask for a file name and write the tuning."""
        try:
            found = self.view.exported()
        except ExplorerError as error:
            self.say(f"{capital(str(error))}.")
        else:
            ask_and_write(found, self.exporter, suffix)

    def _pass_on(self, notice: Notice) -> None:
        self.say(notice.text)
        self.notice.emit(notice)

    def _show_found(self) -> None:
        """Offer what was found."""
        tuning = self.view.tuning
        self.use_button.setEnabled(tuning is not None and tuning.chosen is not None)
        self.export_button.setEnabled(tuning is not None)
        if self.view.running:
            self.say("")

    def closeEvent(self, event: QCloseEvent) -> None:
        """Close by the frame as by the button."""
        self.reject()
        event.accept()
