"""What views need is loaded in a thread once the window is up, so that none opens with a hitch."""

from __future__ import annotations

import gc
import logging
import sys
import threading
from collections.abc import Sequence
from importlib import import_module

from gpuexplorer.gui.housekeeping import forget_sources

log = logging.getLogger("gpuexplorer.gui")

MODULES = (
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
)
"""Those that are loaded when a view is first shown: up to half a second of the main thread."""


class Preloader:
    """Loads modules one after another, while the engine starts and the window is idle."""

    def __init__(self, modules: Sequence[str] = MODULES) -> None:
        self._modules = modules
        self._stop = threading.Event()
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
        for name in self._modules:
            if self._stop.is_set():
                return
            if name in sys.modules:
                continue
            try:
                import_module(name)
            except ImportError:  # opening the view reports it
                log.exception("%s cannot be loaded", name)
            forget_sources()
            gc.freeze()  # it stays: walking through it would be a hitch of the main thread
