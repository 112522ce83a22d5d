"""Garbage is collected between the window's frames, never in the middle of one."""

from __future__ import annotations

import gc
import linecache
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QApplication

from gpuexplorer.gui import allocator
from gpuexplorer.gui.theme import forget_styles

INTERVAL_MS = 1000
FULL_EVERY = 30
"""In so many turns everything is walked through once; else only what is young."""
MOST_PUT_OFF = 5
"""So many turns in a row are put off while a knob waits for its answer."""


class Housekeeping(QObject):
    """Collects on a timer of its own, in place of Python's collections at any moment.

    A full collection takes some milliseconds; inside a repaint they would be a visible hitch.
    """

    def __init__(self, parent: QObject, awaited: Callable[[], bool]) -> None:
        """``awaited`` tells whether something is about to be shown that nothing may delay."""
        super().__init__(parent)
        self._awaited = awaited
        self._turn = self._put_off = 0
        self.letting_go: list[Callable[[], None]] = [forget_sources]
        """What lets go of what was not used lately, in a turn of its own."""
        self._timer = QTimer(self)
        self._timer.setInterval(INTERVAL_MS)
        self._timer.timeout.connect(self.take_turn)

    def start(self) -> None:
        """Take collecting over; what is there now stays and need not be walked through again."""
        gc.collect()
        gc.freeze()
        gc.disable()
        self._timer.start()

    def stop(self) -> None:
        """Give collecting back to Python."""
        self._timer.stop()
        gc.enable()

    def take_turn(self) -> None:
        """Collect, unless something is awaited: then in the next turn."""
        if self._put_off < MOST_PUT_OFF and self._awaited():
            self._put_off += 1
            return
        self._put_off = 0
        self.collect()

    def collect(self) -> None:
        """Collect the young; or, when it is time, everything, and give back what is free then.

        Each of these takes a turn of its own, as together they would be a hitch.
        """
        self._turn = (self._turn + 1) % FULL_EVERY
        if self._turn == FULL_EVERY - 3:
            for let_go in self.letting_go:
                let_go()
        elif self._turn == FULL_EVERY - 2:
            gc.collect()
        elif self._turn == FULL_EVERY - 1:
            application = QApplication.instance()
            if isinstance(application, QApplication):
                forget_styles(application)
        elif self._turn == 0:
            allocator.give_back()
        else:
            gc.collect(1)


def forget_sources() -> None:
    """Let go of the source files that were read for nothing: 25 MB once all views are loaded.

    Qt for Python looks into the source of each module that is imported after it, and Python keeps
    the lines. A traceback that needs them reads them again.
    """
    for name, entry in list(linecache.cache.items()):
        if len(entry) == 4 and entry[1] is not None:  # it is of a file, which can be read again
            linecache.cache.pop(name, None)
