"""The Compare view: two or more runs, measured in turns. Its parts are made when first needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.result import RunResult
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.settings import Settings
from gpuexplorer.history.errors import StoreDamaged

if TYPE_CHECKING:
    from gpuexplorer.gui.model.compare_file import HeldComparison
    from gpuexplorer.gui.panels.compare_bench import CompareBench
    from gpuexplorer.history.store import Store

RUNS_MIME = "application/x-gpuexplorer-runs"
"""Dragged rows of the history: the runs' ids, one a line."""


class CompareView(QWidget):
    """Takes runs that are dropped on it; what it does is its ``bench``'s.

    ``restored`` carries a configuration for the knobs, ``message`` a sentence for the status bar.
    It is a ``Part`` of session files.
    """

    restored = Signal(object)
    message = Signal(str)

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.setObjectName("compareView")
        self.setAutoFillBackground(True)
        self.setBackgroundRole(self.palette().ColorRole.Base)
        self.setAcceptDrops(True)
        self._session = session
        self._bench: CompareBench | None = None
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

            bench = self._bench = CompareBench(self._session, Settings())
            bench.restored.connect(self.restored)
            bench.message.connect(self.message)
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

        def find(store: Store) -> list[RunResult | StoreDamaged]:
            return store.get_all(ids, samples=False)

        self._session.runs.do(find, self._add_found, needs=ids)

    def _add_found(self, found: list[RunResult | StoreDamaged] | ExplorerError) -> None:
        outcomes = [found] if isinstance(found, ExplorerError) else found
        read = [run for run in outcomes if not isinstance(run, ExplorerError)]
        if read:
            self.bench.add_results(read)
        for error in outcomes:
            if isinstance(error, ExplorerError):
                self.bench.tell(f"{str(error)[:1].upper()}{str(error)[1:]}.")
                break

    # ---- in a session file

    def held(self) -> HeldComparison | None:
        """Return the comparison; None while nobody takes part."""
        return self._bench.model.snapshot() if self._bench is not None else None

    def encode(self, held: object) -> bytes:
        """Return a comparison as JSON."""
        from gpuexplorer.gui.model.compare_file import HeldComparison, encode

        assert isinstance(held, HeldComparison)
        return encode(held)

    def decode(self, data: bytes, origin: str) -> object:
        """Read a comparison; InputError when it is not one."""
        from gpuexplorer.gui.model.compare_file import decode

        return decode(data, origin)

    def show_held(self, held: object | None) -> None:
        """Show another comparison; None: nobody takes part."""
        if held is None and self._bench is None:
            return
        from gpuexplorer.gui.model.compare_file import HeldComparison

        self.bench.show_held(held if isinstance(held, HeldComparison) else None)

    def close_down(self) -> None:
        """Wait until nothing is being written."""
        if self._bench is not None:
            self._bench.close_down()
