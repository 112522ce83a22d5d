"""The help pages: short texts shipped as Markdown, shown in a window of their own."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QSize, Qt, QUrl
from PySide6.QtGui import QKeyEvent, QKeySequence, QPainter, QShortcut, QTextCursor, QTextDocument
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTextBrowser,
    QTextEdit,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core import language, resources
from gpuexplorer.core.language import as_is, tr
from gpuexplorer.core.text import joined
from gpuexplorer.gui.keys import ENTER
from gpuexplorer.gui.model.help_search import marked, parts_of, search
from gpuexplorer.gui.screen import open_size
from gpuexplorer.gui.theme import theme

PAGES = {
    "first-steps": "First steps",
    "lessons": "Lessons",
    "reading-the-plots": "Reading the plots",
    "block-map": "The block map",
    "accesses": "Accesses of a warp",
    "roofline": "The roofline and calibration",
    "kernel": "The Kernel view",
    "what-numbers-promise": "What numbers promise",
    "uncertainty": "Uncertainty of a time",
    "sweeps": "Sweeps",
    "tuning": "Tuning",
    "comparing": "Comparing",
    "models": "Models: what is computed",
    "lab": "The Lab",
    "studies": "The studies of the Lab",
    "ladder": "The ladder",
    "frameworks": "PyTorch, TensorFlow, Keras, JAX",
    "memory": "Memory",
    "history": "History",
    "session-files": "Session files",
    "exchange": "Files of other programs",
    "engines": "Engines: other Pythons",
    "cluster": "Many GPUs: a cluster",
    "telemetry": "The device's state",
    "advice": "Advice, explained",
    "your-own-kernels": "Your own kernels",
    "own-model": "Your own model",
    "manifest": "The manifest, key by key",
    "self-test": "Self-test",
    "keys": "Keys and mouse",
}

HEADING_MARGIN = 8
"""Space above a heading that was jumped to, in pixels."""
FOUND = int(Qt.ItemDataRole.UserRole) + 1
"""The role of what was found of a page, as HTML."""
ROW_MARGIN = 8
"""Space around the words of a row, in pixels."""
MOVES = frozenset({Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown})
Index = QModelIndex | QPersistentModelIndex
LIST_WIDTH = 34
"""Letters that the list of pages is wide."""
HEADING = re.compile("#+ ")
MARKED = '<span style="background-color: {colour}; font-weight: 600">{words}</span>'


def contents() -> dict[str, tuple[str, str]]:
    """Return title and Markdown of every page, in the language of the window."""
    return _contents(language.current())


@lru_cache(maxsize=2)
def _contents(of: str) -> dict[str, tuple[str, str]]:
    return {
        name: (tr(title), joined(resources.text("help", f"{name}.md", language=of)))
        for name, title in PAGES.items()
    }


def headings(markdown: str) -> list[str]:
    """Return the headings of a page, in their order, which is the same in every language."""
    prose = "".join(markdown.split("```")[::2])
    return [line.lstrip("# ") for line in prose.split("\n") if HEADING.match(line)]


class Row(QStyledItemDelegate):
    """Draws a page's title, or what was found of it with the words marked."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw the found words over the row's background."""
        drawn = self._document(option, index)
        if drawn is None:
            super().paint(painter, option, index)
            return
        row = QStyleOptionViewItem(option)
        self.initStyleOption(row, index)
        row.text = ""
        row.widget.style().drawControl(
            QStyle.ControlElement.CE_ItemViewItem, row, painter, row.widget
        )
        painter.save()
        painter.translate(option.rect.topLeft())
        drawn.drawContents(painter)
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """Return the height that the words need in the list's width."""
        drawn = self._document(option, index)
        if drawn is None:
            return QSize(0, option.fontMetrics.height() + 2 * ROW_MARGIN)
        return QSize(0, round(drawn.size().height()))

    def _document(self, option: QStyleOptionViewItem, index: Index) -> QTextDocument | None:
        words = index.data(FOUND)
        if words is None:
            return None
        document = QTextDocument()
        document.setDefaultFont(option.font)
        document.setDocumentMargin(ROW_MARGIN)
        colour = theme().colour("text")
        document.setHtml(f'<span style="color: {colour}">{words}</span>')
        pages = option.widget
        document.setTextWidth(
            pages.viewport().width() if isinstance(pages, QListWidget) else option.rect.width()
        )
        return document


