"""The place of a tab whose results are exported and kept: its view is made when first wanted."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gpuexplorer import exchange
from gpuexplorer.charts.spec import ChartSpec, encode
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.exchange import atomic_file
from gpuexplorer.gui.export import CHARTS, Exporter, render
from gpuexplorer.gui.notice import Notice, capital
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.widgets.late import LateView

FORMATS = {
    "png": "PNG image",
    "svg": "SVG drawing",
    "pdf": "PDF document",
    "csv": "CSV table of all configurations",
    "json": "JSON document",
}


@dataclass(frozen=True)
class Exported:
    """What is to be written: a file's name without its ending, and how each format comes about.

    All three may be called in another thread, and raise ExplorerError.
    """

    stem: str
    json: Callable[[], bytes]
    csv: Callable[[Path], None]
    chart: Callable[[], ChartSpec]


class ResultView(Protocol):
    """What the view of such a tab has."""

    def exported(self) -> Exported:
        """Return what is to be written; ExplorerError when there is nothing."""

    def close_down(self) -> None:
        """End what it has started."""


class ResultTab(LateView):
    """A subclass says in ``make`` how its view comes about.

    ``notice`` and ``message`` are for the window; ``restored`` carries a configuration that the
    knobs shall take.
    """

    notice = Signal(object)
    message = Signal(str)
    restored = Signal(object)

    def __init__(self, name: str) -> None:
        super().__init__(name, self.make)
        self.kernel_folders: Callable[[], Sequence[Path]] = tuple
        """Returns the user's kernel folders."""

    @abstractmethod
    def make(self) -> QWidget:
        """Make the view, which is a ``ResultView``."""

    @property
    def result(self) -> ResultView | None:
        """The view; None before it was first wanted."""
        return cast("ResultView | None", self.view)

    def close_down(self) -> None:
        """End what the view has started."""
        if self.result is not None:
            self.result.close_down()

    def export(self, exporter: Exporter, suffix: str) -> None:
        """Ask for a file name and write what is shown there."""
        if self.result is None:
            return
        try:
            found = self.result.exported()
        except ExplorerError as error:
            self.notice.emit(Notice("warning", f"{capital(str(error))}."))
            return
        path = exporter.ask_path(suffix, f"{file_stem(found.stem)}.{suffix}", FORMATS)
        if path is not None:
            scheme = theme().scheme
            exporter.do(path, lambda target: write(found, target, scheme))


def file_stem(words: str) -> str:
    """Return words as the name of a file."""
    return re.sub(r"[^\w.-]+", "_", words)


def write(found: Exported, path: Path, scheme: str) -> None:
    """Write a result by the file's ending: chart, table or document; raises ExplorerError."""
    suffix = path.suffix.lower().lstrip(".")
    if suffix not in FORMATS:
        raise InputError(
            f"cannot tell a format from '{path.name}'", remedy=f"end it in {', '.join(FORMATS)}"
        )
    exchange.check_target(path)
    if suffix == "json":
        data = found.json()
        with atomic_file(path) as stream:
            stream.write(data)
    elif suffix == "csv":
        found.csv(path)
    elif suffix in CHARTS:
        render(encode(found.chart()), path, scheme)
