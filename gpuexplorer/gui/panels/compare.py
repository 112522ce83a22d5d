"""The place of the comparison: a tab that takes runs of the history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QWidget

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.result import RunResult
from gpuexplorer.gui.notice import capital
from gpuexplorer.gui.panels.history_model import dragged_runs
from gpuexplorer.gui.panels.result_tab import Codec, ResultTab
from gpuexplorer.gui.session import Session
from gpuexplorer.history.errors import StoreDamaged

if TYPE_CHECKING:
    from gpuexplorer.gui.model.compare_file import HeldComparison
    from gpuexplorer.gui.views.compare import CompareView
    from gpuexplorer.history.store import Store


class CompareTab(ResultTab):
    """Takes runs that are dropped on it."""

    def __init__(self, session: Session) -> None:
        super().__init__("compareTab", session)
        self.setAcceptDrops(True)

    def make(self) -> QWidget:
        """Make the view."""
        from gpuexplorer.gui.views.compare import CompareView

        return CompareView(self._session)

    def codec(self) -> Codec:
        """Return what reads and writes comparisons."""
        from gpuexplorer.gui.model import compare_file

        return compare_file

    @property
    def comparing(self) -> CompareView | None:
        """The view; None before it was first wanted."""
        return cast("CompareView | None", self.view)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take runs of the history."""
        if dragged_runs(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Add the runs that were dropped."""
        event.acceptProposedAction()
        self.add_runs(dragged_runs(event.mimeData()))

    def add_runs(self, ids: Sequence[str]) -> None:
        """Add stored runs by their ids, once they are found."""

        def find(store: Store) -> list[RunResult | StoreDamaged]:
            return store.get_all(ids, samples=False)

        self._session.runs.do(find, self._add_found, needs=ids)

    def add_configs(self, found: Sequence[tuple[RunConfig, str | None]]) -> None:
        """Add configurations, each with the word for its engine."""
        cast("CompareView", self.made()).add_configs(*zip(*found, strict=True))

    def show_stored(self, ids: Sequence[str]) -> None:
        """Show stored runs held against the first as they are, once they are found."""

        def find(store: Store) -> HeldComparison:
            from gpuexplorer.gui.model.compare_file import held_stored

            return held_stored([store.get(run_id, listed=False) for run_id in ids])

        self._session.runs.do(find, self._show_stored, needs=ids)

    def _show_stored(self, found: HeldComparison | ExplorerError) -> None:
        view = cast("CompareView", self.made())
        if view.running:
            view.tell("Stop the comparison first.")
        elif isinstance(found, ExplorerError):
            view.tell(f"{capital(str(found))}.")
        else:
            view.show_held(found)

    def _add_found(self, found: list[RunResult | StoreDamaged] | ExplorerError) -> None:
        outcomes = [found] if isinstance(found, ExplorerError) else found
        view = cast("CompareView", self.made())
        if read := [run for run in outcomes if not isinstance(run, ExplorerError)]:
            view.add_results(read)
        errors = [one for one in outcomes if isinstance(one, ExplorerError)]
        if errors:
            view.tell(f"{capital(str(errors[0]))}.")
