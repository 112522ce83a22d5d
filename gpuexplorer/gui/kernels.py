"""The user's own folders of workloads: opened, remembered, read again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.gui.notice import Notice
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.settings import Settings
from gpuexplorer.workloads.loader import (
    is_own_file,
    load,
    own_workload,
    read_folder,
    workload_folders,
)
from gpuexplorer.workloads.own_model import is_model_file
from gpuexplorer.workloads.workload import Workload


class Kernels(QObject):
    """Reads folders into the session's experiment.

    ``folders_changed`` carries the folders in use, ``notice`` a sentence for the banner
    or None to hide it,
    ``message`` one for the status bar.
    """

    folders_changed = Signal(object)
    notice = Signal(object)
    message = Signal(str)

    def __init__(
        self, window: QWidget, session: Session, settings: Settings, given: Sequence[Path]
    ) -> None:
        super().__init__(window)
        self._window, self._session, self._settings = window, session, settings
        self._given = tuple(given)
        self.ask_trust: Callable[[Path, Callable[[], None]], bool] = lambda path, then: False
        """Asks about a model's file that is new, and goes on once it is agreed to."""

    @property
    def folders(self) -> list[Path]:
        """The user's folders: those of the command line and those opened here."""
        return list(dict.fromkeys([*self._given, *self._settings.kernel_folders]))

    def pick(self) -> None:
        """Ask for a folder and open it."""
        name = QFileDialog.getExistingDirectory(
            self._window, "Open kernels folder", str(Path.home())
        )
        if name:
            self.open(Path(name))

    def open(self, folder: Path) -> None:
        """Add a folder of workloads, or a model's file, and choose its first one."""
        try:
            own = (
                [own_workload(folder).name]
                if is_own_file(folder)
                else [Workload(read_folder(f)).name for f in workload_folders(folder)]
            )
            workloads = load([*self.folders, folder])
        except ExplorerError as error:
            self._refuse(error)
            return
        if folder not in self.folders:
            self._settings.kernel_folders = [*self._settings.kernel_folders, folder]
        self._take(workloads)
        if own:
            self._session.experiment.set_workload(own[0])
        self.notice.emit(Notice("info", f"Loaded {', '.join(own)} from {folder}."))

    def reload(self) -> None:
        """Read every folder and model's file again, and measure what is in it now."""
        if any(is_model_file(f) and self.ask_trust(f, self.reload) for f in self.folders):
            return
        try:
            workloads = load(self.folders)
        except ExplorerError as error:
            self._refuse(error)
            return
        self.notice.emit(None)  # what went wrong did so with the sources as they were
        self._take(workloads)
        self._session.kernels_reloaded()
        self.message.emit(f"{len(workloads)} workloads read.")

    def _take(self, workloads: dict[str, Workload]) -> None:
        self.folders_changed.emit(self.folders)
        self._session.experiment.set_workloads(workloads)

    def _refuse(self, error: ExplorerError) -> None:
        self.notice.emit(Notice("bad", f"{error}.", detail=error.detail))
