"""Model files in the window: opened, dropped, agreed to; they run in the engine alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QUrl, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QFileDialog, QWidget

from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.gui.kernels import Kernels
from gpuexplorer.gui.notice import Notice, capital
from gpuexplorer.workloads.own_model import SUFFIX, ModelFile, is_model_file, read_model
from gpuexplorer.workloads.trust import is_trusted, trust

if TYPE_CHECKING:
    from gpuexplorer.gui.panels.own_model import TrustDialog

FILTER = f"Python files (*{SUFFIX})"


class OwnModels(QObject):
    """Opens model files as workloads, once the user agreed to run them.

    ``notice`` carries a sentence for the banner.
    """

    notice = Signal(object)

    def __init__(self, window: QWidget, kernels: Kernels) -> None:
        super().__init__(window)
        self._window, self._kernels = window, kernels
        self.dialog: TrustDialog | None = None
        kernels.ask_trust = self._ask_before
        window.installEventFilter(self)

    # ---- opening

    def pick(self) -> None:
        """Ask for a file and open it."""
        folder = next((f.parent for f in self._kernels.folders if is_model_file(f)), Path.home())
        name, _ = QFileDialog.getOpenFileName(self._window, "Open model file", str(folder), FILTER)
        if name:
            self.open(Path(name))

    def open(self, path: Path) -> None:
        """Read a file, ask about it if it is new, and choose it as the workload."""
        path = path.absolute()
        try:
            model = read_model(path)
        except ExplorerError as error:
            self._refuse(error)
            return
        self._ask(model, lambda: self._kernels.open(path))

    def ask_at_start(self) -> None:
        """Ask about the first file that was named or remembered and is not agreed to."""
        for path in self._kernels.folders:
            if is_model_file(path) and self._ask_before(path, self._kernels.reload):
                return

    def _ask_before(self, path: Path, then: Callable[[], None]) -> bool:
        """Ask about a file if it needs it, and go on with ``then``; False: no need to ask."""
        try:
            model = read_model(path)
        except ExplorerError:
            return False  # reading it for the run says why
        if is_trusted(model.sha256):
            return False
        self._ask(model, then)
        return True

    def _ask(self, model: ModelFile, then: Callable[[], None]) -> None:
        if is_trusted(model.sha256):
            then()
            return
        if self.dialog is not None:
            return  # one question at a time
        from gpuexplorer.gui.panels.own_model import TrustDialog

        dialog = self.dialog = TrustDialog(self._window, model)
        dialog.finished.connect(lambda answer: self._answered(model, bool(answer), then))
        dialog.open()

    def _answered(self, model: ModelFile, agreed: bool, then: Callable[[], None]) -> None:
        self.dialog = None
        if not agreed:
            self.notice.emit(Notice("info", f"{model.path.name} was not run."))
            return
        try:
            trust(model)
        except InputError as error:
            self.notice.emit(Notice("warning", f"The agreement is not remembered: {error}."))
        then()

    def _refuse(self, error: ExplorerError) -> None:
        self.notice.emit(Notice("bad", f"{capital(str(error))}.", detail=error.detail))

    # ---- dropped files

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take Python files that are dropped on the window."""
        if isinstance(event, QDragEnterEvent) and event.type() == QEvent.Type.DragEnter:
            if dropped_model(event.mimeData().urls()) is not None:
                event.acceptProposedAction()
                return True
        if isinstance(event, QDropEvent) and event.type() == QEvent.Type.Drop:
            path = dropped_model(event.mimeData().urls())
            if path is not None:
                event.acceptProposedAction()
                self.open(path)
                return True
        return super().eventFilter(watched, event)


def dropped_model(urls: list[QUrl]) -> Path | None:
    """Return the Python file among what was dropped; None unless it is one file and local."""
    if len(urls) != 1 or not urls[0].isLocalFile():
        return None
    path = Path(urls[0].toLocalFile())
    return path if is_model_file(path) else None
