"""Files of one's own in the window: opened, dropped, agreed to; they run in the engine alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QWidget

from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.language import tr
from gpuexplorer.gui.drops import FileDrops, dropped_file
from gpuexplorer.gui.kernels import Kernels
from gpuexplorer.gui.notice import Notice, capital
from gpuexplorer.workloads.kernel_answers import Answers
from gpuexplorer.workloads.loader import (
    is_own_file,
    keep_manifest,
    kernel_sources,
    own_name,
    programs_of,
)
from gpuexplorer.workloads.own_kernel import SUFFIX as KERNEL_SUFFIX
from gpuexplorer.workloads.own_kernel import is_kernel_file, manifest_path
from gpuexplorer.workloads.programs import SUFFIX as MODEL_SUFFIX
from gpuexplorer.workloads.programs import Program
from gpuexplorer.workloads.trust import programs, trust, untrusted

if TYPE_CHECKING:
    from gpuexplorer.gui.panels.kernel_sheet import KernelSheet
    from gpuexplorer.gui.panels.own_model import TrustDialog

FILTER = f"Models and CUDA files (*{MODEL_SUFFIX} *{KERNEL_SUFFIX})"


class OwnFiles(QObject):
    """Opens model files, once the user agreed to run them, and CUDA files, once described.

    ``notice`` carries a sentence for the banner.
    """

    notice = Signal(object)

    def __init__(self, window: QWidget, kernels: Kernels) -> None:
        super().__init__(window)
        self._window, self._kernels = window, kernels
        self.dialog: TrustDialog | None = None
        self.sheet: KernelSheet | None = None
        """The questions about a CUDA file, while they are asked."""
        kernels.ask_trust = self._ask_before
        FileDrops(window, is_own_file, self.open)

    # ---- opening

    def pick(self) -> None:
        """Ask for a file and open it."""
        folder = next((f.parent for f in self._kernels.folders if is_own_file(f)), Path.home())
        name, _ = QFileDialog.getOpenFileName(
            self._window, tr("Open file"), str(folder), tr(FILTER)
        )
        if name:
            self.open(Path(name))

    def paste(self) -> None:
        """Open the file that was copied elsewhere, or the source, which becomes a file of ours."""
        from gpuexplorer.gui.code.pasted import keep_pasted

        copied = QGuiApplication.clipboard().mimeData()
        path = dropped_file(copied.urls(), is_own_file)
        try:
            self.open(path if path is not None else keep_pasted(copied.text()))
        except ExplorerError as error:
            self._refuse(error)

    def open(self, path: Path) -> None:
        """Read a file, ask about it if it is new, and choose it as the workload."""
        path = path.absolute()
        if is_kernel_file(path) and not manifest_path(path).is_file():
            self._describe(path)
        else:
            self._open_described(path)

    def _open_described(self, path: Path) -> None:
        """Open a file that is a workload, once the user agreed to the programs in it."""
        try:
            wanted = untrusted(programs_of(path))
        except ExplorerError as error:
            self._refuse(error)
            return
        if wanted is None:
            self._kernels.open(path)
        else:
            self._ask(wanted, lambda: self._open_described(path))

    def _describe(self, path: Path) -> None:
        """Have a CUDA file described that has no manifest yet, and open it."""
        if self.sheet is not None:
            return
        from gpuexplorer.gui.panels.kernel_sheet import KernelSheet

        try:
            sheet = KernelSheet(self._window, kernel_sources(path)[path.name], path, own_name(path))
        except ExplorerError as error:
            self._refuse(error)
            return
        self.sheet = sheet
        sheet.finished.connect(lambda answer: self._described(path, sheet.answers, bool(answer)))
        sheet.open()

    def _described(self, path: Path, answers: Answers, agreed: bool) -> None:
        self.sheet = None
        if not agreed:
            return
        try:
            keep_manifest(path, answers)
        except ExplorerError as error:
            self._refuse(error)
            return
        self._open_described(path)

    def ask_at_start(self) -> None:
        """Ask about the first program of what was named or remembered that is not agreed to."""
        wanted = untrusted(p for one in self._kernels.loaded for p in programs(one))
        if wanted is not None:
            self._ask(wanted, self._kernels.reload)

    def _ask_before(self, path: Path, then: Callable[[], None]) -> bool:
        """Ask about a file's programs if they need it, and go on with ``then``; False: no need."""
        try:
            wanted = untrusted(programs_of(path))
        except ExplorerError:
            return False  # reading it for the run says why
        if wanted is None:
            return False
        self._ask(wanted, then)
        return True

    def _ask(self, program: Program, then: Callable[[], None]) -> None:
        if self.dialog is not None:
            return  # one question at a time
        from gpuexplorer.gui.panels.own_model import TrustDialog

        dialog = self.dialog = TrustDialog(self._window, program)
        dialog.finished.connect(lambda answer: self._answered(program, bool(answer), then))
        dialog.open()

    def _answered(self, program: Program, agreed: bool, then: Callable[[], None]) -> None:
        self.dialog = None
        if not agreed:
            self.notice.emit(Notice("info", f"{program.path.name} was not run."))
            return
        try:
            trust(program)
        except InputError as error:
            self.notice.emit(Notice("warning", f"The agreement is not remembered: {error}."))
        then()

    def _refuse(self, error: ExplorerError) -> None:
        self.notice.emit(Notice("bad", f"{capital(str(error))}.", detail=error.detail))
