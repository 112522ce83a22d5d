"""A kernel's source, to read: monospaced, with its entry point in view."""

from __future__ import annotations

import re

from PySide6.QtGui import QFontDatabase, QTextCursor, QTextFormat
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit

from gpuexplorer.gui.theme import theme

LINES_ABOVE = 2


class SourceView(QPlainTextEdit):
    """Shows one file and marks the line on which a kernel begins."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("kernelSource")
        self.setAccessibleName("Kernel source")
        self.setReadOnly(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.setTabStopDistance(4 * self.fontMetrics().horizontalAdvance(" "))
        self.setFrameShape(self.Shape.NoFrame)
        self._shown: tuple[str, str] = ("", "")
        self._line: int | None = None
        theme().changed.connect(self._mark)

    def show_source(self, text: str, entry: str) -> None:
        """Show a file's text at the kernel ``entry``; the same again changes nothing."""
        if (text, entry) == self._shown:
            return
        if text != self._shown[0]:
            self.setPlainText(text)
        self._shown = (text, entry)
        self._line = entry_line(text, entry)
        self._mark()
        self.verticalScrollBar().setValue(max(0, (self._line or 0) - LINES_ABOVE))

    @property
    def entry_line(self) -> int | None:
        """The marked line, counted from 0; None when the kernel was not found."""
        return self._line

    def _mark(self) -> None:
        marks = []
        if self._line is not None:
            mark = QTextEdit.ExtraSelection()
            mark.format.setBackground(theme().q("selection"))
            mark.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
            block = self.document().findBlockByNumber(self._line)
            mark.cursor = QTextCursor(block)
            marks.append(mark)
        self.setExtraSelections(marks)


def entry_line(text: str, entry: str) -> int | None:
    """Return the line, counted from 0, on which the kernel ``entry`` is declared."""
    name = re.escape(entry.partition("<")[0].rpartition("::")[2].strip())
    found = re.search(rf"__global__\b[^;{{}}]*?\b({name})\s*\(", text)
    return text.count("\n", 0, found.start(1)) if found else None
