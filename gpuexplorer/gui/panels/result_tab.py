"""A tab whose results are exported and kept: its view is made when first wanted."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gpuexplorer.charts.spec import ChartSpec
from gpuexplorer.core.errors import InputError
from gpuexplorer.gui.export import Exported
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.widgets.late import LateView

if TYPE_CHECKING:
    from gpuexplorer.charts.sweep_points import Figure
    from gpuexplorer.core.sweep import SweepDocument


class Codec(Protocol):
    """Reads and writes what a tab holds, as JSON; a module of ``gui.model``."""

    def encode(self, held: Any) -> bytes:
        """Return it as JSON."""

    def decode(self, data: bytes, origin: str) -> Any:
        """Read it from the file ``origin``; InputError when it is not of this kind."""


class KeptView(Protocol):
    """What the view of a tab has whose result is kept."""

    def held(self) -> object | None:
        """Return what is to be kept, unchangeable from now on; None without anything."""

    def show_held(self, held: Any) -> None:
        """Show it again; None: nothing."""


class ResultView(KeptView, Protocol):
    """What the view of such a tab has, beside the signals of the tab."""

    kernel_folders: Callable[[], Sequence[Path]]
    """Returns the user's kernel folders, which a copied command names."""

    def exported(self) -> Exported:
        """Return what is to be written; ExplorerError when there is nothing."""

    def close_down(self) -> None:
        """End what it has started."""


class KeptTab(LateView):
    """A ``Part`` of session files, whose view is made when first wanted.

    ``codec`` is how it is kept. The view is a ``KeptView``.
    """

    @abstractmethod
    def codec(self) -> Codec:
        """Return what reads and writes what the view holds."""

    def held(self) -> Any:
        """Return what is shown; None when there is nothing to keep."""
        return cast("KeptView", self.view).held() if self.view is not None else None

    @property
    def has_result(self) -> bool:
        """Whether there is something to export."""
        return self.held() is not None

    def encode(self, held: object) -> bytes:
        """Return it as JSON."""
        return self.codec().encode(held)

    def decode(self, data: bytes, origin: str) -> object:
        """Read it; InputError when it is not of this kind."""
        found: object = self.codec().decode(data, origin)
        return found

    def show_held(self, held: object | None) -> None:
        """Show something else; None: nothing."""
        if held is not None or self.view is not None:
            cast("KeptView", self.made()).show_held(held)


class ResultTab(KeptTab):
    """A tab whose result can be exported; ``make`` makes its view.

    ``notice`` and ``message`` are for the window; ``restored`` carries a configuration that the
    knobs shall take; ``changed`` says that something else is shown.
    """

    notice = Signal(object)
    message = Signal(str)
    restored = Signal(object)
    changed = Signal()

    def __init__(self, name: str, session: Session) -> None:
        super().__init__(name, self._make_view)
        self._session = session
        self.kernel_folders: Callable[[], Sequence[Path]] = tuple
        """Returns the user's kernel folders."""

    @abstractmethod
    def make(self) -> QWidget:
        """Make the view, which is a ``ResultView``."""

    def _make_view(self) -> QWidget:
        """Make the view, and emit what it emits."""
        view = self.make()
        cast("ResultView", view).kernel_folders = lambda: self.kernel_folders()
        for signal in ("notice", "message", "restored", "changed"):
            getattr(view, signal).connect(getattr(self, signal))
        return view

    def close_down(self) -> None:
        """End what the view has started."""
        if self.result is not None:
            self.result.close_down()

    @property
    def result(self) -> ResultView | None:
        """The view; None before it was first wanted."""
        return cast("ResultView | None", self.view)

    @property
    def running(self) -> bool:
        """Whether something is measured there, which cannot give way to another result."""
        return bool(getattr(self.view, "running", False))

    def open_held(self, held: Any) -> None:
        """Show a result of the history."""
        self.show_held(held)


def sweep_files(
    document: Callable[[], SweepDocument], stem: str, figure: Figure | None = None
) -> Exported:
    """Return how a sweep is written, as a document, a table or a chart of a figure.

    ``document`` makes it, in any thread, and raises ExplorerError when there is nothing.
    """
    from gpuexplorer.core.sweep import sweep_json

    def csv(path: Path) -> None:
        from gpuexplorer.exchange.csv_table import write_sheet
        from gpuexplorer.results.sweep import sheet_of

        write_sheet(sheet_of(document()), path)

    def chart() -> ChartSpec:
        from gpuexplorer.charts.sweep import chart_of_sweep

        found = document()
        if not found.measured:
            raise InputError("nothing of the sweep was measured", remedy="let it measure first")
        return chart_of_sweep(found.outcomes, figure=figure)

    return Exported(stem, lambda: sweep_json(document()), csv, chart)
