"""Files of other programs into the history, read by a child process.

The history shows what another process stored by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.language import tr
from gpuexplorer.core.units import count, plural
from gpuexplorer.gui.child import Child
from gpuexplorer.gui.notice import Notice, capital
from gpuexplorer.gui.settings import Settings
from gpuexplorer.gui.task import Tasks

READ = "Runs (*.json *.parquet *.pq);;All files (*)"
ERRORS_SHOWN = 3


def import_files(paths: Sequence[Path], child: Child) -> tuple[list[Any], list[str]]:
    """Have the child import files; return what the command said of each, and its errors."""
    names = [str(path.resolve()) for path in paths]
    _, output, errors = child.run("import", *names, "--json", "-")
    return msgspec.json.decode(output)["files"] if output else [], errors


class Importer(QObject):
    """Asks for files, has them read in the background, and says what became of it.

    ``notice`` carries a sentence for the banner, ``busy_with`` one for the status bar, empty once
    it is over.
    """

    notice = Signal(object)
    busy_with = Signal(str)

    def __init__(self, window: QWidget, settings: Settings) -> None:
        super().__init__(window)
        self._window, self._settings = window, settings
        self._tasks = Tasks(self)
        self._child: Child | None = None

    @property
    def busy(self) -> bool:
        """Whether files are being imported."""
        return self._tasks.busy

    # ---- in

    def ask_import(self) -> None:
        """Ask for files and import them."""
        folder = str(self._settings.export_folder)
        names, _ = QFileDialog.getOpenFileNames(self._window, tr("Import runs"), folder, tr(READ))
        if names:
            self.take([Path(name) for name in names])

    def take(self, paths: Sequence[Path]) -> None:
        """Import files into the history in the background."""
        if self.busy:
            self.notice.emit(Notice("warning", "Another import is still running."))
            return
        child = self._child = Child()
        self.busy_with.emit(
            f"Importing {paths[0].name}…" if len(paths) == 1 else f"Importing {len(paths)} files…"
        )
        self._tasks.do("the import", lambda _: import_files(paths, child), self._taken)

    def _taken(self, outcome: tuple[list[Any], list[str]] | ExplorerError | None) -> None:
        self.busy_with.emit("")
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
        self.notice.emit(Notice(kind, " ".join(parts), detail=notes))

    def close_down(self) -> None:
        """End an import that is going on; a file that is not in yet stays out."""
        if self._child is not None:
            self._child.end()
        self._tasks.close_down()


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
