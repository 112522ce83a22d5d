"""The Compare view: two or more runs, measured in turns. Its parts are made when first needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.result import RunResult
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.settings import Settings

if TYPE_CHECKING:
    from gpuexplorer.gui.panels.compare_bench import CompareBench

RUNS_MIME = "application/x-gpuexplorer-runs"
"""Dragged rows of the history: the runs' ids, one a line."""

Found = list[RunResult] | ExplorerError
Fetch = Callable[[Sequence[str], Callable[[Found], None]], None]
"""Finds stored runs by their ids, without their samples, and hands them over when found."""


class CompareView(QWidget):
    """Takes runs that are dropped on it; what it does is its ``bench``'s.

    ``kept`` carries a finished comparison, ``restored`` a configuration for the knobs, ``said`` a
    sentence for the status bar.
    """

    kept = Signal(object)
    restored = Signal(object)
    said = Signal(str)

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.setObjectName("compareView")
        self.setAutoFillBackground(True)
        self.setBackgroundRole(self.palette().ColorRole.Base)
        self.setAcceptDrops(True)
        self._session = session
        self._settings = Settings()
        self._bench: CompareBench | None = None
        self.fetch: Fetch | None = None
        """Where stored runs come from; the window says."""
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)

    @property
    def built(self) -> bool:
        """Whether its parts were made."""
        return self._bench is not None

    @property
    def bench(self) -> CompareBench:
        """Its parts."""
        if self._bench is None:
            from gpuexplorer.gui.panels.compare_bench import CompareBench

            bench = self._bench = CompareBench(self._session, self._settings)
            bench.kept.connect(self.kept)
            bench.restored.connect(self.restored)
            bench.said.connect(self.said)
            layout = self.layout()
            assert layout is not None
            layout.addWidget(bench)
        return self._bench

    def showEvent(self, event: QShowEvent) -> None:
        """Make the parts, the first time."""
        self.bench.show()
        super().showEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take runs of the history."""
        if event.mimeData().hasFormat(RUNS_MIME):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Add the runs that were dropped."""
        data = bytes(event.mimeData().data(RUNS_MIME).data()).decode()
        event.acceptProposedAction()
        self.add_runs(data.split())

    def add_runs(self, ids: Sequence[str]) -> None:
        """Add stored runs by their ids, once they are found."""
        if self.fetch is not None and ids:
            self.fetch(ids, self._add_found)

    def _add_found(self, found: Found) -> None:
        if isinstance(found, ExplorerError):
            self.bench.tell(f"{str(found)[:1].upper()}{str(found)[1:]}.")
        else:
            self.bench.add_results(found)

    def close_down(self) -> None:
        """Wait until nothing is being written."""
        if self._bench is not None:
            self._bench.close_down()
