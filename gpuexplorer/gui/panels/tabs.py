"""The views whose result is kept, but for the comparison, made when they are wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gpuexplorer.gui.panels.result_tab import Codec, KeptTab, ResultTab
from gpuexplorer.gui.session import Session

if TYPE_CHECKING:
    from gpuexplorer.gui.panels.accesses import AccessesView
    from gpuexplorer.gui.views.blockmap import BlockMapView
    from gpuexplorer.gui.views.lab import LabView
    from gpuexplorer.gui.views.sweep import SweepView
    from gpuexplorer.gui.views.tune import TuneView


class BlockMapTab(ResultTab):
    """The block map, made when it is first shown; ``compared`` is its view's."""

    compared = Signal(object)

    def __init__(self, session: Session) -> None:
        super().__init__("blockMap", session)

    def make(self) -> QWidget:
        """Make the view."""
        from gpuexplorer.gui.views.blockmap import BlockMapView

        view = BlockMapView(self._session)
        view.compared.connect(self.compared)
        return view

    def codec(self) -> Codec:
        """Return what reads and writes maps."""
        from gpuexplorer.gui.model import map_file

        return map_file

    @property
    def has_result(self) -> bool:
        """Whether any block has a time; nothing is copied to find that out."""
        shown = self.mapping.model.shown if self.mapping is not None else None
        return shown is not None and shown.measured

    @property
    def mapping(self) -> BlockMapView | None:
        """The view; None before it was first wanted."""
        return cast("BlockMapView | None", self.view)


class SweepTab(ResultTab):
    """The Sweep, made when it is first shown."""

    def __init__(self, session: Session) -> None:
        super().__init__("sweepTab", session)

    def make(self) -> QWidget:
        """Make the view."""
        from gpuexplorer.gui.views.sweep import SweepView

        return SweepView(self._session)

    def codec(self) -> Codec:
        """Return what reads and writes sweeps."""
        from gpuexplorer.gui.model import sweep

        return sweep

    @property
    def has_result(self) -> bool:
        """Whether anything is measured; nothing is copied to find that out."""
        view = self.sweeping
        return view is not None and any(cell.result is not None for cell in view.model.cells)

    @property
    def sweeping(self) -> SweepView | None:
        """The view; None before it was first wanted."""
        return cast("SweepView | None", self.view)


class TuneTab(ResultTab):
    """Tune, made when it is first shown."""

    def __init__(self, session: Session) -> None:
        super().__init__("tuneTab", session)

    def make(self) -> QWidget:
        """Make the view."""
        from gpuexplorer.gui.views.tune import TuneView

        return TuneView(self._session)

    def codec(self) -> Codec:
        """Return what reads and writes tunings."""
        from gpuexplorer.gui.model import tried

        return tried

    @property
    def tuning(self) -> TuneView | None:
        """The view; None before it was first wanted."""
        return cast("TuneView | None", self.view)


class LabTab(ResultTab):
    """The Lab, made when it is first shown."""

    def __init__(self, session: Session) -> None:
        super().__init__("labTab", session)

    def make(self) -> QWidget:
        """Make the view."""
        from gpuexplorer.gui.views.lab import LabView

        return LabView(self._session)

    def codec(self) -> Codec:
        """Return what reads and writes studies."""
        from gpuexplorer.gui.model import lab_file

        return lab_file

    @property
    def lab(self) -> LabView | None:
        """The view; None before it was first wanted."""
        return cast("LabView | None", self.view)

    @property
    def running(self) -> bool:
        """Whether any study is measured."""
        return self.lab is not None and any(view.running for view in self.lab.views.values())

    def open_held(self, held: Any) -> None:
        """Show a study of the history; those of other kinds stay."""
        self.made()
        assert self.lab is not None
        self.lab.open_study(held[0])


class OperatorsTab(KeptTab):
    """The operators of an iteration; ``restored`` is its view's."""

    restored = Signal(object)

    def __init__(self, session: Session) -> None:
        super().__init__("operatorsTab", self._make_view)
        self._session = session

    def _make_view(self) -> QWidget:
        from gpuexplorer.gui.panels.operators import OperatorsView

        view = OperatorsView(self._session)
        view.restored.connect(self.restored)
        return view

    def codec(self) -> Codec:
        """Return what reads and writes recorded operators."""
        from gpuexplorer.gui.model import operators_file

        return operators_file


class LessonsTab(KeptTab):
    """The lessons, which are kept for the next start alone."""

    def codec(self) -> Codec:
        """Return what reads and writes what was measured for lessons."""
        from gpuexplorer.gui.model import lessons_file

        return lessons_file


class AccessesTab(KeptTab):
    """The accesses of a warp; ``restored`` and ``requests_counted`` are its view's."""

    restored = Signal(object)
    requests_counted = Signal(object)

    def __init__(self, session: Session, architecture: Callable[[], str]) -> None:
        """``architecture`` returns the one that they are held against."""
        super().__init__("accessesTab", self._make_view)
        self._session, self._architecture = session, architecture

    def _make_view(self) -> QWidget:
        from gpuexplorer.gui.panels.accesses import AccessesView

        view = AccessesView(self._session, self._architecture)
        view.restored.connect(self.restored)
        view.requests_counted.connect(self.requests_counted)
        return view

    def codec(self) -> Codec:
        """Return what reads and writes counted accesses."""
        from gpuexplorer.gui.model import accesses_file

        return accesses_file

    def close_down(self) -> None:
        """End what the view compiles."""
        if self.view is not None:
            self.counting().close_down()

    def counting(self) -> AccessesView:
        """Return the view, made now or before."""
        return cast("AccessesView", self.made())
