"""The place of the Block map tab, and its part of session files."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from PySide6.QtWidgets import QWidget

from gpuexplorer.gui.panels.result_tab import ResultTab
from gpuexplorer.gui.session import Session

if TYPE_CHECKING:
    from gpuexplorer.gui.model.map_file import HeldMap
    from gpuexplorer.gui.panels.blockmap import BlockMapView


class BlockMapTab(ResultTab):
    """A ``Part`` of session files."""

    def __init__(self, session: Session) -> None:
        super().__init__("blockMap")
        self._session = session

    def make(self) -> QWidget:
        """Make the view."""
        from gpuexplorer.gui.panels.blockmap import BlockMapView

        return BlockMapView(self._session)

    @property
    def mapping(self) -> BlockMapView | None:
        """The view; None before it was first wanted."""
        return cast("BlockMapView | None", self.view)

    # ---- in a session file

    def held(self) -> HeldMap | None:
        """Return the map so far; None without any times."""
        return self.mapping.held() if self.mapping is not None else None

    def encode(self, held: object) -> bytes:
        """Return a map as JSON."""
        from gpuexplorer.gui.model.map_file import HeldMap, encode

        assert isinstance(held, HeldMap)
        return encode(held)

    def decode(self, data: bytes, origin: str) -> object:
        """Read a map; InputError when it is not one."""
        from gpuexplorer.gui.model.map_file import decode

        return decode(data, origin)

    def show_held(self, held: object | None) -> None:
        """Show another map; None: that of the knobs alone."""
        if held is None and self.view is None:
            return
        from gpuexplorer.gui.model.map_file import HeldMap

        self.made()
        assert self.mapping is not None
        self.mapping.show_held(held if isinstance(held, HeldMap) else None)
