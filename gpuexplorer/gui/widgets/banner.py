"""One sentence over the foot of the views, with what can be done about it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QEvent, QObject, QRect, Qt
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QBoxLayout,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QSlider,
    QTabBar,
    QTextEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.language import tr
from gpuexplorer.core.text import visible
from gpuexplorer.gui.speech import announce
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.typeface import fixed
from gpuexplorer.gui.widgets.layouts import empty
from gpuexplorer.gui.widgets.look import set_look

Action = tuple[str, Callable[[], None]]
EDGE = 6
"""Pixels between the card and the views' edges."""
WIDEST = 860
NARROW = 620
"""Below this many pixels the buttons stand under the words."""
GAP = 2
"""Pixels between the card and what it must not cover."""
POINTER = 12
"""Pixels around the pointer in which no card appears."""
CONTROLS = (QAbstractButton, QAbstractSpinBox, QComboBox, QLineEdit, QSlider, QTabBar)
TEXTS = (QAbstractItemView, QPlainTextEdit, QTextEdit)
"""What is read is covered only where there is no other place."""


class Banner(QFrame):
    """A card that never blocks: ``info``, ``warning`` or ``bad``; further lines unfold.

    It lies over the foot of the views, so that nothing moves when it comes and goes, or as low as
    it covers no button, no field and, if there is another place, no table and no text. Further
    lines unfold above the sentence.
    """

    def __init__(self, over: QWidget) -> None:
        """``over`` is where the views are; it has a parent, which the card gets too."""
        around = over.parentWidget()
        assert around is not None
        super().__init__(around)
        self._over, self._around = over, around
        self._pointer = QRect()
        """Where the pointer was when it came."""
        self._foot = 0
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
        self._detail.setFont(fixed())
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
        layout.addWidget(self._detail)
        layout.addLayout(line)
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
        set_look(self, kind=kind)
        at = self._around.mapFromGlobal(QCursor.pos())
        self._pointer = QRect(at, at).adjusted(-POINTER, -POINTER, POINTER, POINTER)
        self.show()
        self.place()
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

    def place(self) -> None:
        """Lie over the foot of the view, as high as the words need."""
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
        room = room.adjusted(EDGE, EDGE, -EDGE, -EDGE)
        card = QRect(0, 0, width, min(layout.totalHeightForWidth(width), room.height()))
        card.moveCenter(room.center())
        card.moveBottom(self._foot if self._more.isChecked() else self._lowest(card, room))
        if card.top() < room.top():  # all that unfolds has no room above the sentence
            card.moveTop(room.top())
        self._foot = card.bottom()
        self.setGeometry(card)
        self.raise_()

    def _lowest(self, card: QRect, room: QRect) -> int:
        """Return the lowest bottom with which a card covers no control; the room's without any."""
        controls, texts = self._places_of(CONTROLS), self._places_of(TEXTS)
        card = QRect(card)
        for taken in ([self._pointer, *controls, *texts], [self._pointer, *controls]):
            card.moveBottom(room.bottom())
            while card.top() >= room.top():
                below = [one.top() for one in taken if one.intersects(card)]
                if not below:
                    return card.bottom()
                card.moveBottom(min(below) - GAP - 1)
        return room.bottom()

    def _places_of(self, kinds: tuple[type[QWidget], ...]) -> list[QRect]:
        """Return the places of what is seen of the view's widgets of some kinds.

        Not by ``findChildren``: what that returns is kept as long as the view, though it is gone.
        """
        found = list[QRect]()
        for widget in QApplication.allWidgets():
            if not isinstance(widget, kinds) or not widget.isVisible():
                continue
            if not self._over.isAncestorOf(widget):
                continue
            seen = widget.visibleRegion().boundingRect()
            if not seen.isEmpty():
                found.append(QRect(widget.mapTo(self._around, seen.topLeft()), seen.size()))
        return found

    def event(self, event: QEvent) -> bool:
        """Take another height when the words or the style want one."""
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self.place()
        return done

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the place of the views."""
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Move):
            self.place()
        return super().eventFilter(watched, event)
