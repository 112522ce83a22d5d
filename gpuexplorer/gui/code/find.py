"""Finding words in a source: a line under it that opens with Ctrl+F and closes with Esc."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut, QTextCursor, QTextDocument
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QPlainTextEdit, QToolButton, QWidget

from gpuexplorer.core.language import as_is, tr
from gpuexplorer.core.units import plural
from gpuexplorer.gui.theme import theme


class FindBar(QWidget):
    """Looks for words in a text, whatever their case; Enter goes on, Shift+Enter back."""

    def __init__(self, view: QPlainTextEdit) -> None:
        super().__init__()
        self._view = view
        self.words = QLineEdit()
        self.words.setObjectName("findWords")
        self.words.setPlaceholderText(tr("Find in this source"))
        self.words.setAccessibleName(tr("Find in this source"))
        self.words.textEdited.connect(lambda _: self._look(from_start=True))
        self.found = QLabel()
        self.found.setObjectName("findCount")
        self.found.setProperty("role", "muted")
        self._last = self._button("↑", "The one before (Shift+Enter)", self.go_back)
        self._next = self._button("↓", "The next one (Enter)", self.go_on)
        self._close = self._button("", "Close (Esc)", self.dismiss)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 4, 8, 4)
        row.addWidget(self.words, 1)
        for widget in (self.found, self._last, self._next, self._close):
            row.addWidget(widget)
        for keys, act in (
            ("Return", self.go_on), ("Shift+Return", self.go_back), ("Escape", self.dismiss),
        ):  # fmt: skip
            shortcut = QShortcut(QKeySequence(keys), self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(act)
        theme().changed.connect(self._paint)
        self._paint()
        self.hide()

    def _button(self, words: str, tip: str, act: object) -> QToolButton:
        button = QToolButton()
        button.setText(tr(words))
        button.setToolTip(tr(tip))
        button.setAccessibleName(tr(tip))
        button.setAutoRaise(True)
        button.clicked.connect(act)
        return button

    def _paint(self) -> None:
        self._close.setIcon(theme().icon("close", "muted"))

    def begin(self) -> None:
        """Open, with what is selected, if that is a part of a line."""
        chosen = self._view.textCursor().selectedText()
        if chosen and "\u2029" not in chosen:
            self.words.setText(as_is(chosen))
        self.show()
        self.words.setFocus()
        self.words.selectAll()
        self._tell()

    def dismiss(self) -> None:
        """Close, and give the keys back to the text."""
        self.hide()
        self._view.setFocus()

    def go_on(self) -> None:
        """Select the next place, from the top again after the last."""
        self._look()

    def go_back(self) -> None:
        """Select the place before, from the end again before the first."""
        self._look(QTextDocument.FindFlag.FindBackward)

    def _look(
        self,
        how: QTextDocument.FindFlag = QTextDocument.FindFlag(0),  # noqa: B008
        *,
        from_start: bool = False,
    ) -> None:
        words, document = self.words.text(), self._view.document()
        cursor = self._view.textCursor()
        if from_start:
            cursor.setPosition(cursor.selectionStart())
        found = document.find(words, cursor, how) if words else QTextCursor()
        if found.isNull() and words:
            again = QTextCursor(document)
            if how == QTextDocument.FindFlag.FindBackward:
                again.movePosition(QTextCursor.MoveOperation.End)
            found = document.find(words, again, how)
        if not found.isNull():
            self._view.setTextCursor(found)
            self._view.ensureCursorVisible()
        self._tell()

    def _tell(self) -> None:
        words = self.words.text()
        number = self._view.toPlainText().lower().count(words.lower()) if words else 0
        self.found.setText(tr(plural(number, "{number} place", "{number} places") if words else ""))