class HelpWindow(QDialog):
    """A list of pages at the left, the page at the right; it never blocks the main window.

    The box above the list finds words in all pages: Up and Down go through what was found, Enter
    from one place on the page to the next, and Esc ends the search before it closes the window.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("helpWindow")
        self.setWindowTitle(tr("GPU Explorer: help"))
        self.resize(open_size(self, 900, 620))
        self.field = QLineEdit()
        self.field.setObjectName("helpSearch")
        self.field.setAccessibleName(tr("Search the help"))
        self.field.setPlaceholderText(tr("Search (Ctrl+F)"))
        self.field.setToolTip(
            tr("Find words in all pages: Up and Down for the page, Enter for the place")
        )
        self.field.setClearButtonEnabled(True)
        self.field.textChanged.connect(self._fill)
        self.field.installEventFilter(self)
        QShortcut(QKeySequence.StandardKey.Find, self, self._begin_search)
        self.nothing = QLabel()
        self.nothing.setObjectName("helpNothing")
        self.nothing.setProperty("role", "muted")
        self.nothing.setWordWrap(True)
        self.nothing.setContentsMargins(10, 4, 10, 4)
        self.nothing.hide()
        self.list = QListWidget()
        self.list.setObjectName("helpList")
        self.list.setAccessibleName(tr("Help pages"))
        self.list.setItemDelegate(Row(self.list))
        self.list.setResizeMode(QListWidget.ResizeMode.Adjust)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setVerticalScrollMode(QListWidget.ScrollMode.ScrollPerPixel)
        self.list.currentItemChanged.connect(self._chosen)
        self.browser = QTextBrowser()
        self.browser.setObjectName("helpBrowser")
        self.browser.setAccessibleName(tr("Help page"))
        self.browser.setOpenLinks(False)
        self.browser.anchorClicked.connect(self._follow)
        self.browser.document().setDocumentMargin(18)
        self.browser.setSearchPaths([str(resources.folder() / "help")])
        theme().changed.connect(self._repaint_theme)
        left = QWidget()
        left.setFixedWidth(LIST_WIDTH * self.fontMetrics().averageCharWidth())
        column = QVBoxLayout(left)
        column.setContentsMargins(8, 8, 0, 0)
        for widget in (self.field, self.nothing):
            column.addWidget(widget)
        column.addWidget(self.list, 1)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(left)
        layout.addWidget(self.browser, 1)
        self._fill()

    def open_page(self, name: str, section: str = "") -> None:
        """Show a page, from the heading ``section`` on where there is one of these words."""
        self.field.clear()
        self.list.setCurrentRow(list(PAGES).index(name))
        self.show()
        self.raise_()
        self.activateWindow()
        if section:
            self._scroll_to(section)

    def _scroll_to(self, section: str) -> None:
        name = self.list.currentItem().data(Qt.ItemDataRole.UserRole)
        sections = headings(resources.text("help", f"{name}.md"))
        before = sections.index(section) if section in sections else -1
        document = self.browser.document()
        block = document.begin()
        while block.isValid() and before >= 0:
            before -= bool(block.blockFormat().headingLevel())
            if before < 0:
                top = document.documentLayout().blockBoundingRect(block).top()
                self.browser.verticalScrollBar().setValue(int(top) - HEADING_MARGIN)
                return
            block = block.next()

    # ---- the list of pages

    def _fill(self) -> None:
        """List all pages, or those that were found, each with a piece of its text."""
        typed = self.field.text()
        found = {found.page: found.excerpt for found in search(contents(), typed)}
        before = self.list.currentItem()
        page = before.data(Qt.ItemDataRole.UserRole) if before is not None else None
        self.list.clear()
        for name in found if parts_of(typed) else PAGES:
            self._add(name, found.get(name, ""))
        self.nothing.setVisible(not self.list.count())
        self.nothing.setText(tr(f"No page has “{typed.strip()}”."))
        shown = [
            self.list.item(row).data(Qt.ItemDataRole.UserRole) for row in range(self.list.count())
        ]
        if shown:
            stays = page in shown and not found
            self.list.setCurrentRow(shown.index(page) if stays else 0)
        else:
            self._mark()

    def _add(self, name: str, excerpt: str) -> None:
        title = tr(PAGES[name])
        item = QListWidgetItem(as_is(title))
        item.setData(Qt.ItemDataRole.UserRole, name)
        if excerpt:
            words = self._marked(excerpt)
            item.setData(FOUND, f"<b>{self._marked(title)}</b><br>{words}")
            item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{title}: {excerpt}")
        self.list.addItem(item)

    def _marked(self, text: str) -> str:
        colour = theme().colour("warning_back")
        return "".join(
            MARKED.format(colour=colour, words=escape(piece)) if is_match else escape(piece)
            for piece, is_match in marked(text, self.field.text())
        )

    # ---- the search

    def _begin_search(self) -> None:
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Go through what was found while the keys are the field's."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() in MOVES:
                self.list.keyPressEvent(event)
                return True
            if event.key() in ENTER:
                self._next_place()
                return True
        return super().eventFilter(watched, event)

    def reject(self) -> None:
        """End the search, or close."""
        if self.field.text():
            self.field.clear()
        else:
            super().reject()

    def _places(self) -> list[QTextCursor]:
        """Return where the page has one of the words, from its top on."""
        document = self.browser.document()
        places = []
        for part in parts_of(self.field.text()):
            cursor = document.find(part)
            while not cursor.isNull():
                places.append(cursor)
                cursor = document.find(part, cursor)
        return sorted(places, key=QTextCursor.selectionStart)

    def _mark(self) -> None:
        """Mark the words on the page, and show the first of them."""
        places = self._places()
        selections = []
        for place in places:
            selection = QTextEdit.ExtraSelection()
            selection.cursor = place
            selection.format.setBackground(theme().q("selection"))
            selections.append(selection)
        self.browser.setExtraSelections(selections)
        if places:
            self._show_place(places[0])

    def _next_place(self) -> None:
        """Go to the next place on the page, from the last to the first."""
        places = self._places()
        here = self.browser.textCursor().position()
        if places:
            after = (place for place in places if place.selectionStart() > here)
            self._show_place(next(after, places[0]))

    def _show_place(self, place: QTextCursor) -> None:
        start = QTextCursor(place)
        start.setPosition(place.selectionStart())
        self.browser.setTextCursor(start)
        self.browser.ensureCursorVisible()

    # ---- the page

    def _repaint_theme(self) -> None:
        """Read list and page again: links and marks keep the colour that they were read in."""
        at = self.browser.verticalScrollBar().value()
        self._fill()
        self._chosen(self.list.currentItem())
        self.browser.verticalScrollBar().setValue(at)

    def _chosen(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            name = item.data(Qt.ItemDataRole.UserRole)
            self.browser.setMarkdown(contents()[name][1])
            self._mark()

    def _follow(self, link: QUrl) -> None:
        name = link.toString().removesuffix(".md")
        if name in PAGES:
            self.open_page(name)
