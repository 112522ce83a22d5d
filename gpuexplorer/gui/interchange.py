"""Files of other programs from the window: import into the history, and export of what is shown.

Both are done by a child process, the command line's: reading and writing such files loads large
libraries and holds Python for longer than a frame, and a broken file can end no more than the
child. The history shows what another process stored by itself.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog

from gpuexplorer.core.errors import ExplorerError, InputError, WorkFailed
from gpuexplorer.core.frozen import module_command
from gpuexplorer.core.units import count, plural
from gpuexplorer.engine.surroundings import own_environment
from gpuexplorer.gui.export import default_name
from gpuexplorer.gui.notice import Notice, capital
from gpuexplorer.gui.panels.result_tab import ResultTab, file_stem
from gpuexplorer.gui.task import Tasks

if TYPE_CHECKING:
    from gpuexplorer.gui.main_window import MainWindow

CONVERTED: dict[str, tuple[str, str]] = {
    "html": ("HTML report", "html"),
    "parquet": ("Parquet table of all samples", "parquet"),
    "nvbench.json": ("NVBench JSON with its sample files", "nvbench"),
    "trace.json": ("Chrome trace of the phases, for Perfetto", "trace"),
}
"""Formats that the child writes: their names, and what the command line calls them."""
READ = "Runs (*.json *.parquet *.pq);;All files (*)"
LIMIT_S = 900
ERROR = "gpuexplorer: error: "
ERRORS_SHOWN = 3

Document = Callable[[], bytes]
"""Makes the JSON of what is shown; called in a thread."""


class Child:
    """The command line as a child process, which may be ended from another thread."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = False

    def run(self, *words: str) -> tuple[int, bytes, list[str]]:
        """Run a command to its end; return its exit code, its output and the errors it told.

        Raises WorkFailed when it cannot be started or takes too long.
        """
        command = module_command("gpuexplorer", *words)
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=own_environment(),
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
            if self._ended:
                self._process.kill()
            output, said = self._process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            self.end()
            raise WorkFailed(f"'gpuexplorer {words[0]}' took longer than {LIMIT_S} s") from None
        except OSError as error:
            raise WorkFailed(f"the process cannot be started: {error.strerror}") from None
        lines = said.decode(errors="replace").splitlines()
        errors = [line.removeprefix(ERROR) for line in lines if line.startswith(ERROR)]
        code = self._process.returncode
        if code != 0 and not errors:
            last = lines[-1] if lines else f"it ended with status {code}"
            errors = [f"'gpuexplorer {words[0]}' failed: {last}"]
        return code, output, errors

    def end(self) -> None:
        """End the child; what it was writing does not appear."""
        self._ended = True
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def convert(document: bytes, path: Path, chosen: str) -> None:
    """Write runs, given as one of our documents, to a file of another format.

    Raises InputError in one sentence when that fails.
    """
    import tempfile

    with tempfile.TemporaryDirectory(prefix="gpuexplorer-") as folder:
        source = Path(folder) / "runs.json"
        source.write_bytes(document)
        _, _, errors = Child().run("export", str(source), str(path.resolve()), "--format", chosen)
    if errors:
        raise InputError(errors[0])


def import_files(paths: Sequence[Path], child: Child) -> tuple[list[Any], list[str]]:
    """Have the child import files; return what the command said of each, and its errors."""
    names = [str(path.resolve()) for path in paths]
    _, output, errors = child.run("import", *names, "--json", "-")
    return msgspec.json.decode(output)["files"] if output else [], errors


