"""The one dialog of every export: format, file and colours."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.language import as_is, tr
from gpuexplorer.exchange.files import not_written_reason
from gpuexplorer.gui.help_here import PAGE
from gpuexplorer.gui.settings import Settings

NAME_CHARACTERS = 52
"""The file's box shows so many."""


class ExportDialog(QDialog):
    """Asks in which format to write, where to and, of a picture, in which colours.

    ``chosen`` carries the file, the format and whether a picture has the window's colours.
    """

    chosen = Signal(Path, str, bool)

    def __init__(
        self,
        parent: QWidget,
        stem: str,
        formats: Mapping[str, str],
        pictures: Collection[str],
        settings: Settings,
        suffix: str = "",
    ) -> None:
        """``formats`` are endings with words for each; ``suffix`` is offered first."""
        super().__init__(parent)
        self.setObjectName("exportDialog")
        self.setProperty(PAGE, "exchange")
        self.setWindowTitle(tr("Export"))
        self._formats, self._pictures, self._settings = formats, pictures, settings
        self.format_box = QComboBox()
        self.format_box.setObjectName("exportFormat")
        for ending, words in formats.items():
            self.format_box.addItem(tr(f"{words} (.{ending})"), ending)
        first = suffix or settings.export_format
        self.format_box.setCurrentIndex(max(0, self.format_box.findData(first)))
        self.path_box = QLineEdit()
        self.path_box.setObjectName("exportFile")
        self.path_box.setMinimumWidth(self.fontMetrics().averageCharWidth() * NAME_CHARACTERS)
        self.path_box.setText(as_is(str(settings.export_folder / f"{stem}.{self.suffix}")))
        browse = QPushButton(tr("&Browse…"))
        browse.setObjectName("exportBrowse")
        browse.setAutoDefault(False)
        self.colours_box = QComboBox()
        self.colours_box.setObjectName("exportColours")
        self.colours_box.addItems([tr("Light, for paper"), tr("As in the window")])
        self.colours_box.setCurrentIndex(int(settings.pictures_as_window))
        self.words = QLabel()
        self.words.setObjectName("exportWords")
        self.words.setProperty("role", "muted")
        self._buttons = QDialogButtonBox()
        self._buttons.addButton(tr("Cancel"), QDialogButtonBox.ButtonRole.RejectRole)
        self.export_button = QPushButton(tr("&Export"))
        self.export_button.setObjectName("exportNow")
        self.export_button.setDefault(True)
        self.export_button.setProperty("role", "leads")
        self._buttons.addButton(self.export_button, QDialogButtonBox.ButtonRole.AcceptRole)
        row = QHBoxLayout()
        row.addWidget(self.path_box, 1)
        row.addWidget(browse)
        form = QFormLayout()
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        for words, box in (("F&ormat", self.format_box), ("&Colours", self.colours_box)):
            form.addRow(tr(words), box)
        label = QLabel(tr("&File"))
        label.setBuddy(self.path_box)
        form.insertRow(1, label, row)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 12)
        column.setSpacing(12)
        column.addLayout(form)
        column.addWidget(self.words)
        column.addWidget(self._buttons)
        self.format_box.currentIndexChanged.connect(self._name_format)
        self.path_box.textChanged.connect(self._show)
        self.path_box.textEdited.connect(self._follow_name)
        browse.clicked.connect(lambda _=False: self._browse())
        self._buttons.accepted.connect(self.accept)
        self._buttons.rejected.connect(self.reject)
        self._show()
        self.path_box.setFocus()
        self.path_box.setSelection(len(str(settings.export_folder)) + 1, len(stem))

    @property
    def suffix(self) -> str:
        """The chosen format, as files end in it."""
        return str(self.format_box.currentData())

    @property
    def path(self) -> Path:
        """The file, with the format's ending."""
        text = self.path_box.text().strip()
        path = Path(os.path.expanduser(text))  # which leaves the home of an unknown user as it is
        if path.name and not os.path.isdir(path) and self._ending(path.name) != self.suffix:
            path = path.with_name(f"{path.name}.{self.suffix}")
        return path

    def _ending(self, name: str) -> str:
        """Return the longest of the formats' endings that a name has, or nothing."""
        held = [one for one in self._formats if name.lower().endswith(f".{one}")]
        return max(held, key=len, default="")

    def _name_format(self) -> None:
        """Let the file end in the format that was chosen."""
        name = self.path_box.text()
        ending = self._ending(name)
        bare = name.removesuffix(f".{ending}") if ending else name
        self.path_box.setText(as_is(f"{bare}.{self.suffix}"))
        self._show()

    def _follow_name(self, name: str) -> None:
        """Choose the format whose ending was typed."""
        at = self.format_box.findData(self._ending(name))
        if at >= 0:
            self.format_box.blockSignals(True)
            self.format_box.setCurrentIndex(at)
            self.format_box.blockSignals(False)
            self._show()

    def _browse(self) -> None:
        kind = tr(f"{self._formats[self.suffix]} (*.{self.suffix})")
        name, _ = QFileDialog.getSaveFileName(
            self, tr("Export"), str(self.path), tr(kind),
            options=QFileDialog.Option.DontConfirmOverwrite,
        )  # fmt: skip
        if name:
            self.path_box.setText(as_is(name))
            self._follow_name(name)

    def _show(self) -> None:
        """Say what Export will do, and whether it can."""
        path = self.path
        self.colours_box.setEnabled(self.suffix in self._pictures)
        try:
            words, can = self._outcome(path)
        except OSError as error:
            words, can = f"This file cannot be written: {not_written_reason(error)}.", False
        self.words.setText(tr(words))
        self.export_button.setEnabled(can)

    def _outcome(self, path: Path) -> tuple[str, bool]:
        """Return what Export will do, and whether it can; OSError for what is no name here."""
        if not self.path_box.text().strip():
            return "Give the file a name.", False
        if path.is_dir():
            return "This is a folder: give the file a name.", False
        if not path.parent.is_dir():
            return "There is no such folder: choose another one.", False
        if path.exists():
            return f"{path.name} exists: Export replaces it.", True
        return f"Writes {path.name}.", True

    def accept(self) -> None:
        """Close, remember what was chosen, and have it written."""
        path = self.path
        as_window = self.colours_box.currentIndex() == 1
        self._settings.export_format = self.suffix
        if self.suffix in self._pictures:
            self._settings.pictures_as_window = as_window
        super().accept()
        self.chosen.emit(path, self.suffix, as_window)
        self.deleteLater()

    def reject(self) -> None:
        """Close; nothing is written."""
        super().reject()
        self.deleteLater()
