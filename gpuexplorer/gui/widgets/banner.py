"""One sentence across the top of the plots, with what can be done about it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.text import visible
from gpuexplorer.gui.theme import theme

Action = tuple[str, Callable[[], None]]


class Banner(QFrame):
    """A strip that never blocks: ``info``, ``warning`` or ``bad``; further lines unfold."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("banner")
        self.kind = ""
        self._text = QLabel()
        self._text.setObjectName("bannerText")
        self._text.setWordWrap(True)
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._buttons = QHBoxLayout()
        self._more = QPushButton("Details")
        self._more.setCheckable(True)
        self._more.toggled.connect(self._unfold)
        self._close = QToolButton()
        self._close.setObjectName("bannerClose")
        self._close.setToolTip("Hide this message")
        self._close.clicked.connect(self.dismiss)
        self._detail = QPlainTextEdit()
        self._detail.setObjectName("bannerDetail")
        self._detail.setReadOnly(True)
        self._detail.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._detail.setMaximumHeight(170)
        font = self._detail.font()
        font.setFamilies(["monospace"])
        font.setStyleHint(font.StyleHint.Monospace)
        self._detail.setFont(font)
        line = QHBoxLayout()
        line.addWidget(self._text, 1)
        line.addWidget(self._more)
        line.addLayout(self._buttons)
        line.addWidget(self._close)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 7, 8, 7)
        layout.addLayout(line)
        layout.addWidget(self._detail)
        theme().changed.connect(self._paint)
        self._paint()
        self.dismiss()

    def _paint(self) -> None:
        self._close.setIcon(theme().icon("close", "muted"))

    @property
    def text(self) -> str:
        """The sentence shown; empty when there is none."""
        return self._text.text() if not self.isHidden() else ""

    @property
    def detail(self) -> str:
        """The further lines."""
        return self._detail.toPlainText()

    def say(self, kind: str, text: str, actions: tuple[Action, ...] = (), detail: str = "") -> None:
        """Show a sentence; each action is a button, and hides the banner before it acts."""
        self.kind = kind
        self._clear_buttons()
        self._text.setText(visible(text))
        self._detail.setPlainText(visible(detail))
        self._more.setChecked(False)
        self._more.setVisible(bool(detail))
        self._detail.hide()
        for words, act in actions:
            button = QPushButton(words)
            button.clicked.connect(partial(self._act, act))
            self._buttons.addWidget(button)
        self.setProperty("kind", kind)
        self.style().unpolish(self)
        self.style().polish(self)
        self.show()

    def _act(self, act: Callable[[], None], _checked: bool = False) -> None:
        self.dismiss()
        act()

    def dismiss(self) -> None:
        """Hide the banner."""
        self.hide()
        self.kind = ""

    def _clear_buttons(self) -> None:
        while (item := self._buttons.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()

    def _unfold(self, on: bool) -> None:
        self._detail.setVisible(on)
