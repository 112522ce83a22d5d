"""Every command by its name: typed in part, chosen with the arrows, done with Enter."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import msgspec
from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QLineEdit,
    QMenu,
    QMenuBar,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.language import as_is, tr
from gpuexplorer.gui.typeface import for_text

WIDTH, ROWS = 560, 12
MOVES = frozenset({Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown})


_KEY = re.compile(r"\(&\w\)")
"""A key in brackets, as where a name has none of its letters: 文件(&F)."""


class Entry(msgspec.Struct, frozen=True):
    """One command: where it stands in the menus, and the action that does it."""

    place: tuple[str, ...]
    action: QAction

    @property
    def words(self) -> str:
        """Its name, with the menus that lead to it."""
        return " › ".join((*self.place, plain(self.action.text())))


def plain(words: str) -> str:
    """Return the words of a menu without its marks of keys and dialogs."""
    return _KEY.sub("", words).replace("&", "").removesuffix("…")


def entries(menus: QMenuBar) -> list[Entry]:
    """Return all commands of a menu bar, in its order."""

    submenus = {menu.menuAction(): menu for menu in menus.findChildren(QMenu)}

    def walk(actions: Iterable[QAction], place: tuple[str, ...]) -> Iterable[Entry]:
        for action in actions:
            menu = submenus.get(action)
            if menu is not None:
                yield from walk(menu.actions(), (*place, plain(action.text())))
            elif not action.isSeparator() and action.isVisible():
                yield Entry(place, action)

    return list(walk(menus.actions(), ()))


def matching(found: Sequence[Entry], typed: str) -> list[Entry]:
    """Return the entries with every word typed, those whose own name begins with them first."""
    parts = typed.casefold().split()
    wanted = [e for e in found if all(part in e.words.casefold() for part in parts)]
    begins = " ".join(parts)
    return sorted(
        wanted, key=lambda e: not plain(e.action.text()).casefold().startswith(begins)
    )  # else as in the menus: sorting is stable


class Palette(QDialog):
    """Lies over the window until a command is chosen or something else is clicked."""

    def __init__(self, window: QWidget, found: Callable[[], Sequence[Entry]]) -> None:
        super().__init__(window, Qt.WindowType.Popup)
        self.setObjectName("palette")
        self.setAccessibleName(tr("Commands"))
        self._found = found
        self._entries: Sequence[Entry] = ()
        self.field = QLineEdit()
        self.field.setObjectName("paletteField")
        self.field.setPlaceholderText(tr("Type a command"))
        self.field.setAccessibleName(tr("Command"))
        self.field.textEdited.connect(self._show_matching)
        self.field.installEventFilter(self)
        self.list = QTreeWidget()
        self.list.setObjectName("paletteList")
        self.list.setAccessibleName(tr("Commands that match"))
        self.list.setColumnCount(2)
        self.list.setHeaderHidden(True)
        self.list.setRootIsDecorated(False)
        self.list.setUniformRowHeights(True)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setFocusProxy(self.field)  # whose arrow keys move in it
        self.list.itemClicked.connect(lambda item: self._do(item))
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 8)
        column.setSpacing(6)
        column.addWidget(self.field)
        column.addWidget(self.list)

    def open_over(self, window: QWidget) -> None:
        """Show all commands at the top of a window, ready to be typed."""
        self._entries = self._found()
        self.field.clear()
        self._show_matching("")
        wide = min(for_text(WIDTH), window.width() - 40)
        row = self.list.sizeHintForRow(0)
        self.list.setFixedHeight(ROWS * row + 2 * self.list.frameWidth())
        self.resize(QSize(wide, self.sizeHint().height()))
        self.list.setColumnWidth(0, wide - for_text(150))
        self.move(window.mapToGlobal(QPoint((window.width() - wide) // 2, 60)))
        self.show()
        self.field.setFocus(Qt.FocusReason.PopupFocusReason)

    def _show_matching(self, typed: str) -> None:
        self.list.clear()
        for entry in matching(self._entries, typed):
            key = entry.action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
            item = QTreeWidgetItem([as_is(entry.words), key])  # an action speaks already
            item.setData(0, Qt.ItemDataRole.UserRole, entry)
            item.setToolTip(0, as_is(entry.action.toolTip()))
            item.setTextAlignment(1, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            if not entry.action.isEnabled():
                item.setFlags(Qt.ItemFlag.NoItemFlags)
            self.list.addTopLevelItem(item)
        items = (self.list.topLevelItem(i) for i in range(self.list.topLevelItemCount()))
        first = next((i for i in items if i is not None and i.flags()), None)
        if first is not None:
            self.list.setCurrentItem(first)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Move in the list, or do what is chosen, while the keys are the field's."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() in MOVES:
                self.list.keyPressEvent(event)
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._do(self.list.currentItem())
                return True
        return super().eventFilter(watched, event)

    def _do(self, item: QTreeWidgetItem | None) -> None:
        entry = item.data(0, Qt.ItemDataRole.UserRole) if item is not None else None
        if isinstance(entry, Entry) and entry.action.isEnabled():
            self.close()
            entry.action.trigger()
