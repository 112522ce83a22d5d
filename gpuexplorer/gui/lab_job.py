"""A study through the window's engine: what is asked of it, and the thread that measures it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.studies import Study
from gpuexplorer.gui.job import EngineJob
from gpuexplorer.gui.model.lab import Kind, Progress, has_figures
from gpuexplorer.gui.worker import EngineWorker
from gpuexplorer.search.studies import How, Lab, PrecisionLab, SpeedupLab, Step, SwitchesLab
from gpuexplorer.workloads.workload import Workload

TELL_EVERY_S = 0.1
"""Steps are told together, so that short runs do not flood the window."""
SHOW_EVERY_S = 0.7
SHOW_SHARE = 0.05
"""Share of the time that making documents of what there is so far may take."""


@dataclass(frozen=True)
class Wanted:
    """What a study shall look at; None leaves a choice to the study."""

    kind: Kind
    request: RunRequest
    workload: Workload
    devices: DeviceList
    how: How
    precisions: tuple[str, ...] | None = None
    switches: tuple[str, ...] | None = None
    sides: tuple[str, str] | None = None
    symbol: str | None = None
    sizes: tuple[int, ...] | None = None

    def lab(self) -> Lab:
        """Return the study, ready to measure; raises ExplorerError where there is nothing to."""
        common = (self.request, self.workload, self.devices, self.how)
        if self.kind == "precision":
            return PrecisionLab(*common, precisions=self.precisions)
        if self.kind == "switches":
            return SwitchesLab(*common, switches=self.switches)
        return SpeedupLab(*common, names=self.sides, symbol=self.symbol, sizes=self.sizes)


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
        ceilings: Callable[[DeviceInfo], Ceilings | None] | None = None,
    ) -> None:
        """``doing`` is what the status bar says meanwhile."""
        super().__init__(worker, ceilings=ceilings)
        self.setObjectName("lab")
        self.doing = doing
        self.wanted = wanted
        self.result: Study | None = None
        self._lab: Lab | None = None
        self._began = self._waited_s = 0.0
        self._tell_due = self._show_due = 0.0

    def work(self) -> object:
        """Measure everything; return the document."""
        self._lab = self.wanted.lab()
        self._began = time.monotonic()
        try:
            self.result = self._lab.run(self, self._step)
        finally:
            if self.result is None:
                self.result = self._so_far()
        return self.result

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
