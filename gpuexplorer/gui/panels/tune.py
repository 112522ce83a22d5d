"""Tune: a dialog around a tuning's view, to use and to export what was found."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QDialog, QHBoxLayout, QMenu, QPushButton, QVBoxLayout, QWidget

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.gui.export import Exporter
from gpuexplorer.gui.help import PAGE
from gpuexplorer.gui.notice import Notice, capital
from gpuexplorer.gui.panels.result_tab import FORMATS, ask_and_write
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.settings import Settings
from gpuexplorer.gui.views.tune import TuneView
from gpuexplorer.gui.widgets.words import Words


class TuneDialog(QDialog):
    """Tunes the present experiment; a tuning goes on while the dialog is closed.

    ``use_asked`` carries a configuration to be set, ``notice`` what the window shall say.
    """

    use_asked = Signal(object)
    notice = Signal(object)

    def __init__(self, parent: QWidget, session: Session, settings: Settings) -> None:
        super().__init__(parent)
        self.setObjectName("tuneDialog")
        self.setProperty(PAGE, "tuning")
        self.setWindowTitle("Tune")
        self.resize(980, 640)
        self.view = TuneView(session)
        self.view.restored.connect(self.use_asked)
        self.view.message.connect(self.say)
        self.view.changed.connect(self._show_found)
        self.view.notice.connect(self._pass_on)
        self.exporter = Exporter(self, settings)
        self.exporter.notice.connect(self._pass_on)
        self.use_button = QPushButton("&Use tuned")
        self.use_button.setObjectName("tuneUse")
        self.use_button.setToolTip("Set the knobs to the configuration that was chosen")
        self.use_button.clicked.connect(lambda _=False: self.use())
        self.export_button = QPushButton("&Export")
        self.export_button.setObjectName("tuneExport")
        self.export_button.setToolTip("Save the chart, or every configuration that was tried")
        menu = QMenu(self.export_button)
        for suffix, words in FORMATS.items():
            menu.addAction(f"{words}…", partial(self.export, suffix))
        self.export_button.setMenu(menu)
        close_button = QPushButton("C&lose")
        close_button.setObjectName("tuneClose")
        close_button.clicked.connect(lambda _=False: self.reject())
        self.words = Words()
        self.words.setObjectName("tuneMessage")
        foot = QHBoxLayout()
        foot.setContentsMargins(12, 6, 12, 10)
        foot.setSpacing(8)
        foot.addWidget(self.use_button)
        foot.addWidget(self.words, 1)
        foot.addWidget(self.export_button)
        foot.addWidget(close_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.view, 1)
        column.addLayout(foot)
        for button in self.findChildren(QPushButton):
            button.setAutoDefault(False)
        self.view.head.start.setDefault(True)
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

    def close_down(self) -> None:
        """Close, and end what the view has started; the session ends the job."""
        self.reject()
        self.view.close_down()
        self.exporter.wait()

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
