"""The place of the Sweep tab: its view is made when it is first wanted, and kept in sessions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.gui.export import CHARTS, Exporter, render
from gpuexplorer.gui.notice import Notice, capital
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.widgets.late import LateView

if TYPE_CHECKING:
    from gpuexplorer.gui.model.sweep import Held
    from gpuexplorer.gui.panels.sweep import SweepView

FORMATS = {
    "png": "PNG image",
    "svg": "SVG drawing",
    "pdf": "PDF document",
    "csv": "CSV table of all configurations",
    "json": "JSON document of the sweep",
}


class SweepTab(LateView):
    """A ``Part`` of session files; its signals are the view's."""

    notice = Signal(object)
    said = Signal(str)
    chosen = Signal(object)

    def __init__(self, session: Session) -> None:
        super().__init__("sweepTab", self._view)
        self._session = session
        self.kernel_folders: Callable[[], Sequence[Path]] = tuple
        """Returns the user's kernel folders."""

    def _view(self) -> QWidget:
        from gpuexplorer.gui.model.sweep import SweepModel
        from gpuexplorer.gui.panels.sweep import SweepView

        view = SweepView(self._session, SweepModel())
        view.kernel_folders = self.kernel_folders
        view.notice.connect(self.notice)
        view.said.connect(self.said)
        view.chosen.connect(self.chosen)
        return view

    @property
    def sweeping(self) -> SweepView | None:
        """The view; None before it was first wanted."""
        return self.view  # type: ignore[return-value]

    def close_down(self) -> None:
        """End what the view has started."""
        if self.sweeping is not None:
            self.sweeping.close_down()

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
        view.model.show(held if isinstance(held, Held) else None)
        view.model_replaced()

    # ---- to a file

    def export(self, exporter: Exporter, suffix: str) -> None:
        """Ask for a file name and write the sweep there."""
        view = self.sweeping
        if view is None:
            return
        try:
            held = view.held()
        except ExplorerError as error:
            self.notice.emit(Notice("warning", f"{capital(str(error))}."))
            return
        axes = "-".join(axis.title for axis in held.space.axes)
        stem = re.sub(r"[^\w.-]+", "_", f"sweep-{held.space.base.workload}-{axes}")
        path = exporter.ask_path(suffix, f"{stem}.{suffix}", FORMATS)
        if path is not None:
            scheme = theme().scheme
            exporter.do(path, lambda target: write_sweep(held, target, scheme))


def write_sweep(held: Held, path: Path, scheme: str) -> None:
    """Write a sweep by the suffix: chart, table or document; raises ExplorerError."""
    from gpuexplorer import exchange
    from gpuexplorer.core.errors import InputError
    from gpuexplorer.core.sweep import sweep_json
    from gpuexplorer.exchange import atomic_file

    suffix = path.suffix.lower().lstrip(".")
    if suffix not in FORMATS:
        raise InputError(
            f"cannot tell a format from '{path.name}'", remedy=f"end it in {', '.join(FORMATS)}"
        )
    exchange.check_target(path)
    document = held.to_document()
    if suffix == "json":
        with atomic_file(path) as stream:
            stream.write(sweep_json(document))
    elif suffix == "csv":
        from gpuexplorer.search.table import write_table

        write_table(document, path)
    elif suffix in CHARTS:
        if not document.measured:
            raise InputError("nothing of the sweep was measured", remedy="let it measure first")
        from gpuexplorer.charts.spec import encode
        from gpuexplorer.charts.sweep import chart_of_sweep

        render(encode(chart_of_sweep(document)), path, scheme)
