"""What views need is loaded in a thread once the window is up, so that none opens with a hitch.

The interpreter is one thread's at a time, and cores are few while the engine starts: beside one
that loads a paint may wait for 20 ms. So a module is loaded when the window has nothing else to do.
"""

from __future__ import annotations

import gc
import logging
import sys
import threading
from collections.abc import Sequence
from importlib import import_module

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt

from gpuexplorer.gui.housekeeping import forget_sources

log = logging.getLogger("gpuexplorer.gui")

MODULES = (
    "gpuexplorer.gui.show.panel",
    "gpuexplorer.gui.model.replay",
    "gpuexplorer.workloads.memory.fits",
    "gpuexplorer.gui.panels.kernel_listings",
    "gpuexplorer.gui.calibration",
    "gpuexplorer.gui.model.advice",
    "gpuexplorer.gui.views.sweep",
    "gpuexplorer.gui.views.lab",
    "gpuexplorer.gui.views.tune",
    "gpuexplorer.gui.views.compare",
    "gpuexplorer.gui.views.blockmap",
    "gpuexplorer.gui.panels.accesses",
    "gpuexplorer.gui.panels.operators",
    "gpuexplorer.gui.code.pane",
    "gpuexplorer.gui.plots.occupancy",
    "gpuexplorer.gui.help",
    "gpuexplorer.gui.export_dialog",
    "gpuexplorer.charts.build",
    "gpuexplorer.gui.panels.history_notes",
    "gpuexplorer.gui.panels.kernel_sheet",
)
"""Those that are loaded when a view or a dialog is first shown: up to half a second of the main
thread."""
LAST = Qt.EventPriority.LowEventPriority.value - 1
"""After all else that waits for the main thread, paints among it."""
PATIENCE_S = 0.02
"""Who waits longer may be waited for: a view that is opened needs the module."""


class Turns(QObject):
    """Has a thread load each module, and those that it imports, when the main thread is idle.

    It stands among the finders of modules while that thread loads, and finds none.
    """

    def __init__(self) -> None:
        super().__init__()
        self._idle = threading.Event()
        self._thread: int | None = None
        self._patient = True
        self.given = 0
        """How often the main thread was idle."""

    def __enter__(self) -> None:
        """Wait for each module that this thread loads from now on."""
        self._thread = threading.get_ident()
        sys.meta_path = [self, *sys.meta_path]  # another thread may be going through the old list

    def __exit__(self, *error: object) -> None:
        """Wait for no other module."""
        sys.meta_path = [finder for finder in sys.meta_path if finder is not self]

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Wait until the main thread is idle, unless it has kept this module waiting already."""
        if self._patient and threading.get_ident() == self._thread:
            self._patient = self._wait()

    def load(self, name: str) -> None:
        """Import a module."""
        self._patient = True
        import_module(name)

    def _wait(self) -> bool:
        self._idle.clear()
        QCoreApplication.postEvent(self, QEvent(QEvent.Type.User), LAST)
        return self._idle.wait(PATIENCE_S)

    def customEvent(self, event: QEvent) -> None:
        """Let the thread load: whatever else waited was handled before."""
        self.given += 1
        self._idle.set()


class Preloader:
    """Loads modules one after another, while the engine starts and the window is idle."""

    def __init__(self, modules: Sequence[str] = MODULES) -> None:
        self._modules = modules
        self._stop = threading.Event()
        self.turns = Turns()
        self._thread = threading.Thread(target=self._load, name="preload", daemon=True)

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self._thread.ident is not None and not self._thread.is_alive()

    def start(self) -> None:
        """Begin; a view that is opened meanwhile waits for its own module alone."""
        self._thread.start()

    def stop(self) -> None:
        """Load no further module, and wait for the present one."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _load(self) -> None:
        forget_sources()
        with self.turns:
            for name in self._modules:
                if self._stop.is_set():
                    break
                if name in sys.modules:
                    continue
                try:
                    self.turns.load(name)
                except ImportError:  # opening the view reports it
                    log.exception("%s cannot be loaded", name)
                forget_sources()
                gc.freeze()  # it stays: walking through it would be a hitch of the main thread
