"""One sentence over the top edge of the views, with what can be done about it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.language import tr
from gpuexplorer.core.text import visible
from gpuexplorer.gui.speech import announce
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.widgets.layouts import empty

Action = tuple[str, Callable[[], None]]
EDGE = 6
"""Pixels between the card and the views' edges."""
WIDEST = 860
NARROW = 620
"""Below this many pixels the buttons stand under the words."""


class Banner(QFrame):
    """A card that never blocks: ``info``, ``warning`` or ``bad``; further lines unfold.

    It lies over the views, so that nothing moves when it comes and goes.
    """

    def __init__(self, over: QWidget) -> None:
        """``over`` is where the views are; it has a parent, which the card gets too."""
        super().__init__(over.parentWidget())
        self._over = over
        self.setObjectName("banner")
        self.kind = ""
        self._text = QLabel()
        self._text.setObjectName("bannerText")
        self._text.setWordWrap(True)
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._buttons = QHBoxLayout()
        self._more = QPushButton(tr("Details"))
        self._more.setCheckable(True)
        self._more.toggled.connect(self._unfold)
        self._close = QToolButton()
        self._close.setObjectName("bannerClose")
        self._close.setToolTip(tr("Hide this message"))
        self._close.setAccessibleName(tr("Hide this message"))
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
        acts = QHBoxLayout()
        acts.addStretch(1)
        acts.addWidget(self._more)
        acts.addLayout(self._buttons)
        self._words_and_acts = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._words_and_acts.addWidget(self._text, 1)
        self._words_and_acts.addLayout(acts)
        line = QHBoxLayout()
        line.addLayout(self._words_and_acts, 1)
        line.addWidget(self._close, 0, Qt.AlignmentFlag.AlignTop)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 7, 8, 7)
        layout.addLayout(line)
        layout.addWidget(self._detail)
        theme().changed.connect(self._paint)
        self._paint()
        self.dismiss()
        over.installEventFilter(self)

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

    def say(
        self, kind: str, text: str, actions: tuple[Action, ...] = (), detail: str = "",
        *, offers: bool = False,
    ) -> None:  # fmt: skip
        """Show a sentence; each action is a button.

        It hides the banner before it acts, unless the sentence ``offers`` some to be taken.
        """
        self.kind = kind
        self._clear_buttons()
        self._text.setText(visible(tr(text)))
        self._detail.setPlainText(visible(tr(detail)))
        self._more.setChecked(False)
        self._more.setVisible(bool(detail))
        self._detail.hide()
        for words, act in actions:
            button = QPushButton(tr(words))
            button.clicked.connect(partial(self._act, act, offers))
            self._buttons.addWidget(button)
        self.setProperty("kind", kind)
        self.style().unpolish(self)
        self.style().polish(self)
        self.show()
        self._place()
        announce(self, self._text.text(), urgent=kind == "bad")

    def _act(self, act: Callable[[], None], stays: bool, _checked: bool = False) -> None:
        if not stays:
            self.dismiss()
        act()

    def dismiss(self) -> None:
        """Hide the banner."""
        self.hide()
        self.kind = ""

    def _clear_buttons(self) -> None:
        empty(self._buttons)

    def _unfold(self, on: bool) -> None:
        self._detail.setVisible(on)

    # ---- its place

    def _place(self) -> None:
        """Lie over the top edge of the view, as high as the words need."""
        layout = self.layout()
        if self.isHidden() or layout is None:
            return
        room = self._over.geometry()
        width = min(WIDEST, room.width() - 2 * EDGE)
        narrow = width < NARROW and not (self._more.isHidden() and not self._buttons.count())
        directions = QBoxLayout.Direction
        self._words_and_acts.setDirection(
            directions.TopToBottom if narrow else directions.LeftToRight
        )
        height = min(layout.totalHeightForWidth(width), room.height() - 2 * EDGE)
        left = room.left() + (room.width() - width) // 2
        self.setGeometry(left, room.top() + EDGE, width, height)
        self.raise_()

    def event(self, event: QEvent) -> bool:
        """Take another height when the words or the style want one."""
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._place()
        return done

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the place of the views."""
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Move):
            self._place()
        return super().eventFilter(watched, event)
