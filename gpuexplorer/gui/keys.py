"""Whose a key is: the field's that is typed in, the button's that has the focus, or a command's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractButton, QAbstractSpinBox, QLineEdit, QMainWindow, QWidget
from shiboken6 import isValid

if TYPE_CHECKING:
    from gpuexplorer.gui.widgets.banner import Banner

ENTER = frozenset({Qt.Key.Key_Return, Qt.Key.Key_Enter})


class KeyWindow(QMainWindow):
    """A main window that lets its commands have their keys back.

    Enter ends typing in a field: its value is taken and the focus leaves it. Space presses the
    button that has the focus. Esc hides the banner before it is a command's. A control that goes
    away while it has the focus leaves it to none, so that no other control gets keys meant for a
    command. Tab goes on from where the focus was last.
    """

    banner: Banner

    def __init__(self) -> None:
        super().__init__()
        self._left: QWidget | None = None
        """The control that had the focus last, while none has it."""
        self.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep a key from the commands that is another's now.

        (In ``event`` each repaint of the window would hold Python's lock from beginning to end.)
        """
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            pressed = event.keyCombination().toCombined()
            on_button = isinstance(self._focused(), QAbstractButton)
            if (pressed == Qt.Key.Key_Space and on_button) or (
                pressed == Qt.Key.Key_Escape and self.banner.isVisible()
            ):
                event.accept()
                return True
        return super().eventFilter(watched, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """End typing with Enter, and hide the banner with Esc."""
        field = self._focused()
        if event.key() in ENTER and isinstance(field, (QLineEdit, QAbstractSpinBox)):
            self._leave(field)
        elif event.key() == Qt.Key.Key_Escape and self.banner.isVisible():
            self.banner.dismiss()
        else:
            super().keyPressEvent(event)

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Go to the next control, or to none where the present one can have no keys any more."""
        widget = self._focused()
        if widget is not None and not (widget.isEnabled() and widget.isVisible()):
            self._leave(widget)
            return False
        if widget is None and self._left is not None and isValid(self._left):
            return self._go_on(self._left, forward=forward)
        return super().focusNextPrevChild(forward)

    def _focused(self) -> QWidget | None:
        return self.focusWidget()

    def _leave(self, widget: QWidget) -> None:
        self._left = widget
        widget.clearFocus()

    def _go_on(self, start: QWidget, *, forward: bool) -> bool:
        """Give the focus to the next control after ``start`` that Tab leads to.

        Qt goes on from what has the focus: for this a widget without size has it, next to the
        start. Never ask for ``nextInFocusChain``: Qt for Python takes what that returns for a child
        of the one before, and with that one scroll bars go that their areas go on using.
        """
        beside = QWidget(self)
        beside.resize(0, 0)
        beside.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        beside.show()
        QWidget.setTabOrder(start, beside)
        if not forward:
            QWidget.setTabOrder(beside, start)
        beside.setFocus(Qt.FocusReason.OtherFocusReason)
        moved = super().focusNextPrevChild(forward)
        beside.clearFocus()
        beside.deleteLater()
        return moved
