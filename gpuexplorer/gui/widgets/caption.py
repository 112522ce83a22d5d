"""The caption of a result: what it was measured with, and that knobs or source have moved on since.

What they have moved on from is hatched. That waits a moment, so that a knob whose answer comes
at once makes nothing flicker.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QWidget

from gpuexplorer.charts.caption import Caption
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.language import tr
from gpuexplorer.gui.widgets.button import small_button
from gpuexplorer.gui.widgets.look import set_look
from gpuexplorer.gui.widgets.words import Remarks

SETTLE_MS = 400
"""After a knob's move, before its answer counts as late."""
LINES = 0.15
"""Share of the text's colour in the lines; what lies between them stays readable."""
LINES_APART = 12
"""Pixels from one line to the next, along an edge."""
TIP = "What this was measured with, as exported charts say it"


class CaptionLine(QFrame):
    """One line over a result, or several of a narrow column; empty without a result.

    ``restored`` carries the configuration that the knobs shall be put back to.
    """

    restored = Signal(object)

    def __init__(
        self,
        name: str,
        *,
        dims: Sequence[QWidget] = (),
        lines: int = 1,
        most: int = 2,
        back: bool = True,
    ) -> None:
        """``dims`` are the widgets that show the result; ``back`` offers to put the knobs back.

        A caption of one line takes ``most`` where it is narrow, and has the place of so many.
        """
        super().__init__()
        self.setObjectName(f"{name}Caption")
        self._caption: Caption | None = None
        self._origin = self._moved = self._found = ""
        self._now: RunConfig | None = None
        self._source = ""
        self._away = False
        """Whether the knobs stand elsewhere, so that they can be put back."""
        self._measuring = False
        self._told_whole = lines == 1
        """Whether there is room to say where a result comes from; else its tip does."""
        self._veils = [Veil(widget) for widget in dims]
        self.words: QLabel = Remarks(lines=most) if lines == 1 else QLabel()
        self.words.setObjectName(f"{name}CaptionWords")
        self.words.setProperty("role", "muted")
        self.back = small_button(
            f"{name}CaptionBack", "Set the knobs back: to what this result was measured with"
        )
        self.back.setText(tr("Set the knobs back"))
        self.back.clicked.connect(self._put_back)
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.setInterval(SETTLE_MS)
        self._settle.timeout.connect(self._show)
        layout = QHBoxLayout(self)
        layout.addWidget(self.words, 1)
        self._offers = lines == 1 and back
        if self._offers:
            layout.addWidget(self.back)
            self.back.ensurePolished()
            all_lines = most * self.words.fontMetrics().lineSpacing()
            self.setMinimumHeight(max(self.back.sizeHint().height() + 2, all_lines))
        else:
            self.back.setParent(self)
        if lines == 1:
            layout.setContentsMargins(12, 0, 8, 0)
        else:
            layout.setContentsMargins(0, 1, 4, 1)
            self.words.setWordWrap(True)
            self.words.setAlignment(Qt.AlignmentFlag.AlignTop)
            self.words.setTextFormat(Qt.TextFormat.PlainText)
            self.words.setMinimumHeight(lines * self.words.fontMetrics().lineSpacing())
        self.back.hide()
        self._show()

    @property
    def moved(self) -> bool:
        """Whether it says that the knobs, or the source, have moved on."""
        return bool(self._moved)

    def show_caption(self, caption: Caption | None, origin: str = "") -> None:
        """Name another result; ``origin`` says where one comes from that was not measured here."""
        self._caption, self._origin = caption, origin
        self._look()

    def follow(
        self, now: RunConfig | None, source_sha256: str = "", *, measuring: bool = False
    ) -> None:
        """Say whether the knobs, at ``now``, stand as they did; None: they make no run.

        ``source_sha256`` is that of their workload now; empty where there is no need to look.
        ``measuring``: the result is still being measured, as it was asked for.
        """
        self._now, self._source, self._measuring = now, source_sha256, measuring
        self._look()

    def _look(self) -> None:
        caption, self._found = self._caption, ""
        if caption is not None and not self._origin and not self._measuring:
            moved = caption.moved(self._now)
            self._found = moved or caption.outdated(self._now, self._source)
            self._away = bool(moved)
        if not self._found or self._moved or not self.isVisible():  # as nobody sees it flicker
            self._settle.stop()
            self._show()
            return
        if not self._settle.isActive():
            self._settle.start()
        self._say()

    def hideEvent(self, event: QHideEvent) -> None:
        """Wait no more."""
        super().hideEvent(event)
        self._settle.stop()
        self._show()

    def _show(self) -> None:
        """Take in what was found, now that it has lasted."""
        if bool(self._moved) != bool(self._found):
            for veil in self._veils:
                veil.setVisible(bool(self._found))
        self._moved = self._found
        self._say()

    def _say(self) -> None:
        caption = self._caption.words if self._caption is not None else ""
        told = [self._origin, caption] if self._told_whole else [caption]
        text = tr(self._moved or " · ".join(part for part in told if part))
        tip = tr("\n".join(p for p in (self._origin, caption if self._moved else "", TIP) if p))
        if (text, tip) != (self.words.text(), self.words.toolTip()):
            if isinstance(self.words, Remarks):
                self.words.say([text])
            else:
                self.words.setText(text)
            self.words.setToolTip(tip)
        self.back.setVisible(bool(self._moved) and self._away and self._offers)
        marked = bool(self._moved or self._origin)
        set_look(self, marked=marked)
        set_look(self.words, role="warning" if marked else "muted")

    def _put_back(self) -> None:
        if self._caption is not None:
            self.restored.emit(self._caption.nearest(self._now))


class Veil(QWidget):
    """Lies over a widget, in its parent: thin slanting lines that let everything through."""

    def __init__(self, over: QWidget) -> None:
        super().__init__(over.parentWidget() or over)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._over = over
        over.installEventFilter(self)
        self.hide()

    def setVisible(self, visible: bool) -> None:
        """Cover what is covered as it lies now."""
        if visible and self.parentWidget() is not self._over.parentWidget():
            self.setParent(self._over.parentWidget())  # which it had not when this was made
        super().setVisible(visible)
        if visible:
            self._cover()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow what is covered."""
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Move) and not self.isHidden():
            self._cover()
        return super().eventFilter(watched, event)

    def _cover(self) -> None:
        self.setGeometry(self._over.geometry())
        self.raise_()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the lines."""
        painter = QPainter(self)
        colour = self.palette().color(QPalette.ColorRole.Text)
        colour.setAlphaF(LINES)
        painter.setPen(QPen(colour, 1))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setClipRect(event.rect())
        height = self.height()
        for at in range(0, self.width() + height, LINES_APART):
            painter.drawLine(at, 0, at - height, height)
        painter.end()
