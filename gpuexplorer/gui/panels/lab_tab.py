"""The place of the Lab tab, and its part of session files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gpuexplorer.gui.panels.result_tab import ResultTab
from gpuexplorer.gui.session import Session

if TYPE_CHECKING:
    from gpuexplorer.gui.model.lab_file import HeldStudy
    from gpuexplorer.gui.panels.lab import LabView


class LabTab(ResultTab):
    """A ``Part`` of session files; ``changed`` says that another study was measured."""

    changed = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__("labTab")
        self._session = session

    def make(self) -> QWidget:
        """Make the view."""
        from gpuexplorer.gui.panels.lab import LabView

        view = LabView(self._session)
        view.kernel_folders = self.kernel_folders
        view.notice.connect(self.notice)
        view.said.connect(self.said)
        view.restored.connect(self.restored)
        view.changed.connect(self.changed)
        return view

    @property
    def lab(self) -> LabView | None:
        """The view; None before it was first wanted."""
        return self.view  # type: ignore[return-value]

    @property
    def has_study(self) -> bool:
        """Whether any study has something to export."""
        benches = self.lab.benches.values() if self.lab is not None else ()
        return any(bench.model.study is not None for bench in benches)

    # ---- in a session file

    def held(self) -> tuple[HeldStudy, ...] | None:
        """Return the studies as far as they were measured; None without any."""
        benches = self.lab.benches.values() if self.lab is not None else ()
        found = tuple(kept for bench in benches if (kept := bench.model.snapshot()) is not None)
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
