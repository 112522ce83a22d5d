"""Export of what is shown, in a thread of its own; charts are drawn by a child process."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog, QWidget

from gpuexplorer import exchange
from gpuexplorer.charts.build import run_chart
from gpuexplorer.charts.spec import ChartSpec, encode
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import ExplorerError, InputError, WorkFailed
from gpuexplorer.core.frozen import module_command
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.surroundings import own_environment
from gpuexplorer.gui.notice import Notice, capital
from gpuexplorer.gui.settings import Settings
from gpuexplorer.gui.task import Tasks
from gpuexplorer.gui.theme import theme

FORMATS: dict[str, str] = {
    "png": "PNG image",
    "svg": "SVG drawing",
    "pdf": "PDF document",
    "csv": "CSV table of all samples",
    "json": "JSON document of the run",
}
CHARTS = ("png", "svg", "pdf")
RENDER_LIMIT_S = 180


def default_name(config: RunConfig, suffix: str, kind: str = "") -> str:
    """Return a file name that says what was run, such as ``matmul-naive-N512-16x16-fp32.png``."""
    parts = [config.workload, config.variant]
    parts += [f"{symbol}{value}" for symbol, value in config.size.items()]
    if config.block is not None:
        x, y, z = config.block
        parts.append(f"{x}x{y}" if z == 1 else f"{x}x{y}x{z}")
    parts.append(config.precision)
    if config.include_transfers:
        parts.append("transfers")
    if kind:
        parts.append(kind)
    return re.sub(r"[^\w.-]+", "_", "-".join(parts)) + f".{suffix}"


def write(
    path: Path,
    record: RunRecord,
    pinned: Sequence[RunRecord],
    scheme: str,
    chart: ChartSpec | None = None,
) -> None:
    """Write one file by its suffix: the runs, or ``chart`` where the suffix is a drawing's.

    Raises ExplorerError in one sentence.
    """
    suffix = path.suffix.lower().lstrip(".")
    if suffix not in FORMATS:
        raise InputError(
            f"cannot tell a format from '{path.name}'", remedy=f"end it in {', '.join(FORMATS)}"
        )
    exchange.check_target(path)
    if chart is not None and suffix in CHARTS:
        render(encode(chart), path, scheme)
        return
    if suffix == "json":
        exchange.write_json(record.result(), path)
        return
    if suffix == "csv":
        exchange.write_csv((one.result() for one in (record, *pinned)), path)
        return
    result, *others = (one.result() for one in (record, *pinned))
    spec = encode(run_chart(result, others, over_time=not others))
    render(spec, path, scheme)


def render(spec: bytes, path: Path, scheme: str) -> None:
    """Have a child process draw a chart; WorkFailed when it does not."""
    command = module_command("gpuexplorer.charts", "-", str(path.resolve()), scheme)
    try:
        done = subprocess.run(
            command,
            input=spec,
            capture_output=True,
            env=own_environment(),
            timeout=RENDER_LIMIT_S,
            check=False,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except subprocess.TimeoutExpired:
        raise WorkFailed(f"drawing {path} took longer than {RENDER_LIMIT_S} s") from None
    except OSError as error:
        raise WorkFailed(f"the drawing process cannot be started: {error.strerror}") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        last = said.splitlines()[-1] if said else f"it ended with status {done.returncode}"
        raise WorkFailed(last.removeprefix("gpuexplorer: error: "), detail=said)


def saved(path: Path) -> Notice:
    """Say where a file is, and offer to look at it."""
    return Notice(
        "info",
        f"Saved {path}",
        actions=(
            ("Open", partial(_show, path)),
            ("Show in folder", partial(_show, path.parent)),
        ),
        offers=True,
    )


def _show(path: Path) -> None:
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(path.resolve())))


class Exporter(QObject):
    """Asks where to, writes in the background, and says what became of it.

    ``notice`` carries a sentence for the banner, ``busy_with`` one for the status bar, empty once
    it is over.
    """

    notice = Signal(object)
    busy_with = Signal(str)

    def __init__(self, window: QWidget, settings: Settings) -> None:
        super().__init__(window)
        self._window, self._settings = window, settings
        self._tasks = Tasks(self)

    @property
    def scheme(self) -> str:
        """The colours of pictures: light ones, or the window's where the user wants those."""
        return theme().scheme if self._settings.pictures_as_window else "light"

    @property
    def busy(self) -> bool:
        """Whether a file is being written."""
        return self._tasks.busy

    def ask(
        self,
        suffix: str,
        record: RunRecord | None,
        pinned: Sequence[RunRecord] = (),
        chart: ChartSpec | None = None,
    ) -> None:
        """Ask for a file name and write a run, with ghosts beside it, or a chart of its own."""
        if record is None or not record.samples:
            self.notice.emit(Notice("warning", "There are no samples to export yet."))
            return
        kind = "roofline" if chart is not None and suffix in CHARTS else ""
        path = self.ask_path(suffix, default_name(record.prepared.config, suffix, kind), FORMATS)
        if path is not None:
            self.write(path, record, pinned, chart)

    def ask_path(self, suffix: str, named: str, formats: Mapping[str, str]) -> Path | None:
        """Ask for a file name; None when the user thought better of it."""
        filters = {f"{words} (*.{name})": name for name, words in formats.items()}
        chosen = next(f for f, name in filters.items() if name == suffix)
        offered = self._settings.export_folder / named
        name, used = QFileDialog.getSaveFileName(
            self._window, "Export", str(offered), ";;".join(filters), chosen
        )
        if not name:
            return None
        path = Path(name)
        return path if path.suffix else path.with_suffix(f".{filters.get(used, suffix)}")

    def write(
        self,
        path: Path,
        record: RunRecord,
        pinned: Sequence[RunRecord] = (),
        chart: ChartSpec | None = None,
    ) -> None:
        """Write a run's file in the background, then say where it is."""
        shown, ghosts = record.snapshot(), [p.snapshot() for p in pinned]
        scheme = self.scheme
        self.do(path, lambda target: write(target, shown, ghosts, scheme, chart))

    def do(self, path: Path, work: Callable[[Path], None]) -> None:
        """Have a file written in the background, then say where it is.

        ``work`` raises ExplorerError in one sentence.
        """
        if self.busy:
            self.notice.emit(Notice("warning", "Another export is still being written."))
            return
        self.busy_with.emit(f"Writing {path}…")
        self._tasks.do(f"writing {path.name}", lambda _: work(path), partial(self._written, path))

    def _written(self, path: Path, outcome: ExplorerError | None) -> None:
        self.busy_with.emit("")
        if outcome is None:
            self._settings.export_folder = path.parent
            self.notice.emit(saved(path))
        else:
            text = f"{capital(str(outcome))}."
            self.notice.emit(Notice("bad", text, detail=outcome.detail))

    def wait(self) -> None:
        """Wait until nothing is being written."""
        self._tasks.wait()
