"""Two small dialogs of a session: its notes, and the kernel sources that a file brought."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.language import as_is, tr
from gpuexplorer.core.units import count
from gpuexplorer.exchange import atomic_file
from gpuexplorer.gui.model.session_document import MAX_NOTES
from gpuexplorer.gui.screen import open_size
from gpuexplorer.gui.typeface import fixed, for_text
from gpuexplorer.workloads.workload import MANIFEST_NAME, WorkloadSource


class NotesDialog(QDialog):
    """A text to go with the session; ``changed`` carries it as it is typed."""

    changed = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("notesDialog")
        self.setWindowTitle(tr("Session notes"))
        self.resize(open_size(self, 520, 340))
        self.edit = QPlainTextEdit()
        self.edit.setObjectName("notesEdit")
        self.edit.setAccessibleName(tr("Notes"))
        self.edit.setTabChangesFocus(True)
        self.edit.setPlaceholderText(tr("What you looked for, and what you found."))
        self.edit.textChanged.connect(self._typed)
        self.saved = QLabel()
        self.saved.setProperty("role", "muted")
        self.saved.setWordWrap(True)
        self._say_what_is_saved()
        close = QPushButton(tr("Close"))
        close.clicked.connect(self.close)
        column = QVBoxLayout(self)
        column.addWidget(self.edit, 1)
        row = QHBoxLayout()
        row.addWidget(self.saved, 1)
        row.addWidget(close)
        column.addLayout(row)

    def show_notes(self, notes: str) -> None:
        """Show these notes without emitting ``changed``."""
        if notes != self.edit.toPlainText():
            before = self.edit.blockSignals(True)
            self.edit.setPlainText(as_is(notes))
            self.edit.blockSignals(before)
            self._say_what_is_saved()

    def _typed(self) -> None:
        self._say_what_is_saved()
        self.changed.emit(self.edit.toPlainText()[:MAX_NOTES])

    def _say_what_is_saved(self) -> None:
        saved = tr("Saved with the session file.")
        if len(self.edit.toPlainText()) > MAX_NOTES:
            saved = tr(f"The session file holds the first {count(MAX_NOTES)} characters alone.")
        self.saved.setText(saved)


def save_sources(kernels: Mapping[str, WorkloadSource], folder: Path) -> Path:
    """Write sources below a folder, one folder a workload, and return the folder to add.

    Nothing that is there is written over. Raises InputError when something is, or when the folder
    cannot be written.
    """
    for name in kernels:
        path = folder / name
        if path.exists():
            raise InputError(f"{path} is there already", remedy="choose an empty folder")
    for name, source in kernels.items():
        target = folder / name
        try:
            target.mkdir()
        except OSError as error:
            raise InputError(
                f"cannot write {target}: {error.strerror}", remedy="choose another folder"
            ) from None
        for file, text in {MANIFEST_NAME: source.manifest, **source.files}.items():
            with atomic_file(target / file) as stream:
                stream.write(text.encode())
    return folder


class SourcesDialog(QDialog):
    """Kernel sources as text; ``saved`` carries the folder they were written to."""

    saved = Signal(object)

    def __init__(self, parent: QWidget, origin: str, kernels: Mapping[str, WorkloadSource]) -> None:
        super().__init__(parent)
        self.setObjectName("sourcesDialog")
        self.setWindowTitle(tr(f"Kernel sources in {origin}"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(open_size(self, 860, 560))
        self._kernels = dict(kernels)
        self._texts: list[str] = []
        self.list = QListWidget()
        self.list.setObjectName("sourcesList")
        self.list.setFixedWidth(for_text(210))
        for name, source in kernels.items():
            for file, text in {MANIFEST_NAME: source.manifest, **source.files}.items():
                self.list.addItem(QListWidgetItem(as_is(f"{name}/{file}")))
                self._texts.append(text)
        self.text = QPlainTextEdit()
        self.text.setObjectName("sourcesText")
        self.text.setReadOnly(True)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setFont(fixed())
        self.list.currentRowChanged.connect(self._show_row)
        self.words = QLabel(
            tr(
                "These sources came with the file and are only shown. To run one, read it, save it "
                "to a folder, and add that folder with File > Open kernels folder."
            )
        )
        self.words.setTextFormat(Qt.TextFormat.PlainText)
        self.words.setWordWrap(True)
        save = QPushButton(tr("Save to a folder…"))
        save.setObjectName("saveSourcesButton")
        save.clicked.connect(self._ask)
        close = QPushButton(tr("Close"))
        close.clicked.connect(self.close)
        body = QHBoxLayout()
        body.addWidget(self.list)
        body.addWidget(self.text, 1)
        foot = QHBoxLayout()
        foot.addWidget(self.words, 1)
        foot.addWidget(save)
        foot.addWidget(close)
        column = QVBoxLayout(self)
        column.addLayout(body, 1)
        column.addLayout(foot)
        self.list.setCurrentRow(0)

    def _show_row(self, row: int) -> None:
        self.text.setPlainText(as_is(self._texts[row] if 0 <= row < len(self._texts) else ""))

    def _ask(self) -> None:
        name = QFileDialog.getExistingDirectory(self, tr("Save the sources to"), str(Path.home()))
        if name:
            self.save(Path(name))

    def save(self, folder: Path) -> None:
        """Write the sources below a folder, and say what became of it."""
        try:
            self.saved.emit(save_sources(self._kernels, folder))
        except ExplorerError as error:
            self.words.setText(tr(f"{error}."))
        else:
            self.words.setText(
                tr(
                    f"Saved below {folder}. To run them, add that folder with File > Open kernels "
                    "folder."
                )
            )
