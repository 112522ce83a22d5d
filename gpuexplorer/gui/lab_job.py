"""A study through the window's engine: the thread that measures it."""

from __future__ import annotations

import time
from collections.abc import Callable

from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.studies import Study
from gpuexplorer.engine.client import EngineOptions
from gpuexplorer.engine.cores import default_threads
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.session import Session
from gpuexplorer.gui.guest import Guest
from gpuexplorer.gui.job import EngineJob
from gpuexplorer.gui.model.lab import Progress, has_figures
from gpuexplorer.gui.model.lab_wanted import Wanted
from gpuexplorer.gui.worker import EngineWorker
from gpuexplorer.studies import Lab, Step
from gpuexplorer.workloads.workload import Workload

TELL_EVERY_S = 0.1
"""Steps are told together, so that short runs do not flood the window."""
SHOW_EVERY_S = 0.7
SHOW_SHARE = 0.05
"""Share of the time that making documents of what there is so far may take."""


class LabJob(EngineJob):
    """Measures a study; ``stepped`` carries a ``Progress`` with what is known by now, or None.

    ``result`` is the document of what was measured, however the job ended; None for nothing.
    """

    done = "the study is done"
    not_done = "the study was stopped"

    def __init__(
        self,
        worker: EngineWorker,
        wanted: Wanted,
        doing: str,
        *,
        engine: EngineOptions,
        ceilings: Callable[[DeviceInfo], Ceilings | None] | None = None,
    ) -> None:
        """``doing`` is what the status bar says meanwhile, ``engine`` are the window's own's
        options."""
        super().__init__(worker, ceilings=ceilings)
        self.setObjectName("lab")
        self.doing = doing
        self.wanted = wanted
        self.result: Study | None = None
        self._lab: Lab | None = None
        self._engine = engine
        self._guests: dict[int, Guest] = {}
        """Engines for other numbers of CPU threads, which hold for an engine's life."""
        self._began = self._waited_s = 0.0
        self._tell_due = self._show_due = 0.0

    def work(self) -> object:
        """Measure everything; return the document."""
        self._lab = self.wanted.lab()
        self._began = time.monotonic()
        try:
            self.result = self._lab.run(self, self._step)
        finally:
            while self._guests:
                self._guests.popitem()[1].close()
            if self.result is None:
                self.result = self._so_far()
        return self.result

    def measure(self, config: RunConfig, workload: Workload, options: RunOptions) -> RunRecord:
        """Measure in an engine with the CPU threads that are wanted."""
        present = self._engine.threads or default_threads()
        if config.threads is None or config.threads == present:
            return super().measure(config, workload, options)
        return self._guest(config.threads).measure(config, workload, options)

    def _guest(self, threads: int) -> Guest:
        if threads not in self._guests:
            python = self._engine.python
            session = Session(python=python, threads=threads, ceilings=self._ceilings)
            self._guests[threads] = Guest(self, session)
        return self._guests[threads]

    def keep_going(self) -> None:
        """Wait while paused; such time is no part of what the rest is judged by."""
        before = time.monotonic()
        super().keep_going()
        self._waited_s += time.monotonic() - before

    def _so_far(self) -> Study | None:
        """Return the document of what there is; None without any."""
        if self._lab is None:
            return None
        try:
            found: Study = self._lab.document()
        except ExplorerError:
            return None
        return found if has_figures(found) else None

    def _step(self, step: Step) -> None:
        now = time.monotonic()
        if now < self._tell_due:
            return
        self._tell_due = now + TELL_EVERY_S
        study = None
        if now >= self._show_due:
            study = self._so_far()
            took_s = time.monotonic() - now
            self._show_due = now + max(SHOW_EVERY_S, took_s / SHOW_SHARE)
        spent_s = now - self._began - self._waited_s
        left_s = spent_s / step.done * (step.total - step.done) if step.done > 1 else None
        self.stepped.emit((Progress(step.done, step.total, step.words, left_s), study))
