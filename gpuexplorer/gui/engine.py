"""Which engine measures: its Python interpreter and its CPU threads, chosen and remembered."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtWidgets import QFileDialog, QWidget

from gpuexplorer.engine.launcher import default_threads, usable_cores
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.settings import Settings

ALL_UP_TO = 16
"""With more cores than this only powers of two are offered, the default and every core."""


def thread_choices(cores: int, present: int) -> list[int]:
    """Return the numbers of CPU threads to choose from, among them the ``present`` one."""
    if cores <= ALL_UP_TO:
        return sorted({*range(1, cores + 1), present})
    powers = (1 << k for k in range(cores.bit_length()))
    return sorted({*powers, cores - 1, cores, present})


class EngineChoice:
    """Restarts the session's engine with other options, and remembers them."""

    def __init__(self, window: QWidget, session: Session, settings: Settings) -> None:
        self._window, self._session, self._settings = window, session, settings

    @property
    def threads(self) -> int:
        """The CPU threads a kernel may use."""
        return self._session.options.threads or default_threads()

    @property
    def thread_choices(self) -> list[int]:
        """The numbers of CPU threads to choose from on this machine."""
        return thread_choices(usable_cores(), self.threads)

    def use_threads(self, threads: int) -> None:
        """Let kernels use so many CPU threads."""
        if threads == self.threads:
            return
        chosen = None if threads == default_threads() else threads
        self._settings.threads = chosen
        self._session.restart(replace(self._session.options, threads=chosen))

    def pick_python(self) -> None:
        """Ask for an interpreter and use it."""
        name, _ = QFileDialog.getOpenFileName(
            self._window, "Engine's Python interpreter", self._session.options.python or ""
        )
        if name:
            self.use_python(name)

    def use_python(self, python: str | None) -> None:
        """Measure with another interpreter; None means the window's own."""
        self._settings.python = python
        self._session.restart(replace(self._session.options, python=python))

    def restart(self) -> None:
        """End the engine's process and start a fresh one."""
        self._session.restart(self._session.options)
