"""Export of what is shown, in a thread of its own; charts are drawn by a child process."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec
from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget

from gpuexplorer import exchange
from gpuexplorer.charts.roofline import roofline_chart
from gpuexplorer.charts.spec import ChartSpec, encode
from gpuexplorer.charts.told import told
from gpuexplorer.charts.words import config_words
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import ExplorerError, InputError, WorkFailed
from gpuexplorer.core.frozen import module_command
from gpuexplorer.core.language import in_file
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.surroundings import own_environment
from gpuexplorer.exchange.document import run_json, runs_json
from gpuexplorer.gui.child import CONVERTED, convert
from gpuexplorer.gui.model.ghosts import StoredRun
from gpuexplorer.gui.notice import Notice, capital
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.settings import Settings
from gpuexplorer.gui.task import Tasks
from gpuexplorer.gui.theme import theme

CHARTS = {"png": "PNG image", "svg": "SVG drawing", "pdf": "PDF document"}
FORMATS: dict[str, str] = {
    **CHARTS,
    "csv": "CSV table",
    "json": "JSON document",
    **{suffix: words for suffix, (words, _) in CONVERTED.items()},
}
"""What files end in, with words for each."""
RENDER_LIMIT_S = 180


def no_chart() -> ChartSpec:
    """Refuse a chart of what has none."""
    raise InputError("there is no chart of this", remedy="choose another format")


def no_table(path: Path) -> None:
    """Refuse a table of what has none."""
    raise InputError("there is no table of this", remedy="choose another format")


class Exported(msgspec.Struct, frozen=True):
    """What is to be written: a file's name without its ending, and how each format comes about.

    All of them may be called in another thread, and raise ExplorerError.
    """

    stem: str
    json: Callable[[], bytes]
    """Makes the document, which the formats of other programs are made of as well."""
    csv: Callable[[Path], None] = no_table
    chart: Callable[[], ChartSpec] = no_chart
    formats: Mapping[str, str] = msgspec.field(default_factory=lambda: FORMATS)
    """The endings of its files, with words for each."""
    others: Mapping[str, Callable[[Path], None]] = msgspec.field(default_factory=dict)
    """Writers of formats that it alone has."""

    def write(self, path: Path, suffix: str, scheme: str) -> None:
        """Write a file in the format ``suffix``; pictures in the colours of ``scheme``.

        Raises ExplorerError in one sentence.
        """
        exchange.check_target(path)
        if suffix in self.others:
            self.others[suffix](path)
        elif suffix in CHARTS:
            render(encoded(self.chart()), path, scheme)
        elif suffix == "csv":
            self.csv(path)
        elif suffix == "json":
            data = self.json()
            with exchange.atomic_file(path) as stream:
                stream.write(data)
        elif suffix in CONVERTED:
            convert(self.json(), path, CONVERTED[suffix][1])
        else:
            endings = ", ".join(self.formats)
            raise InputError(
                f"cannot tell a format from '{path.name}'", remedy=f"end it in {endings}"
            )


@runtime_checkable
class Exports(Protocol):
    """A view that has something of its own to write."""

    def exported(self) -> Exported:
        """Return how it is written; ExplorerError when there is nothing."""


def exported_runs(
    records: Sequence[RunRecord], chart: Callable[[], ChartSpec] | None = None, kind: str = ""
) -> Exported:
    """Return how a run is written, with the ghosts after it; ``chart`` draws something else of it.

    ``kind`` ends the file's name. Raises InputError without samples.
    """
    taken = [record.snapshot() for record in records if record.samples]
    if not taken or taken[0].id != records[0].id:
        raise InputError("there are no samples to export yet")

    def drawn() -> ChartSpec:
        from gpuexplorer.charts.build import run_chart

        result, *others = (one.result(listed=False) for one in taken)
        return run_chart(result, others, over_time=not others)

    def document() -> bytes:
        found = [one.result(listed=False) for one in taken]
        return run_json(found[0]) if len(found) == 1 else runs_json(found)

    def table(path: Path) -> None:
        from gpuexplorer.exchange.csv_table import write_csv

        write_csv((one.result(listed=False) for one in taken), path)

    return Exported(
        run_stem(taken[0].prepared.config, kind),
        document,
        table,
        chart or drawn,
    )


def exported_stored(record: RunRecord) -> Exported:
    """Return how a run of the history is written: its document alone where it has no samples.

    Raises InputError for a run of this session that has none yet.
    """
    if record.samples or not isinstance(record, StoredRun):
        return exported_runs([record])
    return Exported(
        run_stem(record.prepared.config),
        lambda: run_json(record.figures()),
        formats={"json": FORMATS["json"]},
    )


def exported_session(session: Session, *, roofline: bool) -> Exported:
    """Return how the current run is written, with the ghosts after it, or drawn in the roofline.

    Raises InputError without samples.
    """
    run = session.live_model.current
    record = run.record if run is not None else None
    if run is None or record is None:
        raise InputError("there are no samples to export yet")
    records = [record, *(p.record for p in session.live_model.pins if p.ticket != run.ticket)]
    if not roofline:
        return exported_runs(records)
    picture = session.roofline_picture()
    config, device = record.prepared.config, record.prepared.device
    title = f"{config.workload}: roofline"
    subtitle = f"{config_words(config)}\n{device.name}, {device.driver}"
    return exported_runs(
        records, lambda: roofline_chart(picture, title=title, subtitle=subtitle), "roofline"
    )


def file_stem(words: str) -> str:
    """Return words as the name of a file."""
    return re.sub(r"[^\w.-]+", "_", words)


def run_stem(config: RunConfig, kind: str = "") -> str:
    """Return a file's name that says what was run, such as ``matmul-naive-N512-16x16-fp32``."""
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
    return file_stem("-".join(parts))


