"""A source to read or to edit: numbered lines in colour, brackets, and compilers' messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from PySide6.QtCore import QEvent, QRect, QSize, Qt, Signal, SignalInstance
from PySide6.QtGui import (
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextCharFormat,
    QTextCursor,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QToolTip, QWidget

from gpuexplorer.core.language import as_is, tr
from gpuexplorer.gui.code.colours import CudaColours
from gpuexplorer.gui.code.marked import MarkedText
from gpuexplorer.gui.code.messages import LineMessage
from gpuexplorer.gui.plain import plain_tip
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.typeface import fixed, for_text
from gpuexplorer.workloads.cuda_source import CudaSource

LINES_ABOVE = 2
"""Lines that stay above the one that is scrolled to."""
INDENT = 4
LEAST_HEIGHT = 48
"""Pixels of a text that are seen at least, in a low window."""
READING = (
    Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
)
BRACKETS = "()[]{}"
MOST_MATCHED = 100_000
"""Characters of a text whose brackets are matched; of a longer one it would be felt at each key."""


class CodeView(MarkedText):
    """One file with its line numbers; a kernel's first line and compilers' messages are marked.

    ``edited`` tells that the user changed the text, ``save_asked`` and ``find_asked`` that Ctrl+S
    and Ctrl+F were pressed in it, ``line_chosen`` to which line, counted from 0, the cursor went.
    """

    edited = Signal()
    save_asked = Signal()
    find_asked = Signal()
    line_chosen = Signal(int)

    def __init__(self, name: str, title: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(tr(title))
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setFont(fixed())
        self.setTabStopDistance(INDENT * self.fontMetrics().horizontalAdvance(" "))
        self.setFrameShape(self.Shape.NoFrame)
        self.setMinimumHeight(for_text(LEAST_HEIGHT))
        self._colours = CudaColours(self.document())
        self._margin = _Margin(self)
        self._marked: int | None = None
        self.linked: frozenset[int] = frozenset()
        """The lines, counted from 0, that are marked in place of the kernel's first one."""
        self._line = 0
        self._messages: tuple[LineMessage, ...] = ()
        self._closings: tuple[int, dict[int, int]] = (-1, {})
        """Where brackets of the text close, and the revision of it that this holds for."""
        self.set_editable(False)
        self.blockCountChanged.connect(lambda _: self._make_room())
        self.updateRequest.connect(self._scroll_margin)
        self.cursorPositionChanged.connect(self._mark)
        self.cursorPositionChanged.connect(self._tell_line)
        self.textChanged.connect(self._changed)
        theme().changed.connect(self._mark)
        self._showing = False
        self._told = ""
        """The text that was told of, as the document has it."""
        self._make_room()

    # ---- what it shows

    def set_editable(self, on: bool) -> None:
        """Let the user edit the text, or only read it; then Tab leads on, as after Esc."""
        if on == self.isReadOnly():
            self.setTabChangesFocus(not on)
        self.setReadOnly(not on)
        if not on:  # the arrow keys choose lines
            self.setTextInteractionFlags(READING)

    @property
    def text(self) -> str:
        """The text as it was given; Qt's plain text has no non-breaking spaces."""
        return self.document().toRawText().replace("\u2029", "\n")

    def show_text(self, text: str, *, undo: bool = False) -> None:
        """Show a text in place of the one before; what is the same keeps cursor and undo.

        ``undo``: it is another text of the same file, and undo brings back the one before.
        """
        if text == self.text:
            return
        self._showing = True
        if undo:
            line, scrolled = self.textCursor().blockNumber(), self.verticalScrollBar().value()
            self.replace_text(text)
            last = self.document().lastBlock().blockNumber()
            self.setTextCursor(QTextCursor(self.document().findBlockByNumber(min(line, last))))
            self.verticalScrollBar().setValue(scrolled)
        else:
            self.setPlainText(as_is(text))
        self.link(())
        self._line = self.textCursor().blockNumber()
        self._showing = False

    def replace_text(self, text: str) -> None:
        """Put a text in place of the present one, as the user would; undo brings that back."""
        cursor = QTextCursor(self.document())
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(text)

    def mark_line(self, line: int | None) -> None:
        """Mark a line, counted from 0; None marks none."""
        if line != self._marked:
            self._marked = line
            self._mark()

    def link(self, lines: Collection[int], *, scroll: bool = False) -> None:
        """Mark lines, counted from 0, that belong to what was chosen elsewhere; none: as before.

        ``scroll``: have the first of them in sight.
        """
        if lines != self.linked:
            self.linked = frozenset(lines)
            self._mark()
        if scroll and lines:
            bring_in_sight(self, min(lines))

    def scroll_to(self, line: int) -> None:
        """Have a line, counted from 0, near the top."""
        scroll_near_top(self, line)

    @property
    def entry_line(self) -> int | None:
        """The marked line, counted from 0; None for none."""
        return self._marked

    @property
    def messages(self) -> tuple[LineMessage, ...]:
        """What is said of its lines."""
        return self._messages

    def show_messages(self, messages: Sequence[LineMessage]) -> None:
        """Mark the lines that compilers speak of; the words stand in their tooltips."""
        self._messages = tuple(messages)
        self._mark()
        self._margin.update()

    def _tell_line(self) -> None:
        line = self.textCursor().blockNumber()
        if not self._showing and (line != self._line or line not in self.linked):
            self._line = line
            self.line_chosen.emit(line)

    def _changed(self) -> None:
        """Tell of another text; other colours, as with another theme, are no edit."""
        text = self.document().toRawText()
        if text != self._told:
            self._told = text
            if not self._showing:
                self.edited.emit()

    # ---- marks

    def _mark(self) -> None:
        """Mark linked lines or the kernel's, the cursor's bracket with its other, and messages."""
        entry = [] if self._marked is None else [self._marked]
        lines = {line: theme().q("selection") for line in self.linked or entry}
        for message in self._messages:
            lines[message.line - 1] = theme().q("bad_back" if message.is_error else "warning_back")
        self.mark_lines(lines)
        marks = [one for message in self._messages for one in self._message_marks(message)]
        marks += [self._bracket_mark(at) for at in self._brackets()]
        self.setExtraSelections(marks)

    def _message_marks(self, message: LineMessage) -> list[QTextEdit.ExtraSelection]:
        block = self.document().findBlockByNumber(message.line - 1)
        if not block.isValid():
            return []
        text = block.text()
        start = min((message.column or 1) - 1, len(text))
        word = re.compile(r"\w+|\S|$").match(text, start) or re.compile("").match(text, start)
        end = word.end() if word is not None and message.column else len(text)
        under = QTextEdit.ExtraSelection()
        under.format.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
        under.format.setUnderlineColor(theme().q("bad" if message.is_error else "warning"))
        under.cursor = QTextCursor(block)
        under.cursor.setPosition(block.position() + start)
        under.cursor.setPosition(block.position() + end, QTextCursor.MoveMode.KeepAnchor)
        return [under]

    def _brackets(self) -> tuple[int, ...]:
        """Return where the bracket beside the cursor is and its counterpart; nothing for none."""
        if self.document().characterCount() > MOST_MATCHED:
            return ()
        position, text = self.textCursor().position(), self.toPlainText()
        for at in (position - 1, position):
            if 0 <= at < len(text) and text[at] in BRACKETS:
                other = self._counterpart(at, text)
                return () if other is None else (at, other)
        return ()

    def _counterpart(self, at: int, text: str) -> int | None:
        revision = self.document().revision()
        if self._closings[0] != revision:
            source = CudaSource(text)
            pairs = {i: source.closing(i) for i, c in enumerate(source.code) if c in "([{"}
            there = {i: end for i, end in pairs.items() if end is not None}
            self._closings = (revision, {**there, **{end: i for i, end in there.items()}})
        return self._closings[1].get(at)

    def _bracket_mark(self, at: int) -> QTextEdit.ExtraSelection:
        mark = QTextEdit.ExtraSelection()
        mark.format.setBackground(theme().q("hover"))
        mark.format.setForeground(theme().q("accent"))
        mark.format.setFontWeight(700)
        mark.cursor = QTextCursor(self.document())
        mark.cursor.setPosition(at)
        mark.cursor.setPosition(at + 1, QTextCursor.MoveMode.KeepAnchor)
        return mark

    def event(self, event: QEvent) -> bool:
        """Tell in a tooltip what a compiler says of a line; keep the keys that are meant for it."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            escapes = event.key() == Qt.Key.Key_Escape and not self.tabChangesFocus()
            if escapes or self._asked(event) is not None:
                event.accept()
                return True
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            at = self.viewport().mapFrom(self, event.pos())
            self.tell(self.cursorForPosition(at).blockNumber() + 1, event)
            return True
        return super().event(event)

    def tell(self, line: int, event: QHelpEvent) -> None:
        """Show what is said of a line, counted from 1, beside the pointer."""
        words = "\n".join(m.words for m in self._messages if m.line == line)
        QToolTip.showText(event.globalPos(), plain_tip(tr(words)), self)

    # ---- editing

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Indent and unindent with Tab, keep the indent of a new line, toggle remarks.

        After Esc Tab leads on, until something else is typed: keys alone get out of here, too.
        """
        asked = self._asked(event)
        if asked is not None:
            asked.emit()
            return
        if self.isReadOnly():
            super().keyPressEvent(event)
            return
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        key = event.key()
        if key not in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab, Qt.Key.Key_Shift):
            self.setTabChangesFocus(key == Qt.Key.Key_Escape)
        if self.tabChangesFocus():
            super().keyPressEvent(event)
        elif key == Qt.Key.Key_Backtab or (key == Qt.Key.Key_Tab and shift):
            self._each_line(_unindented)
        elif key == Qt.Key.Key_Tab and not control:
            if self.textCursor().hasSelection():
                self._each_line(_indented)
            else:
                column = self.textCursor().positionInBlock()
                self.textCursor().insertText(" " * (INDENT - column % INDENT))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not control:
            self._break_line()
        elif key == Qt.Key.Key_Slash and control:
            self.toggle_remarks()
        else:
            super().keyPressEvent(event)

    def _asked(self, event: QKeyEvent) -> SignalInstance | None:
        """Return what a key asks of whoever shows this view; None for a key that it handles."""
        if event.matches(QKeySequence.StandardKey.Find):
            return self.find_asked
        if event.matches(QKeySequence.StandardKey.Save) and not self.isReadOnly():
            return self.save_asked
        return None

    def _break_line(self) -> None:
        cursor = self.textCursor()
        before = cursor.block().text()[: cursor.positionInBlock()]
        indent = len(before) - len(before.lstrip())
        opened = before.rstrip().endswith("{")
        cursor.insertText("\n" + " " * (indent + (INDENT if opened else 0)))
        self.setTextCursor(cursor)
        self.ensureCursorVisible()

    def toggle_remarks(self) -> None:
        """Make remarks of the selected lines with ``//``, or code again if all of them are."""
        chosen = [line for line in self._chosen_lines() if line.strip()]
        if chosen and all(line.lstrip().startswith("//") for line in chosen):
            self._each_line(lambda line: re.sub(r"^(\s*)// ?", r"\1", line))
            return
        indent = min((len(line) - len(line.lstrip()) for line in chosen), default=0)
        self._each_line(lambda line: f"{line[:indent]}// {line[indent:]}" if line.strip() else line)

    def _span(self) -> tuple[int, int]:
        """Return the first and the last line of the selection, or twice the cursor's."""
        cursor, document = self.textCursor(), self.document()
        first = document.findBlock(cursor.selectionStart()).blockNumber()
        last_block = document.findBlock(cursor.selectionEnd())
        last = last_block.blockNumber()
        if last > first and cursor.selectionEnd() == last_block.position():
            last -= 1
        return first, last

    def _chosen_lines(self) -> list[str]:
        first, last = self._span()
        document = self.document()
        return [document.findBlockByNumber(n).text() for n in range(first, last + 1)]

    def _each_line(self, change: Callable[[str], str]) -> None:
        first, last = self._span()
        document = self.document()
        cursor = QTextCursor(document)
        cursor.beginEditBlock()
        for number in range(first, last + 1):
            block = document.findBlockByNumber(number)
            new = change(block.text())
            if new != block.text():
                cursor.setPosition(block.position())
                end = QTextCursor.MoveOperation.EndOfBlock
                cursor.movePosition(end, QTextCursor.MoveMode.KeepAnchor)
                cursor.insertText(new)
        cursor.endEditBlock()

    # ---- the margin

    def margin_width(self) -> int:
        """Return how wide the line numbers are, in pixels."""
        digits = max(3, len(str(self.blockCount())))
        return self.fontMetrics().horizontalAdvance("9") * digits + 16

    def _make_room(self) -> None:
        self.setViewportMargins(self.margin_width(), 0, 0, 0)

    def _scroll_margin(self, rect: QRect, moved: int) -> None:
        if moved:
            self._margin.scroll(0, moved)
        else:
            self._margin.update(0, rect.y(), self._margin.width(), rect.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the margin as high as the text."""
        super().resizeEvent(event)
        inside, height = self.contentsRect(), self.viewport().height()
        self._margin.setGeometry(inside.left(), inside.top(), self.margin_width(), height)

    def paint_margin(self, painter: QPainter, area: QRect) -> None:
        """Draw the line numbers, and a bar beside those that compilers speak of."""
        painter.fillRect(area, theme().q("raised"))
        told: dict[int, bool] = {}
        for message in self._messages:
            told[message.line] = told.get(message.line, False) or message.is_error
        block = self.firstVisibleBlock()
        top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
        width, height = self._margin.width(), self.fontMetrics().height()
        while block.isValid() and top <= area.bottom():
            bottom = top + self.blockBoundingRect(block).height()
            number = block.blockNumber() + 1
            if block.isVisible() and bottom >= area.top():
                if number in told:
                    colour = theme().q("bad" if told[number] else "warning")
                    painter.fillRect(QRect(0, int(top), 4, int(bottom - top)), colour)
                painter.setPen(theme().q("muted"))
                where = QRect(0, int(top), width - 8, height)
                painter.drawText(where, Qt.AlignmentFlag.AlignRight, str(number))
            block, top = block.next(), bottom


class _Margin(QWidget):
    """The line numbers beside a text."""

    def __init__(self, view: CodeView) -> None:
        super().__init__(view)
        self._view = view

    def sizeHint(self) -> QSize:
        return QSize(self._view.margin_width(), 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        self._view.paint_margin(QPainter(self), event.rect())

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            at = self._view.viewport().mapFromGlobal(event.globalPos())
            self._view.tell(self._view.cursorForPosition(at).blockNumber() + 1, event)
            return True
        return super().event(event)


def scroll_near_top(view: QPlainTextEdit, line: int) -> None:
    """Have a line, counted from 0, near the top."""
    view.verticalScrollBar().setValue(max(0, line - LINES_ABOVE))


def bring_in_sight(view: QPlainTextEdit, line: int) -> None:
    """Have a line, counted from 0, near the top, unless it is in sight."""
    first = view.verticalScrollBar().value()
    shown = view.viewport().height() // max(1, view.fontMetrics().lineSpacing())
    if not first <= line < first + shown - 1:
        scroll_near_top(view, line)


def _indented(line: str) -> str:
    return " " * INDENT + line if line.strip() else line


def _unindented(line: str) -> str:
    return line[min(INDENT, len(line) - len(line.lstrip(" "))) :]
