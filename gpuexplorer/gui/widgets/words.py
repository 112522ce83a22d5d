"""Widgets that say something: a line that changes often, sentences in a box, an empty place.

A ``QLabel`` asks for a new layout with every new text, and its text is the least width of what it
stands in: a longer sentence can move the whole window. ``Words`` has a line or two, cut where they
do not fit; ``Remarks`` leave out whole sentences instead.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QFontMetrics, QHelpEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QToolTip, QVBoxLayout, QWidget

from gpuexplorer.core.language import as_is, tr
from gpuexplorer.gui.plain import plain_tip
from gpuexplorer.gui.widgets.late import scrolled

LEAST_WIDTH = 24
FEWEST = 5
"""Letters that are seen at least of words that are cut: fewer say nothing."""


def tells_cut(widget: QWidget, event: QEvent, cut: Callable[[], str]) -> bool:
    """Show the words that are cut above a widget's tooltip; whether the event asked for that.

    ``cut`` returns the words in full, or "" where all are seen.
    """
    if not isinstance(event, QHelpEvent) or event.type() != QEvent.Type.ToolTip:
        return False
    parts = [cut(), widget.toolTip()]
    QToolTip.showText(event.globalPos(), plain_tip(tr("\n".join(p for p in parts if p))), widget)
    return True


def broken(text: str, metrics: QFontMetrics, width: int, most: int) -> list[str]:
    """Return a text in at most so many lines, broken between words; the last is cut to fit."""

    def wider(number: int) -> bool:
        return metrics.horizontalAdvance(" ".join(left[:number])) > width

    lines: list[str] = []
    left = text.split(" ")
    while len(lines) < most - 1:
        fit = bisect_left(range(2, len(left) + 1), True, key=wider) + 1
        if fit == len(left):
            break
        lines.append(" ".join(left[:fit]))
        del left[:fit]
    return [*lines, metrics.elidedText(" ".join(left), Qt.TextElideMode.ElideRight, width)]


class Words(QLabel):
    """A label that takes the width it is given; what is cut stands in its tooltip.

    It has a place of ``lines`` lines, whatever it says.
    """

    def __init__(self, text: str = "", parent: QWidget | None = None, *, lines: int = 1) -> None:
        super().__init__(parent)
        self._text = ""
        self._asks = False
        self._lines = lines
        self._fitted: tuple[tuple[object, ...], str] = ((), "")
        """What is seen, after all that it follows from."""
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setText(text)

    def ask_for_all(self) -> None:
        """Be as wide as the words where there is room; they are cut where there is not."""
        self._asks = True
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)

    def set_width(self, pixels: int) -> None:
        """Take exactly this width."""
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setFixedWidth(pixels)

    def setText(self, text: str) -> None:
        """Show other words, in the place there is."""
        if text != self._text:
            self._text = text
            self.setAccessibleName(text)  # of the words Qt itself knows nothing
            self.update()
            if self._asks:
                self.updateGeometry()

    def text(self) -> str:
        """Return the words in full."""
        return self._text

    def sizeHint(self) -> QSize:
        """Return the height of the lines; the width is what the layout gives, unless it asks."""
        least = self.minimumSizeHint()
        if not self._asks:
            return least
        margins = self.contentsMargins()
        wide = self.fontMetrics().horizontalAdvance(self._text) + margins.left() + margins.right()
        return QSize(max(wide, least.width()), least.height())

    def minimumSizeHint(self) -> QSize:
        """Return the least size, whatever is said."""
        margins, metrics = self.contentsMargins(), self.fontMetrics()
        height = metrics.height() + (self._lines - 1) * metrics.lineSpacing()
        return QSize(LEAST_WIDTH, height + margins.top() + margins.bottom())

    def fitting(self) -> str:
        """Return what is seen of the words, a line each."""
        width = self.contentsRect().width()
        key = (self._text, width, self._lines, self.font().key())
        if key != self._fitted[0]:  # to measure words takes longer than to paint them
            self._fitted = (key, self._break(self.fontMetrics(), width))
        return self._fitted[1]

    def _break(self, metrics: QFontMetrics, width: int) -> str:
        lines = broken(self._text, metrics, width, self._lines)
        seen = "\n".join(lines)
        return seen if lines[-1] in self._text or len(seen) > FEWEST else ""

    @property
    def cut(self) -> str:
        """The words in full where some of them are not seen; else empty."""
        return self._text if self.fitting().replace("\n", " ") != self._text else ""

    def event(self, event: QEvent) -> bool:
        """Show what was cut as the tooltip."""
        return tells_cut(self, event, lambda: self.cut) or super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw as much as fits."""
        painter = QPainter(self)
        self.style().drawItemText(
            painter,
            self.contentsRect(),
            int((self.alignment() | Qt.AlignmentFlag.AlignVCenter).value),
            self.palette(),
            self.isEnabled(),
            self.fitting(),
            self.foregroundRole(),
        )
        painter.end()


