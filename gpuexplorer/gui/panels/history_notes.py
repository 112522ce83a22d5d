"""A small dialog for the tags and the note of runs."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import (
    QCompleter,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.language import tr
from gpuexplorer.core.units import count
from gpuexplorer.gui.screen import open_size
from gpuexplorer.history.model import MAX_NOTE, MAX_TAG, Row


class NotesDialog(QDialog):
    """Tags that all the runs have, and the note where it is one run."""

    def __init__(
        self,
        rows: Sequence[Row],
        known_tags: Sequence[str],
        parent: QWidget,
        typed: tuple[str, str] | None = None,
    ) -> None:
        """``typed`` are tags and note as they were left; None: as they are stored."""
        super().__init__(parent)
        self.setObjectName("historyNotes")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.rows = tuple(rows)
        one = rows[0] if len(rows) == 1 else None
        self.setWindowTitle(tr("Tags and note" if one is not None else "Tags"))
        self.resize(open_size(self, 430, 230 if one is not None else 120))
        about = QLabel(
            tr(
                f"{one.workload} · {one.variant} · {one.size_words} · "
                f"{one.launch_words} · {one.precision}"
                if one is not None
                else f"{count(len(rows))} runs; the tags that all of them have:"
            )
        )
        about.setProperty("role", "muted")
        about.setWordWrap(True)
        self._before = [t for t in rows[0].tags if all(t in row.tags for row in rows)]
        tags, note = typed or (", ".join(self._before), one.note if one is not None else "")
        self.tags = QLineEdit(tags)
        self.tags.setObjectName("historyTagsEdit")
        self.tags.setPlaceholderText(tr("baseline, before the fix, …"))
        self.tags.setToolTip(tr("Tags, with commas between them; at most 60 characters each"))
        completer = _LastWord([t for t in known_tags if t not in self._before], self)
        self.tags.setCompleter(completer)
        form = QFormLayout()
        form.addRow(tr("Tags"), self.tags)
        self.note = QPlainTextEdit(note)
        self.note.setObjectName("historyNoteEdit")
        self.note.setPlaceholderText(tr("What is worth knowing about this run"))
        self.note.setTabChangesFocus(True)
        if one is not None:
            form.addRow(tr("Note"), self.note)
        buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Save | QDialogButtonBox.StandardButton.Cancel
        )
        for button in buttons.buttons():
            button.setIcon(QIcon())
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        self._problem = QLabel()
        self._problem.setProperty("role", "bad")
        self._problem.setWordWrap(True)
        self._problem.hide()
        layout = QVBoxLayout(self)
        for widget in (about, form, self._problem, buttons):
            if isinstance(widget, QFormLayout):
                layout.addLayout(widget)
            else:
                layout.addWidget(widget)
        self.tags.setFocus()

    @property
    def added(self) -> list[str]:
        """Tags to give to all the runs."""
        return [tag for tag in self._wanted() if tag not in self._before]

    @property
    def removed(self) -> list[str]:
        """Tags to take from all the runs."""
        wanted = self._wanted()
        return [tag for tag in self._before if tag not in wanted]

    @property
    def new_note(self) -> str | None:
        """The note to set; None to leave it."""
        if len(self.rows) != 1:
            return None
        text = self.note.toPlainText().strip()
        return text if text != self.rows[0].note else None

    def _wanted(self) -> list[str]:
        words = (" ".join(part.split()) for part in self.tags.text().split(","))
        return list(dict.fromkeys(word for word in words if word))

    def accept(self) -> None:
        """Close, unless something is too long to be stored."""
        long = next((tag for tag in self._wanted() if len(tag) > MAX_TAG), None)
        if long is not None:
            self._complain(f"The tag '{long[:30]}…' has more than {MAX_TAG} characters.")
        elif len(self.new_note or "") > MAX_NOTE:
            self._complain(f"The note has more than {count(MAX_NOTE)} characters.")
        else:
            super().accept()

    def _complain(self, words: str) -> None:
        self._problem.setText(tr(words))
        self._problem.show()


class _LastWord(QCompleter):
    """Completes the tag after the last comma."""

    def __init__(self, words: Sequence[str], parent: QWidget) -> None:
        super().__init__(list(words), parent)
        self.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)

    def splitPath(self, path: str) -> list[str]:
        """Return what is completed of the whole text."""
        self._kept = path[: path.rfind(",") + 1]
        return [path[len(self._kept) :].strip()]

    def pathFromIndex(self, index: object) -> str:
        """Return the whole text with the completed tag."""
        word = str(super().pathFromIndex(index))  # type: ignore[arg-type]
        return f"{self._kept} {word}" if self._kept else word
