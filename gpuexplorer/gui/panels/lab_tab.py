"""The place of the Lab tab, and its part of session files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gpuexplorer.gui.panels.result_tab import ResultTab
from gpuexplorer.gui.session import Session

if TYPE_CHECKING:
    from gpuexplorer.core.studies import Study
    from gpuexplorer.gui.model.job import Held
    from gpuexplorer.gui.views.lab import LabView


class LabTab(ResultTab):
    """A ``Part`` of session files; ``changed`` says that another study was measured."""

    changed = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__("labTab")
        self._session = session

    def make(self) -> QWidget:
        """Make the view."""
        from gpuexplorer.gui.views.lab import LabView

        view = LabView(self._session, self)
        for signal in ("notice", "message", "restored", "changed"):
            getattr(view, signal).connect(getattr(self, signal))
        return view

    @property
    def lab(self) -> LabView | None:
        """The view; None before it was first wanted."""
        return self.view  # type: ignore[return-value]

    @property
    def has_study(self) -> bool:
        """Whether any study has something to export."""
        return self.held() is not None

    # ---- in a session file

    def held(self) -> tuple[Held[Study], ...] | None:
        """Return the studies as far as they were measured; None without any."""
        views = self.lab.views.values() if self.lab is not None else ()
        found = tuple(kept for view in views if (kept := view.model.held()) is not None)
        return found or None

    def encode(self, held: object) -> bytes:
        """Return the studies as JSON."""
        from gpuexplorer.gui.model.lab_file import encode

        assert isinstance(held, tuple)
        return encode(held)

    def decode(self, data: bytes, origin: str) -> object:
        """Read studies; InputError when they are none."""
        from gpuexplorer.gui.model.lab_file import decode

        return decode(data, origin)

    def show_held(self, held: object | None) -> None:
        """Show other studies; None: nothing."""
        if held is None and self.view is None:
            return
        self.made()
        assert self.lab is not None
        self.lab.show_studies(held if isinstance(held, tuple) else ())
