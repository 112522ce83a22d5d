"""Where a kernel begins in its source, and the page that says why there are no figures."""

from __future__ import annotations

import re

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.language import tr
from gpuexplorer.core.units import plural
from gpuexplorer.gui.typeface import fixed
from gpuexplorer.gui.widgets.button import button


def entry_line(text: str, entry: str) -> int | None:
    """Return the line, counted from 0, on which the kernel ``entry`` is declared."""
    name = re.escape(entry.partition("<")[0].rpartition("::")[2].strip())
    found = re.search(rf"__global__\b[^;{{}}]*?\b({name})\s*\(", text)
    found = found or re.search(rf"^[^\n;{{}}]*\b({name})\s*\([^;{{}}]*\{{", text, re.MULTILINE)
    return text.count("\n", 0, found.start(1)) if found else None


# ---- a message in its place


DETAIL_LINES = 12
"""Of a compiler's messages: the first ones tell, and more would push the source away."""


class MessagePage(QWidget):
    """A sentence with what the compiler said; ``retry`` asks to try again."""

    retry = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.message, self.detail = QLabel(), QLabel()
        self.message.setObjectName("kernelMessage")
        self.detail.setObjectName("kernelMessageDetail")
        self.detail.setProperty("role", "muted")
        self.detail.setFont(fixed())
        self.button = button("Try again", "kernelRetryButton", act=self.retry.emit)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 16)
        for label in (self.message, self.detail):
            label.setWordWrap(True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            column.addWidget(label)
        column.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeft)
        column.addStretch(1)

    def say(self, error: ExplorerError) -> None:
        """Show an error; one in the request itself is not worth trying again."""
        words = str(error)
        self.message.setText(tr(f"{words[:1].upper()}{words[1:]}."))
        lines = error.detail.splitlines()
        shown, more = lines[:DETAIL_LINES], len(lines) - DETAIL_LINES
        if more > 0:
            shown.append(plural(more, "… {number} more line", "… {number} more lines"))
        self.detail.setText(tr("\n".join(shown)))
        self.button.setVisible(not isinstance(error, InputError))