class Interchange(QObject):
    """Asks for files, has them read or written in the background, and says what became of it."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._tasks = Tasks(self)
        self._child: Child | None = None

    @property
    def busy(self) -> bool:
        """Whether files are being imported."""
        return self._tasks.busy

    # ---- in

    def ask_import(self) -> None:
        """Ask for files and import them."""
        folder = str(self._window.settings.export_folder)
        names, _ = QFileDialog.getOpenFileNames(self._window, "Import runs", folder, READ)
        if names:
            self.take([Path(name) for name in names])

    def take(self, paths: Sequence[Path]) -> None:
        """Import files into the history in the background."""
        if self.busy:
            self._say(Notice("warning", "Another import is still running."))
            return
        child = self._child = Child()
        self._window.status.say(
            f"Importing {paths[0].name}…" if len(paths) == 1 else f"Importing {len(paths)} files…",
            0,
        )
        self._tasks.do("the import", lambda _: import_files(paths, child), self._taken)

    def _taken(self, outcome: tuple[list[Any], list[str]] | ExplorerError | None) -> None:
        self._window.status.say("", 0)
        files, errors = outcome if isinstance(outcome, tuple) else ([], [str(outcome)])
        parts = [imported_words(files)] if files else []
        parts += [f"{capital(words)}." for words in errors[:ERRORS_SHOWN]]
        if (more := len(errors) - ERRORS_SHOWN) > 0:
            parts.append(
                plural(
                    more,
                    "{number} more file cannot be imported.",
                    "{number} more files cannot be imported.",
                )
            )
        notes = "\n".join(note for one in files for note in one["notes"])
        kind = "info" if not errors else "warning" if files else "bad"
        self._say(Notice(kind, " ".join(parts), detail=notes))

    def close_down(self) -> None:
        """End an import that is going on; a file that is not in yet stays out."""
        if self._child is not None:
            self._child.end()
        self._tasks.close_down()

    # ---- out

    def export(self, suffix: str) -> None:
        """Ask for a file name and write what the view in front has, or the runs."""
        shown = self._shown(suffix)
        if shown is None:
            self._say(Notice("warning", "There is nothing to export yet."))
            return
        named, document = shown
        words, chosen = CONVERTED[suffix]
        exporter = self._window.exporter
        path = exporter.ask_path(suffix, named, {suffix: words})
        if path is not None:
            exporter.do(path, lambda target: convert(document(), target, chosen))

    def _shown(self, suffix: str) -> tuple[str, Document] | None:
        """Return a file name and the document of what is shown; None when there is nothing."""
        panels = self._window.panels
        current = panels.places.current
        if isinstance(current, ResultTab) and current.result is not None:
            try:
                found = current.result.exported()
            except ExplorerError:
                return None
            return f"{file_stem(found.stem)}.{suffix}", found.json
        return self._runs(suffix)

    def _runs(self, suffix: str) -> tuple[str, Document] | None:
        """Return the current run and the ghosts beside it."""
        from gpuexplorer.exchange.document import runs_json

        model = self._window.session.live_model
        run = model.current
        record = run.record if run is not None else None
        if run is None or record is None or not record.samples:
            return None
        records = [record, *(p.record for p in model.pins if p.ticket != run.ticket)]
        taken = [one.snapshot() for one in records if one is not None and one.samples]
        named = default_name(record.prepared.config, suffix)
        return named, lambda: runs_json([record.result() for record in taken])

    def _say(self, notice: Notice) -> None:
        self._window.panels.banner.say(notice.kind, notice.text, (), notice.detail)


def imported_words(files: Sequence[dict[str, Any]]) -> str:
    """Return what came of some files that were imported, in a sentence or two."""
    added = sum(len(one["added"]) for one in files)
    known = sum(len(one["duplicates"]) for one in files)
    skipped = sum(len(one["skipped"]) for one in files)
    names = Path(files[0]["file"]).name if len(files) == 1 else f"{len(files)} files"
    sentences = [
        plural(
            added,
            "{number} run imported from {names}.",
            "{number} runs imported from {names}.",
            names=names,
        )
    ]
    if known:
        sentences.append(
            plural(
                known,
                "{number} is in the history already and stayed as before.",
                "{number} are in the history already and stayed as before.",
            )
        )
    if skipped:
        sentences.append(f"{count(skipped)} had no result there.")
    return " ".join(sentences)
