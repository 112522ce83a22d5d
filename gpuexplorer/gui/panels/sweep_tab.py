"""The place of the Sweep tab, and its part of session files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from gpuexplorer.gui.panels.result_tab import ResultTab
from gpuexplorer.gui.session import Session

if TYPE_CHECKING:
    from gpuexplorer.gui.model.sweep import Held
    from gpuexplorer.gui.views.sweep import SweepView


class SweepTab(ResultTab):
    """A ``Part`` of session files."""

    def __init__(self, session: Session) -> None:
        super().__init__("sweepTab")
        self._session = session

    def make(self) -> QWidget:
        """Make the view."""
        from gpuexplorer.gui.views.sweep import SweepView

        view = SweepView(self._session)
        view.kernel_folders = lambda: self.kernel_folders()
        for signal in ("notice", "message", "restored"):
            getattr(view, signal).connect(getattr(self, signal))
        return view

    @property
    def sweeping(self) -> SweepView | None:
        """The view; None before it was first wanted."""
        return self.view  # type: ignore[return-value]

    # ---- in a session file

    def held(self) -> Held | None:
        """Return the sweep so far; None without one, or with nothing measured."""
        view = self.sweeping
        held = view.model.snapshot() if view is not None else None
        done = held is not None and any(cell.result is not None for cell in held.cells)
        return held if done else None

    def encode(self, held: object) -> bytes:
        """Return a sweep as JSON."""
        from gpuexplorer.gui.model.sweep import Held, encode

        assert isinstance(held, Held)
        return encode(held)

    def decode(self, data: bytes, origin: str) -> object:
        """Read a sweep; InputError when it is not one."""
        from gpuexplorer.gui.model.sweep import decode

        return decode(data, origin)

    def show_held(self, held: object | None) -> None:
        """Show another sweep; None: nothing."""
        if held is None and self.view is None:
            return
        from gpuexplorer.gui.model.sweep import Held

        self.made()
        view = self.sweeping
        assert view is not None
        view.show_held(held if isinstance(held, Held) else None)
