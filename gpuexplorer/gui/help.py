"""The help pages: short texts shipped as Markdown, shown in a window of their own."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, QUrl
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QTextBrowser,
    QWidget,
)

from gpuexplorer.gui import resources
from gpuexplorer.gui.theme import theme

PAGES = {
    "first-steps": "First steps",
    "reading-the-plots": "Reading the plots",
    "block-map": "The block map",
    "roofline": "The roofline and calibration",
    "kernel": "The Kernel tab",
    "what-numbers-promise": "What numbers promise",
    "uncertainty": "Uncertainty of a time",
    "sweeps": "Sweeps",
    "tuning": "Tuning",
    "comparing": "Comparing",
    "models": "Models: what is computed",
    "lab": "The Lab",
    "studies": "The studies of the Lab",
    "frameworks": "PyTorch, TensorFlow, Keras, JAX",
    "memory": "Memory",
    "history": "History",
    "session-files": "Session files",
    "exchange": "Files of other programs",
    "engines": "Engines: other Pythons",
    "telemetry": "The device's state",
    "advice": "Advice, explained",
    "your-own-kernels": "Your own kernels",
    "own-model": "Your own model",
    "manifest": "The manifest, key by key",
    "self-test": "Self-test",
    "keys": "Keys and mouse",
}

PAGE = "helpPage"
"""The property of a widget that names the page on it and on what is in it."""
HEADING_MARGIN = 8
"""Space above a heading that was jumped to, in pixels."""


def page_of(widget: QWidget | None) -> str | None:
    """Return the page on a widget: its own, or that of what it lies in; None without any."""
    while widget is not None:
        page = widget.property(PAGE)
        if page:
            return str(page)
        widget = widget.parentWidget()
    return None


class HelpWindow(QDialog):
    """A list of pages at the left, the page at the right; it never blocks the main window."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("helpWindow")
        self.setWindowTitle("GPU Explorer: help")
        self.resize(820, 600)
        self.list = QListWidget()
        self.list.setObjectName("helpList")
        self.list.setFixedWidth(210)
        for name, title in PAGES.items():
            item = QListWidgetItem(title)
            item.setSizeHint(QSize(0, 30))
            item.setData(Qt.ItemDataRole.UserRole, name)
            self.list.addItem(item)
        self.browser = QTextBrowser()
        self.browser.setObjectName("helpBrowser")
        self.browser.setOpenLinks(False)
        self.browser.anchorClicked.connect(self._follow)
        self.browser.document().setDocumentMargin(18)
        self.list.currentItemChanged.connect(self._chosen)
        theme().changed.connect(self._repaint_theme)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.list)
        layout.addWidget(self.browser, 1)

    def open_page(self, name: str, section: str = "") -> None:
        """Show a page, from the heading ``section`` on where there is one of these words."""
        self.list.setCurrentRow(list(PAGES).index(name))
        self.show()
        self.raise_()
        self.activateWindow()
        if section:
            self._scroll_to(section)

    def _scroll_to(self, section: str) -> None:
        document = self.browser.document()
        block = document.begin()
        while block.isValid():
            if block.blockFormat().headingLevel() and block.text() == section:
                top = document.documentLayout().blockBoundingRect(block).top()
                self.browser.verticalScrollBar().setValue(int(top) - HEADING_MARGIN)
                return
            block = block.next()

    def _repaint_theme(self) -> None:
        """Read the page again: its links keep the colour that they were read in."""
        at = self.browser.verticalScrollBar().value()
        self._chosen(self.list.currentItem())
        self.browser.verticalScrollBar().setValue(at)

    def _chosen(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            name = item.data(Qt.ItemDataRole.UserRole)
            self.browser.setMarkdown(resources.text("help", f"{name}.md"))

    def _follow(self, link: QUrl) -> None:
        name = link.toString().removesuffix(".md")
        if name in PAGES:
            self.open_page(name)
