"""Tuning in the window: the search in a thread through the live engine, and what is kept of it."""

from __future__ import annotations

from gpuexplorer.calibration.store import CeilingStore
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.tuning import Tuning
from gpuexplorer.gui.job import EngineJob
from gpuexplorer.gui.worker import EngineWorker
from gpuexplorer.history.keeping import DoesWithStore
from gpuexplorer.search.tune import Tuner, TuningOptions, TuningProgress
from gpuexplorer.search.tune_keep import TuningKeeper
from gpuexplorer.search.tune_space import tuning_space
from gpuexplorer.workloads.workload import Workload


class TuningJob(EngineJob):
    """Tunes one problem. The outcome is the ``Tuning``.

    ``tuner`` and ``progress`` may be looked at from the main thread at any time; ``tuner`` is None
    until it is known what can be launched.
    """

    doing = "tuning"
    done = "tuned"
    not_done = "not tuned"

    def __init__(
        self,
        worker: EngineWorker,
        request: RunRequest,
        workload: Workload,
        devices: DeviceList,
        options: TuningOptions,
        store: DoesWithStore | None = None,
    ) -> None:
        """``store`` keeps the runs and what was found; None keeps nothing."""
        super().__init__(worker, ceilings=CeilingStore().find)
        self.setObjectName("tuning")
        self.request, self.workload, self.options = request, workload, options
        self._devices = devices
        self._keeper = TuningKeeper(store, lambda error: None)
        self.tuner: Tuner | None = None
        self.progress: TuningProgress | None = None
        self._stop_search = False

    @property
    def trouble(self) -> ExplorerError | None:
        """Why the store did not take it; None while it does."""
        return self._keeper.trouble

    def enough(self) -> None:
        """End the search and go on to the final; from the main thread."""
        self._stop_search = True
        if self.tuner is not None:
            self.tuner.enough()

    def work(self) -> Tuning:
        """Find out what can be launched, and tune."""
        space = tuning_space(self.request, self.workload, self._devices)
        tuner = Tuner(self, self.workload, space, self.options)
        tuner.on_progress = self._went_on
        self.tuner = tuner
        if self._stop_search:
            tuner.enough()
        return self._keeper.run(tuner)

    def _went_on(self, progress: TuningProgress) -> None:
        self.progress = progress
