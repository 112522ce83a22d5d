"""Which frameworks of a workload are not here, and what brings each: a command, or an engine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QLabel,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.language import as_is, tr
from gpuexplorer.gui.model.frameworks import MissingFramework
from gpuexplorer.gui.notice import capital
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.widgets.button import button, small_button


class MissingFrameworks(QWidget):
    """A line for each, with a button that copies its command; hidden when all are here.

    ``set_up_asked`` wants the way to an engine that has them.
    """

    copied = Signal(str)
    set_up_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("missingFrameworks")
        self._shown: tuple[MissingFramework, ...] = ()
        self._rows: list[QWidget] = []
        self._buttons: list[QToolButton] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 5, 0, 0)
        self._column.setSpacing(5)
        title = QLabel(tr("Not in this engine"))
        title.setProperty("role", "section")
        self._column.addWidget(title)
        self._set_up = button(
            "Set up an engine…",
            "setUpMissing",
            "Have GPU Explorer make a Python with the frameworks you choose; no terminal is needed",
            self.set_up_asked.emit,
        )
        self._column.addWidget(self._set_up, 0, Qt.AlignmentFlag.AlignLeft)
        theme().changed.connect(self._paint)
        self.hide()

    def show_missing(self, missing: Sequence[MissingFramework]) -> None:
        """List these."""
        if tuple(missing) == self._shown:
            return
        self._shown = tuple(missing)
        for row in self._rows:
            self._column.removeWidget(row)
            row.hide()
            row.deleteLater()
        self._buttons = []
        self._rows = [self._row(one) for one in missing]
        for place, row in enumerate(self._rows, 1):
            self._column.insertWidget(place, row)
        self.setVisible(bool(self._rows))
        self._paint()

    def _row(self, one: MissingFramework) -> QWidget:
        row, command = QWidget(), one.command
        said = one.reason if command is not None else one.words
        named = said if said.startswith(one.title) else f"{one.title}: {said}"
        words = QLabel(tr(f"{named}."))
        words.setProperty("role", "muted")
        words.setWordWrap(True)
        words.setTextFormat(Qt.TextFormat.PlainText)
        words.setToolTip(tr(f"{capital(one.remedy)}."))
        column = QVBoxLayout(row)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(1)
        column.addWidget(words)
        if command is None:
            return row
        text = QLabel(as_is(_breakable(command)))  # read here, and copied by the button beside it
        text.setObjectName("installCommand")
        text.setWordWrap(True)
        text.setTextFormat(Qt.TextFormat.PlainText)
        button = small_button("copyInstallCommand", "Copy this command")
        button.setAccessibleName(tr(f"Copy the command that installs {one.title}"))
        button.clicked.connect(partial(self._copy, command))
        self._buttons.append(button)
        line = QHBoxLayout()
        line.addWidget(text, 1)
        line.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        column.addLayout(line)
        return row

    def _copy(self, command: str, _checked: bool = False) -> None:
        QApplication.clipboard().setText(command)
        self.copied.emit("The command is on the clipboard.")

    def _paint(self) -> None:
        for one in self._buttons:
            one.setIcon(theme().icon("copy"))


def _breakable(command: str) -> str:
    """Return a command that a label may also break after the folders of a path."""
    return re.sub(r"([/\\])", "\\1\u200b", command)
