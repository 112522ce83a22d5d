"""A job view's head: how it goes, and what can be done.

It wants the same width whatever can be done just now, so that nothing beside it is arranged anew
when a job begins or ends.
"""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QWidget

from gpuexplorer.core.language import tr
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.typeface import for_text
from gpuexplorer.gui.widgets.button import small_button
from gpuexplorer.gui.widgets.words import Words

WIDTH = 460
"""Pixels for progress, three buttons, and some words."""


class JobHead(QWidget):
    """Words, progress and buttons; what the buttons do is the view's to say."""

    def __init__(self, name: str, noun: str) -> None:
        """``noun`` is what is measured, such as a study."""
        super().__init__()
        self.words = Words(lines=2)
        self.words.setObjectName(f"{name}Words")
        self.progress = QProgressBar()
        self.progress.setObjectName(f"{name}Progress")
        self.progress.setTextVisible(False)
        self.progress.setFixedSize(90, 8)
        self.copy = small_button(f"{name}Copy", f"Copy this {noun} as a command line")
        self.copy.setAccessibleName(tr("Copy command"))
        theme().changed.connect(self._repaint_theme)
        self._repaint_theme()
        self.begin = "Start"
        """What the button says that begins."""
        self.anew = "Measure again"
        """What it says where it would measure what is shown once more."""
        self.start = QPushButton(tr(self.begin))
        self.start.setProperty("role", "leads")
        self.start.setToolTip(
            tr("Measure; Live pauses meanwhile, and every run is kept in the history")
        )
        self.pause = QPushButton(tr("Pause"))
        self.stop = QPushButton(tr("Stop"))
        self.stop.setToolTip(tr("End it at the next launch; what was measured is kept"))
        for button, act in ((self.start, "Start"), (self.pause, "Pause"), (self.stop, "Stop")):
            button.setObjectName(f"{name}{act}")
        self.line = QHBoxLayout(self)
        self.line.setContentsMargins(6, 0, 0, 0)
        self.line.setSpacing(4)
        self.line.addWidget(self.words, 1)
        for widget in (self.progress, self.copy, self.start, self.pause, self.stop):
            self.line.addWidget(widget)

    def sizeHint(self) -> QSize:
        """Return the width that it wants, whatever is said and can be done just now."""
        return QSize(for_text(WIDTH), super().sizeHint().height())

    def add(self, widget: QWidget) -> None:
        """Put something before the buttons."""
        self.line.insertWidget(self.line.indexOf(self.copy), widget)

    def _repaint_theme(self) -> None:
        self.copy.setIcon(theme().icon("copy"))

    def show_state(
        self, *, running: bool, paused: bool, can_start: bool, can_continue: bool,
        can_copy: bool, again: bool,
    ) -> None:  # fmt: skip
        """Show what can be done now; ``again``: what is shown would be measured once more."""
        self.start.setVisible(not running)
        self.start.setText(tr(self.anew if again else self.begin))
        self.start.setEnabled(can_start)
        measures = running and not paused
        self.pause.setVisible(running or can_continue)
        self.pause.setText(tr("Pause" if measures else "Continue"))
        self.pause.setToolTip(
            tr("Give the engine back to Live for a while")
            if measures
            else tr("Measure what is left; nothing is measured twice")
        )
        self.stop.setVisible(running)
        self.progress.setVisible(running)
        self.copy.setEnabled(can_copy)
        self.line.activate()  # at once: a button that comes has no room of its own before

    def show_progress(self, done: int, total: int) -> None:
        """Show how far it is."""
        self.progress.setMaximum(max(1, total))
        self.progress.setValue(done)
