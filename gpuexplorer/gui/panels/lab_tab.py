"""The place of the Lab tab: its view is made when it is first wanted; what it shows, to a file."""

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
    from gpuexplorer.core.studies import Study
    from gpuexplorer.gui.panels.lab import LabView

FORMATS = {
    "png": "PNG image",
    "svg": "SVG drawing",
    "pdf": "PDF document",
    "csv": "CSV table of all configurations",
    "json": "JSON document of the study",
}


class LabTab(LateView):
    """Its signals are the view's."""

    notice = Signal(object)
    said = Signal(str)
    restored = Signal(object)
    changed = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__("labTab", self._view)
        self._session = session
        self.kernel_folders: Callable[[], Sequence[Path]] = tuple
        """Returns the user's kernel folders."""

    def _view(self) -> QWidget:
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

    def close_down(self) -> None:
        """End what the view has started."""
        if self.lab is not None:
            self.lab.close_down()

    def export(self, exporter: Exporter, suffix: str) -> None:
        """Ask for a file name and write the study that is shown there."""
        if self.lab is None:
            return
        try:
            study = self.lab.study()
        except ExplorerError as error:
            self.notice.emit(Notice("warning", f"{capital(str(error))}."))
            return
        stem = re.sub(r"[^\w.-]+", "_", f"{self.lab.kind}-{study.title.partition(':')[0]}").lower()
        path = exporter.ask_path(suffix, f"{stem}.{suffix}", FORMATS)
        if path is not None:
            scheme = theme().scheme
            exporter.do(path, lambda target: write_study(study, target, scheme))


def write_study(study: Study, path: Path, scheme: str) -> None:
    """Write a study by the file's ending: chart, table or document; raises ExplorerError."""
    from gpuexplorer import exchange
    from gpuexplorer.core.errors import InputError
    from gpuexplorer.core.studies import study_json
    from gpuexplorer.exchange import atomic_file

    suffix = path.suffix.lower().lstrip(".")
    if suffix not in FORMATS:
        raise InputError(
            f"cannot tell a format from '{path.name}'", remedy=f"end it in {', '.join(FORMATS)}"
        )
    exchange.check_target(path)
    if suffix == "json":
        with atomic_file(path) as stream:
            stream.write(study_json(study))
    elif suffix == "csv":
        from gpuexplorer.search.studies.table import write_study_csv

        write_study_csv(study, path)
    elif suffix in CHARTS:
        from gpuexplorer.charts.spec import encode
        from gpuexplorer.charts.studies import can_draw, study_chart

        if not can_draw(study):
            raise InputError("nothing of the study was measured", remedy="let it measure first")
        render(encode(study_chart(study)), path, scheme)
