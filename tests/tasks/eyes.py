"""The real window, and the eyes of who sits before it: it tells what is seen and where.

It does nothing to the window; what is clicked and typed comes through the X server.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, cast

from PySide6.QtCore import QAbstractItemModel, QPoint, QRect, QSocketNotifier, Qt, QTimer
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QGroupBox,
    QLabel,
    QLineEdit,
    QMenu,
    QMenuBar,
    QPlainTextEdit,
    QTabBar,
    QWidget,
)

from gpuexplorer.gui import app
from tests.chaos.puppet import Strings

Seen = tuple[str, str, QRect]
"""What kind of thing it is, its words, and its place on the screen in pixels."""


def plain(text: str) -> str:
    """Return words without a mnemonic's mark and without markup's line ends."""
    return " ".join(text.replace("&&", "\0").replace("&", "").replace("\0", "&").split())


def place(widget: QWidget, rect: QRect | None = None) -> QRect:
    """Return where a widget, or a part of it, lies on the screen, as far as it is not hidden."""
    shown = widget.visibleRegion().boundingRect()
    part = shown if rect is None else rect & shown
    return QRect(widget.mapToGlobal(part.topLeft()), part.size())


def _of_view(view: QAbstractItemView) -> Iterator[Seen]:
    model = cast("QAbstractItemModel | None", view.model())
    if model is None:
        return
    viewport = view.viewport()
    pending = [view.rootIndex()]
    while pending:
        parent = pending.pop()
        for row in range(min(model.rowCount(parent), 400)):
            for column in range(model.columnCount(parent)):
                index = model.index(row, column, parent)
                rect = view.visualRect(index)
                text = index.data(Qt.ItemDataRole.DisplayRole)
                if text is None or not rect.intersects(viewport.rect()):
                    continue
                yield "row", plain(str(text)), place(viewport, rect)
            first = model.index(row, 0, parent)
            if model.rowCount(first):
                pending.append(first)


def seen() -> Iterator[Seen]:
    """Yield everything with words that is on the screen, what lies on top first."""
    popup = QApplication.activePopupWidget()
    modal = QApplication.activeModalWidget()
    for widget in QApplication.allWidgets():
        if not widget.isVisible() or widget.visibleRegion().isEmpty():
            continue
        top = widget.window()
        if popup is not None and top is not popup.window():
            continue
        if popup is None and modal is not None and top is not modal:
            continue
        yield from _of(widget)


def name(widget: QWidget) -> str:
    """Return what a screen reader calls a widget: its own name or that of its label."""
    interface = QAccessible.queryAccessibleInterface(widget)
    return plain(interface.text(QAccessible.Text.Name)) if interface is not None else ""


def _of(widget: QWidget) -> Iterator[Seen]:
    if isinstance(widget, QMenu | QMenuBar):
        for action in widget.actions():
            if action.isVisible() and action.text():
                kind = "item" if action.isEnabled() else "grey"
                yield kind, plain(action.text()), place(widget, widget.actionGeometry(action))
    elif isinstance(widget, QTabBar):
        for index in range(widget.count()):
            yield "tab", plain(widget.tabText(index)), place(widget, widget.tabRect(index))
    elif isinstance(widget, QAbstractItemView):
        yield from _of_view(widget)
    elif isinstance(widget, QAbstractButton):
        kind = "button" if widget.isEnabled() else "grey"
        for words in {plain(widget.text()), name(widget)} - {""}:
            yield kind, words, place(widget)
    elif isinstance(widget, QComboBox):
        yield "choice", name(widget), place(widget)
        yield "value", plain(widget.currentText()), place(widget)
    elif isinstance(widget, QLineEdit):
        yield "box", name(widget) or plain(widget.placeholderText()), place(widget)
        yield "value", plain(widget.text()), place(widget)
    elif isinstance(widget, QLabel):
        yield "words", plain(widget.text()), place(widget)
    elif isinstance(widget, QPlainTextEdit):
        yield "words", plain(widget.toPlainText()), place(widget)
    elif isinstance(widget, QGroupBox):
        yield "words", plain(widget.title()), place(widget)
    elif widget.accessibleName():
        yield "thing", plain(widget.accessibleName()), place(widget)
        told = widget.spoken() if hasattr(widget, "spoken") else widget.accessibleDescription()
        if told:
            yield "words", plain(told), place(widget)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    kinds = set(request.get("kinds", ()))
    found = [
        (kind, words, [rect.center().x(), rect.center().y(), rect.width(), rect.height()])
        for kind, words, rect in seen()
        if not kinds or kind in kinds
    ]
    return {"seen": found}


def main() -> int:
    """Show the window and answer until the input ends."""
    strings = Strings()
    application, window = app.create(sys.argv[1:])
    window.move(QPoint(0, 0))
    window.show()
    ticks = QTimer()
    ticks.timeout.connect(lambda: None)
    ticks.start(500)

    def hear() -> None:
        requests = strings.read()
        if requests is None:
            window.close()
            application.quit()
            return
        for request in requests:
            strings.answer(**_answer(request))

    ear = QSocketNotifier(strings.fileno(), QSocketNotifier.Type.Read)
    ear.activated.connect(hear)
    strings.answer(ready=True)
    return int(application.exec())


if __name__ == "__main__":
    sys.exit(main())