MORE = "…"
"""Stands for sentences that are left out."""


class Remarks(Words):
    """Quiet sentences in as many lines as they need, and at most ``lines``.

    What has no room is left out as a whole; the first is cut where it has none itself. All stand in
    the tooltip.
    """

    def __init__(self, *, lines: int = 2, between: str = " ") -> None:
        """``between`` stands between two of them."""
        super().__init__(lines=1)
        self._most, self._between = lines, between
        self._parts: tuple[str, ...] = ()
        self.setProperty("role", "muted")

    def say(self, parts: Sequence[str]) -> None:
        """Show these."""
        self._parts = tuple(tr(part) for part in parts if part)
        self.setText(as_is(self._between.join(self._parts)))
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Take the lines that the new width asks for."""
        super().resizeEvent(event)
        self._fit()

    @property
    def parts(self) -> tuple[str, ...]:
        """All sentences."""
        return self._parts

    @property
    def cut(self) -> str:
        """All sentences, a line each, where some are not seen; else empty."""
        return "\n".join(self._parts) if super().cut else ""

    def _fit(self) -> None:
        needed = self.fitting().count("\n") + 1
        if needed != self._lines:
            self._lines = needed
            self.updateGeometry()

    def _break(self, metrics: QFontMetrics, width: int) -> str:
        lines: list[str] = []
        for number in range(len(self._parts), 0, -1):
            left_out = [MORE] if number < len(self._parts) else []
            text = self._between.join([*self._parts[:number], *left_out])
            lines = broken(text, metrics, width, self._most)
            if " ".join(lines) == text:
                break
        return "\n".join(lines)


class NoteBox(QLabel):
    """Shows sentences below each other; hidden without any."""

    def __init__(self, name: str, tooltip: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setToolTip(tr(tooltip))
        self.setWordWrap(True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.hide()

    def show_sentences(self, sentences: Sequence[str]) -> None:
        """Show these, each with a capital and a full stop."""
        text = tr("\n".join(f"{s[:1].upper()}{s[1:].rstrip('.')}." for s in sentences))
        if text != self.text():
            self.setText(text)
        if self.isHidden() == bool(text):
            self.setVisible(bool(text))


WIDEST = 460
"""Pixels of a line: longer ones are hard to read."""


class EmptyState(QWidget):
    """A title over a few sentences, in the middle of the place there is."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self._title = QLabel()
        self._title.setProperty("role", "title")
        self._words = QLabel()
        self._words.setProperty("role", "muted")
        self._words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        page = QWidget()
        page.setMaximumWidth(WIDEST)
        column = QVBoxLayout(page)
        column.setContentsMargins(24, 16, 24, 16)
        column.setSpacing(8)
        column.addStretch(2)
        for label in (self._title, self._words):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
            column.addWidget(label)
        column.addStretch(3)
        content = QWidget()
        middle = QHBoxLayout(content)
        middle.setContentsMargins(0, 0, 0, 0)
        middle.addStretch(1)
        middle.addWidget(page, 100)
        middle.addStretch(1)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(scrolled(content))

    @property
    def text(self) -> str:
        """Everything that is said, a line each."""
        return f"{self._title.text()}\n{self._words.text()}"

    def say(self, title: str, sentences: Sequence[str]) -> None:
        """Show these words; empty sentences are left out."""
        self._title.setText(tr(title))
        self._words.setText(tr("\n\n".join(s for s in sentences if s)))
