"""A comparison to a file: its chart as a drawing, or its document, in a thread of its own."""

from __future__ import annotations

import re
from pathlib import Path

from PySide6.QtCore import QObject, QThread, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from gpuexplorer.charts.comparison import comparison_chart
from gpuexplorer.charts.spec import encode
from gpuexplorer.core.compared import ComparisonResult, comparison_json
from gpuexplorer.core.errors import ExplorerError, InputError, WorkFailed
from gpuexplorer.exchange import atomic_file
from gpuexplorer.gui.export import CHARTS, render
from gpuexplorer.gui.notice import Notice
from gpuexplorer.gui.settings import Settings
from gpuexplorer.gui.theme import theme

FORMATS = {
    "png": "PNG image",
    "svg": "SVG drawing",
    "pdf": "PDF document",
    "json": "JSON document of the comparison",
}


def write(result: ComparisonResult, path: Path, scheme: str) -> None:
    """Write a comparison by the file's ending; raises ExplorerError in one sentence."""
    suffix = path.suffix.lower().lstrip(".")
    if suffix in CHARTS:
        render(encode(comparison_chart(result)), path, scheme)
    elif suffix == "json":
        with atomic_file(path) as stream:
            stream.write(comparison_json(result))
    else:
        raise InputError(
            f"cannot tell a format from '{path.name}'", remedy=f"end it in {', '.join(FORMATS)}"
        )


class _WriteJob(QThread):
    """Writes one file; ``done`` carries None, or the error to show."""

    done = Signal(object)

    def __init__(self, result: ComparisonResult, path: Path, scheme: str) -> None:
        super().__init__()
        self.setObjectName("compare-export")
        self.path = path
        self._result, self._scheme = result, scheme

    def run(self) -> None:
        """Write the file."""
        try:
            write(self._result, self.path, self._scheme)
        except ExplorerError as error:
            self.done.emit(error)
        except Exception as error:  # noqa: BLE001 - a bug must not end in silence
            self.done.emit(WorkFailed(f"cannot export to {self.path}: {error!r}"))
        else:
            self.done.emit(None)


class CompareExporter(QObject):
    """Asks where to, writes in the background; ``notice`` says what became of it."""

    notice = Signal(object)

    def __init__(self, parent: QWidget, settings: Settings) -> None:
        super().__init__(parent)
        self._parent, self._settings = parent, settings
        self._job: _WriteJob | None = None

    @property
    def busy(self) -> bool:
        """Whether a file is being written."""
        return self._job is not None

    def ask(self, result: ComparisonResult, suffix: str) -> None:
        """Ask for a file name and write."""
        filters = {f"{words} (*.{name})": name for name, words in FORMATS.items()}
        chosen = next(f for f, name in filters.items() if name == suffix)
        first = result.contestants[result.reference].run.config
        named = re.sub(r"[^\w.-]+", "_", f"{first.workload}-comparison") + f".{suffix}"
        offered = self._settings.export_folder / named
        name, used = QFileDialog.getSaveFileName(
            self._parent, "Export the comparison", str(offered), ";;".join(filters), chosen
        )
        if name:
            path = Path(name)
            if not path.suffix:
                path = path.with_suffix(f".{filters.get(used, suffix)}")
            self.write(result, path)

    def write(self, result: ComparisonResult, path: Path) -> None:
        """Write a file in the background, then say where it is."""
        if self._job is not None:
            self.notice.emit(Notice("warning", "Another export is still being written."))
            return
        self._job = _WriteJob(result, path, theme().scheme)
        self._job.done.connect(self._written)
        self._job.start()

    def _written(self, error: ExplorerError | None) -> None:
        job, self._job = self._job, None
        if job is None:
            return
        job.wait()
        if error is None:
            self._settings.export_folder = job.path.parent
            self.notice.emit(Notice("info", f"Saved {job.path}"))
        else:
            words = str(error)
            self.notice.emit(Notice("bad", f"{words[:1].upper()}{words[1:]}.", detail=error.detail))

    def wait(self) -> None:
        """Wait until nothing is being written."""
        if self._job is not None:
            self._job.wait()