def encoded(spec: ChartSpec) -> bytes:
    """Return a chart as a child process takes it: in the window's language, as for a file."""
    with in_file():
        return encode(told(spec))


def drawn(spec: ChartSpec) -> str:
    """Have a child process draw a chart as SVG, for a page."""
    with tempfile.TemporaryDirectory(prefix="gpuexplorer-") as folder:
        path = Path(folder) / "chart.svg"
        render(encoded(spec), path, "light")
        return path.read_text(encoding="utf-8")


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
        self._unwritten = False

    @property
    def busy(self) -> bool:
        """Whether a file is being written."""
        return self._tasks.busy

    def ask(self, found: Exported, suffix: str = "") -> None:
        """Ask where to, in which format and colours, and write it in the background.

        ``suffix`` is the format offered first; otherwise it is the one used last.
        """
        from gpuexplorer.gui.export_dialog import ExportDialog

        dialog = ExportDialog(
            self._window, file_stem(found.stem), found.formats, CHARTS, self._settings, suffix
        )
        dialog.chosen.connect(partial(self.write, found))
        dialog.open()

    def ask_stored(self, record: RunRecord) -> None:
        """Ask where to, and write a run of the history with what it has."""
        try:
            found = exported_stored(record)
        except InputError as error:
            self.notice.emit(Notice("warning", f"{capital(str(error))}."))
            return
        if not record.samples:
            words = "This run has no samples: its document alone can be exported, as JSON."
            self.notice.emit(Notice("info", words))
        self.ask(found)

    def write(self, found: Exported, path: Path, suffix: str = "", as_window: bool = False) -> None:
        """Write a file in the background, then say where it is.

        Pictures are light, or have the window's colours with ``as_window``.
        """
        scheme = theme().scheme if as_window else "light"
        suffix = suffix or path.suffix.lower().lstrip(".")
        self.do(path, lambda target: found.write(target, suffix, scheme))

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
        self._unwritten = outcome is not None
        if outcome is None:
            self._settings.export_folder = path.parent
            offers = (("Open", path), ("Show in folder", path.parent))
            self.notice.emit(
                Notice(
                    "info",
                    f"Saved {path}",
                    actions=tuple((words, partial(self._show, where)) for words, where in offers),
                    offers=True,
                )
            )
        else:
            text = f"{capital(str(outcome))}."
            self.notice.emit(Notice("bad", text, detail=outcome.detail))

    def _show(self, path: Path) -> None:
        """Have the desktop open a file or a folder."""
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(path.resolve()))):
            self.notice.emit(Notice("warning", f"No program is set up here that opens {path}."))

    def finish(self) -> bool:
        """Wait for a file that is being written; False, and a notice, where it cannot be."""
        self._unwritten = False
        self._tasks.finish()
        return not self._unwritten

    def wait(self) -> None:
        """Wait until nothing is being written."""
        self._tasks.wait()
