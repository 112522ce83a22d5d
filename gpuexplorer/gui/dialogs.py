"""The window's smaller windows: help, self-test, doctor, notes, sources of a session, about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QApplication, QMainWindow, QWidget

from gpuexplorer.gui import notice as notices
from gpuexplorer.gui.help_here import PAGE, page_of
from gpuexplorer.gui.kernels import Kernels
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.session_file import SessionFiles
from gpuexplorer.gui.settings import Settings

if TYPE_CHECKING:
    from gpuexplorer.gui.doctor import DoctorDialog
    from gpuexplorer.gui.help import HelpWindow
    from gpuexplorer.gui.info_dialog import AboutDialog
    from gpuexplorer.gui.palette import Palette
    from gpuexplorer.gui.session_dialogs import NotesDialog
    from gpuexplorer.gui.views.selftest import SelfTestDialog


class Dialogs(QObject):
    """Makes each when it is first asked for; ``notice`` and ``message`` as of a session."""

    notice = Signal(object)
    message = Signal(str)

    def __init__(
        self,
        window: QMainWindow,
        session: Session,
        settings: Settings,
        sessions: SessionFiles,
        kernels: Kernels,
    ) -> None:
        super().__init__(window)
        self._window, self._session, self._settings = window, session, settings
        self._sessions, self._kernels = sessions, kernels
        self.help: HelpWindow | None = None
        self.doctor: DoctorDialog | None = None
        self.about: AboutDialog | None = None
        self.self_test: SelfTestDialog | None = None
        self.notes: NotesDialog | None = None
        self.palette: Palette | None = None

    def show_help(self, page: str = "reading-the-plots", section: str = "") -> None:
        """Open the help pages, at a heading of the page where one is named."""
        from gpuexplorer.gui.help import HelpWindow

        if self.help is None:
            self.help = HelpWindow(self._window)
        self.help.open_page(page, section)

    def show_help_here(self, front: QWidget) -> None:
        """Open the page on what has the focus, or on the view in front."""
        page = page_of(QApplication.focusWidget()) or page_of(front)
        self.show_help(page or "reading-the-plots")

    def show_palette(self) -> None:
        """Open the list of all commands."""
        from gpuexplorer.gui.palette import Palette, entries

        if self.palette is None:
            self.palette = Palette(self._window, lambda: entries(self._window.menuBar()))
        self.palette.open_over(self._window)

    def show_self_test(self) -> None:
        """Open the self-test for the chosen device; a run ends only when it starts."""
        from gpuexplorer.gui.views.selftest import SelfTestDialog

        session = self._session
        if session.experiment.device is None:
            self.message.emit("There is no device yet.")
            return
        if session.jobs.current is not None:
            self.notice.emit(notices.engine_busy(session.jobs.current.doing))
            return
        if self.self_test is None:
            self.self_test = SelfTestDialog(self._window, session, self._settings)
            self.self_test.view.kernel_folders = lambda: self._kernels.folders
        self.self_test.open()

    def show_notes(self) -> None:
        """Open the session's notes."""
        from gpuexplorer.gui.session_dialogs import NotesDialog

        sessions = self._sessions
        if self.notes is None:
            self.notes = NotesDialog(self._window)
            self.notes.changed.connect(sessions.set_notes)
        self.notes.show_notes(sessions.notes)
        self.notes.show()
        self.notes.raise_()

    def follow_notes(self) -> None:
        """Show the notes of the session that is shown now, where they are open."""
        if self.notes is not None:
            self.notes.show_notes(self._sessions.notes)

    def show_sources(self) -> None:
        """Show the kernel sources that the opened file brought, as text."""
        from gpuexplorer.gui.session_dialogs import SourcesDialog

        path, kernels = self._sessions.path, self._sessions.foreign_kernels()
        if path is not None and kernels:
            SourcesDialog(self._window, path.name, kernels).show()

    def show_doctor(self) -> None:
        """Check the installation, and show what was found; Live goes on afterwards."""
        from gpuexplorer.gui.doctor import DoctorDialog

        if self.doctor is None:
            self.doctor = DoctorDialog(self._window, self._session)
            self.doctor.setProperty(PAGE, "self-test")
        if self.doctor.isVisible() or self.doctor.check():
            self.doctor.show()
            self.doctor.raise_()
            self.doctor.activateWindow()

    def show_about(self) -> None:
        """Say what this is."""
        from gpuexplorer.gui.info_dialog import AboutDialog

        if self.about is None:
            self.about = AboutDialog(self._window)
        self.about.open()

    def close_down(self) -> None:
        """End the self-test and the doctor."""
        if self.self_test is not None:
            self.self_test.close_down()
        if self.doctor is not None:
            self.doctor.reject()
