"""Dialogs that tell something: a title, text to select and copy, buttons; and what this is."""

from __future__ import annotations

import platform

from PySide6.QtCore import qVersion
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)

import gpuexplorer
from gpuexplorer.core.language import tr
from gpuexplorer.gui.screen import open_size
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.widgets.button import button

TOLD = ("PySide6-Essentials", "pyqtgraph", "numpy", "msgspec", "matplotlib", "SQLAlchemy")
"""The packages whose versions are told."""


class InfoDialog(QDialog):
    """Enter and Esc close it; what is shown can be selected, and is copied whole by a button."""

    def __init__(self, parent: QWidget, name: str, title: str) -> None:
        """``name`` begins the names of its parts."""
        super().__init__(parent)
        self._name = name
        self.setObjectName(f"{name}Dialog")
        self.setWindowTitle(tr(title))
        self.heading = QLabel(tr(title))
        self.heading.setProperty("role", "title")
        self.text = QTextBrowser()
        self.text.setObjectName(f"{name}Text")
        self.text.setAccessibleName(tr(title))
        self.text.setOpenExternalLinks(True)
        self.foot = QHBoxLayout()
        self.foot.setSpacing(8)
        self.copy_button = self.add_button("&Copy", "Copy", "Copy all of it as text")
        self.copy_button.clicked.connect(lambda _=False: self._copy())
        self.foot.addStretch(1)
        self.close_button = self.add_button("C&lose", "Close", "")
        self.close_button.clicked.connect(lambda _=False: self.reject())
        self.close_button.setDefault(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 12, 14, 12)
        column.setSpacing(8)
        column.addWidget(self.heading)
        column.addWidget(self.text, 1)
        column.addLayout(self.foot)
        self.close_button.setFocus()
        theme().changed.connect(self.refresh)

    def add_button(self, words: str, name: str, tip: str) -> QPushButton:
        """Return a new button, to the right of those before."""
        made = button(words, f"{self._name}{name}", tip)
        self.foot.addWidget(made)
        return made

    def html(self) -> str:
        """Return what is shown."""
        raise NotImplementedError

    def plain(self) -> str:
        """Return what is copied."""
        return self.text.toPlainText()

    def refresh(self) -> None:
        """Show what there is to tell, in the colours of the window."""
        self.text.setHtml(tr(self.html()))

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.plain())


class AboutDialog(InfoDialog):
    """What this program is, its version and those of what it stands on."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, "about", "About GPU Explorer")
        self.resize(open_size(self, 460, 340))
        self.refresh()

    def html(self) -> str:
        """Return name, licence and versions."""
        from importlib import metadata

        rows = [("Python", platform.python_version()), ("Qt", qVersion())]
        rows += [(name, metadata.version(name)) for name in TOLD]
        cells = "".join(
            f"<tr><td>{name}&nbsp;&nbsp;</td><td>{version}</td></tr>" for name, version in rows
        )
        return (
            f"<p><b>GPU Explorer {gpuexplorer.__version__}</b><br>"
            "Turn a knob, see the hardware answer.</p>"
            "<p>MIT licence. The typefaces Inter and Noto Sans CJK SC are under the SIL Open Font "
            "License.</p>"
            f"<table>{cells}</table>"
        )
